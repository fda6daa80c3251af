"""Streams that change their nature: progressive scores for several half-lives, beside SGD with a constant rate.

    python -m benchmarks.drift [--data-dir FOLDER] [--output FILE.csv] [--quick]

Each row is predicted before it is learnt, in the order of the stream; accuracy, or R^2 for bikes. Ours predict single
rows, by their latest weights; SGD with a constant rate and its scaler predict 20 rows, then learn them. Streams: a
concept that flips four times; one that turns slowly; a third of the columns in other units from the middle on; bikes by
the hour, Bank and Covertype in the order of their files. ``-`` where a learner diverges.

River's linear models, where River is installed, predict and learn single rows: behind its StandardScaler; behind one
that fades with a half-life of 1,000 rows; and, for classes, begun anew where ADWIN, a window that adapts to changes of
the accuracy, tells of one. Several classes are learnt one against the rest.
"""

import importlib.util
import warnings

import numpy as np
import pandas as pd
from sklearn.linear_model import SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import progressive_validation

from .data import FILES, load_each, parse

MOST = 100_000
HALF_LIVES = (None, 10_000, 3_000, 1_000, 300, 100)


def labels(X, w, rng):
    """Classes by a linear function and noise."""
    return (np.sum(X * w, axis=1) + rng.logistic(size=len(X)) > 0).astype(int)


def made_up(n):
    """Streams with a known change."""
    rng = np.random.default_rng(0)
    X, w = rng.normal(size=(n, 10)), 2.0 * rng.normal(size=10)
    signs = np.where(np.arange(n) // (n // 5) % 2, -1.0, 1.0)
    yield "flips", X, labels(X, signs[:, None] * w, rng)
    angle, other = np.linspace(0.0, 2.0 * np.pi, n)[:, None], 2.0 * rng.normal(size=10)
    yield "turns", X, labels(X, np.cos(angle) * w + np.sin(angle) * other, rng)
    y = labels(X, w, rng)
    units = X.copy()
    units[n // 2 :, ::3] *= 1000.0
    yield "units", units, y


def learners(regression):
    """Learners by name."""
    ours, theirs = (NAGRegressor, SGDRegressor) if regression else (NAGClassifier, SGDClassifier)
    peer = {"learning_rate": "constant", "random_state": 0}
    for half_life in HALF_LIVES:
        yield f"half_life={half_life}", ours(half_life=half_life), 1
    yield "half_life=1000, eta0='auto'", ours(half_life=1000, eta0="auto"), 1
    for eta0 in (0.001, 0.01, 0.1):
        loss = {} if regression else {"loss": "log_loss"}
        yield f"scaled SGD, eta0={eta0}", make_pipeline(StandardScaler(), theirs(eta0=eta0, **loss, **peer)), 20


def of_river(n_classes):
    """River's models by name, for so many classes; for regression where there are none."""
    from river import drift, linear_model, multiclass, optim, preprocessing

    def linear(eta0):
        if not n_classes:
            return linear_model.LinearRegression(optim.SGD(eta0))
        model = linear_model.LogisticRegression(optim.SGD(eta0))
        return model if n_classes == 2 else multiclass.OneVsRestClassifier(model)

    fading = 1.0 - 0.5 ** (1.0 / 1000.0)
    for eta0 in (0.01, 0.1):
        yield f"River, eta0={eta0}", preprocessing.StandardScaler() | linear(eta0)
        scaler = preprocessing.AdaptiveStandardScaler(fading_factor=fading)
        yield f"River, fading scaler, eta0={eta0}", scaler | linear(eta0)
    if n_classes:
        model = drift.DriftRetrainingClassifier(linear(0.1), drift.ADWIN(), train_in_background=False)
        yield "River, ADWIN, eta0=0.1", preprocessing.StandardScaler() | model


def river_score(model, X, y, regression):
    """Progressive accuracy or R^2 of one of River's models; NaN where it leaves the range of numbers."""
    answers = np.zeros(len(y), dtype=y.dtype)
    try:
        for i, (row, target) in enumerate(zip(X.tolist(), y.tolist())):
            row = dict(enumerate(row))
            if (answer := model.predict_one(row)) is not None:  # before the first row
                answers[i] = answer
            model.learn_one(row, target)
        return (r2_score if regression else accuracy_score)(y, answers)
    except (ValueError, OverflowError):
        return np.nan


def main():
    """Print the table."""
    options = parse(__doc__, "file to write the table to, as CSV", "short streams: that it runs")
    warnings.simplefilter("ignore")
    have_river, table = importlib.util.find_spec("river") is not None, {}
    if not have_river:
        print("River is left out: it is not installed")

    def score(name, X, y, regression=False):
        for learner, model, size in learners(regression):
            with np.errstate(all="ignore"):
                result = progressive_validation(
                    model, X, y, batch_size=size, classes=None if regression else np.unique(y)
                )
            table.setdefault(learner, {})[name] = result.score if result.score > -9.0 else np.nan
        classes = [] if regression else np.unique(y)
        for learner, model in of_river(len(classes)) if have_river else ():
            targets = y if regression else np.searchsorted(classes, y)
            if len(classes) == 2:
                targets = targets.astype(bool)
            value = river_score(model, X, targets, regression)
            table.setdefault(learner, {})[name] = value if value > -9.0 else np.nan
        frame = pd.DataFrame(table).T.rename_axis("learner")
        if options.output is not None:
            frame.to_csv(options.output, float_format="%.4f", na_rep="-")
        return frame

    for stream in made_up(1_000 if options.quick else 20_000):
        frame = score(*stream)
    if options.data_dir is not None:
        files = {name: FILES[name] for name in ("bike sharing", "Bank", "Covertype")}
        for name, X, y, regression in load_each(files, options.data_dir):
            frame = score(name, X[:MOST], y[:MOST], regression)
    print(frame.to_string(float_format=lambda value: f"{value:.4f}", na_rep="-"))


if __name__ == "__main__":
    main()
