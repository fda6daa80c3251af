"""Loss and score of merged shards, compared with one model over the same rows.

For each data set, 70 % of the rows are learnt in one pass, in raw units, by one model and by shards that are merged at
the end of every round. The table shows the loss (log loss; mean squared error) on the other rows, relative to that of
one model, and the difference of the score (accuracy; R2), for three ways to average weights: by rows and the fourth
root of the squared gradients ``G`` (the package's own), by rows alone (t), and by ``G``, with scales averaged by ``G``,
too, as in Vowpal Wabbit. All are means over three orders of the rows, the same for one model and for shards. The line
"part" is one model over as many rows as it learns in the time that so many shards take on as many workers:
``2 / (n + 1)`` of them. "orders" is the standard deviation of one model's loss between orders of the rows. "made up,
noise" are rows from which the first run of 256 shards, and of 16, learns nothing. In the last lines, rows are sorted by
the target, or by date, so that shards see different worlds.

    python -m benchmarks.shards --data-dir FOLDER --output docs/results/shards.csv

A ``.txt`` file next to the CSV file says when, where and with what it was measured.
"""

import functools

import numpy as np
from sklearn.base import clone
from sklearn.metrics import log_loss

from benchmarks.data import BUNDLED, FILES, SPARSE, parse
from benchmarks.options import load_each
from benchmarks.provenance import provenance, write_table
from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.distributed import shard_fit
from sklearn_nag.kernels.nag import merging
from sklearn_nag.kernels.state.lifts import positive

SETS = ("California housing", "Bank", "Census", "Covertype", "bike sharing", "Bank one-hot", "Reuters")
NOISE = "made up, noise"
SORTED, BY_DATE = ("Bank", "California housing", "diabetes"), ("bike sharing",)
PLANS = ((4, 4), (16, 1), (16, 4), (64, 4), (256, 1), (256, 8))
ORDERS = 3
MERGE = merging.merge


def as_vowpal_wabbit(states, base):
    """Average weights, and scales (root mean squares), by ``G``."""
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


def made_up(folder):
    """Return rows of 50 numbers, and targets that are 99 % noise: a shard alone has too few rows to learn anything."""
    rng = np.random.default_rng(0)
    X = rng.standard_t(3, size=(30_000, 50)) * 10.0 ** rng.integers(-3, 4, 50)
    return X, X / X.std(axis=0) @ rng.normal(size=50) / np.sqrt(50) + 10.0 * rng.normal(size=len(X)), True


RULES = {
    "ours": MERGE,
    "by t": functools.partial(MERGE, power=0.0),
    "by G": as_vowpal_wabbit,
}


def judged(model, X, y, is_regression):
    """Return loss and score."""
    loss = np.mean((model.predict(X) - y) ** 2) if is_regression else log_loss(y, model.predict_proba(X))
    return loss, model.score(X, y)


def compare(name, X, y, is_regression, orders, plans):
    """Print, and return, the lines of one data set."""
    rng = np.random.default_rng(0)
    held_out = np.zeros(len(y), bool)
    held_out[rng.permutation(len(y))[: int(0.3 * len(y))]] = True
    estimator = NAGRegressor() if is_regression else NAGClassifier()
    options = {} if is_regression else {"classes": np.unique(y)}

    def mean_of(learn):
        """Return loss and score, for each of the orders."""
        return np.array([judged(learn(order[~held_out[order]]), X[held_out], y[held_out], is_regression)
                         for order in orders])  # fmt: skip

    def one(rows):
        return clone(estimator).partial_fit(X[rows], y[rows], **options)

    def part(n, rows):
        return one(rows[: max(2, 2 * len(rows) // (n + 1))])

    def shards(n, rounds, rows):
        return shard_fit(estimator, X[rows], y[rows], n_shards=n, rounds=rounds, n_jobs=2, **options)

    alone = mean_of(one)
    loss, score = alone.mean(axis=0)
    spread = f"orders {100 * np.std(alone[:, 0], ddof=1) / loss:.2f} %" if len(orders) > 1 else ""
    print(f"\n{name}: {(~held_out).sum()} rows, one model: loss {loss:.5g}, score {score:.4f} {spread}", flush=True)
    lines = []
    for rule, merge in RULES.items():
        merging.merge = merge
        found = [mean_of(functools.partial(shards, n, r)) for n, r in plans]
        merging.merge = MERGE
        lines.append([name, f"{rule}: loss", *(percent(some[:, 0].mean() / loss) for some in found)])
        lines.append([name, f"{rule}: score", *(difference(some[:, 1].mean() - score) for some in found)])
        print("\n".join("  ".join(f"{cell:>12}" for cell in line[1:]) for line in lines[-2:]), flush=True)
    parts = [mean_of(functools.partial(part, n))[:, 0].mean() for n, _ in plans]
    lines.append([name, "part: loss", *(percent(part / loss) for part in parts)])
    lines.append([name, "orders: loss", spread.removeprefix("orders "), *[""] * (len(plans) - 1)])
    print("  ".join(f"{cell:>12}" for cell in lines[-2][1:]), flush=True)
    return lines if spread else lines[:-1]


def difference(value):
    """Return a difference with its sign, except 0."""
    return f"{value:+.4f}" if abs(value) >= 0.00005 else "0.0000"


def percent(ratio):
    """Return by how much a ratio differs from 1."""
    return f"{100 * (ratio - 1):+.2f} %"


def main():
    """Print the tables."""
    options = parse(__doc__, "CSV file for the figures", "bundled data and few shards alone")
    plans = PLANS[:3] if options.quick else PLANS
    if options.quick or options.data_dir is None:
        tasks = {name: BUNDLED[name] for name in ("breast cancer", "diabetes")}
    else:
        tasks = {name: {**FILES, **SPARSE}[name] for name in SETS}
    tasks[NOISE] = made_up
    lines = [["data", "what", *(f"{n} x {r}" for n, r in plans)]]
    in_order = []
    for name, X, y, is_regression in load_each(tasks, options.data_dir):
        orders = [np.random.default_rng(seed).permutation(len(y)) for seed in range(1, ORDERS + 1)]
        lines += compare(name, X, y, is_regression, orders, plans)
        if name in SORTED:
            in_order.append((f"{name}, sorted", X, y, is_regression, [np.argsort(y, kind="stable")], plans))
        if name in BY_DATE:  # as the file has them
            in_order.append((f"{name}, by date", X, y, is_regression, [np.arange(len(y))], plans))
    for task in in_order:
        lines += compare(*task)
    print(f"\n{provenance()}")
    if options.output:
        write_table(options.output, lines)


if __name__ == "__main__":
    main()
