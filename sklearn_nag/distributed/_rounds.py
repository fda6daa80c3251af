"""What a round is made of, whoever carries it out: pure functions, so that a task that is lost can be run again."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
from numbers import Real

import numpy as np

from .. import kernels
from ..estimators import FTRLClassifier, FTRLRegressor
from ..estimators._online import OnlineLinear
from ..kernels.nag.merging import HAVE_FADED

FAN_IN = 8  # models that one merge takes
LONGEST = 4.0, 8.0  # steps of shards, as a multiple of those of one model: with few rounds, and with many
TAIL = 2  # last rounds whose weights are averaged


def check_estimator(estimator):
    """Raise unless ``estimator`` is one whose models can be merged."""
    if not isinstance(estimator, OnlineLinear):
        raise TypeError(f"estimator is a {type(estimator).__name__}; models of sklearn_nag alone can be merged.")
    if isinstance(estimator, FTRLClassifier | FTRLRegressor):
        raise TypeError(f"estimator is a {type(estimator).__name__}; its models cannot be merged.")
    if getattr(estimator, "half_life", None) is not None:
        raise ValueError(HAVE_FADED)


def learn_piece(model, batches, classes=None):
    """Copy of a model after it has learnt some batches ``(X, y, sample_weight)``.

    Parameters
    ----------
    model : OnlineLinear
        Stays as it is: other tasks begin with it.
    batches : iterable of tuple
        The batches; those without rows are left out.
    classes : array-like, optional
        All classes, for the first piece of a classifier.

    Returns
    -------
    OnlineLinear
        The copy.
    """
    model = copy.deepcopy(model)
    for X, y, weight in batches:
        if len(y):
            options = {} if classes is None else {"classes": classes}
            model.partial_fit(X, y, sample_weight=weight, **options)
    return model


def with_steps(model, eta0, factor):
    """Copy of a model whose steps are ``factor`` times as long as by ``eta0``, where it has a learning rate to scale.

    That is a number ``eta0`` of an adaptive rule; ``eta0="auto"`` finds its rate among several, and steps that are not
    adaptive may be as long as they can be.
    """
    model = copy.deepcopy(model)
    if isinstance(eta0, Real) and getattr(model, "adaptive", False) and float(eta0) * factor < np.inf:
        model.set_params(eta0=eta0 if factor == 1 else float(eta0) * factor)
        rule = model._state.rule
        model._state.adopt(dataclasses.replace(rule, eta=(float(model.eta0),) * len(rule.eta)))
    return model


def lead(model, before, momentum, renew):
    """Model for the shards of a round to begin with: see `sklearn_nag.kernels.lead`."""
    model = copy.copy(model)
    model._state = kernels.lead(model._state, before._state, momentum, renew)
    return model


def run_rounds(base, pieces, eta0, call, learn, merge_models):
    """Merge, round by round, what shards learn of their pieces.

    The average of ``n`` shards has less noise than one model, but takes as many steps as one of them, not as all. So
    their steps are ``sqrt(n)`` times as long, and what they move moves on with a momentum of ``1 - n ** -0.25`` into
    the next round. By long steps shards move apart until they are merged, less so the shorter the pieces are: so steps
    are at most as many times as long as there are rounds, within 4 and 8. The weights played in the last two rounds are
    averaged, as those before are farther off than time alone makes up for.

    Parameters
    ----------
    base : model
        What has been learnt before.
    pieces : list of list
        For each round, a piece for each shard.
    eta0 : float, str or None
        The learning rate of the estimator, if it has one.
    call : callable
        ``call(function, *arguments)`` calls `with_steps` and `lead`, at once or later.
    learn : callable
        ``learn(base, pieces)`` returns the models after the pieces of a round, in the order of these.
    merge_models : callable
        ``merge_models(models, base)`` merges some.

    Returns
    -------
    model
        After the last round.
    """
    n_shards = max(map(len, pieces))
    longest = min(max(float(len(pieces)), LONGEST[0]), LONGEST[1])
    if n_shards > 1:
        base = call(with_steps, base, eta0, min(math.sqrt(n_shards), longest))
    before = base
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
    return call(with_steps, base, eta0, 1.0) if n_shards > 1 else base


def plan(n_items, n_shards, rounds):
    """Cut items into runs: one for one model alone, and then for each round and each shard.

    Parameters
    ----------
    n_items : int
        Number of items.
    n_shards, rounds : int
        As for `shard_fit`.

    Returns
    -------
    first : int
        So many items are learnt by one model alone: as many as by each of the shards, at least one.
    pieces : list of list of (int, int)
        For each round and each shard, its first item and the one after its last, in runs as equal as can be.
    """
    first = min(n_items, max(1, n_items // (n_shards + 1)))
    bounds = np.linspace(first, n_items, n_shards + 1).astype(int)
    cuts = [np.linspace(start, stop, rounds + 1).astype(int) for start, stop in itertools.pairwise(bounds)]
    return first, [[(int(cut[r]), int(cut[r + 1])) for cut in cuts] for r in range(rounds)]
