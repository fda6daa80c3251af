"""A stream that does not end: a model with a half-life learns 100,000,000 rows, and what it has learnt stays bounded.

    python -m benchmarks.endless [--rows N] [--half-life ROWS] [--columns D]

Rows are normal, in units from 1e-3 to 1e3, with logistic classes; each batch is predicted before it is learnt. The
concept flips, all signs at once, 100,000 rows before the end. For ten stretches of equal length, the script prints rows
learnt per second, accuracy, and the largest number with which rows are learnt (sums of squares, in the units of
columns). Then it prints the accuracy before the flip, on the first 10,000 rows after it, on the next 10,000, and at the
end. The same learner without a half-life runs alongside.
"""

import time

import numpy as np

from sklearn_nag import NAGClassifier

from .options import parser_of

BATCH, LAST = 100_000, 10_000


def largest_number(model):
    """Return the largest size of a number with which rows are learnt: sums over columns, in their units, and the
    clocks.
    """
    state = model._state
    kept = [state.columns.table.ravel(), [state.t, state.N]]
    return float(np.abs(np.concatenate(kept)).max())


def main():
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000, help="a multiple of a million; 1e8 by default")
    parser.add_argument("--half-life", type=float, default=1000.0, help="in rows; 1,000 by default")
    parser.add_argument("--columns", type=int, default=3, help="3 by default")
    options = parser.parse_args()
    rng, d = np.random.default_rng(0), options.columns
    unit, w = 10.0 ** np.linspace(-3, 3, d), 3.0 * rng.choice([-1.0, 1.0], d)
    models = {h: NAGClassifier(half_life=h) for h in (options.half_life, None)}

    def batch(n, sign):
        X = rng.normal(size=(n, d))
        return X * unit, (sign * (X @ w) + rng.logistic(size=n) > 0).astype(int)

    def learn(model, X, y):
        right, start = model.score(X, y), time.perf_counter()
        model.partial_fit(X, y)
        return right, time.perf_counter() - start

    n_batches = options.rows // BATCH - 1
    print("rows | " + " | ".join(f"half_life={h}: rows/s, accuracy, largest number" for h in models), flush=True)
    seconds, right = dict.fromkeys(models, 0.0), {h: [] for h in models}
    for model in models.values():
        X, y = batch(10, 1.0)
        learn(model.partial_fit(X, y, classes=[0, 1]), X, y)  # compiles
    for i in range(n_batches):
        X, y = batch(BATCH, 1.0)
        for h, model in models.items():
            accuracy, taken = learn(model, X, y)
            seconds[h] += taken
            right[h].append(accuracy)
        if (i + 1) * 10 // n_batches > i * 10 // n_batches:
            cells = [
                f"{len(right[h]) * BATCH / seconds[h]:,.0f}, {np.mean(right[h]):.4f}, {largest_number(models[h]):.3g}"
                for h in models
            ]
            print(f"{(i + 1) * BATCH:,} | " + " | ".join(cells), flush=True)
            before = {h: right[h][-1] for h in models}
            seconds, right = dict.fromkeys(models, 0.0), {h: [] for h in models}
    after = {h: [] for h in models}
    for _ in range(BATCH // LAST):
        X, y = batch(LAST, -1.0)
        for h, model in models.items():
            after[h].append(model.score(X, y))
            model.partial_fit(X, y)
    for h, model in models.items():
        first, second, *_, last = after[h]
        print(
            f"half_life={h}: accuracy {before[h]:.4f}; after the flip {first:.4f}, {second:.4f}; at the end {last:.4f}"
        )
        print(f"half_life={h}: t_={model.t_:,.0f}, weights {model.coef_[0] * unit}")


if __name__ == "__main__":
    main()
