"""A row of weight k compared with k rows, for importance-aware and for explicit steps.

    python -m benchmarks.importance [--repeats 200]

A model learns half of a data set that ships with scikit-learn. Then it learns a row of the other half, with another
row's target, once with weight k, or k times. The table shows the median distance between the two predictions for that
row, in standard deviations of the target, or in decision values for two classes.
"""

import copy

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

from sklearn_nag import NAGClassifier, NAGRegressor

from .options import count, parser_of

TASKS = {
    "diabetes, squared error": (NAGRegressor(), load_diabetes),
    "diabetes, absolute error": (NAGRegressor("absolute_error"), load_diabetes),
    "breast cancer, log loss": (NAGClassifier(), load_breast_cancer),
    "breast cancer, hinge": (NAGClassifier("hinge"), load_breast_cancer),
}


def distance(model, X, y, i, target, k):
    """Return how far apart the two predictions for a row are."""
    x, decide = X[i : i + 1], "decision_function" if isinstance(model, NAGClassifier) else "predict"
    once = copy.deepcopy(model).partial_fit(x, [target], sample_weight=[k])
    often = copy.deepcopy(model).partial_fit(np.repeat(x, k, axis=0), np.full(k, target))
    return abs(getattr(once, decide)(x)[0] - getattr(often, decide)(x)[0])


def main():
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--repeats", type=count, default=200, help="rows for each weight (%(default)s)")
    repeats = parser.parse_args().repeats
    print(f"{'task':26} {'k':>3} {'importance-aware':>17} {'explicit':>9} {'ratio':>7}")
    for name, (estimator, load) in TASKS.items():
        X, y = load(return_X_y=True)
        unit = y.std() if load is load_diabetes else 1.0
        rng = np.random.default_rng(0)
        order = rng.permutation(len(y))
        half = len(y) // 2
        rows, others = order[:half], rng.choice(order[half:], (repeats, 2))
        for k in (2, 5, 20):
            medians = []
            for careful in (True, False):
                model = copy.deepcopy(estimator).set_params(importance_aware=careful, average=False)
                options = {"classes": [0, 1]} if load is load_breast_cancer else {}
                model.partial_fit(X[rows], y[rows], **options)
                medians.append(np.median([distance(model, X, y, i, y[j], k) for i, j in others]) / unit)
            ratio = medians[0] / medians[1] if medians[1] > 0 else np.nan
            print(f"{name:26} {k:3} {medians[0]:17.4f} {medians[1]:9.4f} {ratio:7.3f}", flush=True)


if __name__ == "__main__":
    main()
