"""The losses as compiled functions of one prediction; `sklearn_nag.losses` has the formulas."""

from typing import NamedTuple

import numpy as np

from ...losses import (
    FARTHEST,
    FLAT,
    HALLEY_STEPS,
    LARGEST,
    LEAST_MARGIN,
    LONGEST,
    MOST_MARGIN,
    NEAR,
    NOTHING,
    ROUNDED,
    STEEPEST_RATE,
    closed_move,
    deviance_move,
    series_from_0,
    series_from_1,
    soft_move,
)
from ..state.lifts import LARGEST_POWER
from .arithmetic import each_exp_minus_1, exp, exp_minus_1, log_1_plus, near_exp_minus_1
from .constants import HAS_TARGET_UNIT, IS_COUPLED, OF_MARGIN, OF_RATE
from .heads import FACTOR, GRADIENT, LOSS, PREDICTION, TARGET, UNIT, compared
from .jit import bound, fast, slow, strict, strict_slow
from .softmax import margin, margins, share_moves
from .vectors import WIDTH, anywhere, before, load, maximum, minimum, store, where

# Names in the order of their codes: losses that are functions of ``y p``, then those of ``p - y``.
OF_MARGINS = "log_loss", "hinge", "squared_hinge", "modified_huber", "perceptron", "softmax"
OF_RESIDUALS = (
    "squared_error", "quantile", "absolute_error", "huber", "epsilon_insensitive", "squared_epsilon_insensitive",
)  # fmt: skip
CODES = {name: code for code, name in enumerate(OF_MARGINS + OF_RESIDUALS)}
(
    LOG, HINGE, SQUARED_HINGE, MODIFIED_HUBER, PERCEPTRON, SOFTMAX,
    SQUARED, QUANTILE, ABSOLUTE, HUBER, INSENSITIVE, SQUARED_INSENSITIVE, TWEEDIE,
) = range(len(CODES) + 1)  # fmt: skip
CODES |= {"tweedie": TWEEDIE, "poisson": TWEEDIE, "gamma": TWEEDIE}  # of ``log y - p``

# Up to these lengths at its initial slope, a step is found by `short_move_of_log`, or by Halley's method from that
# length.
SHORT, NEAR_STEP = 0.3, 0.5
CLOSE = 1e-6  # relative change of a move after which the next is below rounding: the method converges cubically


class CompiledLoss(NamedTuple):
    """Code of a loss, its parameter if it has one, and whether the target's unit scales that."""

    code: int
    parameter: float
    scaled: bool


def compiled_loss(loss):
    """`CompiledLoss` of a loss with at most one parameter."""
    names = ("power",) if loss.log_link else loss.parameters
    parameters = [float(getattr(loss, name)) for name in names]
    return CompiledLoss(CODES[loss.name], *(parameters or [0.0]), "epsilon" in loss.parameters)


def loss_constants(loss):
    """Compile-time constants of a loss: what it is a function of, and whether it compares heads."""
    return {"of_margin": loss.name in OF_MARGINS, "of_rate": loss.log_link, "is_coupled": loss.coupled}


@fast
def loss_and_gradient(loss, parameter, p, y):
    """Value of a loss and its derivative with respect to ``p``; see `sklearn_nag.losses`."""
    if OF_MARGIN:
        return soft_loss(loss, p, y) if abs(y) < 1.0 else loss_of_margin(loss, y * p, y)
    if OF_RATE:
        return deviance(parameter, p, y), deviance_slope(parameter, p, y)
    return loss_of_residual(loss, parameter, p - y)


@fast
def fill_losses(heads, loss, n_heads, n_targets):
    """Fill ``LOSS`` and ``GRADIENT`` of all heads; predictions of coupled heads become margins."""
    if IS_COUPLED:
        for k in range(0, n_heads, n_targets):
            margins(heads, PREDICTION, k, k + n_targets)
            fill_losses_of_classes(heads, k, n_targets)
    else:
        for k in range(n_heads):
            parameter = loss.parameter * heads[UNIT, k] if loss.scaled else loss.parameter
            p, y = heads[PREDICTION, k], compared(heads, k % n_targets)
            heads[LOSS, k], heads[GRADIENT, k] = loss_and_gradient(loss.code, parameter, p, y)


