"""The losses: value, derivative and importance-aware move of each, looked up by name.

Losses work element by element on scalars and arrays, with the same bits for one head or a hundred. In classification,
``y`` is -1 or 1 and ``p`` the decision value. In regression, both are in units of the target, and thresholds are
multiplied by ``unit``. The log loss also takes a *soft* label, a ``y`` between -1 and 1. Its loss is the mean of the
losses of 1, with the share ``(1 + y) / 2``, and of -1.

The importance-aware move (Karampatziakis and Langford, "Online importance weight aware updates", UAI 2011) is the
change of ``p`` in the time ``a`` under ``dp/da = -gradient(p, y)``. An explicit step would change ``p`` by ``-a`` times
the gradient; the move is the limit of infinitely many small steps, which cannot pass the target.
"""

import math
from typing import ClassVar, Literal, TypeAlias

import numpy as np
from scipy.special import expit

OfBoth: TypeAlias = Literal["squared_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive"]
ClassificationLoss: TypeAlias = Literal["log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron"] | OfBoth
RegressionLoss: TypeAlias = OfBoth | Literal["absolute_error", "quantile", "poisson", "gamma", "tweedie"]

LEAST_MARGIN, MOST_MARGIN, LONGEST = -300.0, 700.0, 1e100  # cut-offs in moves of the log loss, to stay in range
LARGEST = np.finfo(np.float64).max
HALLEY_STEPS = 4  # from any start, at worst the last few digits are wrong after these
# Logarithms of means: of what is predicted before any target above 0, of 0, and the largest that is played.
NOTHING, ZERO, FARTHEST = -10000.0, -9999.0, 700.0
STEEPEST_RATE = 2.0**511  # bound of slopes with a log link; times the root of any weight, they stay in range
LEAST_LOG, MOST_LOG = math.log(5e-324), math.log(np.finfo(np.float64).max)  # of positive doubles
NEAR = 1e-6  # a power this near to 1 or 2 counts as 1 or 2
ROUNDED = 2.0**-40  # relative difference of logarithms that may be rounding, and counts as 0
N_TERMS, NEWTON_STEPS = 50, 8  # in `deviance_move`; each half of the range needs no more
SOFT_STEPS = 12  # at most, in `soft_move`
BISECTIONS = 52  # at most, in `Softmax.share`
# Margin from which hinge losses are flat. It is below the kink, at which steps end, so rounding does not decide whether
# the next row is learnt from.
FLAT = 1.0 - 1e-9


OUTLYING, MOST_OUTLYING = 6.0, 32.0  # in standard deviations; see `Loss.outlying`


def between(a, low, high):
    """Faster ``np.clip``, for bounds that are not NaN."""
    return min(max(a, low), high) if isinstance(a, float) else np.minimum(np.maximum(a, low), high)


class Loss:
    """A convex loss of a prediction ``p`` and a target ``y``."""

    name: ClassVar[str]
    parameters: ClassVar[tuple[str, ...]] = ()
    degree: ClassVar[int] = 2  # ``y -> a y`` multiplies the loss by ``a ** degree``
    coupled: ClassVar[bool] = False  # whether the loss compares the heads of a row with one another
    log_link: ClassVar[bool] = False  # whether ``p`` is the logarithm of the prediction

    def value(self, p, y, unit=1.0):
        """Loss, with the shape of ``p``."""
        raise NotImplementedError

    def gradient(self, p, y, unit=1.0):
        """Derivative with respect to ``p``; 0 at a kink if 0 is a subgradient."""
        raise NotImplementedError

    def lipschitz(self, unit=1.0):
        """Lipschitz constant, the largest absolute derivative; None if there is none."""
        return None

    @property
    def robust(self):
        """Whether derivatives are bounded, so that no target can do any harm."""
        return self.lipschitz() is not None

    @property
    def outlying(self):
        """Largest distance from the mean, in standard deviations, at which a target counts in statistics if robust."""
        return OUTLYING if self.robust else MOST_OUTLYING

    slowed = 1.0  # factor of adaptive rates in the long run
    move = None  # move(p, y, a, unit=1.0): change of ``p`` in the time ``a``; None if steps are explicit


class Lipschitz(Loss):
    """A loss whose derivative is between -1 and 1."""

    def lipschitz(self, unit=1.0):
        return 1.0


