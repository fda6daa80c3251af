"""Shards of one array, trained in parallel by joblib."""

from __future__ import annotations

import operator
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_consistent_length
from sklearn.utils.parallel import Parallel, delayed

from ..estimators._labels import classes_in, dense
from ..estimators._parameters import learner_of
from ..estimators._validation import as_numpy
from ..kernels._backend import chosen, run_by
from ..model_selection._streams import saying, slice_batch
from ._rounds import (
    check_cut,
    check_estimator,
    check_learnt,
    first_pair,
    judge,
    learn_first,
    learn_piece,
    merge_learnt,
    plan,
    run_rounds,
)

Model = TypeVar("Model", bound=BaseEstimator)


def shard_fit(
    estimator: Model,
    X: Any,
    y: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
    n_shards: int = 16,
    rounds: int = 4,
    n_jobs: int | None = None,
) -> Model:
    """Fit an estimator in one pass, with parallel shards that are merged after every round.

    The rows are cut into ``n_shards + 1`` runs of neighbours. One model learns the first run, which sets scales,
    origins and classes. Each of the other runs is cut into ``rounds`` pieces. In every round, each shard starts from
    the last merged model and learns its piece, and `sklearn_nag.merge` makes one model of them. See :ref:`distributed`.

    Parameters
    ----------
    estimator : estimator
        Classifier or regressor of this package, or an `OnlinePipeline` that ends with one. Its transformers must be of
        this package or already fitted. The estimator is cloned, and the clone learns from scratch.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Rows, in an order in which neighbours are no more alike than others. Shuffled rows are best.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.
    classes : array-like of shape (n_classes,), optional
        All classes, for classifiers; by default those in ``y``. Ignored for regressors.
    n_shards : int, default=16
        Number of shards. The result depends on it: the more shards, the fewer steps each model takes.
    rounds : int, default=4
        Number of rounds. More rounds are worthwhile as long as the pieces have some hundreds of rows.
    n_jobs : int or None, default=None
        Number of shards that learn at the same time. The result does not depend on it. Shards run in threads, which
        compiled code allows to work in parallel; `joblib.parallel_config` can choose processes instead.

    Returns
    -------
    estimator
        The fitted clone. Its ``progressive_loss_`` is the mean loss of the predictions that shards made.

    Raises
    ------
    TypeError
        If the models of an estimator cannot be merged.
    ValueError
        If parameters or rows are invalid, or all weights are 0.

    See Also
    --------
    sklearn_nag.merge : Merge models.
    sklearn_nag.dask.fit : The same on a cluster.

    Notes
    -----
    Each shard takes only a fraction of the steps of one model, but the average of ``n`` models has less noise.
    Therefore:

    - If ``eta0`` is a number, adaptive rules of the NAG family take steps ``sqrt(n)`` times as long [1]_, but at most
      ``rounds`` times, with this limit between 4 and 8, because long steps move shards apart.
    - The change of the merged weights in a round continues with a momentum of ``1 - n ** -0.25`` [2]_, for the NAG
      family without an L1 penalty.
    - ``average`` takes the weights of the last two rounds alone.

    The returned model has the learning rate of ``estimator``.

    On rows of some shards, the model of the first run is compared with one that learns the targets alone. If it loses
    no less, as with many features for its rows or strong noise, all models that start from it would have its errors,
    and long steps would add to them. So each shard then starts from nothing, with the steps of ``estimator``.

    References
    ----------
    .. [1] Malladi, Lyu, Panigrahi and Arora, "On the SDEs and scaling rules for adaptive gradient algorithms", NeurIPS
       2022 (square roots).
    .. [2] Chen and Huo, "Scalable training of deep learning machines by incremental block training with intra-block
       parallel optimization and blockwise model-update filtering", ICASSP 2016 (Nesterov's momentum of blocks).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_nag import NAGClassifier
    >>> from sklearn_nag.distributed import shard_fit
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = shard_fit(NAGClassifier(), X, y, n_shards=4, n_jobs=2)
    >>> clf.t_, clf.score(X, y) > 0.95
    (569.0, True)
    """
    check_estimator(estimator)
    check_cut(n_shards, rounds)
    X, y = as_numpy(X, "X", is_decoded=False), dense(y)
    weight = None if sample_weight is None else np.asarray(as_numpy(sample_weight, "sample_weight"))
    check_consistent_length(X, y, weight)
    if sparse.issparse(X):
        X = X.tocsr()
    elif not hasattr(X, "columns") and learner_of(estimator) is estimator:
        X = np.asarray(X)
    if len(y) == 0:
        raise ValueError("there are no rows to learn from.")
    if not is_classifier(estimator):
        classes = None
    elif classes is None:
        classes = classes_in(y)

    def rows(start, stop):
        return [slice_batch((X, y, weight), start, stop)]

    first, pieces = plan(len(y), n_shards, rounds)
    pair = learn_first(first_pair(estimator), rows(0, first), classes)
    kernel, parallel = chosen(), Parallel(n_jobs=n_jobs, prefer="threads")  # threads take pieces, too

    def learn(model, round_pieces):
        return parallel(
            delayed(run_by)(kernel, _learn, learn_piece, model, rows(*piece), classes, piece)
            for piece in round_pieces
            if piece[1] > piece[0]
        )

    def judge_piece(pair, piece):
        return _learn(judge, pair, rows(*piece), classes, piece)

    eta0 = getattr(learner_of(estimator), "eta0", None)
    model = run_rounds(pair, pieces, eta0, operator.call, learn, merge_learnt, judge_piece)
    check_learnt(model)
    return model


def _learn(learn, model, batches, classes, piece):
    """Call ``learn``; its errors say which rows they count from."""
    with saying("rows [{}:{}]".format(*piece)):
        return learn(model, batches, classes)
