"""Steps of a round as pure functions, so that a lost task can run again."""

import copy
import dataclasses
import itertools
import math
from numbers import Integral, Real
from operator import getitem

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from .. import kernels
from ..estimators import FTRLClassifier, FTRLRegressor
from ..estimators._merging import check_kind
from ..estimators._parameters import check_number, learner_of, pipelines_of
from ..merging import merge
from ..model_selection._streams import slice_batch
from ..preprocessing._steps import check_step, is_left_out, learns

FAN_IN = 8  # most models in one merge
LONGEST = 4.0, 8.0  # longest steps of shards, as multiples of those of one model: with few rounds, and with many
MOST_JUDGES = 32  # most shards that judge the model of the first rows
MOST_PIECES = 2**20  # over all rounds
TAIL = 2  # last rounds whose weights are averaged


def check_estimator(estimator):
    """Raise unless models of ``estimator``, possibly a pipeline, can be merged."""
    for pipeline in pipelines_of(estimator):
        _check_pipeline(pipeline)
    estimator = learner_of(estimator)
    if hasattr(estimator, "shard"):  # a bootstrap draws weights by it
        raise TypeError(
            "estimator is an OnlineBootstrap; it cannot be sharded, because its copies would draw the same weights in "
            "each shard. Instead, fit models with different values of shard on parts of the rows, and merge them with "
            "sklearn_nag.merge."
        )
    check_kind("estimator", estimator)
    if isinstance(estimator, FTRLClassifier | FTRLRegressor):
        raise TypeError(f"estimator is an {type(estimator).__name__}; its models cannot be merged.")
    if getattr(estimator, "half_life", None) is not None:
        raise ValueError(kernels.HAVE_FADED)


def _check_pipeline(pipeline):
    """Raise unless a pipeline learns from batches, with steps that can be merged."""
    if not hasattr(pipeline, "partial_fit"):
        raise TypeError(
            f"estimator is a {type(pipeline).__name__}, which has no partial_fit: use a "
            "sklearn_nag.preprocessing.OnlinePipeline of the same steps."
        )
    for name, step in pipeline.steps[:-1]:
        if is_left_out(step):
            continue
        check_step(name, step)
        if learns(step) and not hasattr(step, "_parts"):
            raise TypeError(
                f"the step {name!r} of estimator is a {type(step).__name__}, whose models cannot be merged: use a "
                "transformer of sklearn_nag.preprocessing, or fit it on some rows and wrap it in "
                "sklearn.frozen.FrozenEstimator."
            )


def _with_learner(model, learner):
    """A model with another learner; its other steps are shared."""
    if not isinstance(model, Pipeline):
        return learner
    result = copy.copy(model)
    *before, (name, last) = model.steps
    result.steps = [*before, (name, _with_learner(last, learner))]
    return result


def is_fitted(model):
    """Whether a model has learnt anything."""
    return learner_of(model).__sklearn_is_fitted__()


def check_learnt(model):
    """Raise for a model whose rows all had weight 0."""
    if learner_of(model).t_ == 0.0:
        raise ValueError(
            "sample_weight, or its product with class_weight, is zero for all rows: there is nothing to learn from."
        )


