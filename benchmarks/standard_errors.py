"""Standard errors: how often 90 % intervals of weights hold the truth, in simulated regressions and logistic models.

    python -m benchmarks.standard_errors [--output FILE.csv] [--quick]

Five features, correlated by 0.5 to the power of their distance; normal, or with heavy tails (Student's t with 5
degrees of freedom), and such errors. ``least squares`` are the exact intervals of
ScaleInvariantRegressor(invariance="full") with 500 rows, ``bootstrap`` those of OnlineBootstrap with as many rows and
copies as the table says, around the weights of the learner.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from scipy.special import expit, stdtrit

from sklearn_nag import NAGClassifier, NAGRegressor, OnlineBootstrap, ScaleInvariantRegressor

TRUTH = np.array([1.0, -0.5, 0.5, 0.25, 0.0])
ROOT = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5))))


def draw(rng, n, heavy, logistic):
    """Rows and targets."""
    sample = (lambda *shape: rng.standard_t(5, size=shape)) if heavy else (lambda *shape: rng.normal(size=shape))
    X = sample(n, 5) @ ROOT.T
    return X, (rng.random(n) < expit(X @ TRUTH)).astype(int) if logistic else X @ TRUTH + sample(n)


def held(model, freedom):
    """Which intervals of weights hold the truth."""
    table = model.coefficients(as_frame=False)
    return np.abs(table.weight - TRUTH) <= stdtrit(freedom, 0.95) * table.standard_error


def least_squares(X, y):
    """Exact intervals."""
    return held(ScaleInvariantRegressor(invariance="full").partial_fit(X, y), len(y) - 6)


def bootstrap(learner, n_models):
    """A function that makes intervals by the bootstrap."""

    def judged(X, y):
        boot = OnlineBootstrap(learner, n_models, n_jobs=2)
        options = {"classes": [0, 1]} if isinstance(learner, NAGClassifier) else {}
        return held(boot.partial_fit(X, y, **options), n_models - 1)

    return judged


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", help="CSV file to write the table to")
    parser.add_argument("--quick", action="store_true", help="few simulations and copies")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    n_models, n_few, n_many = (10, 20, 20) if args.quick else (200, 50, 500)
    rows = 2000 if args.quick else 10_000
    ways = [("least squares", least_squares, 500, n_many, False)]
    for average in (True,):
        name = f"bootstrap of {n_models}, average={average!r}"
        ways.append((name, bootstrap(NAGRegressor(average=average), n_models), rows, n_few, False))
        ways.append((name + ", logistic", bootstrap(NAGClassifier(average=average), n_models), rows, n_few, True))
    lines = []
    for name, judge, n, n_simulations, logistic in ways:
        for heavy in (False, True):
            rng = np.random.default_rng(0)
            found = np.array([judge(*draw(rng, n, heavy, logistic)) for _ in range(n_simulations)])
            line = {"way": name, "rows": n, "tails": "heavy" if heavy else "normal", "simulations": n_simulations}
            lines.append({**line, "held": f"{found.mean():.3f}", "least": f"{found.mean(axis=0).min():.3f}"})
            print(*lines[-1].values(), flush=True)
    if args.output:
        pd.DataFrame(lines).to_csv(args.output, index=False)


if __name__ == "__main__":
    main()
