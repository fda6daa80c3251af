"""Merging of several models into one: learners, transformers, and pipelines of both."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TypeVar

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from .estimators import merge as merge_learners
from .estimators._validation import check_alike
from .preprocessing._base import OnlineTransformer, merged
from .preprocessing._pipeline import merge_transformers

Model = TypeVar("Model", bound=BaseEstimator)


def merge(models: Iterable[Model], base: Model | None = None) -> Model:
    """Merge models that learnt different rows into one model.

    The merged model predicts and can go on learning. ``t_``, origins and scales become those of one model that saw all
    rows [1]_, and ``progressive_loss_`` the mean loss of the models' own predictions. Weights are averaged in raw
    units, by the total weight of the rows behind them [2]_. For adaptive rules, this factor is multiplied by the fourth
    root of ``G``, the sum of the squared gradients of a column, so that a model counts little for features that it has
    hardly seen. Least squares are solved for all rows, up to rounding. See :ref:`distributed`.

    Parameters
    ----------
    models : iterable of estimator
        Fitted models of one class of this package, with the same parameters, features and classes. They can be
        learners, transformers, pipelines of these, `NAGCellsClassifier` and `NAGCellsRegressor`, or `OnlineBootstrap`
        of any of these, each with a different ``shard``.
    base : estimator, optional
        The model that all of them started from, in its state at that time. Its rows are part of every model, and are
        counted once. By default each model started from nothing.

    Returns
    -------
    estimator
        A new model. If only one model has learnt anything since ``base``, it is an exact copy of that one. The order of
        the models affects rounding only, unless they know more words than there is room for.

    Raises
    ------
    TypeError
        If a model is not of this package, if the models are of different classes, or if a step of a pipeline cannot be
        merged.
    NotFittedError
        If a model has not learnt anything.
    ValueError
        If the models do not fit together, if one did not start from ``base``, or if sums leave the range of float64.

    See Also
    --------
    NAGClassifier.partial_fit : Go on learning.

    Notes
    -----
    If each model has seen too few rows to come near the best weights, their average is no better than they are. Then
    merge more often, each time with the last merged model as ``base``, as `shard_fit` does.

    Models of lines, curves and cells need knots and trees in common. Let one of them learn as many rows as both
    ``first_rows`` and ``focus_rows``, or better five times the latter. Give a copy of it to each shard, and merge the
    results with it as ``base``. They are merged expert by expert, and the share of each expert follows from its total
    losses.

    For learners without a learning rate, whose weights are a function of sums, the merged sums are chosen to play the
    average of the models' functions. With ``invariance="full"``, the triangular factors are stacked and factored again,
    and each function counts where its model has seen rows.

    References
    ----------
    .. [1] Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances",
       Stanford STAN-CS-79-773, 1979, equation 2.1.
    .. [2] Agarwal, Chapelle, Dudík and Langford, "A reliable effective terascale linear learning system", JMLR 15,
       2014, section 2 (averages, there by squared gradients).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier, merge
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = [NAGClassifier().partial_fit(X[i::2], y[i::2], classes=[0, 1]) for i in range(2)]
    >>> clf = merge(models)
    >>> clf.t_, clf.score(X, y) > 0.94
    (569.0, True)
    """
    models = list(models)
    if models and isinstance(models[0], OnlineTransformer):
        return merged(models, base)
    if models and isinstance(models[0], Pipeline):
        return _merge_pipelines(models, base)
    if models and hasattr(models[0], "_merged"):
        return models[0]._merged(models, base)
    return merge_learners(models, base)


def _merge_pipelines(pipelines, base):
    """Merge pipelines whose last step is a learner or a transformer."""
    check_alike(pipelines, base)
    result = copy.copy(pipelines[0])
    if hasattr(result, "learn_transform"):
        return merged(pipelines, base)
    steps, places = merge_transformers(pipelines, len(result.steps) - 1, base)
    known = [*pipelines, *([] if base is None else [base])]
    learners = [_moved(pipeline.steps[-1][1], of_one) for pipeline, of_one in zip(known, places)]
    models, before = learners[: len(pipelines)], None if base is None else learners[-1]
    result.steps = [*steps, (result.steps[-1][0], merge(models, before))]
    return result


def _moved(learner, places):
    """The learner, or a copy with its features in other places."""
    if places is None:
        return learner
    if hasattr(learner, "_merged"):
        raise ValueError(
            f"{type(learner).__name__} models cannot be merged if the same words have different columns: let one of "
            "them learn the words first, and start all models from it."
        )
    if not hasattr(learner, "_state"):
        return learner
    moved = copy.copy(learner)
    try:
        moved._state = learner._state.moved(places)
    except NotImplementedError as error:
        raise ValueError(
            f"{type(learner).__name__} models like these cannot be merged if the same words have different columns: "
            f"{error}."
        ) from None
    return moved
