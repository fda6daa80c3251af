"""Streams that change: progressive scores of several half-lives, and of half_life="auto", compared with peers.

    python -m benchmarks.drift [--data-dir FOLDER] [--output FILE.csv] [--quick]

Each row is predicted before it is learnt, in the order of the stream; the first is not counted. Scores are accuracies,
and R^2 for bikes. With ``--output drift.csv``, log losses go to ``drift_log_losses.csv``, microseconds per row to
``drift_times.csv``, and the accuracy in each tenth of electricity to ``drift_curve.csv``. Our learners learn a stream
in one call, as `progressive_validation` does: scales and means know the features of a row when it is predicted. "row by
row" is `predict`, for which they do not, then `partial_fit`. SGD with a constant rate (.01 for bikes) and its scaler
predict 20 rows, then learn them. All others predict and learn single rows. "no change" predicts the last label.

Streams: a concept that flips four times; one that turns slowly; a third of the columns in other units from the middle
on; electricity and hourly bikes in time order; SEA, Agrawal, a turning hyperplane and moving radial bases from River's
generators, with fixed seeds; Bank and Shuttle shuffled, which do not change. ``-`` means that a learner diverges or has
no such number.

With ``--columns``, the script measures instead the cost of a row of 50 words, which follow a power law, by the number
of columns: microseconds of processor time per row, in one call and by single rows, for a model that knows the words.

With ``--late``, it measures what is left if a row is learnt only after a number of later rows were predicted, as when
labels come late or forecasts are for days ahead: R^2 of hourly bikes.

River's models and generators are left out if it is not installed. Its linear models come behind its StandardScaler.
Only for models that go row by row, probabilities are clipped to between 1e-6 and 1 for log losses.
"""

import importlib.util
import itertools
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGCellsClassifier, NAGCellsRegressor, NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import progressive_validation

from .data import FILES, bikes, parse
from .options import file_in, load_each
from .turns import words

HALF_LIVES = (None, 5120, 1280, 320, 80, 20)
HALF_LIVES_OF_CELLS = (None, 320, "auto")
LEAST = 1e-6  # probability
TENTHS = np.arange(1, 11) / 10.0
CURVE_OF = "electricity"
DELAYS = 0, 1, 24, 168  # hours


def labels(X, w, rng):
    """Return classes by a linear function and noise."""
    return (np.sum(X * w, axis=1) + rng.logistic(size=len(X)) > 0).astype(int)


