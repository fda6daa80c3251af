"""Standard errors: how often 90 % intervals of weights hold the truth, in simulated regressions and logistic models.

    python -m benchmarks.standard_errors [--output FILE.csv] [--quick]

Five features are correlated by 0.5 to the power of their distance. They, and the errors, are normal or have heavy tails
(Student's t with 5 degrees of freedom). Or there are 200 words, each in a row with a probability of one over its rank,
at most one half, as in text. ``least squares`` are the exact intervals of ScaleInvariantRegressor(invariance="full")
with 500 rows, ``bootstrap`` those of OnlineBootstrap with as many rows and copies as the table says, around the weights
of the learner.
"""

import warnings

import numpy as np
import pandas as pd
from scipy.special import expit, stdtrit

from sklearn_nag import NAGClassifier, NAGRegressor, OnlineBootstrap, ScaleInvariantRegressor

from .options import new_file, parser_of

TRUTH = np.array([1.0, -0.5, 0.5, 0.25, 0.0])
WORDS = np.random.default_rng(0).normal(size=200)
ROOT = np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(5), np.arange(5))))


def draw(rng, n, tails, logistic):
    """Return rows, targets and the true weights."""
    heavy = tails == "heavy"
    sample = (lambda *shape: rng.standard_t(5, size=shape)) if heavy else (lambda *shape: rng.normal(size=shape))
    X, truth = sample(n, 5) @ ROOT.T, TRUTH
    if tails == "words":
        X, truth = (rng.random((n, 200)) < 1.0 / np.maximum(np.arange(1, 201), 2)).astype(float), WORDS
    return X, (rng.random(n) < expit(X @ truth)).astype(int) if logistic else X @ truth + sample(n), truth


def held(model, truth, freedom):
    """Return which intervals of weights hold the truth."""
    table = model.coefficients(as_frame=False)
    return np.abs(table.weight - truth) <= stdtrit(freedom, 0.95) * table.standard_error


def least_squares(X, y, truth):
    """Return which exact intervals hold the truth."""
    return held(ScaleInvariantRegressor(invariance="full").partial_fit(X, y), truth, len(y) - 6)


def bootstrap(learner, n_models):
    """Return a function that makes intervals by the bootstrap and judges them."""

    def judged(X, y, truth):
        boot = OnlineBootstrap(learner, n_models, n_jobs=2)
        options = {"classes": [0, 1]} if isinstance(learner, NAGClassifier) else {}
        return held(boot.partial_fit(X, y, **options), truth, n_models - 1)

    return judged


def main():
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--output", type=new_file, help="CSV file to write the table to")
    parser.add_argument("--quick", action="store_true", help="few simulations and copies")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    n_models, n_few, n_many = (10, 20, 20) if args.quick else (200, 50, 500)
    rows = 2000 if args.quick else 10_000
    both = "normal", "heavy"
    ways = [("least squares", least_squares, 500, n_many, False, both)]
    for average, n, n_simulations, tails in (
        (True, rows, n_few, both),
        (True, 500, n_few, both[:1]),
        ("auto", rows, n_few, both[:1]),
        (True, rows, n_few // 5, ("words",)),
        ("auto", rows, n_few // 5, ("words",)),
    ):
        name = f"bootstrap of {n_models}, average={average!r}"
        for learner, more in ((NAGRegressor(average=average), ""), (NAGClassifier(average=average), ", logistic")):
            ways.append((name + more, bootstrap(learner, n_models), n, n_simulations, bool(more), tails))
    lines = []
    for name, judge, n, n_simulations, logistic, kinds in ways:
        for tails in kinds:
            rng = np.random.default_rng(0)
            found = np.array([judge(*draw(rng, n, tails, logistic)) for _ in range(n_simulations)])
            line = {"way": name, "rows": n, "tails": tails, "simulations": n_simulations}
            least = f"{found.mean(axis=0).min():.3f}" if found.shape[1] == len(TRUTH) else ""
            lines.append({**line, "held": f"{found.mean():.3f}", "least": least})
            print(*lines[-1].values(), flush=True)
    if args.output:
        pd.DataFrame(lines).to_csv(args.output, index=False)


if __name__ == "__main__":
    main()
