"""The rules of `_numpy` as compiled loops.

Held equal to `_numpy` by test, to rounding; scales and ``t`` bit for bit. A row is learnt on a small table of columns:
for dense rows a copy of the whole table of the model, for sparse ones a copy of the columns that the row names.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numba import njit

from ..losses import HALLEY_STEPS, LEAST_MARGIN, LONGEST, MOST_MARGIN
from . import _numpy
from ._state import HIGHEST, LARGEST, LARGEST_LIFT, LIFT_STEP, LOWEST, STEEPEST, TINY, first_rows

# Sums may be reordered and products contracted, but NaN and infinity are kept, as divergence is told by them.
FAST = {"reassoc", "contract", "arcp", "nsz"}
LOSSES = (
    "log_loss",
    "hinge",
    "squared_hinge",
    "modified_huber",
    "perceptron",
    "squared_error",
    "quantile",
    "absolute_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
    "softmax",
)
LOG, HINGE, SQUARED_HINGE, MODIFIED_HUBER, PERCEPTRON = range(5)
SQUARED, QUANTILE, ABSOLUTE, HUBER, INSENSITIVE, SQUARED_INSENSITIVE, SOFTMAX = range(5, 12)
NONE, MAX, RMS = range(3)
# Columns are padded to full vectors, so that loops have no scalar rest. Rows of a table are far enough apart for
# compiled loops, which compare distances, to run the same way whatever the batch; and by ``APART`` modulo ``STEP``, as
# processors take addresses that agree in their last 12 bits for the same, and what is read for what was just written.
PADDING, APART, STEP = 8, 72, 128
LINE = 8  # numbers of 8 bytes in a cache line
GUESS = np.uint64(0x5FE6EB50C7B537A9)  # less half the bits of x, those of nearly 1 / sqrt(x)
SMALL, ENLARGED = 2.0**-900, 2.0**60  # below, a number may be subnormal, whose bits tell nothing of its size
T, N, SHRINKAGE, AVERAGED = range(4)  # entries of ``clock``
ORIGIN, SUM, SPREAD, LOW, HIGH = range(5)  # rows of the table of targets
SCRATCH = ("x", "z", "inverse", "direction")  # rows below the fields of a table
# Rows of the table of heads; of a type that Numba does not take for a literal, for each of which it compiles anew.
Y, P, SHOWN, LAST, SLOPE, UNIT, SHARE, SUFFERED, RATIO = map(np.int64, range(9))


def inner(**options):
    """`numba.njit` for what compiled code alone calls.

    Neither called from Python, nor counting references, which a row would spend more time on than on its numbers.
    """
    unused = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(nogil=True, error_model="numpy", **unused, **options)


def entry(function):
    """`numba.njit` for what Python calls, with a cache on disk where there can be one."""
    options = {"nogil": True, "error_model": "numpy", "fastmath": FAST}
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # no folder to write to
        return njit(**options)(function)


fast, slow = inner(fastmath=FAST, forceinline=True), inner(fastmath=FAST)
contracted = inner(fastmath={"contract"}, forceinline=True)
exact = inner(fastmath=False, forceinline=True)  # said, as compiled code takes over what its caller has


@contracted
def inverse_sqrt(x):
    """``1 / sqrt(x)`` of a normal number, to rounding: Newton's steps from a guess made of the bits (Lomont, 2003).

    Processors do one division or root at a time, but several products.
    """
    y = np.uint64(GUESS - (np.float64(x).view(np.uint64) >> np.uint64(1))).view(np.float64)
    for _ in range(4):
        y = y * (1.5 - (0.5 * y) * (x * y))
    return y


@contracted
def inverse_sqrt_of_any(x):
    """As `inverse_sqrt`, of any positive number."""
    small = x < SMALL
    y = inverse_sqrt(x * ENLARGED**2 if small else x)
    return y * ENLARGED if small else y


@fast
def loss_and_gradient(loss, parameter, p, y):
    """Value of a loss and its derivative by ``p``; see `sklearn_nag.losses`."""
    margin = y * p
    if loss in (LOG, SOFTMAX):
        e = np.exp(-abs(margin))
        share = e / (1.0 + e) if margin > 0 else 1.0 / (1.0 + e)
        value = np.log1p(e) + max(0.0, -margin) if loss == LOG or y > 0 else 0.0
        return value, -y * share
    if loss == HINGE:
        return (1.0 - margin, -y) if margin < 1.0 else (0.0, 0.0)
    if loss == SQUARED_HINGE:
        gap = max(0.0, 1.0 - margin)
        return gap * gap, -2.0 * y * gap
    if loss == MODIFIED_HUBER:
        gap = max(0.0, 1.0 - margin)
        return (-4.0 * margin if margin < -1.0 else gap * gap), -2.0 * y * min(gap, 2.0)
    if loss == PERCEPTRON:
        return (-margin, -y) if margin <= 0.0 else (0.0, 0.0)
    residual = p - y
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
        near = min(distance, parameter)
        return near * (distance - 0.5 * near), min(max(residual, -parameter), parameter)
    beyond = max(0.0, distance - parameter)
    if loss == INSENSITIVE:
        return beyond, sign if distance > parameter else 0.0
    return beyond * beyond, 2.0 * beyond * sign


@slow
def way(loss, parameter, p, y, a):
    """How far, and in which direction, the importance-aware step moves ``p``; see `sklearn_nag.losses`."""
    margin = y * p
    if loss in (LOG, SOFTMAX):
        e = np.exp(min(max(margin, LEAST_MARGIN), MOST_MARGIN))
        a = min(a, LONGEST)
        d = a / (1.0 + e)
        if a > 1e-12:
            if d > 0.5:
                d = min(d, np.log1p(a / e))
            for _ in range(HALLEY_STEPS):
                grown = e * np.expm1(d)
                slope = 1.0 + grown + e
                excess = d + grown - a
                change = excess / (slope - excess * (slope - 1.0) / (2.0 * slope))
                d -= change
                if abs(change) <= 1e-6 * d:  # the next one would be below rounding, as it converges cubically
                    break
        return y * max(d, 0.0)
    if loss == HINGE:
        return y * min(a, max(0.0, 1.0 - margin))
    if loss == SQUARED_HINGE:
        return y * max(0.0, 1.0 - margin) * -np.expm1(-2.0 * a)
    if loss == MODIFIED_HUBER:
        steep = min(4.0 * a, max(0.0, -1.0 - margin))
        gap = max(0.0, 1.0 - margin - steep)
        return y * (steep - gap * np.expm1(-2.0 * (a - steep / 4.0)))
    residual = p - y
    distance = abs(residual)
    back = -1.0 if residual > 0 else 1.0
    if loss == SQUARED:
        return residual * np.expm1(-a)
    if loss == QUANTILE:
        return min(max(-residual, (parameter - 1.0) * a), parameter * a)
    if loss == ABSOLUTE:
        return back * min(a, distance)
    if loss == HUBER:
        if parameter == 0.0:
            return 0.0
        far = min(parameter * a, max(distance - parameter, 0.0))
        return back * (far - (distance - far) * np.expm1(far / parameter - a))
    beyond = max(0.0, distance - parameter)
    if loss == INSENSITIVE:
        return back * min(a, beyond)
    return back * beyond * -np.expm1(-2.0 * a)


@slow
def margins(heads, row, start, stop):
    """As `Softmax.margins`, in place, for some of a row of the table of heads."""
    best, second = start, -np.inf
    for k in range(start + 1, stop):
        if heads[row, k] > heads[row, best]:
            best, second = k, heads[row, best]
        else:
            second = max(second, heads[row, k])
    gap = heads[row, best] - second
    share = np.exp(-gap)
    total = 0.0
    for k in range(start, stop):
        if k != best:
            heads[SHARE, k] = np.exp(heads[row, k] - second)
            total += heads[SHARE, k]
    for k in range(start, stop):
        if k != best:
            others = max(total - heads[SHARE, k], 0.0)
            heads[row, k] = heads[row, k] - second - gap - np.log1p(others * share)
    heads[row, best] = gap - np.log(total)


@exact
def lift_of(largest):
    """As `_state.lift`."""
    power = 1.0
    while largest * power >= HIGHEST and power > 1.0 / LARGEST_LIFT:
        power /= LIFT_STEP
    while largest * power < LOWEST and power < LARGEST_LIFT:
        power *= LIFT_STEP
    return power


@exact
def add_squares(table, f, n, c):
    """Lift ``x``; ``squares += c x'^2``."""
    for i in range(n):
        x = table[f.x, i] * table[f.lift, i]
        table[f.x, i] = x
        table[f.squares, i] += c * (x * x)