def made_up(n):
    """Yield streams with a known change."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, 10)), 2.0 * rng.normal(size=10)
    signs = np.where(np.arange(n) // (n // 5) % 2, -1.0, 1.0)
    yield "flips", X, labels(X, signs[:, None] * w, rng), False
    angle, other = np.linspace(0.0, 2.0 * np.pi, n)[:, None], 2.0 * rng.normal(size=10)
    yield "turns", X, labels(X, np.cos(angle) * w + np.sin(angle) * other, rng), False
    y = labels(X, w, rng)
    units = X.copy()
    units[n // 2 :, ::3] *= 1000.0
    yield "units", units, y, False


def generated(n):
    """Yield streams of River's generators."""
    from river.datasets import synth

    def concept(make, first, second):
        return itertools.chain(make(first).take(n // 2), make(second).take(n - n // 2))

    streams = {
        "SEA": concept(lambda variant: synth.SEA(variant=variant, noise=0.1, seed=1 + variant), 0, 3),
        "Agrawal": concept(lambda f: synth.Agrawal(classification_function=f, seed=1 + f), 0, 4),
        "hyperplane": synth.Hyperplane(seed=1, n_drift_features=5, mag_change=0.001).take(n),
        "radial bases": synth.RandomRBFDrift(
            seed_model=1, seed_sample=1, n_classes=2, n_features=10, change_speed=0.001, n_drift_centroids=10
        ).take(n),
    }
    for name, rows in streams.items():
        features, y = zip(*rows)
        yield name, pd.DataFrame(features).to_numpy(dtype=float), np.array(y).astype(int), False


def electricity(folder):
    """Return electricity: 45,312 half hours in time order, 2 classes; 6 columns, without the date."""
    data = pd.read_csv(file_in(folder, "electricity.csv.gz"))
    y = data.pop("class").to_numpy()
    return data.to_numpy(dtype=float), y, False


def from_files(folder, n):
    """Yield streams in time order, and shuffled ones."""
    sets = {"electricity": electricity, **{name: FILES[name] for name in ("bike sharing", "Bank", "Shuttle")}}
    for name, X, y, regression in load_each(sets, folder):
        if regression or name == "electricity":
            yield name, X, y, regression
            continue
        order = np.random.default_rng(0).permutation(len(y))[: n // 2]
        yield f"{name}, shuffled", X[order], np.unique(y[order], return_inverse=True)[1], False


class NoChange:
    """A peer with River's methods that predicts the last label."""

    last = 0

    def predict_one(self, row):
        """Return the last label."""
        return self.last

    def learn_one(self, row, target):
        """Remember the label."""
        self.last = target


class RowByRow:
    """A learner of this package with River's methods."""

    def __init__(self, model, classes):
        self.model, self.classes = model, classes
        self.options = {} if classes is None else {"classes": classes}

    def predict_one(self, row):
        """Return the prediction."""
        return self.model.predict([list(row.values())])[0]

    def predict_proba_one(self, row):
        """Return probabilities by class."""
        return dict(zip(self.classes.tolist(), self.model.predict_proba([list(row.values())])[0]))

    def learn_one(self, row, target):
        """Learn a row."""
        self.model.partial_fit([list(row.values())], [target], **self.options)


def peers(classes, have_river):
    """Yield models by name that predict and learn single rows; ``classes`` is None for regression."""
    learner = NAGRegressor if classes is None else NAGClassifier
    yield "half_life='auto', row by row", RowByRow(learner(half_life="auto"), classes)
    yield "no change", NoChange()
    if not have_river:
        return
    from river import forest, linear_model, multiclass, optim, preprocessing, tree

    if classes is None:
        yield (
            "River, linear, eta0=0.01",
            preprocessing.StandardScaler() | linear_model.LinearRegression(optim.SGD(0.01)),
        )
        yield "River, Hoeffding tree", tree.HoeffdingAdaptiveTreeRegressor(seed=0)
        yield "River, adaptive random forest", forest.ARFRegressor(seed=0)
        return
    several = multiclass.OneVsRestClassifier if len(classes) > 2 else lambda model: model
    for eta0 in (0.01, 0.1):
        linear = several(linear_model.LogisticRegression(optim.SGD(eta0)))
        yield f"River, logistic regression, eta0={eta0}", preprocessing.StandardScaler() | linear
    yield "River, ALMA", preprocessing.StandardScaler() | several(linear_model.ALMAClassifier())
    yield "River, Hoeffding tree", tree.HoeffdingAdaptiveTreeClassifier(seed=0)
    yield "River, adaptive random forest", forest.ARFClassifier(seed=0)


def tenths(y):
    """Return the numbers of rows after each tenth of a stream."""
    return np.floor(TENTHS * len(y)).astype(int)


def within(scores, y):
    """Return means within tenths of a stream, from ``scores``: means up to the end of each, without the first row."""
    return np.diff(scores * (tenths(y) - 1), prepend=0.0) / np.diff(tenths(y) - 1, prepend=0)


def by_single_rows(model, X, y, classes):
    """Return score, log loss, microseconds per row and accuracies in tenths, for a model with River's methods."""
    answers, losses = np.zeros(len(y)), np.full(len(y), np.nan)
    # With two classes, River's classifiers take booleans.
    targets = y.astype(bool).tolist() if classes is not None and len(classes) == 2 and _of_river(model) else y.tolist()
    probable = classes is not None and hasattr(model, "predict_proba_one") and "ALMA" not in str(model)
    began = time.perf_counter()
    try:
        for i, (row, target) in enumerate(zip(X.tolist(), targets)):
            row = dict(enumerate(row))
            if i > 0:
                if probable:
                    p = model.predict_proba_one(row)
                    answers[i] = max(p, key=p.get) if p else 0.0
                    losses[i] = -np.log(np.clip(p.get(target, 0.0), LEAST, 1.0))
                else:
                    answer = model.predict_one(row)
                    answers[i] = 0.0 if answer is None else answer
            model.learn_one(row, target)
        seconds = time.perf_counter() - began
        score = (r2_score if classes is None else accuracy_score)(y[1:], answers[1:])
    except (ValueError, OverflowError):
        return np.nan, np.nan, np.nan, None
    right = np.add.accumulate(answers[1:] == y[1:])[tenths(y) - 2] / (tenths(y) - 1)
    return score, np.mean(losses[1:]) if probable else np.nan, seconds / len(y) * 1e6, within(right, y)


def _of_river(model):
    return type(model).__module__.startswith("river")


def ours(model, X, y, classes):
    """Return the same for a learner of this package, in one call."""
    options = {} if classes is None else {"classes": classes}
    progressive_validation(model, X[:200], y[:200], **options)  # compiles
    result = progressive_validation(model, X, y, curve_at=tenths(y), **options)
    loss = np.nan if classes is None else result.loss
    return result.score, loss, result.fit_time / len(y) * 1e6, within(result.curve["score"], y)


def scaled_sgd(X, y, classes):
    """Return the same for SGDClassifier or SGDRegressor behind a scaler, 20 rows at a time."""
    constant = {"learning_rate": "constant", "eta0": 0.01 if classes is None else 0.1, "random_state": 0}
    learner = SGDRegressor(**constant) if classes is None else SGDClassifier("log_loss", **constant)
    return by_batches(make_pipeline(StandardScaler(), learner), X, y, classes, 20)


def by_batches(model, X, y, classes, batch_size=1):
    """Return the same for a model that predicts a batch, then learns it; rows of the first batch are not counted.

    Mixtures predict each row before they learn it, in one call, whatever the size of batches.
    """
    scoring = "r2" if classes is None else ["accuracy", "neg_log_loss"]
    options = {} if classes is None else {"classes": classes}
    try:
        result = progressive_validation(
            model, X, y, batch_size=batch_size, scoring=scoring, curve_at=tenths(y), **options
        )
    except ValueError:
        return np.nan, np.nan, np.nan, None
    time_of_row = result.fit_time / len(y) * 1e6
    if classes is None:
        return result.score, np.nan, time_of_row, None
    return (
        result.score["accuracy"], -result.score["neg_log_loss"], time_of_row, within(result.curve["accuracy"], y)
    )  # fmt: skip


def measure_columns(n):
    """Return the cost of a row of words by the number of columns, and by half-life."""
    found = {}
    for d in (2**12, 2**16, 2**20):
        X, y = words(n, d, 50)
        for h in (None, 320, 20, "auto"):
            model, of_model = NAGClassifier(half_life=h).partial_fit(X, y, classes=[0, 1]), found.setdefault(h, {})
            at_once = [seconds_of(model, X, y) / n for _ in range(5)]
            singly = [seconds_of(model, X[i : i + 1], y[i : i + 1]) for i in range(50)]
            of_model[f"{d:,} columns"] = 1e6 * np.median(at_once)
            of_model[f"{d:,} columns, single rows"] = 1e6 * np.median(singly)
    return pd.DataFrame({f"half_life={h!r}": values for h, values in found.items()}).T.rename_axis("learner")


def seconds_of(model, X, y):
    """Return the processor time of a call."""
    start = time.process_time()
    model.partial_fit(X, y)
    return time.process_time() - start


def measure_late(X, y):
    """Return scores by how many rows later than its prediction a row is learnt."""
    table = {
        str(model): {
            f"{delay} later": progressive_validation(clone(model), X, y, scoring="r2", delay=delay).score
            for delay in DELAYS
        }
        for model in (NAGRegressor(), NAGRegressor(eta0="auto"), NAGRegressor(half_life="auto"))
    }
    return pd.DataFrame(table).T.rename_axis("learner")


def main():
    """Print the tables."""
    options = parse(
        __doc__, "file to write the scores to, as CSV", "short streams: that it runs",
        columns="file to write what words cost to, as CSV, in place of the scores",
        late="file to write scores to of rows that are learnt late, as CSV, in place of the scores",
    )  # fmt: skip
    warnings.simplefilter("ignore")
    if options.late is not None:
        for _, X, y, _ in load_each({"bike sharing": bikes}, options.data_dir):
            rows = slice(1_000 if options.quick else None)
            table = measure_late(X[rows], y[rows])
            print(table.to_string(float_format=lambda value: f"{value:.3f}"))
            table.to_csv(options.late, float_format="%.3f")
        return
    if options.columns is not None:
        table = measure_columns(200 if options.quick else 4_000)
        print(table.to_string(float_format=lambda value: f"{value:.3g}"))
        table.to_csv(options.columns, float_format="%.3g")
        return
    have_river = importlib.util.find_spec("river") is not None
    if not have_river:
        print("River and its generators are left out: it is not installed")
    n = 1_000 if options.quick else 12_000
    streams = [made_up(n)]
    streams += [generated(n)] if have_river else []
    streams += [from_files(options.data_dir, n)] if options.data_dir is not None else []
    tables, curves = {"": {}, "_log_losses": {}, "_times": {}}, {}
    for name, X, y, regression in itertools.chain(*streams):
        classes = None if regression else np.unique(y)
        learner = NAGRegressor if regression else NAGClassifier
        found = {f"half_life={h!r}": ours(learner(half_life=h), X, y, classes) for h in (*HALF_LIVES, "auto")}
        cells = NAGCellsRegressor if regression else NAGCellsClassifier
        for h in HALF_LIVES_OF_CELLS:
            model = cells(half_life=h, random_state=0)
            by_batches(clone(model), X[:2_000], y[:2_000], classes)  # compiles
            found[f"curves and cells, half_life={h!r}"] = by_batches(model, X, y, classes)
        found["scaled SGD, eta0=0.1 (0.01)"] = scaled_sgd(X, y, classes)
        for peer, model in peers(classes, have_river):
            found[peer] = by_single_rows(model, X, y, classes)
        for learner, (*values, curve) in found.items():
            for table, value in zip(tables.values(), values):
                table.setdefault(learner, {})[name] = value if value > -9.0 else np.nan
            if name == CURVE_OF and curve is not None:
                curves[learner] = dict(zip((f"to {share:.1f}" for share in TENTHS), curve))
        print(f"{name:50} {'score':>8} {'log loss':>9} {'us a row':>9}")
        for learner, (*values, _) in found.items():
            print(f"  {learner:48} {values[0]:8.4g} {values[1]:9.4g} {values[2]:9.0f}", flush=True)
        for (ending, table), digits in zip(tables.items(), ("%.4f", "%.4f", "%.1f")):
            frame = pd.DataFrame(table).T.rename_axis("learner").dropna(how="all")
            if options.output is not None:
                path = options.output.with_name(f"{options.output.stem}{ending}{options.output.suffix}")
                frame.to_csv(path, float_format=digits, na_rep="-")
    if curves and options.output is not None:
        path = options.output.with_name(f"{options.output.stem}_curve{options.output.suffix}")
        pd.DataFrame(curves).T.rename_axis("learner").to_csv(path, float_format="%.3f")
    for ending, table in tables.items():
        print(ending.lstrip("_").replace("_", " ") or "scores")
        print(pd.DataFrame(table).T.to_string(float_format=lambda value: f"{value:.4f}", na_rep="-"))


if __name__ == "__main__":
    main()
