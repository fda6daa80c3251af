"""What was learnt fades: it counts half after rows of the weight of a half-life.

Rows of weights that grow as ``2 ** (t / half_life)`` would do the same for sums of inputs, but not for adaptive steps,
which grow with the unit of weights, and would leave the range of float64. So it is the state that fades: all sums are
multiplied by the same power of 1/2, whenever the clock ``age`` passes a multiple of a part of the half-life. Ratios of
sums, and so means, scales and shares of experts, do not change by that; what comes after counts for more.

Weights are no ratio. While rows are predicted well, slopes and the roots that divide them fall together, and weights
grow by steps as long as ever: after a flip it would take as many rows to bring them down. So they fade, too, in several
half-lives, see `lasting`. The average of the weights played is one, but those of before a flip are larger than those of
after it: it forgets them in two thirds of the time.

Compiled loops fade on their way, by `fade` of ``numba_rows``. NumPy, models with a penalty, which then is due for all
columns, and those of earlier versions stop between rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...constraints import Simplex
from ...losses import NOTHING
from ..state.fading import EVERY, MOST, PARTS
from .rule import penalty_clock, settle

OF_AVERAGE = 1.5  # times as fast as others fade sums over the weights played


def lasting(rule):
    """Half-lives in which weights fade to a half; a heavy row is no reason to forget what it taught.

    Faster fading costs more on streams that need large weights than it gains after a flip, and weights that fade in one
    half-life are too small to fit a steady stream. In the few rows of a short half-life they must be gone sooner.
    """
    if isinstance(rule.constraint, Simplex):  # as their sum is fixed
        return np.inf
    return min(8.0, max(4.0, 0.4 * rule.half_life)) if rule.fades_average else 8.0


def fades_on_the_way(rule):
    """Whether compiled loops fade themselves."""
    return rule.forgets and rule.fades_average and not rule.penalised


def fades_per_weight(rule):
    """How often compiled loops that fade on the way do so for a weight of 1."""
    return PARTS / EVERY / rule.half_life


def speed_of_average(rule):
    """How many times as fast as others sums over the weights played fade."""
    return OF_AVERAGE if rule.fades_average else 1.0


def fading_powers(rule):
    """By which powers of what sums, and of what weights, are multiplied by fields do so, by name."""
    powers = {field.name: (1.0, 0.0) for field in rule.FIELDS if field.fades}
    return powers | {"past": (speed_of_average(rule), 0.0), "weight": (0.0, float(lasting(rule) < np.inf))}


def fading(learn_rows, multiply, rule, compiled):
    """As ``learn_rows``, for a model by ``rule``, with what was learnt before fading as rows come.

    Which rows come between two fadings depends on their total weight alone, so cuts of the stream change no bit.
    ``multiply`` is `Columns.multiply`, or the same compiled, as ``learn_rows`` may be.
    """
    on_the_way = compiled and fades_on_the_way(rule)
    return learn_rows if on_the_way or not rule.forgets else partial(_learn_and_fade, learn_rows, multiply)


def _learn_and_fade(learn_rows, multiply, state, loss, X, y, sample_weight, order, predictions):
    """As ``learn_rows``, which stops where something fades."""
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
    """Multiply by ``factor``, at most 1, whatever is a sum over rows, and by a root of it the latest weights."""
    rule, columns = state.rule, state.columns
    kept = max(factor, 0.5) ** (1.0 / lasting(rule))
    with np.errstate(all="ignore"):
        settle(state, columns)
        powers = fading_powers(rule)
        factors = {name: factor**a * kept**b for name, (a, b) in powers.items() if name in columns.names}
        # ``past`` is ``averaged * weight`` less the sum of the weights played, which does not change with the weights.
        multiply(columns, factors, state.averaged * (1.0 - kept) if rule.averaged else 0.0)
        state.t, state.N = state.t * factor, state.N * factor
        state.averaged *= factor ** speed_of_average(rule)
        if rule.l2 > 0:
            columns.shrunk[:] = penalty_clock(state, rule)
        if rule.log_link:
            state.targets.sum[:] = np.maximum(state.targets.sum + np.log(factor), NOTHING)
        else:
            state.targets.sum *= factor
        state.targets.spread *= np.sqrt(factor)
        for mixture in (state.mixture, state.trust):
            mixture.excess *= factor
            mixture.gap *= factor
        state.due *= factor