@fast
def inverse_size(largest, lift):
    """``1 / s'`` for "max"."""
    size = largest * lift
    return 1.0 / size if size > 0 else 1.0


@slow
def raise_lift(table, f, rule, heads, i):
    """Adapt the lift of column ``i`` to its largest value."""
    largest = table[f.largest, i]
    new = lift_of(largest)
    ratio = min(new / table[f.lift, i], 1.0)  # a lift that rises does so before there is anything to rescale
    table[f.lift, i] = new
    table[f.inverse, i] = inverse_size(largest, new)
    if rule.centred:
        table[f.origin, i] *= ratio
        table[f.sum, i] *= ratio
        if rule.norm == MAX:
            table[f.deviation, i] *= ratio
    if rule.norm == RMS:
        table[f.squares, i] *= ratio * ratio
    for k in range(heads):
        if rule.adaptive:
            table[f.G + k, i] = max(table[f.G + k, i] * (ratio * ratio), TINY)
        else:
            table[f.weight + k, i] *= ratio
            if f.past > 0:
                table[f.past + k, i] *= ratio


@fast
def resting_size(table, f, rule, i):
    """As `Columns.resting_size`, of one column."""
    if rule.norm == MAX:
        return table[f.deviation, i] if rule.centred else table[f.largest, i] * table[f.lift, i]
    if rule.norm == RMS:
        return np.sqrt(table[f.squares, i])
    return table[f.lift, i]


