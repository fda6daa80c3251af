"""Loss and score of shards that are merged, beside one model over the same rows.

For each data set, 70 % of the rows are learnt in one pass, in raw units, by one model and by shards that are merged at
the end of every round, with weights averaged by ``t`` and by ``G``. Shown are the loss (log loss; mean squared error)
on the other rows, relative to that of one model, and the difference of the score (accuracy; R²). The last lines have
the rows sorted by the target, so that shards see different worlds.

    python -m benchmarks.shards --data-dir FOLDER
"""

import functools
import time

import numpy as np
from sklearn.base import clone
from sklearn.metrics import log_loss

from benchmarks.data import BUNDLED, FILES, load_each, parse
from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.distributed import shard_fit
from sklearn_nag.kernels.nag import merging

SETS = ("California housing", "Bank", "Census", "Covertype")
PLANS = ((16, 1), (16, 4), (256, 1), (256, 8))
MERGE = merging.merge


def judged(model, X, y, is_regression):
    """Loss and score."""
    loss = np.mean((model.predict(X) - y) ** 2) if is_regression else log_loss(y, model.predict_proba(X))
    return loss, model.score(X, y)


def compare(name, X, y, is_regression, order, plans):
    """Print a table for one data set."""
    rng = np.random.default_rng(0)
    held_out = np.zeros(len(y), bool)
    held_out[rng.permutation(len(y))[: int(0.3 * len(y))]] = True
    train = order[~held_out[order]]
    X, y, X_test, y_test = X[train], y[train], X[held_out], y[held_out]
    estimator = NAGRegressor() if is_regression else NAGClassifier()
    classes = {} if is_regression else {"classes": np.unique(y)}
    loss, score = judged(clone(estimator).partial_fit(X, y, **classes), X_test, y_test, is_regression)
    print(f"\n{name}: {len(y)} rows, one model: loss {loss:.5g}, score {score:.4f}")
    print(f"  {'shards x rounds':16} {'by t: loss':>12} {'score':>9} {'by G: loss':>12} {'score':>9} {'seconds':>8}")
    for n_shards, rounds in plans:
        cells = []
        for by in ("t", "G"):
            merging.merge = functools.partial(MERGE, by=by)
            start = time.perf_counter()
            model = shard_fit(estimator, X, y, n_shards=n_shards, rounds=rounds, n_jobs=2, **classes)
            seconds = time.perf_counter() - start
            ours = judged(model, X_test, y_test, is_regression)
            cells += [f"{100 * (ours[0] / loss - 1):+11.2f}%", f"{ours[1] - score:+9.4f}"]
        merging.merge = MERGE
        print(f"  {f'{n_shards} x {rounds}':16} {' '.join(cells)} {seconds:8.1f}", flush=True)


def main():
    """Print the tables."""
    options = parse(__doc__, "ignored", "bundled data and few shards alone")
    plans = PLANS[:2] if options.quick else PLANS
    if options.quick or options.data_dir is None:
        tasks = {name: BUNDLED[name] for name in ("breast cancer", "diabetes")}
    else:
        tasks = {name: FILES[name] for name in SETS}
    for name, X, y, is_regression in load_each(tasks, options.data_dir):
        order = np.random.default_rng(1).permutation(len(y))
        compare(f"{name}, shuffled", X, y, is_regression, order, plans)
        if name in ("Bank", "California housing", "diabetes"):
            compare(f"{name}, sorted by target", X, y, is_regression, np.argsort(y, kind="stable"), plans)


if __name__ == "__main__":
    main()
