"""What is learnt about the targets."""

import numpy as np

from ...losses import FARTHEST, ZERO
from .lifts import TINY, positive

FIELDS = "origin", "sum", "spread", "low", "high", "growth"
PER_ROW = 6.0  # factor of `grown`, so that it is the growth itself if that is steady
FURTHER = 2.5  # multiple of their growth by which predictions may go beyond targets
# Spread, over the mean and over the total weight, above which rows with a target above 0 are remembered no better than
# a single one that has faded to 1/8. Slopes at more zeros fade as fast as the divisor of steps, so the steps would
# never end; the mean, which falls, accounts for low rates.
SELDOM = np.sqrt(8.0)
LARGEST_GROWTH = 2.0**500  # of growth and spread over a mean, which may fall by hundreds of powers of ten
SURE = 1.5  # standard errors of the growth that are put down to chance
FAINT = 2.0**-40  # of a mean; units do not fade below this, or all targets that differ by more would be outliers


class Targets:
    """What is learnt about the targets, one entry for each; 0 if a rule has no use for it.

    Parameters
    ----------
    table : ndarray of shape (6, n_targets)
        The attributes below, in units of ``1 / lift``.
    lift : float, default=1.0
        Power of two by which targets are multiplied: below 1 once they are so large that sums of them would overflow,
        above 1 if those of the first row are tiny.

    Attributes
    ----------
    origin : ndarray of shape (n_targets,)
        The first target, to which the others are relative; 0 without an intercept.
    sum : ndarray of shape (n_targets,)
        ``sum c y``; 0 without an intercept.
    spread : ndarray of shape (n_targets,)
        Root of ``sum c (y - mean)^2``.
    low, high : ndarray of shape (n_targets,)
        The smallest and the largest target, from the origin; without an intercept, at most and at least 0. Stored if a
        rule learns units or clips predictions to this range.
    growth : ndarray of shape (n_targets,)
        How much the targets have grown from the first to the last, by the straight line through them over the total
        weight of the rows; see `grown`. Stored if their mean is.

    Notes
    -----
    If the loss is robust, a target that is more than ``outlying`` units (of the rule) from the mean of those before
    counts as one at this distance, except in ``low`` and ``high``. If a single row could set the unit, by which steps
    are multiplied, a bounded slope of the loss would not help. A share ``f`` of such rows multiplies the square of the
    unit by at most ``1 + f outlying^2`` in the time in which half of the rows are replaced by new ones, so units hardly
    change while ``f`` is less than about ``1 / outlying^2``.

    If predictions are logarithms, ``origin`` is 0, and ``sum``, ``low`` and ``high`` are logarithms of what they are
    otherwise, so that none of them can overflow; ``losses.ZERO`` stands for that of 0. ``spread`` and ``growth`` are
    then relative to the mean.
    """

    def __init__(self, table, lift=1.0):
        vars(self).clear()  # drops views of another table
        self.table, self.lift = table, lift

    def __getattr__(self, name: str) -> np.ndarray:
        """View for an attribute, made on first use, because small calls use few."""
        if name not in FIELDS:
            raise AttributeError(name)
        view = vars(self)[name] = self.table[FIELDS.index(name)]
        return view

    @classmethod
    def new(cls, n_targets):
        """Targets before the first row."""
        return cls(np.zeros((len(FIELDS), n_targets)))

    def __getstate__(self):  # without the views, which would come back as separate arrays
        return {"table": self.table, "lift": self.lift}

    def __setstate__(self, state):
        table = state.get("table")
        if not isinstance(table, np.ndarray) or table.ndim != 2 or len(table) not in (len(FIELDS) - 1, len(FIELDS)):
            raise ValueError(f"targets has a table of shape {np.shape(table)}; it must have {len(FIELDS)} rows")
        if len(table) < len(FIELDS):  # of a model that did not learn growth
            state = {**state, "table": np.vstack([table, np.zeros((1, table.shape[1]))])}
        self.__init__(**state)

    def copy(self):
        """Independent copy."""
        return Targets(self.table.copy(), self.lift)

    def take(self, which):
        """Copy of some of the targets."""
        return Targets(self.table[:, which], self.lift)

    def mean(self, t):
        """Running mean after rows of total weight ``t``, relative to the origin."""
        return self.sum / max(t, TINY)


