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


def first_call(estimator):
    extra = {"classes": [0, 1]} if is_classifier(estimator) else {}
    return estimator.partial_fit(X, Y, sample_weight=ONES, **extra)
