"""What fades beside sums over rows, see `state.fading`: weights, and their average.

Weights are no ratio of sums. While rows are predicted well, slopes and the roots that divide them fall together, and
weights grow by steps as long as ever: after a flip it would take as many rows to bring them down. So they fade, too, by
`lasting`. The average of the weights played is one, but those of before a flip are larger: it forgets them sooner.

The scale of a column that does not vary any more falls much sooner than its weight: per unit of the column the weight
would grow without end. So scales of centred columns are held above a quarter of what they were, which itself falls as
weights fade. Those of rare columns fall as slowly anyway.

Compiled loops fade on their way, by `fade` of ``numba_rows``. NumPy, models with a penalty, which then is due for all
columns, and those of earlier versions stop between rows.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...constraints import Simplex
from ..state.fading import fade_rows, learn_and_fade
from .rule import penalty_clock, settle

HELD = 1.0 / 16.0  # of the mean square of a column, above which it stays
OF_SQUARES = 0.25  # that part falls as the square of a weight that fades in eight half-lives
OF_AVERAGE = 1.5  # times as fast as others fade sums over the weights played


def lasting(rule):
    """Half-lives in which weights fade to a half.

    Faster fading costs more on streams that need large weights than it gains after a flip. In the few rows of a short
    half-life they must be gone sooner.
    """
    if isinstance(rule.constraint, Simplex):  # as their sum is fixed
        return np.inf
    return min(8.0, max(4.0, 0.4 * rule.half_life)) if rule.fades_average else 8.0


def speed_of_average(rule):
    """How many times as fast as others sums over the weights played fade."""
    return OF_AVERAGE if rule.fades_average else 1.0


def fading_powers(rule):
    """By which powers of what sums, and of what weights, are multiplied by fields do so, by name."""
    powers = {field.name: (1.0, 0.0) for field in rule.FIELDS if field.fades}
    return powers | {"past": (speed_of_average(rule), 0.0), "weight": (0.0, float(lasting(rule) < np.inf))}


def fading(learn_rows, multiply, rule, compiled):
    """As ``learn_rows``, for a model by ``rule``, with what was learnt before fading as rows come.

    ``multiply`` is `Columns.multiply`, or the same compiled, as ``learn_rows`` may be.
    """
    on_the_way = compiled and rule.fades_on_the_way
    stops = not on_the_way and rule.forgets
    return partial(learn_and_fade, learn_rows, partial(fade, multiply)) if stops else learn_rows


def fade(multiply, state, factor):
    """Multiply by ``factor``, at most 1, whatever is a sum over rows, and by a root of it the latest weights."""
    rule, columns = state.rule, state.columns
    kept = factor ** (1.0 / lasting(rule))
    settle(state, columns)
    powers = fading_powers(rule)
    factors = {name: factor**a * kept**b for name, (a, b) in powers.items() if name in columns.names}
    # ``past`` is ``averaged * weight`` less the sum of the weights played, which does not change with the weights.
    multiply(columns, factors, state.averaged * (1.0 - kept) if rule.averaged else 0.0)
    fade_rows(state, factor)
    if rule.holds_scales:
        _hold_scales(columns, state.t, factor)
    state.N *= factor
    state.averaged *= factor ** speed_of_average(rule)
    if rule.l2 > 0:
        columns.shrunk[:] = penalty_clock(state, rule)
    for mixture in (state.mixture, state.trust):
        mixture.fade(factor)
    state.due *= factor


def _hold_scales(columns, t, factor):
    """Hold mean squares of centred columns above `HELD` of what they lately were, once all else has faded."""
    held = slice(None) if columns.frequent is None else np.flatnonzero(columns.frequent)
    least, squares = columns.kept("least_square"), columns.kept("squares")  # no centred column has units
    least[held] = np.maximum(least[held] * factor**OF_SQUARES, squares[held] / t * HELD)
    squares[held] = np.maximum(squares[held], least[held] * t)
