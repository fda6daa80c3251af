"""Lines, products, curves, cells and their mixture in one pass over raw rows, compared with boosted trees on all rows.

    python -m benchmarks.beyond_lines [--data-dir FOLDER] [--output FOLDER] [--quick]

Five tables, written to ``--output`` as CSV files:

* ``beyond_lines.csv``: accuracy or R^2 on a held-out quarter of the rows; means over five splits of 20,000 rows at
  most. ``way`` is how far the mixture gets from lines (0) to boosted trees (1), if these are ahead by more than .005.
  ``fit`` is the mixture after `fit`, which finds out how many passes help.
* ``beyond_lines_log_losses.csv``: the log losses of classifiers on the same rows;
* ``beyond_lines_times.csv``: microseconds of processor time per row of that pass, including transformers, in batches of
  1,000 rows; of the mixture in one call; and of ``fit`` of boosted trees. Medians over the splits. Set
  OMP_NUM_THREADS=1, because waiting threads of boosted trees count, too.
* ``beyond_lines_maps.csv``: the same scores of regressors after increasing maps of all columns;
* ``beyond_lines_growth.csv``: microseconds per row to transform and learn Friedman's function, and the memory of the
  pickled pipeline, by rows, columns, trees and depth.

Without ``--data-dir``, the data are the sets of scikit-learn, Friedman's function, and a function of normal columns.
"""

import pickle
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss

from sklearn_nag import NAGCellsClassifier, NAGCellsRegressor, NAGClassifier, NAGRegressor
from sklearn_nag.preprocessing import OnlineCells, OnlineCurves, OnlineProducts, make_online_pipeline

from .data import BUNDLED, FILES, msd_subset, parse
from .options import load_each

MOST_ROWS = 20_000
BATCH = 1000
IN_ONE_CALL = "in one call"  # like "mixed", which scores the same in batches
FEWEST = 5  # rows of a class to learn; boosted trees need some
SAME = 0.005  # scores that differ by no more count as equal


def friedman(n_rows, n_columns=10):
    """Return rows and targets of Friedman's function; five of its columns matter."""
    return make_friedman1(n_rows, n_columns, noise=1.0, random_state=0)


def long_tails(n_rows):
    """Return rows and targets: a wave, a square and a product of normal columns, and noise of a tenth of their
    deviation.
    """
    random = np.random.default_rng(0)
    X = random.normal(size=(n_rows, 6))
    y = np.sin(3.0 * X[:, 0]) + X[:, 1] ** 2 + X[:, 2] * X[:, 3]
    return X, y + 0.1 * y.std() * random.normal(size=n_rows)


def learners(is_regression, seed):
    """Return learners by name; boosted trees come last."""
    line = NAGRegressor if is_regression else NAGClassifier
    mixed = NAGCellsRegressor if is_regression else NAGCellsClassifier
    boosted = HistGradientBoostingRegressor if is_regression else HistGradientBoostingClassifier
    return {
        "lines": line(),
        "products": make_online_pipeline(OnlineProducts(), line()),
        "curves": make_online_pipeline(OnlineCurves(), line()),
        "cells": make_online_pipeline(OnlineCells(random_state=seed), line()),
        "mixed": mixed(random_state=seed),
        IN_ONE_CALL: mixed(random_state=seed),
        "fit": mixed(random_state=seed),
        "boosted": boosted(random_state=seed),
    }


def learn(learner, X, y, classes, batch=BATCH):
    """Learn the rows, by `fit` if there is no size of a batch; return microseconds of processor time per row."""
    start = time.process_time()
    if batch is not None and hasattr(learner, "partial_fit"):
        for i in range(0, len(y), batch):
            options = {} if classes is None else {"classes": classes}
            learner.partial_fit(X[i : i + batch], y[i : i + batch], **options)
    else:
        learner.fit(X, y)
    return (time.process_time() - start) / len(y) * 1e6


