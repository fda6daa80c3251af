"""What was learnt fades: when, and what fades in every family. It counts half after rows of the weight of a half-life.

Weights of rows that grow as ``2 ** (t / half_life)`` would do the same for sums, but not for adaptive steps, and would
leave the range of float64. So the state fades: all sums are multiplied by the same power of 1/2, whenever the clock
``age`` passes a multiple of a part of the half-life. Ratios of sums, and so means, scales and shares of experts, do not
change by that; what comes after counts for more.
"""

import numpy as np

from ...losses import NOTHING
from .lifts import TINY
from .targets import FAINT

PARTS = 16  # of a half-life, in which `State.faded` counts
EVERY = 4  # parts from one fading to the next; more often is slower, and no better on any stream measured
MOST = 1.0  # half-lives that are made up for at once: no row makes a model forget more than half
HAVE_FADED = "models with half_life cannot be merged: what they keep has faded, and is no sum over rows."


def fades_per_weight(rule):
    """How many parts of a half-life pass for a weight of 1, over `EVERY`."""
    return PARTS / EVERY / rule.half_life


def learn_and_fade(learn_rows, fade, state, loss, X, y, sample_weight, order, predictions):
    """As ``learn_rows``, which stops where something fades, for ``fade(state, factor)``.

    Which rows come between two fadings depends on their total weight alone, so cuts of the stream change no bit.
    """
    order = np.arange(X.shape[0]) if order is None else order
    weight = np.ones(len(order)) if sample_weight is None else sample_weight[order]
    age, per_weight = np.add.accumulate(np.append(state.age, weight)), fades_per_weight(state.rule)
    # As models of earlier versions left it for the next row.
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
    """Fade until so many parts of a half-life have passed, if they have not."""
    if due > state.faded:
        with np.errstate(all="ignore"):
            fade(state, 0.5 ** min((due - state.faded) / PARTS, MOST))
        state.faded = float(due)


def fade_rows(state, factor):
    """Multiply by ``factor`` the total weight of the rows, and what is kept of their targets."""
    state.t *= factor
    targets = state.targets
    targets.spread *= np.sqrt(factor)
    if state.rule.log_link:
        targets.sum[:] = np.maximum(targets.sum + np.log(factor), NOTHING)
        return
    targets.sum *= factor
    least = FAINT * np.abs(targets.sum) / np.sqrt(max(state.t, TINY))
    targets.spread[:] = np.where(targets.spread > 0.0, np.maximum(targets.spread, least), targets.spread)