@slow
def shrink(table, f, rule, eta, gradient_lift, clock, heads, n, bias):
    """As `_state.shrink`, of all weights: by the scales and units that held before the row at hand."""
    root = 1.0 / np.sqrt(max(clock[T], TINY)) if rule.norm == RMS else 1.0
    for i in range(n):
        rest = resting_size(table, f, rule, i)
        due = clock[SHRINKAGE] - table[f.shrunk, i]
        table[f.shrunk, i] = clock[SHRINKAGE]
        if due == 0.0 or i == bias:
            continue
        for k in range(eta.size):
            w = table[f.weight + k, i]
            if w == 0.0:
                continue
            rate = eta[k] * due
            if rule.adaptive:
                rate *= min(gradient_lift[k] * rest / np.sqrt(table[f.G + k, i]), STEEPEST)
                if rule.degree == 2:
                    rate *= heads[UNIT, k]
            gone = -np.expm1(-rule.l2 * rate)
            threshold = gone * (rule.l1 / rule.l2) if rule.l2 > 0 else rule.l1 * rate
            threshold *= heads[UNIT, k]
            if not rule.adaptive:
                threshold *= rest * root
            size = max(abs(w) * (1.0 - gone) - threshold, 0.0)
            new = size if w > 0 else -size
            table[f.weight + k, i] = new
            if rule.averaged:
                table[f.past + k, i] += clock[AVERAGED] * (new - w)


@fast
def grow(table, f, n, inverts):
    """Update the largest values, and the row ``inverse`` if asked to; tell whether any asks for another lift."""
    asks = 0
    for i in range(n):
        size, before, lift = abs(table[f.x, i]), table[f.largest, i], table[f.lift, i]
        lifted, largest = size * lift, max(size, before)
        table[f.largest, i] = largest
        asks |= (lifted >= HIGHEST) | ((before == 0.0) & (size > 0.0) & (lifted < LOWEST))
        table[f.z, i] = before
        if inverts:
            table[f.inverse, i] = inverse_size(largest, lift)
    return asks != 0


@slow
def raise_lifts(table, f, rule, heads, n):
    """After `grow`, which left the largest values of before in ``z``: adapt the lifts."""
    for i in range(n):
        size, before = abs(table[f.x, i]), table[f.z, i]
        lifted = size * table[f.lift, i]
        if lifted >= HIGHEST or (before == 0.0 and size > 0.0 and lifted < LOWEST):
            raise_lift(table, f, rule, heads, i)


@exact
def add_deviations(table, f, n, c, kept):
    """As `add_squares`, for a row that is centred."""
    factor = c * kept
    for i in range(n):
        deviation = table[f.z, i]
        table[f.squares, i] += factor * (deviation * deviation)


@exact
def centre(table, f, clock, before, c, n, bias):
    """Lift the row; put its deviation from the mean before it in ``z``, that from the mean with it in ``x``."""
    inverse, kept = 1.0 / max(before, TINY), before / clock[T]
    if before == 0:
        for i in range(n):
            table[f.origin, i] = table[f.x, i] * table[f.lift, i] if i != bias else 0.0
    for i in range(n):
        x = table[f.x, i] * table[f.lift, i] - table[f.origin, i]
        deviation = x - table[f.sum, i] * inverse
        table[f.sum, i] += c * x
        table[f.z, i] = deviation
        table[f.x, i] = deviation * kept
    if bias >= 0:
        table[f.x, bias] = 1.0
        table[f.sum, bias] = 0.0