class Log(Lipschitz):
    """``log(1 + exp(-y p))``; for a soft label, the mean of the losses of 1 and -1, weighted with their shares."""

    name = "log_loss"

    def value(self, p, y, unit=1.0):
        p = between(p, -LARGEST, LARGEST)  # because 0 times infinity is NaN
        return 0.5 * (1.0 + y) * np.logaddexp(0.0, -p) + 0.5 * (1.0 - y) * np.logaddexp(0.0, p)

    def gradient(self, p, y, unit=1.0):
        return 0.5 * (1.0 - y) * expit(p) - 0.5 * (1.0 + y) * expit(-p)

    def move(self, p, y, a, unit=1.0):
        """``y d`` with ``d + e^(yp) (e^d - 1) = a`` for hard labels: Halley's method, from the lesser of two bounds."""
        e = np.exp(between(y * p, LEAST_MARGIN, MOST_MARGIN))
        far = between(a, 0.0, LONGEST)
        d = between(far / (1.0 + e), 0.0, np.log1p(far / e))
        for _ in range(HALLEY_STEPS):
            grown = e * np.expm1(d)
            slope = 1.0 + grown + e
            excess = d + grown - far
            d = d - excess / (slope - excess * (slope - 1.0) / (2.0 * slope))
        moved = y * between(d, 0.0, np.inf)
        is_soft = abs(y) < 1.0
        return np.where(is_soft, _each_soft_move(p, y, a), moved)[()] if np.count_nonzero(is_soft) else moved


class Softmax(Log):
    """``-log`` of the probability ``exp(p_k) / sum_j exp(p_j)`` of the row's class ``k``; each class has a head.

    Head ``k`` has the gradient of the log loss at its margin over the others, ``p_k - log sum_{j != k} exp(p_j)``. For
    soft labels, the loss is the mean over classes, weighted with their shares.
    """

    name = "softmax"
    coupled = True

    def margins(self, p):
        """Margin of each head over the others, along the last axis of ``p``."""
        is_best = p.argmax(axis=-1)[..., None] == np.arange(p.shape[-1])
        others = np.where(is_best, -np.inf, p)
        second = others.max(axis=-1, keepdims=True)
        gap = p.max(axis=-1, keepdims=True) - second
        behind = others - second
        shares = np.exp(behind)
        total = np.add.reduce(shares, axis=-1, keepdims=True)
        rest = np.maximum(total - shares, 0.0) * np.exp(-gap)
        return np.where(is_best, gap - np.log(total), behind - gap - np.log1p(rest))

    def share(self, margins, move, y):
        """Share of their moves that the heads of a row make together: up to the point with the least loss on the way.

        Each move is made as if the other heads stayed. Only with soft labels can the moves together pass that point.
        """
        if not (np.abs(y) < 1.0).any():
            return 1.0
        logs = np.minimum(margins, 0.0) - np.log1p(np.exp(-np.abs(margins)))
        wanted = np.add.reduce(0.5 * (1.0 + y) * move, axis=-1, keepdims=True)
        least, most = np.zeros(wanted.shape), np.ones(wanted.shape)
        share = most
        for _ in range(BISECTIONS):
            moved = logs + share * move
            p = np.exp(moved - moved.max(axis=-1, keepdims=True))
            slope = np.add.reduce(p * move, axis=-1, keepdims=True) - wanted * np.add.reduce(p, axis=-1, keepdims=True)
            least, most = np.where(slope > 0.0, least, share), np.where(slope > 0.0, share, most)
            if (least == most).all():
                break
            share = 0.5 * (least + most)
        return least

    def value(self, p, y, unit=1.0):
        """For each class, its share of the row's loss (all of it for a hard label); losses are summed over heads."""
        return 0.5 * (1.0 + y) * super().value(p, 1.0)


class Hinge(Lipschitz):
    """``max(0, 1 - y p)``."""

    name = "hinge"

    def value(self, p, y, unit=1.0):
        return np.maximum(0.0, 1.0 - y * p)

    def gradient(self, p, y, unit=1.0):
        return -y * (y * p < FLAT)

    def move(self, p, y, a, unit=1.0):
        return y * np.minimum(a, np.maximum(0.0, 1.0 - y * p))


def _gap(margin):
    """How far a margin is below 1; 0 from `FLAT` on, because the first adaptive step is equally long for any slope."""
    return np.where(margin < FLAT, 1.0 - margin, 0.0)[()]


