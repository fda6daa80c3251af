"""One model of several: learners, transformers, and pipelines of both."""

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
    """Make one model of several that learnt rows of their own, here or on other machines.

    What is a sum is summed, what is a maximum compared: ``t_``, origins and scales become those of one model that saw
    all rows [1]_, and ``progressive_loss_`` the mean of the losses that the models suffered. Weights are averaged [2]_,
    in raw units, by the weight of the rows behind them; for adaptive rules, in which ``G`` is the sum of the squared
    gradients of a column, by that times the fourth root of ``G``, so that a model counts little for features that it
    has hardly met. Least squares are solved for all rows, to rounding. The merged model predicts, and goes on learning.

    Parameters
    ----------
    models : iterable of estimator
        Fitted models of one class of this package, with the same parameters, features and classes: learners,
        transformers, pipelines of these, `NAGCellsClassifier` and `NAGCellsRegressor`, or `OnlineBootstrap` of such,
        each of a ``shard`` of its own.
    base : estimator, optional
        The model that all of them went on from, unchanged: its rows are in each of them, and are counted once. By
        default each model began with nothing.

    Returns
    -------
    estimator
        A new model. Where only one has learnt anything (after ``base``), a copy of that one, with the same bits. The
        order of the models changes nothing but rounding, unless they know more words than there is room for.

    Raises
    ------
    TypeError
        For what is not a model of this package, for models of different classes, and for a step of a pipeline that
        cannot be merged.
    NotFittedError
        For a model that has not learnt anything.
    ValueError
        For models that do not fit together, when a model did not go on from ``base``, and when sums leave the range of
        float64.

    See Also
    --------
    NAGClassifier.partial_fit : Go on learning.

    Notes
    -----
    The average of functions is no better than what it is an average of where each model has seen too few rows to come
    near the best weights. Then merge more often, each time with the last merged model as ``base``: `shard_fit` does.

    Models of lines, curves and cells need knots and trees in common: let one of them learn as many rows as both
    ``first_rows`` and ``focus_rows``, or better five times the latter, give copies of it to all shards, and merge these
    with it as ``base``. They are merged expert by expert; how much each is trusted follows from its losses in all.

    A learner without a learning rate plays weights that are a function of sums. That function of summed sums is not a
    good predictor: the sums are chosen such that the average of the functions is played. With ``invariance="full"``
    the triangular factors are stacked and factored again; a function counts where its model has seen rows.

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
    """One pipeline of several, whose last step is a learner or a transformer."""
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
    """The learner, or a copy whose features are in other places."""
    if places is None:
        return learner
    if hasattr(learner, "_merged"):
        raise ValueError(
            f"{type(learner).__name__} models cannot be merged where words have other columns: let one of them see the "
            "words first, and let all go on from it."
        )
    if not hasattr(learner, "_state"):
        return learner
    moved = copy.copy(learner)
    try:
        moved._state = learner._state.moved(places)
    except NotImplementedError as error:
        raise ValueError(
            f"{type(learner).__name__} models like these cannot be merged where words have other columns: {error}."
        ) from None
    return moved
