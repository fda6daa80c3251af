"""Fading: when it is due, and what fades in every family.

What was learnt counts half after rows with the weight of a half-life. Row weights that grow as ``2 ** (t / half_life)``
would do the same for sums, but not for adaptive steps, and would leave the range of float64. So the state fades:
whenever the clock ``age`` passes a multiple of a quarter of the half-life, all sums are multiplied by the same power
of 1/2. Ratios of sums do not change, and therefore neither do means, scales and shares of experts; later rows count for
more.
"""

import numpy as np

from ...losses import NOTHING
from .lifts import TINY
from .targets import FAINT

PARTS = 16  # parts of a half-life, which `State.faded` counts
EVERY = 4  # parts between two fadings; fading more often is slower, and was no better on any stream measured
MOST = 1.0  # half-lives that are made up for at once: no row makes a model forget more than half
HAVE_FADED = "models with half_life cannot be merged: what they keep has faded, and is no sum over rows."


def fades_per_weight(rule):
    """Number of fadings for a total weight of 1."""
    return PARTS / EVERY / rule.half_life


def learn_and_fade(learn_rows, fade, state, loss, X, y, sample_weight, order, predictions):
    """``learn_rows`` that stops whenever something fades, and calls ``fade(state, factor)``.

    When that is depends only on the total weight of rows, so no cut of the stream changes a bit.
    """
    order = np.arange(X.shape[0]) if order is None else order
    weight = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    age, per_weight = np.add.accumulate(np.append(state.age, weight)), fades_per_weight(state.rule)
    # Models of earlier versions left this to the next row.
    _fade_as_due(fade, state, EVERY * np.floor(state.age * per_weight))
    due = EVERY * np.floor(age[1:] * per_weight)  # parts that have passed after each row
    stops = np.flatnonzero(np.diff(due, prepend=state.faded)) + 1
    for start, stop in zip(np.append(0, stops), np.append(stops, len(order))):
        if start == stop:
            continue
        played = None if predictions is None else predictions[start:stop]
        learn_rows(state, loss, X, y, sample_weight, order[start:stop], played)
        state.age = float(age[stop])
        _fade_as_due(fade, state, due[stop - 1])


def _fade_as_due(fade, state, due):
    """Fade until ``due`` parts of a half-life have passed, if they have not yet."""
    if due > state.faded:
        with np.errstate(all="ignore"):
            fade(state, 0.5 ** min((due - state.faded) / PARTS, MOST))
        state.faded = float(due)


def fade_rows(state, factor):
    """Multiply the total weight of the rows, and what is stored of their targets, by ``factor``."""
    state.t *= factor
    targets = state.targets
    targets.spread *= np.sqrt(factor)
    if state.rule.log_link:
        targets.sum[:] = np.maximum(targets.sum + np.log(factor), NOTHING)
        return
    targets.sum *= factor
    least = FAINT * np.abs(targets.sum) / np.sqrt(max(state.t, TINY))
    targets.spread[:] = np.where(targets.spread > 0.0, np.maximum(targets.spread, least), targets.spread)