class SquaredHinge(Loss):
    """``max(0, 1 - y p)^2``."""

    name = "squared_hinge"

    def value(self, p, y, unit=1.0):
        return np.maximum(0.0, 1.0 - y * p) ** 2

    def gradient(self, p, y, unit=1.0):
        return -2.0 * y * _gap(y * p)

    def move(self, p, y, a, unit=1.0):
        return y * np.maximum(0.0, 1.0 - y * p) * -np.expm1(-2.0 * a)


class ModifiedHuber(Loss):
    """``max(0, 1 - y p)^2`` for ``y p >= -1``, else ``-4 y p``."""

    name = "modified_huber"

    def lipschitz(self, unit=1.0):
        return 4.0

    def value(self, p, y, unit=1.0):
        margin = y * p
        return np.where(margin < -1.0, -4.0 * margin, np.maximum(0.0, 1.0 - np.maximum(margin, -1.0)) ** 2)

    def gradient(self, p, y, unit=1.0):
        return -2.0 * y * np.minimum(_gap(y * p), 2.0)

    def move(self, p, y, a, unit=1.0):
        """At slope 4 up to a margin of -1, and from there like the squared hinge."""
        margin = y * p
        steep = np.minimum(4.0 * a, np.maximum(0.0, -1.0 - margin))
        gap = np.maximum(0.0, 1.0 - margin - steep)
        return y * (steep - gap * np.expm1(-2.0 * (a - steep / 4.0)))


class Perceptron(Lipschitz):
    """``max(0, -y p)``; a prediction of exactly 0 counts as a mistake."""

    name = "perceptron"

    def value(self, p, y, unit=1.0):
        return np.maximum(0.0, -y * p)

    def gradient(self, p, y, unit=1.0):
        return -y * (y * p <= 0.0)


class SquaredError(Loss):
    """``(p - y)^2 / 2``."""

    name = "squared_error"

    def value(self, p, y, unit=1.0):
        return 0.5 * (p - y) ** 2

    def gradient(self, p, y, unit=1.0):
        return p - y

    def move(self, p, y, a, unit=1.0):
        return (p - y) * np.expm1(-a)


class Quantile(Loss):
    """``quantile (y - p)`` if ``p`` is too low, ``(1 - quantile) (p - y)`` if it is too high."""

    name = "quantile"
    degree = 1
    parameters = ("quantile",)

    def __init__(self, quantile=0.5):
        self.quantile = quantile

    @property
    def outlying(self):
        """As for any loss, but larger for unequal sides: targets on the rarer side may be farther away."""
        return float(min(OUTLYING / np.sqrt(2.0 * min(self.quantile, 1.0 - self.quantile)), MOST_OUTLYING))

    @property
    def slowed(self):
        """Factor that limits long steps of the rare side, ``sqrt((1 - q) / q)`` times the rate, to twice the rate."""
        return float(2.0 * np.sqrt(self.quantile * (1.0 - self.quantile)))

    def lipschitz(self, unit=1.0):
        return max(self.quantile, 1.0 - self.quantile)

    def value(self, p, y, unit=1.0):
        return np.maximum(self.quantile * (y - p), (1.0 - self.quantile) * (p - y))

    def gradient(self, p, y, unit=1.0):
        return (1.0 - self.quantile) * (p > y) - self.quantile * (p < y)

    def move(self, p, y, a, unit=1.0):
        return np.minimum(np.maximum(y - p, (self.quantile - 1.0) * a), self.quantile * a)


class AbsoluteError(Lipschitz):
    """``|p - y|``."""

    name = "absolute_error"
    degree = 1

    def value(self, p, y, unit=1.0):
        return np.abs(p - y)

    def gradient(self, p, y, unit=1.0):
        return 1.0 * (p > y) - 1.0 * (p < y)

    def move(self, p, y, a, unit=1.0):
        return np.minimum(np.maximum(y - p, -a), a)


