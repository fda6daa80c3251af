"""What was learnt fades: it counts half after rows of the weight of a half-life.

Rows of weights that grow as ``2 ** (t / half_life)`` would do the same for sums of inputs, but not for adaptive steps,
which grow with the unit of weights, and would leave the range of float64. So it is the state that fades: all sums are
multiplied by the same power of 1/2, whenever the clock ``age`` passes a multiple of a part of the half-life. Ratios of
sums, and so means, scales, averages and shares of experts, do not change by that; what comes after counts for more.
"""

from __future__ import annotations

import numpy as np

from .rule import penalty_clock, settle

PARTS = 16  # in which what was learnt fades to a half
MOST = 40.0  # half-lives that are made up for at once, so that no sum becomes 0


def learn_and_fade(learn_rows, state, loss, X, y, sample_weight, order, predictions):
    """As ``learn_rows``, with what was learnt before fading as rows come.

    Which rows come between two fadings depends on their total weight alone, so cuts of the stream change no bit.
    """
    order = np.arange(X.shape[0]) if order is None else order
    weight = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    age = np.add.accumulate(np.append(state.age, weight))
    due = np.floor(age[:-1] * (PARTS / state.rule.half_life))  # parts that have passed before each row
    starts = np.flatnonzero(np.diff(due, prepend=-1.0))
    for start, stop in zip(starts, np.append(starts[1:], len(order))):
        if due[start] > state.faded:
            fade(state, 0.5 ** min((due[start] - state.faded) / PARTS, MOST))
            state.faded = float(due[start])
        played = None if predictions is None else predictions[start:stop]
        learn_rows(state, loss, X, y, sample_weight, order[start:stop], played)
        state.age = float(age[stop])


def fade(state, factor):
    """Multiply by ``factor``, at most 1, whatever is a sum over rows; predictions stay as they are."""
    rule, columns = state.rule, state.columns
    with np.errstate(all="ignore"):
        if rule.averaged:  # of weights that a penalty is about to change
            columns.past[:] = state.averaged * columns.weight - columns.past
        settle(state, columns)
        if rule.averaged:
            columns.past[:] = state.averaged * columns.weight - columns.past
        state.t, state.N, state.averaged = state.t * factor, state.N * factor, state.averaged * factor
        for values in (columns.squares, columns.sum, columns.tally, columns.past, columns.received):
            if values is not None:
                values *= factor
        if rule.adaptive:
            columns.rescale_G(factor)
        if rule.l2 > 0:
            columns.shrunk[:] = penalty_clock(state, rule)
        state.targets.sum *= factor
        state.targets.spread *= np.sqrt(factor)
        state.mixture.excess *= factor
        state.mixture.gap *= factor
        for values in (state.trust.excess, state.trust.gap, state.due):
            values *= factor
