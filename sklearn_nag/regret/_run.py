"""Record of a learner's predictions, row by row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import check_X_y

from .. import losses
from ..estimators._online import OnlineLinear
from ..estimators._validation import as_numpy, as_targets, check_labels, classes_of


@dataclass
class Run:
    """Rows, targets, and the predictions that a learner made for them.

    Parameters
    ----------
    X : ndarray of shape (..., n_rows, n_features)
        Rows, in the order in which they came.
    y : ndarray of shape (..., n_rows)
        Targets; -1 and 1 for classes.
    predictions : ndarray of shape (..., n_rows)
        Predictions or decision values, made before each row was learnt.
    loss : Loss
        The loss of the predictions: an instance of a class in `sklearn_nag.losses.CLASSIFICATION` or ``REGRESSION``.

    See Also
    --------
    record : Record the run of a learner.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.losses import AbsoluteError
    >>> from sklearn_nag.regret import Run
    >>> run = Run(np.array([[1.0], [2.0]]), np.array([1.0, 2.0]), np.zeros(2), AbsoluteError())
    >>> run.regret([1.0])
    array([1., 3.])
    """

    X: np.ndarray
    y: np.ndarray
    predictions: np.ndarray
    loss: losses.Loss

    @property
    def losses(self) -> np.ndarray:
        """Loss of each row."""
        return self.loss.value(self.predictions, self.y)

    @property
    def gradients(self) -> np.ndarray:
        """Derivative of the loss with respect to the prediction, for each row."""
        return self.loss.gradient(self.predictions, self.y)

    @property
    def mistakes(self) -> np.ndarray:
        """Whether the sign of the prediction differs from that of the target, for each row; 0 counts as a mistake."""
        return self.predictions * self.y <= 0

    def loss_of(self, u: ArrayLike) -> np.ndarray:
        """Loss of fixed weights on each row.

        Parameters
        ----------
        u : array-like of shape (..., n_features)
            Weights.

        Returns
        -------
        ndarray of shape (..., n_rows)
            Losses.
        """
        p = dot(self.X, u)  # fixed weights always predict; `losses.NOTHING` would have no loss
        return self.loss.value(np.maximum(p, losses.ZERO) if self.loss.log_link else p, self.y)

    def regret(self, u: ArrayLike) -> np.ndarray:
        """Total loss up to each row, minus that of fixed weights.

        Parameters
        ----------
        u : array-like of shape (..., n_features)
            Weights.

        Returns
        -------
        ndarray of shape (..., n_rows)
            Regret.
        """
        return np.cumsum(self.losses - self.loss_of(u), axis=-1)


def of_columns(X, u):
    """``u`` as an array; raise unless it has a weight for each column."""
    u = np.asarray(u, dtype=np.float64)
    if u.shape[-1:] != X.shape[-1:]:
        raise ValueError(
            f"u must have one weight for each of {X.shape[-1]} columns, including the intercept if there is one; it "
            f"has shape {u.shape}."
        )
    return u


def dot(X, u):
    """Product of each row with ``u``, of shape (..., n_rows)."""
    return np.einsum("...td,...d->...t", X, of_columns(X, u))


def record(estimator: BaseEstimator, X: ArrayLike, y: ArrayLike) -> Run:
    """Let a learner of this package learn rows in order, and record its predictions.

    Parameters
    ----------
    estimator : estimator
        Classifier for two classes, or regressor, of this package. It is cloned, and the clone learns from scratch.
    X : array-like of shape (n_rows, n_features)
        Rows.
    y : array-like of shape (n_rows,)
        Targets.

    Returns
    -------
    Run
        The recorded run. For an intercept, its ``X`` has a last column of ones. The targets of a classifier are -1 and
        1.

    Raises
    ------
    TypeError
        If the estimator is not a linear learner of this package.
    ValueError
        If a classifier does not get exactly two classes, if a loss has an ``epsilon`` in standard deviations of the
        target, which needs ``target_normalization=None``, or if the estimator refuses the input.

    See Also
    --------
    best_in_hindsight : Weights to compare with.

    Notes
    -----
    Each prediction is made before its row is learnt. Predictions of regressors are limited to the range that ``clip``
    allows. With ``clip=None`` and ``target_normalization``, they are limited to the range of the targets so far,
    widened by its own width. With ``target_normalization`` and an intercept, the first row counts as predicted without
    loss, because its target serves as the prediction.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import ScaleInvariantClassifier
    >>> from sklearn_nag.regret import record
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> run = record(ScaleInvariantClassifier(), X, y)
    >>> run.X.shape, bool(run.losses.sum() < 100)
    ((569, 31), True)
    """
    if not isinstance(estimator, OnlineLinear):
        raise TypeError(f"record needs a linear learner of this package; got {type(estimator).__name__}.")
    learner = clone(estimator)
    X, y = as_numpy(X, "X"), as_targets(y)
    rows, labels = check_X_y(X, y, dtype=np.float64, y_numeric=not is_classifier(learner))
    if is_classifier(learner):
        classes = classes_of(check_labels(labels))
        if len(classes) != 2:
            raise ValueError(f"record needs two classes; got {len(classes)}.")
        targets = np.where(labels == classes[1], 1.0, -1.0)
        decision = learner._play(rows, labels, classes=classes, latest=True)
    else:
        targets = np.asarray(labels, dtype=np.float64)
        has_unit = learner.target_normalization is not None
        if has_unit and "epsilon" in learner._loss().parameters:
            raise ValueError(
                f"the epsilon of loss={learner._loss().name!r} is in standard deviations of the target, which are "
                "learnt; record needs target_normalization=None for it."
            )
        decision = learner._play(rows, labels, latest=True)
        if learner._target_unit and learner._loss().log_link:  # rows before which no target was above 0
            decision[np.cumsum(targets > 0) <= (targets > 0)] = losses.NOTHING
        elif learner._target_unit and learner.fit_intercept:
            decision[0] = targets[0]
    if learner.fit_intercept:
        rows = np.column_stack([rows, np.ones(len(rows))])
    return Run(rows, targets, decision[:, 0], learner._loss())
