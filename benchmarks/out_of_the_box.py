"""Raw data, default parameters: NAGClassifier and NAGRegressor compared with their peers.

    python -m benchmarks.out_of_the_box [--data-dir FOLDER] [--output FOLDER] [--quick]

Rows are shuffled once and 30 % are held out; small sets are shuffled ten times, and means are shown. Scores are
accuracies, or R^2 for regression. Without ``--data-dir``, only data that ship with scikit-learn are used. Vowpal Wabbit
and River are left out if they are not installed.

* ``batch``: Ridge or LogisticRegression on standardised features;
* ``SGD raw``, ``scaled``, ``tuned``: scikit-learn's SGD, with defaults on raw and on standardised features, and on
  standardised ones with alpha, eta0, schedule and loss chosen by cross-validation on at most 20,000 rows;
* ``VW``: Vowpal Wabbit, one pass with its defaults and the logistic loss for classes;
* ``River``: its online StandardScaler and linear model, one pass (over at most 50,000 rows).

In a mixed frame, numbers are standardised, and one-hot columns are left as they are. Other sparse rows, of text and of
one-hot columns, are divided by deviations but not centred, or left as they are if ``SGD tuned`` finds that better.
River is left out for all of these, because each row would be a dictionary of thousands of zeros. Fits of scikit-learn
that have not converged are named.

``auto / best`` is the progressive loss of eta0="auto" divided by that of its best single learning rate; ``ECE`` is the
expected calibration error, in ten bins, of the default fit for two classes.
"""

import importlib.util
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier, SGDRegressor
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.estimators._nag import ETA0S

from .data import BUNDLED, FILES, SPARSE, TEXT, parse
from .options import load_each
from .text import mixed_rows, scaled_numbers

SMALL, TUNED_ON, RIVER_ROWS = 3_000, 20_000, 50_000


def timed(estimator, X, y):
    """Return the fitted estimator and the seconds it took."""
    start = time.perf_counter()
    estimator.fit(X, y)
    return estimator, time.perf_counter() - start


def grid(regression):
    """Return the parameters for tuning SGD."""
    schedules = [
        {"learning_rate": ["constant"], "eta0": [1e-3, 1e-2]},
        {"learning_rate": ["invscaling"], "eta0": [1e-2, 1e-1]},
        {"learning_rate": ["adaptive"], "eta0": [1e-2, 1e-1, 1.0]},
    ]
    common = {"alpha": [1e-6, 1e-5, 1e-4, 1e-3, 1e-2]}
    if not regression:
        schedules.append({"learning_rate": ["optimal"]})
        common["loss"] = ["log_loss", "hinge"]
    return [{**common, **schedule} for schedule in schedules]


def calibration_error(probability, y):
    """Return the expected calibration error over ten bins of equal width."""
    bins = np.minimum((probability * 10).astype(int), 9)
    gaps = [abs(np.sum(y[bins == b]) - np.sum(probability[bins == b])) for b in range(10)]
    return sum(gaps) / len(y)


def own(X, X_test, y, y_test, regression, seed):
    """Return scores, seconds and diagnostics of the estimators of this package."""
    make = NAGRegressor if regression else NAGClassifier
    row = {}
    for name, options in {
        "one pass": {"max_iter": 1},
        "fit": {},
        "auto, one pass": {"max_iter": 1, "eta0": "auto"},
        "auto": {"eta0": "auto"},
    }.items():
        model, row[f"{name} s"] = timed(make(random_state=seed, **options), X, y)
        row[name] = model.score(X_test, y_test)
        if name == "auto, one pass":
            single = [make(random_state=seed, max_iter=1, eta0=eta0).fit(X, y).progressive_loss_ for eta0 in ETA0S]
            row["auto / best"] = model.progressive_loss_ / min(single)
        if name == "fit" and not regression and len(model.classes_) == 2:
            row["ECE"] = calibration_error(model.predict_proba(X_test)[:, 1], y_test == model.classes_[1])
    return row


def peers(X, X_test, y, y_test, scaler, regression, seed, quick):
    """Return scores and seconds of scikit-learn's estimators, behind a scaler except for ``raw``."""
    sgd = SGDRegressor if regression else SGDClassifier
    options = {} if regression else {"loss": "log_loss"}
    batch = Ridge() if regression else LogisticRegression(max_iter=300)
    row = {}

    def add(name, estimator):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            model, row[f"{name} s"] = timed(estimator, X, y)
        row[name] = model.score(X_test, y_test)
        if any(issubclass(warning.category, ConvergenceWarning) for warning in caught):
            print(f"{name} has not converged on the next set")

    add("batch", make_pipeline(scaler, batch))
    add("SGD raw", sgd(random_state=seed, **options))
    add("SGD scaled", make_pipeline(scaler, sgd(random_state=seed, **options)))
    if not quick:
        some = np.random.default_rng(seed).permutation(len(y))[:TUNED_ON]
        pipeline = Pipeline([("scaler", scaler), ("sgd", sgd(random_state=seed, max_iter=50))])
        named = [{f"sgd__{key}": values for key, values in part.items()} for part in grid(regression)]
        if sparse.issparse(X):
            named = [{"scaler": [scaler, "passthrough"], **part} for part in named]
        start = time.perf_counter()
        search = GridSearchCV(pipeline, named, cv=3, n_jobs=2, refit=False).fit(X[some], y[some])
        tuning = time.perf_counter() - start
        add("SGD tuned", pipeline.set_params(**search.best_params_))
        row["SGD tuned s"] += tuning
    return row