class Huber(Loss):
    """``(p - y)^2 / 2`` up to a distance of ``epsilon``, linear beyond."""

    name = "huber"
    parameters = ("epsilon",)

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def lipschitz(self, unit=1.0):
        return self.epsilon * unit

    def value(self, p, y, unit=1.0):
        distance = np.minimum(np.abs(p - y), LARGEST)  # because 0 times infinity is NaN
        near = np.minimum(distance, self.epsilon * unit)
        return near * (distance - 0.5 * near)

    def gradient(self, p, y, unit=1.0):
        return between(p - y, -self.epsilon * unit, self.epsilon * unit)

    def move(self, p, y, a, unit=1.0):
        """At constant slope up to a distance of ``epsilon``, and from there like the squared error."""
        slope = self.epsilon * unit
        distance = np.abs(y - p)
        far, beyond = slope * a, np.maximum(distance - slope, 0.0)
        left = np.maximum(a - np.minimum(beyond / np.where(slope > 0, slope, 1.0), LARGEST), 0.0)
        left = np.where(far <= beyond, 0.0, left)  # exactly 0, because it is multiplied by the distance
        return np.copysign(np.minimum(far, beyond) - np.minimum(distance, slope) * np.expm1(-left), y - p)


class EpsilonInsensitive(Lipschitz):
    """``max(0, |p - y| - epsilon)``."""

    name = "epsilon_insensitive"
    degree = 1
    parameters = ("epsilon",)

    def __init__(self, epsilon=0.1):
        self.epsilon = epsilon

    def value(self, p, y, unit=1.0):
        return np.maximum(0.0, np.abs(p - y) - self.epsilon * unit)

    def gradient(self, p, y, unit=1.0):
        return 1.0 * (p - y > self.epsilon * unit) - 1.0 * (y - p > self.epsilon * unit)

    def move(self, p, y, a, unit=1.0):
        beyond = np.maximum(0.0, np.abs(p - y) - self.epsilon * unit)
        return np.copysign(np.minimum(a, beyond), y - p)


class SquaredEpsilonInsensitive(EpsilonInsensitive):
    """``max(0, |p - y| - epsilon)^2``."""

    name = "squared_epsilon_insensitive"
    degree = 2

    def lipschitz(self, unit=1.0):
        return None

    def value(self, p, y, unit=1.0):
        return super().value(p, y, unit) ** 2

    def gradient(self, p, y, unit=1.0):
        return 2.0 * super().value(p, y, unit) * super().gradient(p, y, unit)

    def move(self, p, y, a, unit=1.0):
        beyond = super().value(p, y, unit)
        return np.copysign(beyond * -np.expm1(-2.0 * a), y - p)


class Tweedie(Loss):
    """Deviance of a Tweedie distribution with mean ``mu = exp(p)`` and variance ``mu ** power``.

    ``2 (y^(2-power) / ((1-power) (2-power)) - y mu^(1-power) / (1-power) + mu^(2-power) / (2-power))``, convex in ``p``
    for powers from 1 to 2. At these two it has its limits, `Poisson` and `Gamma`. A mean of ``exp(NOTHING)``, predicted
    before the first target above 0, has no loss. Exponents and values are cut off to stay in range.
    """

    name = "tweedie"
    parameters: ClassVar[tuple[str, ...]] = ("power",)
    degree = 0  # targets are counted by their logarithm
    log_link = True

    def __init__(self, power=1.5):
        self.power = power

    def value(self, p, y, unit=1.0):
        p, power = np.asarray(p), self.power
        f = np.minimum(p, FARTHEST)
        with np.errstate(all="ignore"):
            log_y = np.log(y)
            if power < 1.0 + NEAR:
                half = np.where(y > 0, y * (log_y - f - 1.0), 0.0) + np.exp(f)
            elif power > 2.0 - NEAR:
                half = np.expm1(np.minimum(log_y - f, FARTHEST)) - (log_y - f)
            else:
                a, b = 2.0 - power, 1.0 - power
                half = np.power(y, a) / (a * b) - y * np.exp(np.minimum(b * f, FARTHEST)) / b + np.exp(a * f) / a
            none = (p <= NOTHING) | self._agree(p, log_y)
            return np.where(none, 0.0, between(2.0 * half, 0.0, LARGEST))

    def gradient(self, p, y, unit=1.0):
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            up = 2.0 * np.exp(np.minimum((2.0 - self.power) * p, FARTHEST))
            down = 2.0 * (y * np.exp(np.minimum((1.0 - self.power) * p, FARTHEST)))
            slope = np.minimum(up, STEEPEST_RATE) - np.minimum(down, STEEPEST_RATE)
            return np.where(self._agree(p, np.log(y)), 0.0, slope)[()]

    @staticmethod
    def _agree(p, log_y):
        """Whether both differ by rounding at most; for rules without units, any first slope is a large one."""
        return abs(p - log_y) <= ROUNDED * np.clip(abs(log_y), 1.0, FARTHEST)  # cut off because ``y`` may be 0

    def move(self, p, y, a, unit=1.0):
        return _each_move(self.power, p, y, a)[()]


