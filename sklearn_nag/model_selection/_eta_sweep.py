"""Learning rates compared by their progressive losses, in one pass."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from ..estimators._labels import check_one_class_a_row
from ..estimators._nag import ETA0S
from ..estimators._parameters import check_number
from ..estimators._validation import Rows
from ._judge import are_wrong, count_unscored
from ._streams import StreamPipeline, check_stream, cut_batches, flat, known_classes
from ._sweep import Sweep, check_sweep

_DECISIONS_AT_ONCE = 2**20  # most decision values in one call, over all learning rates


@dataclass
class EtaSweep:
    """Result of `eta_sweep`.

    Parameters
    ----------
    eta0s : ndarray of shape (n_eta0s,)
        The learning rates, as given.
    losses : ndarray of shape (n_eta0s,)
        Progressive loss for each learning rate; inf if the model diverged.
    errors : ndarray of shape (n_eta0s,) or None
        For classifiers, the weighted share of rows that were predicted wrongly before they were learnt, without the
        first row; inf if the model diverged. None for regressors.
    best_index : int
        Index of the learning rate with the least loss.
    best_eta0 : float
        Learning rate with the least loss.
    estimators : list of estimator
        Fitted estimator for each learning rate; None if the model diverged.
    n_rows : int
        Number of rows learnt.
    """

    eta0s: np.ndarray
    losses: np.ndarray
    errors: np.ndarray | Any  # Any: None if no errors were counted
    best_index: int
    best_eta0: float
    estimators: list
    n_rows: int


def eta_sweep(
    estimator: BaseEstimator,
    X: Rows | Iterable[tuple],
    y: ArrayLike | None = None,
    eta0s: ArrayLike = ETA0S,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    batch_size: int = 1,
) -> EtaSweep:
    """Learn with many learning rates in one pass over the rows, with the results of separate passes.

    Parameters
    ----------
    estimator : NAGClassifier, NAGRegressor or Pipeline
        Learner, or a Pipeline that ends with one, with steps as for `progressive_validation`. Its own ``eta0`` is
        ignored.
    X : {array-like, sparse matrix} of shape (n_samples, n_features), or iterable of tuples
        Rows, in the order to learn them. Without ``y``, an iterable of batches ``(X, y)`` or ``(X, y, sample_weight)``
        of any lengths, read one at a time.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs), optional
        Targets.
    eta0s : array-like of shape (n_eta0s,), default=(1/16, 1/4, 1, 4, 16)
        Learning rates.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    classes : array-like of shape (n_classes,), optional
        All classes, for classifiers; by default those in ``y``.
    batch_size : int, default=1
        Largest number of rows seen at once by steps that learn each batch before they transform it, as steps of other
        packages do. Without such steps it has no effect.

    Returns
    -------
    EtaSweep
        Losses, errors, the best learning rate, and an estimator for each learning rate. The estimators are bit for bit
        those that ``partial_fit`` gives with each learning rate alone.

    Raises
    ------
    TypeError
        If the estimator is of another kind.
    ValueError
        If the estimator has ``eta0="auto"``, if the input is invalid, or if the model diverges for every learning
        rate. If it diverges for some, the results of the others are unaffected.

    See Also
    --------
    progressive_validation : Progressive scores of any learner.
    NAGClassifierCV : Cross-validation over learning rates.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.model_selection import eta_sweep
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> sweep = eta_sweep(NAGClassifier(), X, y, [0.1, 1.0, 10.0, 100.0])
    >>> sweep.best_eta0
    10.0
    >>> bool(sweep.estimators[2].progressive_loss_ == sweep.losses[2])
    True
    """
    check_number("batch_size", batch_size, Integral, min_val=1)
    check_stream(X, y, sample_weight)
    pipeline = StreamPipeline(estimator)
    rates = check_sweep(pipeline.learner, eta0s)
    all_classes = known_classes(pipeline.learner, y, classes)
    sweep = Sweep(pipeline.learner, rates)
    wrong, total, n_rows, is_new = np.zeros(len(rates)), 0.0, 0, True
    n_heads = len(rates) * (1 if all_classes is None or len(all_classes) == 2 else len(all_classes))
    most = max(1, _DECISIONS_AT_ONCE // n_heads)
    given = cut_batches(X, y, sample_weight, most if pipeline.by_row else batch_size)
    transformed = ((pipeline.transform(rows, weight), targets, weight) for rows, targets, weight in given)
    for rows, targets, weight in cut_batches(transformed, None, None, most):
        targets = flat(targets, pipeline.learner)
        decisions = sweep.play(rows, targets, weight, all_classes)
        n_rows += len(targets)
        if all_classes is None:
            continue
        if all_classes.ndim == 1:
            check_one_class_a_row(targets, "eta_sweep")
        skip, is_new = count_unscored(weight, len(targets), is_new)
        row_weight = np.ones(len(targets) - skip) if weight is None else weight[skip:]
        total += row_weight.sum()
        for i, decision in decisions:
            predicted = sweep.models[0]._respond("predict", decision[skip:])  # the same for any model
            wrong[i] += row_weight[are_wrong(predicted, targets[skip:])].sum()
    if n_rows == 0:
        raise ValueError("there are no rows to learn from.")
    learners = sweep.estimators()
    losses = np.array([np.inf if learner is None else learner.progressive_loss_ for learner in learners])
    if not np.isfinite(losses).any():
        raise ValueError("the model left the range of float64 for every one of eta0s.")
    lifted = [np.inf if learner is None else learner._state.mean_loss(1.0, lifted=True) for learner in learners]
    best = int(np.argmin(lifted))
    return EtaSweep(
        eta0s=np.array(rates),
        losses=losses,
        errors=None if all_classes is None else np.where(losses < np.inf, wrong / (total or np.nan), np.inf),
        best_index=best,
        best_eta0=rates[best],
        estimators=[None if learner is None else pipeline.with_learner(learner) for learner in learners],
        n_rows=n_rows,
    )
