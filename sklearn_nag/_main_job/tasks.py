"""What there is to learn: a table of features and a target, and what is done to it before a learner takes it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.preprocessing import FunctionTransformer, StandardScaler


class Task(NamedTuple):
    """A data set, and transformers that make rows of numbers of it, as they are and standardised.

    Parameters
    ----------
    name : str
        Title of its table and panel.
    X : ndarray or DataFrame of shape (n_samples, n_features)
        Features.
    y : ndarray of shape (n_samples,)
        Classes, or quantities.
    is_classification : bool
        Which of them.
    raw, scaled : transformer
        What comes before a learner that takes features in their own units, and before one that needs them scaled.
    """

    name: str
    X: object
    y: np.ndarray
    is_classification: bool
    raw: object = FunctionTransformer()
    scaled: object = StandardScaler()

    @property
    def error(self):
        """What errors are called."""
        return "1 - accuracy" if self.is_classification else "1 - R²"


def bundled_tasks():
    """The data sets that ship with scikit-learn, in raw units."""
    loaders = {"breast cancer": load_breast_cancer, "wine": load_wine, "digits": load_digits}
    tasks = [Task(name, *load(return_X_y=True), True) for name, load in loaders.items()]
    return [*tasks, Task("diabetes", *load_diabetes(return_X_y=True, scaled=False), False)]