@fast
def normalise(table, f, rule, clock, before, c, n, bias):
    """Make the row ``x`` of the table what gradients are made of, ``z`` the features; return the factor of eta.

    ``inverse`` holds ``1 / s'``: filled by the caller for "max", but here where the rule is centred, and for "rms".
    """
    clock[T] += c
    squared = 0.0
    if rule.centred:
        centre(table, f, clock, before, c, n, bias)
    if rule.norm == RMS:
        root = np.sqrt(clock[T])
        if rule.centred:
            add_deviations(table, f, n, c, before / clock[T])
            if bias >= 0:
                table[f.squares, bias] = clock[T]
        else:
            add_squares(table, f, n, c)
        for i in range(n):
            squares = table[f.squares, i]
            inverse = root * inverse_sqrt_of_any(squares) if squares > 0 else 1.0
            z = table[f.x, i] * inverse
            table[f.inverse, i] = inverse
            table[f.z, i] = z
            squared += z * z
    elif rule.norm == MAX and rule.centred:
        for i in range(n):
            x = table[f.x, i]
            size = max(table[f.deviation, i], abs(x))
            inverse = 1.0 / size if size > 0 else 1.0
            z = x * inverse
            table[f.deviation, i] = size
            table[f.inverse, i] = inverse
            table[f.z, i] = z
            squared += z * z
    elif rule.norm == MAX:
        for i in range(n):
            x = table[f.x, i] * table[f.lift, i]
            z = x * table[f.inverse, i]
            table[f.x, i] = x
            table[f.z, i] = z
            squared += z * z
    elif rule.centred:
        for i in range(n):
            table[f.z, i] = table[f.x, i] / table[f.lift, i]
    else:
        for i in range(n):
            x = table[f.x, i]
            table[f.z, i] = x
            table[f.x, i] = x * table[f.lift, i]
    rate = clock[T] ** -rule.power_t if rule.power_t > 0 else 1.0
    rest = np.sqrt(clock[T]) if rule.norm == RMS else 1.0
    if rule.norm != NONE:
        clock[N] += c * squared
        per_row = clock[T] / clock[N] if clock[N] > 0 else clock[T]
        rate *= np.sqrt(per_row) if rule.adaptive else per_row
    clock[SHRINKAGE] += c * rate / rest if rule.adaptive else c * rate
    if clock[T] >= rule.average_from:
        clock[AVERAGED] += c * clock[T]
    if not rule.adaptive and rule.norm != NONE:
        for i in range(n):
            table[f.z, i] *= table[f.inverse, i]
    return rate


@slow
def share_out(heads, excess, gap, group):
    """As `Mixture.weights`, for one group."""
    total = 0.0
    n_experts = excess.shape[1]
    for k in range(n_experts):
        if gap[group] > 0:
            heads[SHARE, k] = np.exp(-np.log(n_experts) * (excess[group, k] / gap[group]))
        else:
            heads[SHARE, k] = 1.0 if excess[group, k] == 0 else 0.0
        total += heads[SHARE, k]
    for k in range(n_experts):
        heads[SHARE, k] /= total


@slow
def suffer(heads, excess, gap, group):
    """As `Mixture.suffer`, for one group."""
    n_experts = excess.shape[1]
    rate = np.log(n_experts) / gap[group] if gap[group] > 0 else 1.0
    mean = mixed = 0.0
    least = leader = ahead = LARGEST
    for k in range(n_experts):
        least = min(least, heads[SUFFERED, k])
        if heads[SHARE, k] > 0:
            leader = min(leader, heads[SUFFERED, k])
    for k in range(n_experts):
        if heads[SHARE, k] > 0:
            behind = heads[SUFFERED, k] - leader
            mean += heads[SHARE, k] * behind
            mixed += heads[SHARE, k] * np.exp(-rate * behind)
        excess[group, k] = min(excess[group, k] + (heads[SUFFERED, k] - least), LARGEST)
        ahead = min(ahead, excess[group, k])
    for k in range(n_experts):
        excess[group, k] -= ahead
    gap[group] = min(gap[group] + max(0.0, mean - (-np.log(mixed) / rate if gap[group] > 0 else 0.0)), LARGEST)


@slow
def mix(heads, loss, c, mixture, n_heads, n_targets):
    """As `_numpy._mix`."""
    excess, gap = mixture
    n_groups, n_experts = excess.shape
    for k in range(n_heads):
        heads[SLOPE, k] = heads[SHOWN, k]
    if loss.code == SOFTMAX:
        for k in range(0, n_heads, n_targets):
            margins(heads, SLOPE, k, k + n_targets)
    for group in range(n_groups):
        share_out(heads, excess, gap, group)
        for k in range(n_experts):
            heads[SUFFERED, k] = 0.0
            for j in range(group, n_targets, n_groups):
                head = k * n_targets + j
                unit = heads[UNIT, head] if heads[UNIT, head] > 0 else 1.0
                value, _ = loss_and_gradient(loss.code, loss.parameter, heads[SLOPE, head] / unit, heads[Y, j] / unit)
                heads[SUFFERED, k] += value * c
                share = heads[SHARE, k] * heads[SHOWN, head]
                heads[LAST, j] = share if k == 0 else heads[LAST, j] + share
            heads[SUFFERED, k] = min(heads[SUFFERED, k], LARGEST)
        suffer(heads, excess, gap, group)


@slow
def read_targets(heads, target, intercept, clock, before, c, n_heads):
    """As `_numpy._read_targets`, for one row: targets become relative to the first, ``P`` to the mean after the row."""
    n_targets = target.shape[1]
    for j in range(n_targets):
        if before == 0 and intercept:
            target[ORIGIN, j] = heads[Y, j]
        y = heads[Y, j] - target[ORIGIN, j]
        heads[Y, j] = y
        old = target[SUM, j] / max(before, TINY)
        if intercept:
            target[SUM, j] += c * y
        mean = target[SUM, j] / clock[T]
        deviation = np.sqrt(c * (before / clock[T]) if intercept else c) * abs(y - old)
        target[SPREAD, j] = np.hypot(target[SPREAD, j], deviation)
        low, high = target[LOW, j], target[HIGH, j]
        width = high - low
        unit = target[SPREAD, j] / np.sqrt(clock[T])
        for k in range(j, n_heads, n_targets):
            heads[SHOWN, k] = min(max(heads[P, k] + old, low - width), high + width)
            heads[P, k] += mean
            heads[UNIT, k] = unit
        target[LOW, j], target[HIGH, j] = min(low, y), max(high, y)