def splits(X, y, is_regression, n):
    """Yield a seed, and rows to learn and to hold out, of `MOST_ROWS` at most; classes with few rows to learn are left
    out.
    """
    for seed in range(n):
        rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
        held_out, learnt = np.split(rows, [len(rows) // 4])
        if not is_regression:
            classes, counts = np.unique(y[learnt], return_counts=True)
            held_out, learnt = (part[np.isin(y[part], classes[counts >= FEWEST])] for part in (held_out, learnt))
        yield seed, X[learnt], X[held_out], y[learnt], y[held_out]


def measure(X, y, is_regression, n_splits):
    """Return scores, log losses and microseconds per row of each learner, for each split."""
    found = []
    for seed, X_train, X_test, y_train, y_test in splits(X, y, is_regression, n_splits):
        classes = None if is_regression else np.unique(y_train)
        batches = {"fit": None, IN_ONE_CALL: len(y_train)}
        for name, learner in learners(is_regression, seed).items():
            taken = learn(learner, X_train, y_train, classes, batches.get(name, BATCH))
            loss = np.nan if is_regression else log_loss(y_test, learner.predict_proba(X_test), labels=classes)
            found.append((name, learner.score(X_test, y_test), loss, taken))
    return pd.DataFrame(found, columns=["learner", "score", "log loss", "us"])


def logarithms(X):
    """Return the logarithms of columns, from their least value on."""
    return np.log1p(X - X.min(axis=0))


def ranks(X):
    """Return the ranks within each column; equal values have equal ranks."""
    return np.stack([np.unique(x, return_inverse=True)[1] for x in X.T], axis=1).astype(float)


MAPS = {"as they are": np.asarray, "cubes": lambda X: X**3, "logarithms": logarithms, "ranks": ranks}


def mapped(name, X, y, n_splits):
    """Yield mean scores of the learners in one pass, for each map of the columns."""
    for kind, change in MAPS.items():
        scores = {}
        for seed, X_train, X_test, y_train, y_test in splits(change(X), y, True, n_splits):
            for learner, model in learners(True, seed).items():
                if learner not in (IN_ONE_CALL, "fit", "boosted"):
                    learn(model, X_train, y_train, None)
                    scores.setdefault(learner, []).append(model.score(X_test, y_test))
        yield {"data": name, "columns are": kind, **{key: round(np.mean(value), 4) for key, value in scores.items()}}


def growth(quick):
    """Return microseconds per row and megabytes of a pipeline of cells, with one thing changed at a time."""
    base = {"rows": 10_000, "columns": 10, "trees": 300, "depth": 7}
    tried = [
        base,
        *({**base, "rows": n} for n in (2_500, 40_000, 160_000)),
        *({**base, "columns": n} for n in (5, 30, 100)),
        *({**base, "trees": n} for n in (100, 1000)),
        *({**base, "depth": n} for n in (5, 10, 13)),
    ]
    found = []
    for case in tried[: 1 if quick else None]:
        X, y = friedman(case["rows"], case["columns"])
        cells = OnlineCells(n_trees=case["trees"], depth=case["depth"], random_state=0)
        pipeline = make_online_pipeline(cells, NAGRegressor())
        taken = learn(pipeline, X, y, None)
        transform = time.process_time()
        for i in range(0, len(y), BATCH):
            pipeline[0].transform(X[i : i + BATCH])
        transform = (time.process_time() - transform) / len(y) * 1e6
        size = len(pickle.dumps(pipeline)) / 2**20
        found.append(
            {**case, "us a row": round(taken, 1), "of it transform": round(transform, 1), "MB": round(size, 1)}
        )
    return found


def of_many_classes(n_classes, n_rows, seed):
    """Return the log losses after ``fit`` of the mixture and of lines alone, for classes that lines describe."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows + 3000, 5))
    y = (3.0 * X @ rng.normal(size=(5, n_classes)) + rng.gumbel(size=(len(X), n_classes))).argmax(axis=1)
    known = np.unique(y[:n_rows])
    new = n_rows + np.flatnonzero(np.isin(y[n_rows:], known))
    models = (kind(random_state=seed).fit(X[:n_rows], y[:n_rows]) for kind in (NAGCellsClassifier, NAGClassifier))
    return [log_loss(y[new], model.predict_proba(X[new]), labels=known) for model in models]


def main():
    """Print the tables."""
    options = parse(__doc__, "folder to write the CSV files to", "bundled sets, one split: that it runs")
    warnings.simplefilter("ignore")
    made = {"Friedman": friedman, "normal columns": long_tails}
    sets = BUNDLED | {name: lambda folder, make=make: (*make(MOST_ROWS), True) for name, make in made.items()}
    if options.data_dir is not None:
        sets |= {**FILES, "MSD subset": msd_subset}
    n_splits = 1 if options.quick else 5
    for is_regression in (True, False):  # so that nothing is compiled while times are taken
        X, y = friedman(2 * BATCH)
        measure(X, y if is_regression else (y > 14).astype(int), is_regression, 1)
    scores, log_losses, times, maps = [], [], [], []
    for name, X, y, is_regression in load_each(sets, options.data_dir):
        table = measure(X, y, is_regression, n_splits)
        means = table.groupby("learner", sort=False).mean().drop(IN_ONE_CALL)
        score, loss = means["score"], means["log loss"]
        ahead = score["boosted"] - score["lines"]
        way = (score["mixed"] - score["lines"]) / ahead if ahead > SAME else np.nan
        row = {"data": name, "rows": min(len(y), MOST_ROWS) * 3 // 4, "columns": X.shape[1]}
        row |= {"score": "R2" if is_regression else "accuracy", **score.round(4), "way": round(way, 2)}
        scores.append(row)
        log_losses += [] if is_regression else [{"data": name, **loss.round(4)}]
        taken = table.groupby("learner", sort=False)["us"].median()
        times.append({"data": name, "rows": row["rows"], "columns": row["columns"], **taken.round(1)})
        maps += mapped(name, X, y, n_splits) if is_regression and not options.quick else []
        print(" ".join(f"{key} {value}" for key, value in row.items()), flush=True)
        print(" ".join(f"{key} {value}" for key, value in times[-1].items()), flush=True)
    tables = {"": scores, "_log_losses": log_losses, "_times": times, "_maps": maps, "_growth": growth(options.quick)}
    for ending, rows in tables.items():
        table = pd.DataFrame(rows)
        print(f"\n{table.to_string(index=False)}")
        if options.output is not None:
            options.output.mkdir(parents=True, exist_ok=True)
            table.to_csv(options.output / f"beyond_lines{ending}.csv", index=False)
    for n_classes, n_rows in ((20, 300), (20, 1200)):
        if not options.quick:
            mixed, lines = np.mean([of_many_classes(n_classes, n_rows, seed) for seed in range(5)], axis=0)
            print(f"{n_classes} classes, {n_rows:,} rows: log loss {mixed:.3f} after fit, of lines alone {lines:.3f}")
    way = pd.DataFrame(scores)["way"].dropna()
    print(f"\nmedian of the way: {way.median():.2f}, least {way.min():.2f}")


if __name__ == "__main__":
    main()
