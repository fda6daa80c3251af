"""What was learnt fades: it counts half after rows of the weight of a half-life.

Rows of weights that grow as ``2 ** (t / half_life)`` would do the same for sums of inputs, but not for adaptive steps,
which grow with the unit of weights, and would leave the range of float64. So it is the state that fades: all sums are
multiplied by the same power of 1/2, whenever the clock ``age`` passes a multiple of a part of the half-life. Ratios of
sums, and so means, scales, averages and shares of experts, do not change by that; what comes after counts for more.

Weights are no ratio. While rows are predicted well, slopes and the roots that divide them fall together, and weights
grow by steps as long as ever: after a flip it would take as many rows to bring them down. So they fade, too, in
`LASTING` half-lives. Faster fading costs more on streams that need large weights than it gains after a flip, and
weights that fade in one half-life are too small to fit a steady stream.
"""

from __future__ import annotations

import numpy as np

from ...constraints import Simplex
from ...losses import NOTHING
from .rule import penalty_clock, settle

PARTS = 16  # of a half-life, in which `State.faded` counts
EVERY = 4  # parts from one fading to the next; more often is slower, and no better on any stream measured
LASTING = 8.0  # half-lives in which weights fade to a half
MOST = 40.0  # half-lives that are made up for at once, so that no sum becomes 0


def learn_and_fade(learn_rows, multiply, state, loss, X, y, sample_weight, order, predictions):
    """As ``learn_rows``, with what was learnt before fading as rows come.

    Which rows come between two fadings depends on their total weight alone, so cuts of the stream change no bit.
    ``multiply`` is `Columns.multiply`, or the same compiled.
    """
    order = np.arange(X.shape[0]) if order is None else order
    weight = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    age = np.add.accumulate(np.append(state.age, weight))
    per_weight = PARTS / EVERY / state.rule.half_life
    # As models of earlier versions left it for the next row.
    _fade_as_due(multiply, state, EVERY * np.floor(state.age * per_weight))
    due = EVERY * np.floor(age[1:] * per_weight)  # parts that have passed after each row
    stops = np.flatnonzero(np.diff(due, prepend=state.faded)) + 1
    for start, stop in zip(np.append(0, stops), np.append(stops, len(order))):
        if start == stop:
            continue
        played = None if predictions is None else predictions[start:stop]
        learn_rows(state, loss, X, y, sample_weight, order[start:stop], played)
        state.age = float(age[stop])
        _fade_as_due(multiply, state, due[stop - 1])


def _fade_as_due(multiply, state, due):
    """Fade until so many parts of a half-life have passed, if they have not."""
    if due > state.faded:
        fade(multiply, state, 0.5 ** min((due - state.faded) / PARTS, MOST))
        state.faded = float(due)


def fade(multiply, state, factor):
    """Multiply by ``factor``, at most 1, whatever is a sum over rows, and by a root of it the latest weights.

    The average of the weights played stays what it is.
    """
    rule, columns = state.rule, state.columns
    kept = 1.0  # of weights, but for those of a fixed sum; a heavy row is no reason to forget what it taught
    if not isinstance(rule.constraint, Simplex):
        kept = max(factor, 0.5) ** (1.0 / LASTING)
    with np.errstate(all="ignore"):
        settle(state, columns)
        factors = {field.name: factor for field in columns.declared(rule) if field.fades} | {"weight": kept}
        # ``past`` is ``averaged * weight`` less the sum of the weights played, which stays what it is.
        multiply(columns, factors, state.averaged * (1.0 - kept) if rule.averaged else 0.0)
        state.t, state.N, state.averaged = state.t * factor, state.N * factor, state.averaged * factor
        if rule.l2 > 0:
            columns.shrunk[:] = penalty_clock(state, rule)
        if rule.log_link:
            state.targets.sum[:] = np.maximum(state.targets.sum + np.log(factor), NOTHING)
        else:
            state.targets.sum *= factor
        state.targets.spread *= np.sqrt(factor)
        state.mixture.excess *= factor
        state.mixture.gap *= factor
        for values in (state.trust.excess, state.trust.gap, state.due):
            values *= factor