@fast
def play(table, heads, f, rule, loss, clock, target, losses, mixture, c, bias, n_heads, n):
    """Normalise the row, predict for each head and each target, suffer the losses.

    Derivatives are left in the row ``SLOPE``. ``P`` is what they are taken at: margins, or predictions after the mean
    of the targets has moved. Returns the factor of eta, and whether predictions are finite.
    """
    n_targets, n_played, before = rule.n_targets, losses.size, clock[T]
    rate = normalise(table, f, rule, clock, before, c, n, bias)
    for k in range(n_heads):
        value = 0.0
        for i in range(n):
            value += table[f.weight + k, i] * table[f.z, i]
        if not abs(value) <= LARGEST:
            return rate, False
        heads[P, k] = value
        heads[SHOWN, k] = value
    if target is not None:
        read_targets(heads, target, rule.intercept, clock, before, c, n_heads)
    row = SHOWN
    if mixture is not None:
        mix(heads, loss, c, mixture, n_heads, n_targets)
        row = LAST
    for j in range(n_played):
        heads[LAST, j] = heads[SHOWN, j] = heads[row, j]
    if loss.code == SOFTMAX:
        for k in range(0, n_heads, n_targets):
            margins(heads, P, k, k + n_targets)
        if mixture is not None:
            for k in range(0, n_played, n_targets):  # once; for a 0 written here Numba would compile `margins` again
                margins(heads, SHOWN, k, k + n_targets)
    for k in range(n_heads):
        y = heads[Y, k % n_targets]
        parameter = loss.parameter * heads[UNIT, k] if loss.scaled else loss.parameter
        value, heads[SLOPE, k] = loss_and_gradient(loss.code, parameter, heads[P, k], y)
        if k < n_played:
            if target is not None or mixture is not None:
                value, _ = loss_and_gradient(loss.code, parameter, heads[SHOWN, k], y)
            losses[k] = min(losses[k] + min(value * c, LARGEST), LARGEST)
    if target is not None:
        for j in range(n_played):
            heads[LAST, j] = heads[LAST, j] + target[ORIGIN, j % n_targets] if before > 0 else 0.0
    return rate, finite(heads, LAST, n_played)


@fast
def descend(table, heads, f, rule, eta, gradient_lift, clock, loss, c, rate, n_targets, n):
    """One step of each head; see `_numpy._learn_segment`."""
    careful = rule.importance_aware
    for k in range(eta.size):
        g, unit = heads[SLOPE, k], heads[UNIT, k]
        if g == 0.0:
            continue
        step = rate * eta[k] * (unit if rule.adaptive or rule.degree == 1 else 1.0)
        slope = g * (np.sqrt(c) if careful else c) * (gradient_lift[k] if rule.adaptive else 1.0)
        if rule.adaptive and not careful and not rule.averaged:
            for i in range(n):
                gradient = slope * table[f.x, i]
                G = table[f.G + k, i] + gradient * gradient
                table[f.G + k, i] = G
                table[f.weight + k, i] -= step * gradient * inverse_sqrt(G)
            continue
        reach = 0.0
        if rule.adaptive:
            for i in range(n):
                x = table[f.x, i]
                gradient = slope * x
                G = table[f.G + k, i] + gradient * gradient
                direction = x * inverse_sqrt(G) if G > TINY else 0.0
                table[f.G + k, i] = G
                table[f.direction, i] = direction
                reach += direction * table[f.z, i]
        else:
            for i in range(n):
                direction = table[f.x, i]
                table[f.direction, i] = direction
                reach += direction * table[f.z, i]
        factor = -step * slope
        if careful:
            if reach == 0.0:
                continue
            step *= c * (gradient_lift[k] if rule.adaptive else 1.0)
            parameter = loss.parameter * unit if loss.scaled else loss.parameter
            factor = way(loss.code, parameter, heads[P, k], heads[Y, k % n_targets], step * reach) / reach
        for i in range(n):
            table[f.weight + k, i] += factor * table[f.direction, i]
        if rule.averaged:
            factor *= clock[AVERAGED]
            for i in range(n):
                table[f.past + k, i] += factor * table[f.direction, i]