@slow
def fill_losses_of_classes(heads, start, n):
    """`fill_losses` from margins of ``n`` classes, eight at a time. Heads after ``start + n`` must be filled later."""
    for j in range(0, n, WIDTH):
        y = load(heads, TARGET, j)
        margin = y * load(heads, PREDICTION, start + j)
        e = inverse_power(margin)
        store(heads, LOSS, start + j, where(y > 0.0, log_loss(margin, e), 0.0))
        store(heads, GRADIENT, start + j, -y * (where(margin > 0.0, e, 1.0) / (1.0 + e)))
        if anywhere((abs(y) < 1.0) & before(n - j)):
            for k in range(j, min(j + WIDTH, n)):
                if abs(heads[TARGET, k]) < 1.0:
                    value, slope = soft_loss(SOFTMAX, heads[PREDICTION, start + k], heads[TARGET, k])
                    heads[LOSS, start + k], heads[GRADIENT, start + k] = value, slope


@fast
def inverse_power(margin):
    """``e^-|margin|``, of one number or eight."""
    return exp(-minimum(abs(margin), LARGEST_POWER))


@fast
def log_loss(margin, e):
    """Log loss of a margin, whose `inverse_power` is ``e``."""
    return log_1_plus(e) + maximum(-margin, 0.0)


@slow
def loss_of_margin(loss, margin, y):
    """`loss_and_gradient` of a margin."""
    if loss in (LOG, SOFTMAX):
        e = inverse_power(margin)
        share = e / (1.0 + e) if margin > 0 else 1.0 / (1.0 + e)
        return log_loss(margin, e) if loss == LOG or y > 0 else 0.0, -y * share
    if loss == HINGE:
        return max(0.0, 1.0 - margin), -y if margin < FLAT else 0.0
    if loss == SQUARED_HINGE:
        gap = max(0.0, 1.0 - margin)
        return gap * gap, -2.0 * y * gap if margin < FLAT else 0.0
    if loss == MODIFIED_HUBER:
        gap = max(0.0, 1.0 - margin)
        slope = -2.0 * y * min(gap, 2.0) if margin < FLAT else 0.0
        return (-4.0 * margin if margin < -1.0 else gap * gap), slope
    return (-margin, -y) if margin <= 0.0 else (0.0, 0.0)


@slow
def soft_loss(loss, p, y):
    """`loss_and_gradient` for a soft label; for `SOFTMAX`, each head has the share of its class."""
    e, share, other = np.exp(-abs(p)), 0.5 * (1.0 + y), 0.5 * (1.0 - y)
    above = 1.0 / (1.0 + e) if p > 0 else e / (1.0 + e)
    below = e / (1.0 + e) if p > 0 else 1.0 / (1.0 + e)
    value = share * (np.log1p(e) + max(0.0, -p))
    if loss == LOG:
        value += other * (np.log1p(e) + max(0.0, p))
    return value, other * above - share * below


@slow
def loss_of_residual(loss, parameter, residual):
    """`loss_and_gradient` of a residual."""
    distance = abs(residual)
    sign = 1.0 if residual > 0 else -1.0 if residual < 0 else 0.0
    if loss == SQUARED:
        return 0.5 * residual * residual, residual
    if loss == QUANTILE:
        slope = 1.0 - parameter if residual > 0 else -parameter if residual < 0 else 0.0
        return slope * residual, slope
    if loss == ABSOLUTE:
        return distance, sign
    if loss == HUBER:
        distance = min(distance, LARGEST)
        near = min(distance, parameter)
        return near * (distance - 0.5 * near), min(max(residual, -parameter), parameter)
    beyond = max(0.0, distance - parameter)
    if loss == INSENSITIVE:
        return beyond, sign if distance > parameter else 0.0
    return beyond * beyond, 2.0 * beyond * sign


@strict_slow
def agree(p, y):
    """Whether ``p`` and ``log y`` differ by rounding at most."""
    if y <= 0.0:
        return False
    log_y = np.log(y)
    return abs(p - log_y) <= ROUNDED * min(max(1.0, abs(log_y)), FARTHEST)


