"""Classifier targets other than single classes: class probabilities, and several labels at once.

A model of classes has one-dimensional ``classes_``, and takes classes or probabilities. A model of several labels has
a row ``[0, 1]`` of ``classes_`` per label. How a model began decides its kind, not the latest targets.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassifierMixin

from ._parameters import shown
from ._validation import as_labels, as_targets, check_labels, classes_of

NEITHER = "several labels must be zeros and ones, and class probabilities must add up to 1 in each row"


def has_columns(y):
    """Whether ``y``, of any type, is two-dimensional with several columns."""
    try:
        shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
    except ValueError:  # lists of unequal lengths
        return False
    return len(shape) == 2 and shape[1] > 1


def are_labels(classes):
    """Whether these ``classes_`` are of a model of several labels."""
    return classes.ndim == 2


def classes_of_labels(n_labels):
    return np.tile([0, 1], (n_labels, 1))


def classes_named(classes):
    """``classes_`` of a model of several labels if ``classes`` has a pair for each; otherwise None."""
    if not has_columns(classes):
        return None
    pairs = np.asarray(classes)
    if not (pairs.shape[1] == 2 and len(pairs) > 1 and np.array_equal(pairs, classes_of_labels(len(pairs)))):
        raise ValueError(f"classes of several labels are [0, 1] for each of two labels or more; got {shown(classes)}.")
    return classes_of_labels(len(pairs))


def classes_of_stream(y):
    """``classes_`` of a model of several labels if ``y`` has these; otherwise None."""
    if not has_columns(y):
        return None
    classes = classes_of_matrix(as_matrix(y))
    return classes if are_labels(classes) else None


def classes_of_matrix(y):
    """``classes_`` of a new model, from all targets as a checked matrix."""
    if ((y == 0.0) | (y == 1.0)).all():
        return classes_of_labels(y.shape[1])
    checked_probabilities(y, y.shape[1])
    return np.arange(y.shape[1])


def classes_in(y):
    """All classes in ``y``, in the form of a model's ``classes_``."""
    y = dense(y)
    if has_columns(y):
        return classes_of_matrix(as_matrix(y))
    y = as_labels(y, "y")
    return np.arange(2) if are_shares(y) else classes_of(check_labels(y))


class ScoresLabels(ClassifierMixin):
    """`ClassifierMixin` whose ``score`` takes all labels that `as_labels` does."""

    def score(self, X, y, sample_weight=None):
        y = dense(y)
        return super().score(X, as_matrix(y) if has_columns(y) else as_labels(y, "y"), sample_weight)

    score.__doc__ = ClassifierMixin.score.__doc__


def check_one_class_a_row(y, owner):
    """Raise unless ``y``, of any type, has one column of possible classes."""
    if has_columns(y) or are_shares(dense(y)):
        raise ValueError(
            f"{owner} takes one class per row; y has {'several columns' if has_columns(y) else 'shares of a class'}. "
            "NAGClassifier, FTRLClassifier and ScaleInvariantClassifier also take several labels and probabilities."
        )


def dense(y: Any) -> np.ndarray:
    """Targets of any type as an array."""
    return y.toarray() if sparse.issparse(y) else np.asarray(as_targets(y))


def as_matrix(y):
    """Two-dimensional targets, dense or sparse, as an array of floats."""
    y = dense(y)
    y = np.asarray(as_labels(y, "y").tolist()) if y.dtype == object else y
    if y.dtype.kind not in "biuf":
        raise ValueError(f"y has shape {y.shape} and values that are not numbers: {NEITHER}.")
    return y.astype(np.float64) if y.dtype.kind in "biu" else y


def _check_shares(y, what):
    """Raise for the first value that is not between 0 and 1."""
    wrong = ~((y >= 0.0) & (y <= 1.0))
    if wrong.any():
        row, column = map(int, np.argwhere(wrong)[0])
        raise ValueError(f"y has {y[row, column]!s} in row {row}, column {column}; {what}.")


def checked_probabilities(y, n_classes):
    """Class probabilities, one row per target, scaled to add up to 1; raise if invalid."""
    if y.shape[1] != n_classes:
        raise ValueError(f"y has shape {y.shape}; probabilities of {n_classes} classes need {n_classes} columns.")
    _check_shares(y, NEITHER)
    total = y.sum(axis=1, dtype=np.float64)
    wrong = np.abs(total - 1.0) > np.sqrt(np.finfo(y.dtype).eps)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"row {row} of y adds up to {total[row]:.6g}; {NEITHER}. partial_fit begins a model of several labels "
            f"with classes=[[0, 1]] * {n_classes}."
        )
    return y / total[:, None]


def targets_of_probabilities(y, n_classes):
    """Targets of the heads, from -1 to 1: one per class or, of two classes, only for the second."""
    shares = checked_probabilities(y, n_classes)
    return 2.0 * (shares[:, 1:] if n_classes == 2 else shares) - 1.0


def targets_of_labels(y, n_labels):
    """Targets of the heads, from -1 to 1, for labels that are 0 or 1, or shares of 1."""
    if y.ndim != 2 or y.shape[1] != n_labels:
        raise ValueError(f"y has shape {y.shape}; this model was made for {n_labels} labels: (n_samples, {n_labels}).")
    _check_shares(y, "a label is 0 or 1, or the probability that it is 1")
    return 2.0 * y.astype(np.float64) - 1.0


def are_shares(y):
    """Whether one-dimensional targets are shares of the second class: some between 0 and 1, none beyond."""
    return y.dtype.kind == "f" and bool(((y >= 0.0) & (y <= 1.0)).all() and ((y > 0.0) & (y < 1.0)).any())


def targets_of_shares(y, classes):
    """Targets of the single head, from -1 to 1, for shares of the second class; classes must be 0 and 1."""
    if not (len(classes) == 2 and classes.dtype.kind in "biuf" and np.array_equal(classes, [0, 1])):
        raise ValueError(
            f"y has numbers between 0 and 1, which are probabilities of class 1 against class 0, but the classes "
            f"are {classes}: give probabilities of shape (n_samples, {len(classes)})."
        )
    return 2.0 * y.astype(np.float64)[:, None] - 1.0
