"""What fades in this family besides sums over rows (see `state.fading`).

* Weights, by `lasting`. They are not ratios of sums: while rows are predicted well, slopes fall together with the roots
  that divide them, and weights grow by steps as long as ever. After a flip, it would take as many rows to undo this.
* Averages of the weights played, faster than other sums, because weights from before a flip are larger.
* Scales of centred columns, slowly: they stay above a quarter of what they were, a bound that falls as weights fade. If
  a column stopped varying, its scale would fall much sooner than its weight, which per unit of the column would grow
  without end. Scales of rare columns fall as slowly anyway.

Compiled loops fade by themselves, with `fade` of ``numba_rows``. NumPy, models with a penalty (then due for all
columns), and models of earlier versions stop between rows.
"""

from functools import partial

import numpy as np

from ...constraints import Simplex
from ..state.fading import fade_rows, learn_and_fade
from .rule import penalty_clock, settle

HELD = 1.0 / 16.0  # share of its recent mean square, above which a column stays
OF_SQUARES = 0.25  # power of the factor by which that falls: as the square of a weight that halves in eight half-lives
OF_AVERAGE = 1.5  # sums over the weights played fade so many times as fast as others


def lasting(rule):
    """Half-lives in which weights halve; infinite if they do not fade.

    Faster fading costs more on streams that need large weights than it gains after a flip. A short half-life has few
    rows, in which weights must be gone sooner.
    """
    if isinstance(rule.constraint, Simplex):  # their sum is fixed
        return np.inf
    return min(8.0, max(4.0, 0.4 * rule.half_life)) if rule.fades_average else 8.0


def speed_of_average(rule):
    """Speed at which sums over the weights played fade, relative to other sums."""
    return OF_AVERAGE if rule.fades_average else 1.0


def fading_powers(rule):
    """Exponents ``(a, b)`` by field: fading multiplies a field by ``factor**a * kept**b``, as in `fade`."""
    powers = {field.name: (1.0, 0.0) for field in rule.FIELDS if field.fades}
    return powers | {"past": (speed_of_average(rule), 0.0), "weight": (0.0, float(lasting(rule) < np.inf))}


def fading(learn_rows, multiply, rule, compiled):
    """``learn_rows`` with fading between rows, unless loops fade themselves.

    ``multiply`` is `Columns.multiply` or its compiled version.
    """
    on_the_way = compiled and rule.fades_on_the_way
    stops = not on_the_way and rule.forgets
    return partial(learn_and_fade, learn_rows, partial(fade, multiply)) if stops else learn_rows


def fade(multiply, state, factor):
    """Multiply sums over rows by ``factor``, at most 1, and the latest weights by a root of it."""
    rule, columns = state.rule, state.columns
    kept = factor ** (1.0 / lasting(rule))
    settle(state, columns)
    powers = fading_powers(rule)
    factors = {name: factor**a * kept**b for name, (a, b) in powers.items() if name in columns.names}
    # ``past`` is ``averaged * weight`` minus the sum of the weights played. That sum does not change as weights fade.
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
    """Keep mean squares of centred columns above `HELD` of recent ones, after all else has faded."""
    held = slice(None) if columns.frequent is None else np.flatnonzero(columns.frequent)
    least, squares = columns.kept("least_square"), columns.kept("squares")  # no centred column is kept in units
    least[held] = np.maximum(least[held] * factor**OF_SQUARES, squares[held] / t * HELD)
    squares[held] = np.maximum(squares[held], least[held] * t)