@strict_slow
def deviance(power, p, y):
    """Deviance of a prediction; see `Tweedie.value`."""
    if p <= NOTHING or agree(p, y):
        return 0.0
    f = min(p, FARTHEST)
    if power < 1.0 + NEAR:
        half = (y * (np.log(y) - f - 1.0) if y > 0.0 else 0.0) + np.exp(f)
    elif power > 2.0 - NEAR:
        gap = np.log(y) - f
        half = np.expm1(min(gap, FARTHEST)) - gap
    else:
        a, b = 2.0 - power, 1.0 - power
        half = y**a / (a * b) - y * np.exp(min(b * f, FARTHEST)) / b + np.exp(a * f) / a
    return min(max(2.0 * half, 0.0), LARGEST)


@strict_slow
def deviance_slope(power, p, y):
    """Derivative of `deviance`; see `Tweedie.gradient`."""
    if agree(p, y):
        return 0.0
    up = 2.0 * np.exp(min((2.0 - power) * p, FARTHEST))
    down = 2.0 * (y * np.exp(min((1.0 - power) * p, FARTHEST)))
    return min(up, STEEPEST_RATE) - min(down, STEEPEST_RATE)


_parts = {function.__name__: strict_slow(function) for function in (closed_move, series_from_0, series_from_1)}
move_of_rate, move_of_soft = bound(strict_slow(deviance_move), __name__, _parts), strict_slow(soft_move)


@strict
def loss_of(heads, row, loss, of_target, unit, k, n_targets):
    """Loss of a prediction in a row of the table, with prediction and target over ``unit``.

    The loss of coupled heads is all in the class that came true. Division is strict, because 1 over the least units is
    infinite. ``of_target`` is the target's unit.
    """
    p, y = heads[row, k], heads[TARGET, k]
    if IS_COUPLED:
        if y <= -1.0:
            return 0.0
        p = margin(heads, row, k, n_targets)
    if OF_MARGIN and not HAS_TARGET_UNIT:
        value, _ = loss_and_gradient(loss.code, 0.0, p, y)
        return value
    parameter = loss.parameter * (of_target / unit) if loss.scaled else loss.parameter
    value, _ = loss_and_gradient(loss.code, parameter, p / unit, y / unit)
    return value


@fast
def total_loss(before, loss, c):
    """``before`` plus the loss of a row of weight ``c``, kept in range."""
    return min(before + min(loss * c, LARGEST), LARGEST)


@fast
def importance_aware_move(loss, parameter, p, y, g, a):
    """Signed move of ``p`` by the importance-aware step, with ``g`` the derivative; see `sklearn_nag.losses`."""
    if OF_MARGIN:
        if abs(y) < 1.0:
            return move_of_soft(p, y, a)
        if loss in (LOG, SOFTMAX) and abs(g) * a <= SHORT:
            return y * short_move_of_log(abs(g), a)
        return y * move_of_margin(loss, y * p, a)
    if OF_RATE:
        return move_of_rate(parameter, p, y, a)
    return move_of_residual(loss, parameter, p - y, a)


@slow
def move_of_margin(loss, margin, a):
    """How far the importance-aware step moves the margin."""
    if loss in (LOG, SOFTMAX):
        e = exp(min(max(margin, LEAST_MARGIN), MOST_MARGIN))
        a = min(a, LONGEST)
        d = a / (1.0 + e)
        if a > 1e-12:
            if d > NEAR_STEP:
                d = min(d, np.log1p(a / e))
            for _ in range(HALLEY_STEPS):
                change = too_far(d, e, e * exp_minus_1(d), a)
                d -= change
                if abs(change) <= CLOSE * d:
                    break
        return max(d, 0.0)
    if loss == HINGE:
        return min(a, max(0.0, 1.0 - margin))
    if loss == SQUARED_HINGE:
        return max(0.0, 1.0 - margin) * fallen(2.0 * a)
    steep = min(4.0 * a, max(0.0, -1.0 - margin))
    gap = max(0.0, 1.0 - margin - steep)
    return steep + gap * fallen(2.0 * (a - steep / 4.0))


@fast
def too_far(d, e, grown, a):
    """How far ``d`` is beyond the root of ``d + e (exp(d) - 1) = a``, by Halley's method; ``grown`` is the product."""
    slope = 1.0 + grown + e
    excess = d + grown - a
    return excess / (slope - excess * (slope - 1.0) / (2.0 * slope))