class Poisson(Tweedie):
    """``2 (y log(y / mu) - y + mu)`` with the mean ``mu = exp(p)``: the deviance of counts."""

    name = "poisson"
    parameters = ()

    def __init__(self):
        super().__init__(1.0)


class Gamma(Tweedie):
    """``2 (y / mu - 1 - log(y / mu))`` with the mean ``mu = exp(p)``: the deviance of amounts above 0."""

    name = "gamma"
    parameters = ()

    def __init__(self):
        super().__init__(2.0)


def deviance_move(power, p, y, a):
    """Move of ``p`` in the time ``a`` under ``dp/da = -Tweedie(power).gradient(p, y)``; for numbers, not arrays.

    With ``d = p - log y`` and the time ``b = 2 a y^(2-power)``, ``dd/db = e^((1-power) d) (1 - e^d)``. There is a
    closed form at the powers 1 and 2, and for a ``y`` of 0. Between these powers, ``x = e^-|d|`` approaches 1 with
    ``dx/db = x^(1-k) (1 - x)``; ``k`` is ``power - 1`` if ``d`` is below 0, and ``2 - power`` above. The time taken is
    the ``integral of x^(k-1) / (1 - x)``: a series in ``x`` up to 1/2, and beyond that ``-log(1 - x)`` and a series in
    ``1 - x``. Newton's method inverts the first in ``x^k``, in which it is convex, from above, and the second in
    ``-log(1 - x)``, in which it is concave, from below; so no step goes too far.
    """
    if not a > 0.0:
        return 0.0
    log_time = math.log(a) + math.log(2.0)
    if y <= 0.0:
        k = 2.0 - power
        grown = math.log(k) + log_time + k * max(p, -1e300)
        return -(grown if grown > 40.0 else math.log1p(math.exp(grown))) / k
    log_y = math.log(y)
    gap = p - log_y
    if gap == 0.0:
        return 0.0
    log_time += (2.0 - power) * log_y
    time = math.exp(min(log_time, FARTHEST))
    if power < 1.0 + NEAR:
        return -closed_move(gap, time)
    if power > 2.0 - NEAR:
        return closed_move(-gap, time)
    k = power - 1.0 if gap < 0.0 else 2.0 - power
    log_x = -abs(gap)
    log_step = log_time - k * max(log_x, -1e300)
    if log_step < -18.0:  # so short that one explicit step is exact to rounding
        way = math.exp(log_step) * -math.expm1(log_x)
        return math.copysign(min(way, -log_x), -gap)
    half_sum, half_rest = series_from_0(k, 0.5, 0.5**k), series_from_1(k, 0.5)
    x = math.exp(max(log_x, -FARTHEST))
    if x <= 0.5:
        passed = series_from_0(k, x, math.exp(max(k * log_x, -FARTHEST)))
    else:
        left = -math.expm1(log_x)
        passed = half_sum - math.log(2.0 * left) + half_rest - series_from_1(k, left)
    total = passed + time
    if total <= half_sum:
        v = min(k * total, 0.5**k)
        for _ in range(NEWTON_STEPS):
            x = v ** (1.0 / k)
            reached = series_from_0(k, x, v)
            v = max(v - (reached - total) * k * (1.0 - x), 0.0)
        new = math.log(v) / k if v > 0.0 else log_x
    else:
        depth = math.log(2.0) + (total - half_sum) / 2.0 ** (1.0 - k)
        for _ in range(NEWTON_STEPS):
            left = math.exp(-depth)
            reached = half_sum + depth - math.log(2.0) + half_rest - series_from_1(k, left)
            depth += (total - reached) * (1.0 - left) ** (1.0 - k)
        new = math.log1p(-math.exp(-max(depth, math.log(2.0))))
    return math.copysign(min(max(new - log_x, 0.0), -log_x), -gap)