@fast
def new_gradient_lifts(gradient_lift, heads, rule, c):
    """Adapt the lifts of gradients; tell whether any changed, by the row ``RATIO``."""
    changed, factor = False, np.sqrt(c) if rule.importance_aware else c
    for k in range(gradient_lift.size):
        heads[RATIO, k] = 1.0
        pull = abs(heads[SLOPE, k] * factor)
        if pull * gradient_lift[k] >= HIGHEST:
            new = min(gradient_lift[k], lift_of(pull))
            heads[RATIO, k] = (new / gradient_lift[k]) ** 2
            changed = changed or new != gradient_lift[k]
            gradient_lift[k] = new
    return changed


@slow
def rescale_G(table, heads, f, n_heads, n):
    """As `Columns.rescale_G`."""
    for k in range(n_heads):
        for i in range(n):
            table[f.G + k, i] = max(table[f.G + k, i] * heads[RATIO, k], TINY)


@exact
def finite(table, row, n):
    """Whether no entry of the row is NaN or infinite."""
    for i in range(n):  # noqa: SIM110 (a generator does not compile)
        if not abs(table[row, i]) <= LARGEST:
            return False
    return True


@exact
def targets(y, codes, row, heads, n_targets):
    """Targets: as given, or 1 for the class of a head and -1 for others."""
    for j in range(n_targets):
        if codes.size == 0:
            heads[Y, j] = y[row, j]
        else:
            heads[Y, j] = 1.0 if codes[row] == (j if n_targets > 1 else 1) else -1.0


@exact
def padded(n):
    """``n`` rounded up to whole vectors, one at least, so that loops over columns have no scalar rest."""
    return max(n + PADDING - 1, PADDING) // PADDING * PADDING


@exact
def clear_last(table, f, stop):
    """Make the last columns those of features that are always 0: loops take them along and change nothing."""
    for field in range(table.shape[0]):
        for i in range(stop - PADDING, stop):
            table[field, i] = 0.0
    for i in range(stop - PADDING, stop):
        table[f.lift, i] = 1.0


@exact
def all_finite(part, first, fields, n):
    """Whether no field from the ``first`` on is NaN or infinite; with no way out of the loop, then a vector loop."""
    wrong = 0
    for field in range(first, fields):
        for i in range(n):
            wrong |= not abs(part[field, i]) <= LARGEST
    return wrong == 0


@fast
def gather(part, x, columns, index, data, indices, start, stop, intercept):
    """Copy a CSR row to the row ``x`` of ``part``, and the columns that it names above it, four fields at a time."""
    for i in range(stop - start):
        j = np.uint64(start) + np.uint64(i)  # an entry's number that may be negative is checked for each
        index[i], part[x, i] = indices[j], data[j]
    width, fields = stop - start + intercept, columns.shape[1]
    if intercept:
        index[width - 1], part[x, width - 1] = columns.shape[0] - 1, 1.0
    four = fields // 4 * 4
    for a in range(0, four, 4):
        for i in range(width):
            column = index[i]
            part[a, i], part[a + 1, i] = columns[column, a], columns[column, a + 1]
            part[a + 2, i], part[a + 3, i] = columns[column, a + 2], columns[column, a + 3]
    for a in range(four, fields):
        for i in range(width):
            part[a, i] = columns[index[i], a]


@fast
def scatter(part, columns, index, width, first, fields):
    """Copy the rows of ``part`` from the ``first`` on back, three fields at a time."""
    three = first + (fields - first) // 3 * 3
    for a in range(first, three, 3):
        for i in range(width):
            column = index[i]
            columns[column, a], columns[column, a + 1] = part[a, i], part[a + 1, i]
            columns[column, a + 2] = part[a + 2, i]
    for a in range(three, fields):
        for i in range(width):
            columns[index[i], a] = part[a, i]


@entry
def learn_dense(
    X, y, codes, weights, order, table, f, rule, eta, heads, gradient_lift, clock, loss, losses, target, mixture, played
):
    """Learn the rows in order; return whether all numbers stayed in range.

    ``target`` and ``mixture`` are None for models that learn no unit of targets, or mix no experts, so that what is for
    these alone is not compiled.
    """
    d, n_targets = X.shape[1], rule.n_targets
    width = d + rule.intercept
    n = padded(width)
    bias = width - 1 if rule.intercept else -1
    keep = played.shape[0] > 0
    inverts = rule.norm == MAX and not rule.centred  # else each row makes the inverse sizes anew
    if inverts:
        for i in range(n):
            table[f.inverse, i] = inverse_size(table[f.largest, i], table[f.lift, i])
    for step in range(order.size if order.size > 0 else X.shape[0]):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        targets(y, codes, row, heads, n_targets)
        if rule.penalised:
            shrink(table, f, rule, eta, gradient_lift, clock, heads, width, bias)
        grows = 0
        for i in range(d):
            value = X[row, i]
            table[f.x, i] = value
            grows |= abs(value) > table[f.largest, i]
        if bias >= 0:
            table[f.x, bias] = 1.0
            grows |= table[f.largest, bias] < 1.0
        if grows and grow(table, f, n, inverts) and rule.lifted:
            raise_lifts(table, f, rule, eta.size, width)
        rate, ok = play(table, heads, f, rule, loss, clock, target, losses, mixture, c, bias, eta.size, n)
        if not ok:
            return False
        if keep:
            for j in range(losses.size):
                played[step, j] = heads[LAST, j]
        if rule.adaptive and new_gradient_lifts(gradient_lift, heads, rule, c):
            rescale_G(table, heads, f, eta.size, n)
        descend(table, heads, f, rule, eta, gradient_lift, clock, loss, c, rate, n_targets, n)
    return all_finite(table, f.lift, f.x, n)