def grown(growth, before, c, t, difference):
    """Growth of targets with a row of weight ``c``, with which the total weight rises from ``before`` to ``t``.

    For rows that do not fade, it is ``12 / t^2`` times the covariance sum of targets and time: the slope of their least
    squares line, times ``t``.

    ``growth`` is that without the row, ``difference`` the target minus the mean of those before.
    """
    kept = before / t
    return growth * kept * kept + PER_ROW * kept * (c / t) * difference


def growth_of(y, c):
    """Result of `grown` over rows of targets ``y``, of shape (n_rows, n_targets), with weights ``c``."""
    c = c / c.sum()
    t = np.add.accumulate(c)[:, None]
    means = np.add.accumulate(c[:, None] * y) / np.maximum(t, TINY)
    differences = y[1:] - means[:-1]
    return PER_ROW * np.add.reduce(t[:-1] * c[1:, None] * differences)


def chance(growth, spread, t):
    """How much targets may seem to grow by chance, from the standard error of their growth.

    They deviate by ``spread / sqrt(t)`` from their mean, and by less from a line with this growth.
    """
    deviation = spread / np.sqrt(t)
    # Separate roots: then no weight is so small that the quotient is infinite.
    return SURE * deviation * (np.sqrt(np.maximum(12.0 - (growth / positive(deviation)) ** 2, 0.0)) / np.sqrt(t))


def margin(growth, spread, t):
    """How far predictions may go beyond the range of targets, on the side to which these grow.

    Steady growth goes beyond it by ``growth`` until as many rows again have come. The rest is room for faster growth,
    and for seasons.
    """
    return np.maximum(FURTHER * (np.abs(growth) - chance(growth, spread, t)), 0.0)


def in_one_pass(growth, spread, n, t):
    """Growth that has the same margin after rows of total weight ``t`` as ``growth`` has after ``n``.

    So rows learnt several times are no more evidence than rows learnt once.
    """
    deviation = positive(spread / np.sqrt(t))
    least = (np.abs(growth) - chance(growth, deviation * np.sqrt(n), n)) / deviation
    root = SURE * np.sqrt(np.maximum(12.0 * (t + SURE**2) - t * least**2, 0.0))
    size = np.where(least**2 < 12.0, (t * least + root) / (t + SURE**2), least)  # which is ``least`` above its chance
    return np.where(least > 0.0, np.sign(growth) * size * deviation, 0.0)


def widened(low, high, growth, spread, t):
    """A range of targets, extended by the `margin`."""
    further = margin(growth, spread, t)
    return low - further * (growth < 0), high + further * (growth > 0)


def with_room(low, high, t):
    """Range for predictions at which derivatives are taken, from the range with the target, and ``t`` before it.

    The range of few targets is soon exceeded. If targets grow, a row's is mostly the end of the range. Predictions
    clipped to that end would have no derivative, and none would ever be called too high.
    """
    room = (high - low) / np.sqrt(np.maximum(t, 1.0))
    return low - room, high + room


def over_mean(low, high, mean):
    """The ends of a range over the mean, from the logarithms of all three."""
    return np.exp(np.minimum(low - mean, FARTHEST)), np.exp(np.minimum(high - mean, FARTHEST))


def widened_rates(low, high, growth, spread, mean, t):
    """Like `widened`, with logarithms of the ends and the mean; growth and spread are over the mean."""
    further, (bottom, top) = margin(growth, spread, t), over_mean(low, high, mean)
    with np.errstate(divide="ignore"):
        down = np.log1p(-np.minimum(further * (growth < 0) / positive(bottom), 1.0))
    return np.maximum(low + down, ZERO), high + np.log1p(further * (growth > 0) / positive(top))