def closed_move(g, time):
    """``log(e^-time + e^g (1 - e^-time))``: the `deviance_move` at the powers 1 and 2, up to its sign."""
    gone = -math.expm1(-time)
    if gone == 0.0:
        return 0.0
    change = math.expm1(g) * gone if g < 30.0 else LARGEST
    if -0.5 < change < 1e12:
        way = math.log1p(change)
    else:
        near, far = -time, g + math.log(gone)
        way = max(near, far) + math.log1p(math.exp(-abs(near - far)))
    return min(max(way, 0.0), g) if g > 0.0 else max(min(way, 0.0), g)


def series_from_0(k, x, power):
    """Integral of ``x^(k-1) / (1 - x)`` from 0 on, for ``power = x^k``; see `deviance_move`."""
    total = 0.0
    for j in range(N_TERMS):
        total += power / (j + k)
        power *= x
    return total


def series_from_1(k, left):
    """How far the integral is below ``-log(left)`` at ``x = 1 - left``, up to a constant."""
    total, term = 0.0, 1.0
    for j in range(N_TERMS):
        term *= (1.0 - k + j) / (j + 1.0) * left
        total += term / (j + 1.0)
    return total


def soft_move(p, y, a):
    """Move of ``p`` in the time ``a`` under ``dp/da = -Log().gradient(p, y)``, for a soft label; for numbers.

    ``s`` is the share of the class towards which ``p`` moves, and ``g`` its distance from ``log(s / (1 - s))``, where
    the loss is least. In the time ``a``, ``(1 - s) g + log(1 - e^-g)`` falls by ``s (1 - s) a``, and ``g`` by the move
    ``d``. Beyond ``g = log 2``, Halley's method finds ``d`` from the lesser of two bounds, as in `Log.move`. Nearer,
    let ``u`` be the increase of ``-log(1 - e^-g)``. The fall is then ``u + (1 - s) log(1 + (e^g - 1) (1 - e^-u))``,
    which is concave in ``u`` and almost linear; Newton's method solves it from below.
    """
    share, other = 0.5 * (1.0 + y), 0.5 * (1.0 - y)
    gap, sign = math.log(share) - math.log(other) - p, 1.0
    if gap < 0.0:
        share, other, gap, sign = other, share, -gap, -1.0
    time, way, near = share * other * min(a, LONGEST), 0.0, math.log(2.0)
    if not (time > 1e-300 and gap > 0.0):
        return 0.0
    if gap > near:
        rest = -math.expm1(-gap)
        way_there, time_there = gap - near, other * (gap - near) + math.log(rest) + near
        if time < time_there:
            most = math.log(-math.expm1(-time) * rest) + gap  # the bound of the logarithm, but for what it began with
            most = most + math.log1p(math.exp(-most)) if most > 0.0 else math.log1p(math.exp(most))
            way = min(min(time / other, most), way_there)
            for _ in range(SOFT_STEPS):
                now = math.exp(way - gap) / rest
                gone = math.exp(-gap) * math.expm1(way) / rest if way < 1.0 else now - math.exp(-gap) / rest
                left = 1.0 - gone
                slope, excess = other + now / left, other * way - math.log1p(-gone) - time
                bend = now * (left + now) / (left * left)
                change = excess / (slope - 0.5 * excess * bend / slope)
                way -= change
                if abs(change) <= 1e-6 * way:
                    break
            return sign * min(max(way, 0.0), way_there)
        time, way, gap = time - time_there, way_there, near
    factor = math.expm1(gap)
    u = time / (1.0 + other * factor)
    for _ in range(SOFT_STEPS):
        grown = -factor * math.expm1(-u)
        change = (time - u - other * math.log1p(grown)) / (1.0 + other * (factor - grown) / (1.0 + grown))
        u += change
        if abs(change) <= 1e-9 * u:
            break
    return sign * (way + min(math.log1p(-factor * math.expm1(-max(u, 0.0))), gap))


_each_move = np.vectorize(deviance_move, otypes=[np.float64])
_each_soft_move = np.vectorize(lambda p, y, a: soft_move(p, y, a) if abs(y) < 1.0 else 0.0, otypes=[np.float64])


def _by_name(*losses: type[Loss]) -> dict[str, type[Loss]]:
    """Losses by name."""
    return {loss.name: loss for loss in losses}


CLASSIFICATION = _by_name(Log, Hinge, SquaredHinge, ModifiedHuber, Perceptron)
REGRESSION = _by_name(SquaredError, AbsoluteError, Huber, EpsilonInsensitive, SquaredEpsilonInsensitive, Quantile)
LOG_LINK = _by_name(Poisson, Gamma, Tweedie)