@entry
def learn_sparse(
    data, indices, indptr, y, codes, weights, order, columns, part, index, f, rule, eta, heads, gradient_lift, clock,
    loss, losses, target, mixture, played,
):  # fmt: skip
    """As `learn_dense`, for CSR rows; ``columns`` is the transposed table, with all of a column side by side.

    ``part`` has room for the columns of a row, ``index`` for their places. Returned with the flag: ``G`` as it was
    before all of it was rescaled, transposed, or an array without entries.
    """
    G_before = np.empty((0, 0))
    fields, n_targets = columns.shape[1], rule.n_targets
    keep = played.shape[0] > 0
    for step in range(order.size if order.size > 0 else indptr.size - 1):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        targets(y, codes, row, heads, n_targets)
        start, stop = indptr[row], indptr[row + 1]
        width = stop - start + rule.intercept
        bias = width - 1 if rule.intercept else -1
        n = padded(width)
        clear_last(part, f, n)
        gather(part, f.x, columns, index, data, indices, start, stop, rule.intercept)
        if rule.penalised:
            shrink(part, f, rule, eta, gradient_lift, clock, heads, width, bias)
        asks = grow(part, f, n, rule.norm == MAX) and rule.lifted
        if asks:
            raise_lifts(part, f, rule, eta.size, width)
        rate, ok = play(part, heads, f, rule, loss, clock, target, losses, mixture, c, bias, eta.size, n)
        if not ok:
            return False, G_before
        if keep:
            for j in range(losses.size):
                played[step, j] = heads[LAST, j]
        if rule.adaptive and new_gradient_lifts(gradient_lift, heads, rule, c):
            if G_before.size == 0:
                G_before = columns[:, f.G : f.G + eta.size].copy()
            for k in range(eta.size):
                for i in range(columns.shape[0]):
                    columns[i, f.G + k] = max(columns[i, f.G + k] * heads[RATIO, k], TINY)
            rescale_G(part, heads, f, eta.size, n)
        descend(part, heads, f, rule, eta, gradient_lift, clock, loss, c, rate, n_targets, n)
        if not all_finite(part, f.largest + 1, fields, n):
            return False, G_before
        scatter(part, columns, index, width, f.lift if asks else f.largest, fields)
    return True, G_before


# -- from arrays and names to what compiled code takes


class Fields(NamedTuple):
    """First row of each field in the table; 0 for those that are absent."""

    largest: int = 0
    lift: int = 0
    shrunk: int = 0
    squares: int = 0
    origin: int = 0
    sum: int = 0
    deviation: int = 0
    weight: int = 0
    G: int = 0
    past: int = 0
    x: int = 0
    z: int = 0
    inverse: int = 0
    direction: int = 0


class CompiledRule(NamedTuple):
    """`Rule`, without None and without heads."""

    norm: int
    adaptive: bool
    intercept: bool
    lifted: bool
    penalised: bool
    averaged: bool
    power_t: float
    l1: float
    l2: float
    average_from: float
    centred: bool
    importance_aware: bool
    n_targets: int
    degree: int


class CompiledLoss(NamedTuple):
    """A loss by its place in ``LOSSES``, and its parameter if it has one, which the target's unit ``scaled`` or not."""

    code: int
    parameter: float
    scaled: bool


def constant(array, dtype=None):
    """A view that is contiguous and read-only, so that compiled code sees one type whatever the caller has."""
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    if view is array:
        view = view[...]
    view.flags.writeable = False
    return view


