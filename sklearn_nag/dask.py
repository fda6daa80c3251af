"""Training on a Dask cluster: shards learn in parallel, a tree of merges joins them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, is_classifier

from ._extras import needed
from .distributed._rounds import (
    check_cut,
    check_estimator,
    check_learnt,
    first_pair,
    is_fitted,
    judge,
    learn_first,
    learn_piece,
    merge_learnt,
    plan,
    run_rounds,
)
from .estimators._parameters import learner_of
from .estimators._validation import as_numpy, as_targets
from .kernels._backend import chosen, config_context
from .model_selection._streams import saying

__all__ = ["fit"]

Model = TypeVar("Model", bound=BaseEstimator)


def fit(
    estimator: Model,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    classes: ArrayLike | None = None,
    n_shards: int | None = None,
    rounds: int = 1,
) -> Model:
    """Fit an estimator in one pass over a Dask collection, with shards that are merged after every round.

    The partitions are cut into ``n_shards + 1`` runs of neighbours. One model learns the first run, of at least one
    partition, which sets scales and origins. Each of the other runs is cut into ``rounds`` pieces. In every round, each
    shard starts from the last merged model and learns its piece, and a tree of merges makes one model of them. If the
    first run has no rows, shards start from nothing. The steps are those described for
    `sklearn_nag.distributed.shard_fit`.

    The computation is one graph of pure tasks, so Dask can repeat tasks that are lost with a worker. The result depends
    on the partitions, ``n_shards`` and ``rounds``, never on the workers. Rows generated at random, in an order or
    number that differs between runs, give a different model in each run.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor of this package, or an `OnlinePipeline` that ends with one. Its transformers must be of
        this package or already fitted. The estimator is cloned, and the clone learns from scratch.
    X : dask.array.Array, dask.dataframe.DataFrame or dask.bag.Bag
        Rows; or, without ``y``, a bag of batches ``(X, y)`` or ``(X, y, sample_weight)``. A partition of a bag may
        be an object that makes or reads its batches one at a time whenever it is iterated over. If it is a generator,
        all its batches are kept in memory.
    y : dask.array.Array, dask.dataframe.Series, str or list of str, optional
        Targets, with the partitions of ``X``; or one or several column names of a data frame ``X``. Column names are
        faster if the frame is read from files, because Dask then reads only the columns that are needed.
    sample_weight : dask.array.Array, dask.dataframe.Series or str, optional
        Weights of the rows, given in the same ways.
    classes : array-like of shape (n_classes,), optional
        All classes. Required for classifiers; ignored for regressors.
    n_shards : int, optional
        Number of shards. By default there are as many as make each piece one partition. Workers wait while the first
        run is learnt; with somewhat more shards than workers, less time is lost.
    rounds : int, default=1
        Number of rounds. The more rounds, the closer the result is to that of one model.

    Returns
    -------
    estimator
        The fitted clone. Its ``progressive_loss_`` is the mean loss of the predictions that shards made.

    Raises
    ------
    ImportError
        If Dask is not installed.
    TypeError
        If the models of an estimator cannot be merged, or ``X`` is of another type.
    ValueError
        If parameters are invalid, if partitions do not fit together, or if all weights are 0.

    See Also
    --------
    sklearn_nag.distributed.shard_fit : The same for arrays in memory, without Dask.

    Notes
    -----
    The scheduler is the one that Dask would use: that of the current ``dask.distributed.Client``, or threads.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.dask import fit
    >>> X = da.random.default_rng(0).normal(size=(1000, 3), chunks=(100, 3))
    >>> clf = fit(NAGClassifier(), X, X[:, 0] > 0, classes=[False, True], rounds=3)
    >>> clf.t_
    1000.0
    """
    dask = needed("dask", "dask", "sklearn_nag.dask needs")
    check_estimator(estimator)
    check_cut(1 if n_shards is None else n_shards, rounds)
    if not is_classifier(estimator):
        classes = None
    elif classes is None:
        raise ValueError("classes must be given: a classifier needs all classes before the first row.")
    partitions = _partitions(X, y, sample_weight)
    n_shards = max(1, len(partitions) // rounds - 1) if n_shards is None else n_shards
    first, pieces = plan(len(partitions), n_shards, rounds)
    kernel, learn_task, merge_task = chosen(), *(dask.delayed(task, pure=False) for task in (_learn, merge_learnt))

    def chain(task, model, start, stop):
        """Tasks that take one partition each, so that few are in memory."""
        for number in range(start, stop):
            model = learn_task(task, model, partitions[number], classes, number, kernel)
        return model

    def learn(model, round_pieces):
        return [chain(learn_piece, model, start, stop) for start, stop in round_pieces if stop > start]

    def judge_piece(pair, piece):
        return chain(judge, pair, piece[0], piece[0] + 1)

    def call(function, *arguments):
        return dask.delayed(function, pure=False)(*arguments)

    pair = chain(learn_first, dask.delayed(first_pair, pure=False)(estimator), 0, first)
    model = run_rounds(pair, pieces, getattr(learner_of(estimator), "eta0", None), call, learn, merge_task, judge_piece)
    (model,) = dask.compute(model)
    if not is_fitted(model):
        raise ValueError("there are no rows to learn from: all partitions are empty.")
    check_learnt(model)
    return model


def _learn(task, model, batches, classes, number, kernel):
    """Call ``task``; batches may lack weights, and are not all in memory at once."""
    with saying(f"partition {number}"), config_context(kernel=kernel):
        return task(model, map(_as_batch, batches), classes)


def _as_batch(batch):
    if not (isinstance(batch, tuple | list) and len(batch) in (2, 3)):
        raise TypeError(f"the bag holds a {type(batch).__name__}; it must hold tuples (X, y) or (X, y, sample_weight).")
    X, *others = batch
    return (X.tocsr() if hasattr(X, "tocsr") else X, *others, None)[:3]


def _kept(batches):
    """Batches that several tasks can iterate over."""
    return list(map(copy.deepcopy, batches)) if isinstance(batches, Iterator) else batches  # may reuse memory


def _partitions(X, y, sample_weight):
    """Partitions as delayed iterables of batches ``(X, y)`` or ``(X, y, sample_weight)``."""
    import dask

    kind = type(X).__module__.split(".")
    if hasattr(X, "map_partitions") and "bag" in kind:
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight must be None for a bag, which holds whole batches.")
        return X.map_partitions(_kept).to_delayed()
    if not hasattr(X, "to_delayed"):
        raise TypeError(f"X is a {type(X).__name__}; it must be a dask array, a dask data frame or a bag of batches.")
    if y is None:
        raise ValueError("y is missing; without it X must be a bag of batches.")
    given = {name: value for name, value in (("y", y), ("sample_weight", sample_weight)) if value is not None}
    labels = {name: value for name, value in given.items() if not hasattr(value, "to_delayed")}
    for name, value in labels.items():
        _check_labels(X, name, value)
    if labels == given:
        split = dask.delayed(_split, pure=False)
        return [split(part, **labels) for part in X.to_delayed()]
    given |= {name: X[value] for name, value in labels.items()}
    parts = {name: _parts(values) for name, values in {"X": _without(X, labels), **given}.items()}
    for name, some in parts.items():
        if len(some) != len(parts["X"]):
            raise ValueError(
                f"{name} has {len(some)} partitions, and X has {len(parts['X'])}: both must have the same partitions."
            )
    make = dask.delayed(_one_batch, pure=False)
    return [make(*some) for some in zip(*parts.values())]


def _check_labels(X, name, value):
    """Raise unless ``value`` names one column of ``X`` or lists several."""
    if not hasattr(X, "columns"):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a dask collection, like X.")
    if not isinstance(value, str | list):
        raise TypeError(f"{name} is a {type(value).__name__}; it must be a dask collection or the name of a column.")
    missing = [label for label in _listed(value) if label not in X.columns]
    if missing:
        raise ValueError(f"{name} names the column {missing[0]!r}, which X does not have.")


def _listed(labels):
    """Names of columns as a list."""
    return [labels] if isinstance(labels, str) else labels


def _without(frame, labels):
    """A frame without its targets and weights; anything else as it is."""
    return frame.drop(columns=[name for some in labels.values() for name in _listed(some)]) if labels else frame


def _parts(values):
    """Blocks of rows of an array, or partitions of a data frame, as delayed objects.

    Dask must not optimise them: it would optimise each collection separately, and compute the source of features and
    targets anew for each, perhaps in another order or cut in another way.
    """
    if getattr(values, "ndim", 1) == 2 and hasattr(values, "rechunk"):
        values = values.rechunk({1: -1})
    return list(np.ravel(values.to_delayed(optimize_graph=False)))


def _split(frame, **labels):
    """Batch of a partition of a data frame."""
    return _one_batch(_without(frame, labels), *(frame[value] for value in labels.values()))


def _one_batch(X, y, sample_weight=None):
    weight = None if sample_weight is None else np.asarray(as_numpy(sample_weight, "sample_weight"))
    return [(X, np.asarray(as_targets(y)), weight)]
