"""Data and models that the tests of several estimators share."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import train_test_split

from sklearn_nag import losses

from ..kernels.helpers import flat

CLASSIFICATION = list(losses.CLASSIFICATION)
REGRESSION = list(losses.REGRESSION)
PLAIN = {"centering": False, "importance_aware": False, "target_normalization": None, "clip": None}

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)
ONES = np.ones(30)


def bits(estimator):
    return flat(estimator._state)


def split(load, **options):
    X, y = load(return_X_y=True, **options)
    return train_test_split(X, y, random_state=0)


def played(estimator, X, y, **options):
    """Progressive losses of a new model, which learns one row at a time."""
    out = []
    for i in range(len(X)):
        before = estimator._state.loss.copy() if hasattr(estimator, "_state") else 0.0
        estimator.partial_fit(X[i : i + 1], y[i : i + 1], **(options if i == 0 else {}))
        out.append(estimator._state.loss - before)
    return np.array(out)


def first_call(estimator):
    extra = {"classes": [0, 1]} if is_classifier(estimator) else {}
    return estimator.partial_fit(X, Y, sample_weight=ONES, **extra)
