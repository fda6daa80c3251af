"""Loss and score of shards that are merged, beside one model over the same rows.

For each data set, 70 % of the rows are learnt in one pass, in raw units, by one model and by shards that are merged at
the end of every round. Shown are the loss (log loss; mean squared error) on the other rows, relative to that of one
model, and the difference of the score (accuracy; R2), for three ways to average weights: by rows and the fourth root
of the squared gradients ``G`` (the package's own), by rows alone (t), and by ``G``, where scales are averaged by ``G``,
too, as in Vowpal Wabbit. The line of one model says, too, by how much its loss varies with the order of the rows. The
last lines have the rows sorted by the target, so that shards see different worlds.

    python -m benchmarks.shards --data-dir FOLDER --output docs/results/shards.csv
"""

import csv
import functools
import time

import numpy as np
from sklearn.base import clone
from sklearn.metrics import log_loss

from benchmarks.data import BUNDLED, FILES, SPARSE, TEXT, load_each, parse
from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.distributed import shard_fit
from sklearn_nag.kernels.nag import merging
from sklearn_nag.kernels.state.lifts import positive

SETS = ("California housing", "Bank", "Census", "Covertype", "Bank one-hot", "Reuters", "w8a", "SMS spam")
PLANS = ((4, 4), (16, 1), (16, 4), (64, 4), (256, 1), (256, 8))
SHUFFLES = 4
MERGE = merging.merge


def as_vowpal_wabbit(states, base):
    """Average weights by ``G``, and scales (root mean squares) likewise."""
    merged = MERGE(states, base, power=1.0)
    if merged is None or merged.columns.squares is None or merged.columns.G is None:
        return merged
    G = [(state.columns.G / state.gradient_lift[:, None] ** 2 / state.columns.lift**2).mean(axis=0) for state in states]
    mean = sum(part * state.scale() for part, state in zip(G, states)) / positive(sum(G)) * merged.columns.lift
    size = merged.size()
    ratio = np.where((mean > 0) & (size > 0), mean / positive(size), 1.0)
    merged.columns.squares *= ratio**2
    merged.columns.weight *= ratio
    if merged.columns.past is not None:
        merged.columns.past *= ratio
    return merged


RULES = {
    "ours": MERGE,
    "by t": functools.partial(MERGE, power=0.0),
    "by G": as_vowpal_wabbit,
}


def judged(model, X, y, is_regression):
    """Loss and score."""
    loss = np.mean((model.predict(X) - y) ** 2) if is_regression else log_loss(y, model.predict_proba(X))
    return loss, model.score(X, y)


def compare(name, X, y, is_regression, order, plans, write):
    """Print a table for one data set."""
    rng = np.random.default_rng(0)
    held_out = np.zeros(len(y), bool)
    held_out[rng.permutation(len(y))[: int(0.3 * len(y))]] = True
    train = order[~held_out[order]]
    X, y, X_test, y_test = X[train], y[train], X[held_out], y[held_out]
    estimator = NAGRegressor() if is_regression else NAGClassifier()
    classes = {} if is_regression else {"classes": np.unique(y)}

    def one(rows):
        return judged(clone(estimator).partial_fit(X[rows], y[rows], **classes), X_test, y_test, is_regression)

    loss, score = one(slice(None))
    others = [one(rng.permutation(len(y)))[0] for _ in range(SHUFFLES)]
    alone = {n: one(slice(0, max(2, len(y) // n)))[0] for n in sorted({n for n, _ in plans})}
    print(f"\n{name}: {len(y)} rows, one model: loss {loss:.5g}, score {score:.4f}; in other orders of the rows "
          f"{100 * (np.mean(others) / loss - 1):+.2f} %, sd {100 * np.std(others, ddof=1) / loss:.2f} %")  # fmt: skip
    print(
        "  one model over a part of the rows: "
        + ", ".join(f"1/{n} {100 * (alone[n] / loss - 1):+.1f} %" for n in alone)
    )
    print(f"  {'shards x rounds':16} " + " ".join(f"{rule + ': loss':>13} {'score':>8}" for rule in RULES))
    for n_shards, rounds in plans:
        cells = []
        for rule, merge in RULES.items():
            merging.merge = merge
            start = time.perf_counter()
            model = shard_fit(estimator, X, y, n_shards=n_shards, rounds=rounds, n_jobs=2, **classes)
            seconds = time.perf_counter() - start
            merging.merge = MERGE
            ours = judged(model, X_test, y_test, is_regression)
            percent = 100 * (ours[0] / loss - 1)
            cells += [f"{percent:+12.2f}%", f"{ours[1] - score:+8.4f}"]
            write([name, len(y), n_shards, rounds, rule, f"{percent:.3f}", f"{ours[1] - score:.5f}", f"{seconds:.2f}",
                   f"{100 * (alone[n_shards] / loss - 1):.3f}"])  # fmt: skip
        print(f"  {f'{n_shards} x {rounds}':16} {' '.join(cells)}", flush=True)


def main():
    """Print the tables."""
    options = parse(__doc__, "CSV file for the figures", "bundled data and few shards alone")
    plans = PLANS[:3] if options.quick else PLANS
    if options.quick or options.data_dir is None:
        tasks = {name: BUNDLED[name] for name in ("breast cancer", "diabetes")}
    else:
        tasks = {name: {**FILES, **SPARSE, **TEXT}[name] for name in SETS}
    lines = [["data", "rows", "shards", "rounds", "rule", "loss_percent", "score", "seconds", "alone_percent"]]
    for name, X, y, is_regression in load_each(tasks, options.data_dir):
        order = np.random.default_rng(1).permutation(len(y))
        compare(f"{name}, shuffled", X, y, is_regression, order, plans, lines.append)
        if name in ("Bank", "California housing", "diabetes"):
            order = np.argsort(y, kind="stable")
            compare(f"{name}, sorted by target", X, y, is_regression, order, plans, lines.append)
    if options.output:
        with open(options.output, "w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)


if __name__ == "__main__":
    main()