def check_cut(n_shards, rounds):
    """Raise unless these numbers of shards and rounds are allowed."""
    check_number("n_shards", n_shards, Integral, min_val=1, max_val=MOST_PIECES)
    hint = f"n_shards is {n_shards}, and n_shards * rounds must be at most {MOST_PIECES}."
    check_number("rounds", rounds, Integral, min_val=1, max_val=MOST_PIECES // n_shards, hint=hint)


def learn_piece(model, batches, classes=None):
    """Copy of a model that has learnt batches ``(X, y, sample_weight)``; other tasks begin with the original.

    Batches without rows are skipped. The first piece of a classifier needs all ``classes``.
    """
    model = copy.deepcopy(model)
    for X, y, weight in batches:
        _learn(model, X, y, weight, classes)
    return model


def _learn(model, X, y, weight, classes):
    if len(y):
        model.partial_fit(X, y, sample_weight=weight, **({} if classes is None else {"classes": classes}))


def first_pair(estimator):
    """Models for the first rows: a clone of the estimator, and one without features."""
    own, learner = {"verbose": 0, "constraint": None}, learner_of(estimator)
    given = {name: value for name, value in own.items() if name in learner.get_params(deep=False)}
    return clone(estimator), clone(learner).set_params(**given)


def learn_first(pair, batches, classes=None):
    """Same as `learn_piece` for both of a `first_pair`; the second learns only targets."""
    model, blind = copy.deepcopy(pair)
    for X, y, weight in batches:
        _learn(model, X, y, weight, classes)
        _learn(blind, np.zeros((len(y), 1)), y, weight, classes)
    return model, blind


def judge(pair, batches, classes=None):
    """Losses of both of a `first_pair` on the next rows, so few that they learn little from them."""
    n = max(8, int(learner_of(pair[0]).t_) // 4) if is_fitted(pair[0]) else 0
    for batch in batches:
        later = learn_first(pair, [slice_batch(batch, 0, n)], classes)
        return [_total_loss(after) - _total_loss(before) for after, before in zip(later, pair)]
    return [0.0, 0.0]


def _total_loss(model):
    learner = learner_of(model)
    return learner.progressive_loss_ * learner.t_ if is_fitted(learner) else 0.0


def begin(pair, judged, eta0, factor):
    """Model with which shards of the first round begin.

    By what `judge` found in some shards, it is the model of the first rows with steps ``factor`` times as long, or an
    unfitted one with steps as they are; see the notes of `shard_fit`. The average of separate models is better than
    each.
    """
    model = pair[0]
    lost, lost_blind = np.sum(judged, axis=0) if judged else (0.0, 0.0)
    if is_fitted(model) and (lost < lost_blind or not judged):
        return with_steps(model, eta0, factor)
    return clone(model)


def join_first(model, start, pair):
    """Model of the first round, merged with that of the first rows unless shards went on from that."""
    return model if is_fitted(start) else merge_learnt([pair[0], model], start)


def with_steps(model, eta0, factor):
    """Copy of a model with steps ``factor`` times as long as by ``eta0``, if it has a rate to scale.

    That is a numeric ``eta0`` of an adaptive rule: ``eta0="auto"`` finds its rate among several, and steps that are not
    adaptive may be as long as they can be.
    """
    model = copy.deepcopy(model)
    learner = learner_of(model)
    if isinstance(eta0, Real) and getattr(learner, "adaptive", False) and float(eta0) * factor < np.inf:
        learner.set_params(eta0=eta0 if factor == 1 else float(eta0) * factor)
        if is_fitted(learner):
            rule = learner._state.rule
            learner._state.adopt(dataclasses.replace(rule, eta=(float(learner.eta0),) * len(rule.eta)))
    return model


def lead(model, before, momentum, renew):
    """Model with which the shards of a round begin; see `sklearn_nag.kernels.lead`."""
    learner = copy.copy(learner_of(model))
    if is_fitted(learner):
        before = learner_of(before) if is_fitted(before) else learner
        learner._state = kernels.lead(learner._state, before._state, momentum, renew)
    return _with_learner(model, learner)


def merge_learnt(models, base):
    """Merge the models that have learnt a row; ``base`` if none has."""
    learnt = [model for model in models if is_fitted(model)]
    if not learnt:
        return base
    return merge(learnt, base if is_fitted(base) else None)


def run_rounds(first, pieces, eta0, call, learn, merge_models, judge_piece):
    """Merge, round by round, what shards learn of their pieces.

    Steps and momentum are those of the notes of `shard_fit`. The more rounds there are, the shorter are the pieces, and
    the less do shards move apart. Weights played before the last two rounds are farther off than time makes up for.

    Parameters
    ----------
    first : pair
        What `learn_first` has learnt.
    pieces : list of list
        For each round, a piece for each shard.
    eta0 : float, str or None
        The learning rate of the estimator, if it has one.
    call : callable
        ``call(function, *arguments)`` calls functions of this file, at once or later.
    learn : callable
        ``learn(base, pieces)`` returns the models after the pieces of a round, in the order of these.
    merge_models : callable
        ``merge_models(models, base)`` merges some.
    judge_piece : callable
        ``judge_piece(first, piece)`` calls `judge` with the first batch of a piece.

    Returns
    -------
    model
        After the last round.
    """
    n_shards = max(map(len, pieces))
    longest = min(max(float(len(pieces)), LONGEST[0]), LONGEST[1])
    factor = min(math.sqrt(n_shards), longest)
    if n_shards > 1:
        few = [piece for piece in pieces[0] if piece[1] > piece[0]]
        few = few[:: -(-len(few) // MOST_JUDGES) or 1]
        judged = [judge_piece(first, piece) for piece in few]
        before = base = call(begin, first, judged, eta0, factor)
    else:
        before = base = call(getitem, first, 0)
    for number, round_pieces in enumerate(pieces):
        start = base
        if n_shards > 1:
            start = call(lead, base, before, 1.0 - n_shards**-0.25, number == max(0, len(pieces) - TAIL))
        models = learn(start, round_pieces)
        while len(models) > 1:
            groups = [models[i : i + FAN_IN] for i in range(0, len(models), FAN_IN)]
            models = [group[0] if len(group) == 1 else merge_models(group, start) for group in groups]
        if models:
            before, base = base, models[0]
        if n_shards > 1 and number == 0:
            base = call(join_first, base, start, first)
    return call(with_steps, base, eta0, 1.0) if n_shards > 1 else base


def plan(n_items, n_shards, rounds):
    """Cut items into runs: one for a single model, then one for each round and shard.

    Return the number of items of the single model, as many as each shard has but at least one; and the first item and
    the one after the last for each round and shard, in runs as equal as possible.
    """
    first = min(n_items, max(1, n_items // (n_shards + 1)))
    bounds = np.linspace(first, n_items, n_shards + 1).astype(int)
    cuts = [np.linspace(start, stop, rounds + 1).astype(int) for start, stop in itertools.pairwise(bounds)]
    return first, [[(int(cut[r]), int(cut[r + 1])) for cut in cuts] for r in range(rounds)]
