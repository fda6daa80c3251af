"""Data, streams and plain Python that several test files share."""

import itertools

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

ETA0S = [0.03, 0.3, 3.0]


def shuffled(X, y):
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


CANCER = shuffled(*load_breast_cancer(return_X_y=True))
WINE = shuffled(*load_wine(return_X_y=True))
DIABETES = shuffled(*load_diabetes(return_X_y=True, scaled=False))
TWO_OUTPUTS = DIABETES[0], np.column_stack([DIABETES[1], DIABETES[0][:, 3]])
# Without scales, means and averages, predicting and learning in turn is what the kernel does.
PLAIN = {"normalization": None, "centering": False, "average": False}


def cut(X, y, *sizes, weight=None):
    stops = np.cumsum([0, *sizes, len(y) - sum(sizes)])
    for i, j in itertools.pairwise(stops):
        yield (X[i:j], y[i:j]) if weight is None else (X[i:j], y[i:j], weight[i:j])


def in_turn(estimator, X, y, method="predict", batch_size=1, delay=0, weight=None, **options):
    """Predictions once something has been learnt, by predicting and learning in turn, in plain Python."""
    estimator, played, learnt = clone(estimator), [], 0
    for start in range(0, len(y), batch_size):
        stop = min(start + batch_size, len(y))
        if learnt:
            played.append(getattr(estimator, method)(X[start:stop]))
        until = max(stop - delay, learnt)
        if until > learnt:
            extra = {} if weight is None else {"sample_weight": weight[learnt:until]}
            estimator.partial_fit(X[learnt:until], y[learnt:until], **(options if learnt == 0 else {}), **extra)
            learnt = until
    return np.concatenate(played)