def vowpal(X, X_test, y, y_test, regression):
    """Return the score and seconds of Vowpal Wabbit, including parsing, in a process of its own."""
    classes = np.unique(y)
    if regression:
        labels, arguments = [f"{v:g}" for v in y], ""
    elif len(classes) == 2:
        labels, arguments = np.where(y == classes[1], "1", "-1"), "--loss_function logistic"
    else:
        labels = (np.searchsorted(classes, y) + 1).astype(str)
        arguments = f"--oaa {len(classes)} --loss_function logistic"

    def write(path, rows, labels):
        with path.open("w") as file:
            rows = sparse.csr_array(rows)
            for label, start, stop in zip(labels, rows.indptr[:-1], rows.indptr[1:]):
                entries = zip(rows.indices[start:stop], rows.data[start:stop])
                file.write(f"{label} | " + " ".join(f"{i}:{value:.9g}" for i, value in entries) + "\n")

    def run(*options):
        code = "import sys; from vowpalwabbit import pyvw; pyvw.Workspace(sys.argv[1]).finish()"
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code, " ".join(map(str, ("--quiet", *options)))], check=True)
        return time.perf_counter() - start

    with tempfile.TemporaryDirectory() as folder:
        train, test, model, out = (Path(folder) / name for name in ("train", "test", "model", "out"))
        write(train, X, labels)
        write(test, X_test, np.full(X_test.shape[0], "1"))
        seconds = run(arguments, "-d", train, "-f", model)
        run("-t", "-i", model, "-d", test, "-p", out)
        predicted = np.array([float(line.split()[0]) for line in out.read_text().splitlines()])
    if regression:
        return {"VW": r2_score(y_test, predicted), "VW s": seconds}
    codes = (predicted > 0).astype(int) if len(classes) == 2 else predicted.astype(int) - 1
    return {"VW": accuracy_score(y_test, classes[codes]), "VW s": seconds}


def river(X, X_test, y, y_test, regression):
    """Return the score and seconds of River."""
    from river import linear_model, multiclass, preprocessing

    X, y = X[:RIVER_ROWS], y[:RIVER_ROWS]
    classes = np.unique(y)
    if regression:
        last = linear_model.LinearRegression()
    elif len(classes) == 2:
        last = linear_model.LogisticRegression()
    else:
        last = multiclass.OneVsRestClassifier(linear_model.LogisticRegression())
    model = preprocessing.StandardScaler() | last
    start = time.perf_counter()
    for x, target in zip(X.tolist(), y.tolist()):
        model.learn_one(dict(enumerate(x)), bool(target == classes[1]) if len(classes) == 2 else target)
    seconds = time.perf_counter() - start
    predicted = [model.predict_one(dict(enumerate(x))) for x in X_test[:RIVER_ROWS].tolist()]
    y_test = y_test[:RIVER_ROWS]
    if regression:
        return {"River": r2_score(y_test, predicted), "River s": seconds}
    if len(classes) == 2:
        predicted = np.where(predicted, classes[1], classes[0])
    return {"River": accuracy_score(y_test, predicted), "River s": seconds}


def write(table, folder):
    """Write the scores and diagnostics to one file, and the seconds to another."""
    folder.mkdir(parents=True, exist_ok=True)
    seconds = [name for name in table if name.endswith(" s")]
    names = ["one pass", "fit", "auto, one pass", "auto", "batch", "SGD raw", "SGD scaled", "SGD tuned", "VW", "River"]
    scores = table[[name for name in (*names, "auto / best", "ECE") if name in table]]
    short = scores.map(lambda v: "-" if np.isnan(v) else f"{v:.4f}" if abs(v) < 100 else f"{v:.0e}")
    short.to_csv(folder / "scores.csv")
    table[seconds].rename(columns=lambda name: name.removesuffix(" s")).map("{:.3g}".format).to_csv(
        folder / "seconds.csv"
    )


def main():
    """Print the table, a data set at a time."""
    options = parse(
        __doc__, "folder to write scores.csv and seconds.csv to", "bundled data once, without tuning: that it runs"
    )
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", RuntimeWarning)
    table = []
    sets = {**BUNDLED, "mixed frame": mixed_rows}
    sets |= {} if options.data_dir is None else {**FILES, **SPARSE, **TEXT}
    for name, X, y, regression in load_each(sets, options.data_dir):
        rows = []
        scaler = scaled_numbers() if name == "mixed frame" else StandardScaler(with_mean=not sparse.issparse(X))
        for seed in range(10 if len(y) < SMALL and not options.quick else 1):
            split = train_test_split(X, y, test_size=0.3, random_state=seed)
            row = {**own(*split, regression, seed), **peers(*split, scaler, regression, seed, options.quick)}
            for package, compare in {"vowpalwabbit": vowpal, "river": river}.items():
                skipped = package == "river" and sparse.issparse(X)
                if importlib.util.find_spec(package) is not None and not skipped:
                    row |= compare(*split, regression)
            rows.append(row)
        table.append({"data": name, **pd.DataFrame(rows).mean().to_dict()})
        print(name, *(f"  {key:16} {value:.4f}" for key, value in list(table[-1].items())[1:]), sep="\n", flush=True)
        if options.output is not None:
            write(pd.DataFrame(table).set_index("data"), options.output)


if __name__ == "__main__":
    main()