@fast
def short_move_of_log(slope, a):
    """`move_of_margin` of the log loss, for steps of up to `SHORT` at its slope ``1 / (1 + e^margin)``.

    ``d`` solves ``f(d) = slope d + q (e^d - 1) - slope a = 0`` with ``q = 1 - slope``, and begins with the first terms
    of its series. The rest, ``u = f / (1 + x - slope d)``, is below 5e-4, and removed by the series of the root in
    ``u``. Because ``f' - f`` is that divisor, and all further derivatives are ``f' - slope``, its coefficients need no
    exponential, and are ready when ``u`` is.
    """
    x, q = slope * a, 1.0 - slope
    xx = x * x
    d = x - q * xx * (1 / 2 + x * (1 / 6 - 0.5 * q) + xx * (1 / 24 + q * (5 / 8 * q - 5 / 12)))
    beyond = slope * d - x
    inverse = 1.0 / (1.0 - beyond)
    s = 1.0 - slope * inverse
    second, third = 0.5 * s - 1.0, 3 / 2 + s * (0.5 * s - 5 / 3)
    fourth = s * (113 / 24 + s * (5 / 8 * s - 35 / 12)) - 8 / 3
    u = (beyond + q * near_exp_minus_1(d)) * inverse
    return d - (u + u * u * (second + u * (third + u * fourth)))


@fast
def fallen(a):
    """``1 - exp(-a)`` for ``a`` that is not negative."""
    return -exp_minus_1(-min(a, LARGEST_POWER))


@slow
def move_of_residual(loss, parameter, residual, a):
    """Signed move of a residual by the importance-aware step."""
    distance = abs(residual)
    back = -1.0 if residual > 0 else 1.0
    if loss == SQUARED:
        return -residual * fallen(a)
    if loss == QUANTILE:
        return min(max(-residual, (parameter - 1.0) * a), parameter * a)
    if loss == ABSOLUTE:
        return back * min(a, distance)
    if loss == HUBER:
        far, beyond = parameter * a, max(distance - parameter, 0.0)
        if far <= beyond:
            return back * far
        return back * (beyond + min(distance, parameter) * fallen(max(a - min(beyond / parameter, LARGEST), 0.0)))
    beyond = max(0.0, distance - parameter)
    if loss == INSENSITIVE:
        return back * min(a, beyond)
    return back * beyond * fallen(2.0 * a)


@slow
def fill_moves_of_classes(heads, start, n, a):
    """Fill ``FACTOR`` with the importance-aware moves of the margins of ``n`` classes, scaled by `share_moves`.

    Moves are found eight at a time, and those that stay 0 one by one. Heads after ``start + n`` must be filled later.
    """
    for j in range(0, n, WIDTH):
        y, slope = load(heads, TARGET, j), abs(load(heads, GRADIENT, start + j))
        is_hard = (abs(y) >= 1.0) & before(n - j)
        move, is_found = short_move_of_log(slope, a), slope * a <= SHORT
        if anywhere(is_hard & ~is_found):
            near, is_near = near_move_of_log(y * load(heads, PREDICTION, start + j), a)
            move, is_found = where(is_found, move, near), is_found | is_near
        store(heads, FACTOR, start + j, where(is_hard & is_found, y * move, 0.0))
        if anywhere(before(n - j) & ~(is_hard & is_found)):
            for k in range(j, min(j + WIDTH, n)):
                p, y_k, g = heads[PREDICTION, start + k], heads[TARGET, k], heads[GRADIENT, start + k]
                if g != 0.0 and heads[FACTOR, start + k] == 0.0:
                    heads[FACTOR, start + k] = importance_aware_move(SOFTMAX, 0.0, p, y_k, g, a)
    share_moves(heads, FACTOR, start, start + n)


@fast
def near_move_of_log(margin, a):
    """`move_of_margin` of the log loss, for steps of up to `NEAR_STEP` at the initial slope, and a mask of these."""
    e = exp(minimum(maximum(margin, LEAST_MARGIN), MOST_MARGIN))
    d = a / (1.0 + e)
    is_near = d <= NEAR_STEP
    goes_on = is_near
    for _ in range(HALLEY_STEPS):
        change = too_far(d, e, e * each_exp_minus_1(d), a)
        d = where(goes_on, d - change, d)
        goes_on = goes_on & (abs(change) > CLOSE * d)
        if not anywhere(goes_on):
            break
    return maximum(d, 0.0), is_near
