"""What a round is made of, whoever carries it out: pure functions, so that a task that is lost can be run again."""

from __future__ import annotations

import copy
import itertools

import numpy as np

from ..estimators._online import OnlineLinear

FAN_IN = 8  # models that one merge takes


def check_estimator(estimator):
    """Raise unless ``estimator`` is one whose models can be merged."""
    if not isinstance(estimator, OnlineLinear):
        raise TypeError(f"estimator is a {type(estimator).__name__}; models of sklearn_nag alone can be merged.")


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


def run_rounds(base, pieces, learn, merge_models):
    """Merge, round by round, what shards learn of their pieces.

    Parameters
    ----------
    base : model
        What has been learnt before.
    pieces : list of list
        For each round, a piece for each shard.
    learn : callable
        ``learn(base, pieces)`` returns the models after the pieces of a round, in the order of these.
    merge_models : callable
        ``merge_models(models, base)`` merges some.

    Returns
    -------
    model
        After the last round.
    """
    for round_pieces in pieces:
        models = learn(base, round_pieces)
        while len(models) > 1:
            groups = [models[i : i + FAN_IN] for i in range(0, len(models), FAN_IN)]
            models = [group[0] if len(group) == 1 else merge_models(group, base) for group in groups]
        base = models[0] if models else base
    return base


def plan(n_items, n_shards, rounds):
    """For each round and each shard, the first and the last but one of ``n_items``, in runs as equal as can be."""
    bounds = np.linspace(0, n_items, n_shards + 1).astype(int)
    cuts = [np.linspace(start, stop, rounds + 1).astype(int) for start, stop in itertools.pairwise(bounds)]
    return [[(int(cut[r]), int(cut[r + 1])) for cut in cuts] for r in range(rounds)]