NO_CLASSES, NO_INTEGERS = constant(np.empty(0, np.int32)), constant(np.empty(0, np.int64))
NO_FLOATS, NO_TABLE = constant(np.empty(0)), constant(np.empty((0, 0)))
NOTHING_KEPT = np.empty((0, 0))


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """As `_numpy.learn_rows`."""
    if order is not None and len(order) == 0:  # below, an empty order stands for all rows
        return None
    if loss.name not in LOSSES:
        return _numpy.learn_rows(state, loss, X, y, sample_weight, order, predictions)
    rule = state.rule
    by_row = not isinstance(X, np.ndarray) and rule.lazy
    state.columns.arrange("F" if by_row else "C")
    tables = workspace(state.columns, len(SCRATCH), X.indptr if by_row else None)
    clock = apart(np.array([state.t, state.N, state.shrinkage, state.averaged]))
    losses, target = apart(state.loss), apart(state.targets.table) if rule.target_unit else None
    heads = apart(np.zeros((RATIO + 1, len(rule.eta))))
    heads[UNIT] = state.unit()
    model = (
        *tables,
        fields(state.columns.names, rule.n_heads, len(state.columns.table)),
        compiled_rule(rule, loss.move is not None),
        np.array(rule.eta),
        heads,
        state.gradient_lift,
        clock,
        compiled_loss(loss),
        losses,
        target,
        (state.mixture.excess, state.mixture.gap) if rule.n_played < rule.n_heads else None,
    )
    ok = run(learn_sparse if by_row else None, learn_dense, X, y, sample_weight, order, model, predictions)
    if by_row:
        ok, G_before = ok
        if G_before.size:
            state.G_before = G_before.T
    elif ok:
        put_back(state.columns, *tables)
    state.loss[:] = losses
    if target is not None:
        state.targets.table[:] = target
    state.t, state.N, state.shrinkage, state.averaged = clock.tolist()
    if not (ok and np.isfinite(clock).all()):
        raise _numpy.Diverged


def workspace(columns, n_scratch, indptr):
    """What `learn_dense` takes for the columns, or with ``indptr`` of CSR rows `learn_sparse`."""
    n_fields, width = columns.table.shape
    if indptr is not None:
        room = rows_of_zeros(n_fields + n_scratch, longest(indptr) + 1)  # 1 for the intercept
        return columns.table.T, room, np.empty(room.shape[1], np.uint64)
    table = rows_of_zeros(n_fields + n_scratch, width)
    table[:n_fields, :width] = columns.table
    table[columns.rows()["lift"], width:] = 1.0
    return (table,)


def longest(indptr):
    """The most entries in a CSR row, or an upper bound where there are few; without memory that grows with the rows."""
    if indptr[-1] < APART:
        return int(indptr[-1])
    step = 2**14
    return int(max(np.diff(indptr[i : i + step + 1]).max(initial=0) for i in range(0, len(indptr), step)))


def rows_of_zeros(n_rows, width):
    """A table from the beginning of a cache line on, as vectors that lie in two lines are read at half the speed."""
    distance = max(width - APART + STEP - 1, 0) // STEP * STEP + APART
    room = np.zeros(n_rows * distance + LINE)
    first = -room.__array_interface__["data"][0] // 8 % LINE
    return room[first : first + n_rows * distance].reshape(n_rows, distance)


def put_back(columns, table):
    """Copy what was learnt on a table of `workspace` back to the columns."""
    n_fields, width = columns.table.shape
    columns.table[:] = table[:n_fields, :width]


def run(sparse, dense, X, y, sample_weight, order, model, predictions):
    """Give rows to a compiled function for CSR rows, where there is one, or else to that for dense ones."""
    targets = (
        constant(y, np.float64) if y.ndim == 2 else NO_TABLE,
        constant(y, np.int32) if y.ndim == 1 else NO_CLASSES,
        NO_FLOATS if sample_weight is None else constant(sample_weight),
    )
    order = NO_INTEGERS if order is None else constant(order, np.int64)
    kept = NOTHING_KEPT if predictions is None else predictions
    if sparse is not None:
        return sparse(constant(X.data), constant(X.indices), constant(X.indptr), *targets, order, *model, kept)
    if isinstance(X, np.ndarray) and X.flags.c_contiguous:
        return dense(constant(X), *targets, order, *model, kept)
    ok = True
    for rows, block in _numpy.dense_blocks(X, order if len(order) else None):
        parts = (a[rows] if len(a) else a for a in targets)
        first, kept = kept[: len(block)], kept[len(block) :]
        ok = ok and dense(constant(block), *map(constant, parts), NO_INTEGERS, *model, first)
    return ok


def apart(array):
    """Copy in cache lines of its own: threads that write to the same line wait for one another."""
    own = np.empty(array.size + 2 * LINE)[LINE:-LINE].reshape(array.shape)
    own[...] = array
    return own


def compiled_loss(loss):
    """`CompiledLoss` of a loss, which has one parameter at most."""
    parameters = [float(getattr(loss, name)) for name in loss.parameters]
    return CompiledLoss(LOSSES.index(loss.name), *(parameters or [0.0]), "epsilon" in loss.parameters)


@functools.lru_cache
def fields(names, n_heads, n):
    """`Fields` of `Columns` with ``n`` rows, and the scratch rows below them."""
    return Fields(**first_rows(names, n_heads), **{name: n + i for i, name in enumerate(SCRATCH)})


@functools.lru_cache
def compiled_rule(rule, has_move):
    """`CompiledRule` of a `Rule`, for a loss that has an importance-aware move or has none."""
    values = {name: getattr(rule, name) for name in CompiledRule._fields[1:]}
    values["importance_aware"] = rule.importance_aware and has_move
    return CompiledRule(norm=(None, "max", "rms").index(rule.normalization), **values)
