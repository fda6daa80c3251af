"""What a row does to the targets and their unit, as compiled functions."""

import numpy as np

from ...losses import FARTHEST, NOTHING, ZERO
from ..state import targets as by_numpy
from ..state.lifts import LARGEST, TINY
from ..state.targets import FAINT, FURTHER, LARGEST_GROWTH, SELDOM, SURE
from .arithmetic import inverse_sqrt, length
from .columns import finite
from .constants import HAS_TARGET_UNIT, OF_RATE
from .handover import T
from .heads import (
    AVERAGE,
    CLIPPED,
    FARTHEST_UNITS,
    GRADIENT,
    HIGH,
    LATEST,
    LOW,
    LOWEST,
    MEAN_BEFORE,
    PLAYED,
    PLAYED_LEAST,
    PLAYED_MOST,
    PREDICTION,
    RATIO,
    TARGET,
    UNIT,
    held,
)
from .jit import fast, slow, strict, strict_slow
from .losses import fill_losses, loss_of, total_loss

ORIGIN, SUM, SPREAD, LEAST, MOST, GROWTH = range(6)  # rows of `state.targets.Targets.table`
FREE, TO_TARGETS, TO_NUMBERS = range(3)  # whether predictions are clipped, and to what
HELD = CLIPPED, LATEST, AVERAGE  # clipped to the range of the targets; only rules that judge have the last two
LARGEST_WEIGHT = 2  # further entry of ``clock``, for learners without a learning rate


grown = fast(by_numpy.grown)


def compiled_clip(rule):
    """Code for how a rule clips predictions."""
    return FREE if rule.clip is None else TO_TARGETS if rule.clip == "targets" else TO_NUMBERS


@fast
def margin(growth, spread, t):
    """How far predictions may go beyond the range of targets; see `state.targets.margin`."""
    if growth == 0.0 or spread == 0.0:
        return FURTHER * abs(growth)
    ratio = growth / spread
    chance = SURE * (spread / t) * np.sqrt(max(12.0 - ratio * ratio * t, 0.0))
    return max(FURTHER * (abs(growth) - chance), 0.0)


@fast
def within(y, mean, spread, before, units):
    """Target clipped to this many units from the mean of earlier targets, if they have a unit."""
    if not units < np.inf or spread == 0.0:
        return y
    far = units * (spread / np.sqrt(max(before, TINY)))
    return min(max(y, mean - far), mean + far)


@fast
def range_before(heads, target, clip, before, j, sets_origin):
    """Range to which the played prediction is clipped, as in `vectorized.targets`."""
    if clip == TO_NUMBERS and not sets_origin:
        return heads[LOW, j] - target[ORIGIN, j], heads[HIGH, j] - target[ORIGIN, j]
    low, high = target[LEAST, j], target[MOST, j]
    if clip == FREE:
        width = high - low
        return low - width, high + width
    if before == 0.0:
        return -LARGEST, LARGEST
    further = margin(target[GROWTH, j], target[SPREAD, j], before)
    return (low - further, high) if target[GROWTH, j] < 0.0 else (low, high + further)


@fast
def range_after(heads, target, clip, before, j):
    """Range of the prediction at which the derivative is taken, as in `state.targets.with_room`."""
    if clip == FREE:
        return -LARGEST, LARGEST
    if clip == TO_NUMBERS:
        return heads[LOW, j] - target[ORIGIN, j], heads[HIGH, j] - target[ORIGIN, j]
    low, high = target[LEAST, j], target[MOST, j]
    room = (high - low) * inverse_sqrt(max(before, 1.0))
    return low - room, high + room


@strict_slow
def widened_rates(low, high, growth, spread, mean, t):
    """Range of targets with its margin, in logarithms; see `state.targets.widened_rates`."""
    further = margin(growth, spread, t)
    if further == 0.0:
        return low, high
    if growth > 0.0:
        return low, high + np.log1p(further / np.exp(min(high - mean, FARTHEST)))
    bottom = np.exp(min(low - mean, FARTHEST))
    return (low + np.log1p(-further / bottom) if further < bottom else ZERO), high


@strict
def read_row(y, codes, row, heads, n_targets):
    """Fill ``TARGET`` with targets as given or, for classes, 1 for the class of a head and -1 for others."""
    for j in range(n_targets):
        if codes.size == 0:
            heads[TARGET, j] = y[row, j]
        else:
            heads[TARGET, j] = 1.0 if codes[row] == (j if n_targets > 1 else 1) else -1.0


@fast
def read_targets(heads, target, intercept, clip, clock, before, c, n_heads, n_targets, in_units):
    """`vectorized.targets.read_targets` for one row: targets become relative to the first.

    The mean of the targets including the row is added to ``PREDICTION``; `heads.held` adds the mean before it to the
    others. Predictions ``in_units`` of the target, of one head each, are multiplied by the unit and clipped at once.
    """
    for j in range(n_targets):
        if before == 0 and intercept:
            target[ORIGIN, j] = heads[TARGET, j]
        y = heads[TARGET, j] - target[ORIGIN, j]
        heads[TARGET, j] = y
        old = target[SUM, j] / max(before, TINY)
        counts_as = within(y, old, target[SPREAD, j], before, heads[FARTHEST_UNITS, j])
        if intercept:
            target[SUM, j] += c * counts_as
        mean = target[SUM, j] / clock[T]
        deviation = np.sqrt(c * (before / clock[T]) if intercept else c) * abs(counts_as - old)
        least, most = range_before(heads, target, clip, before, j, before == 0 and intercept)
        target[SPREAD, j] = length(target[SPREAD, j], deviation)
        target[LEAST, j], target[MOST, j] = min(target[LEAST, j], y), max(target[MOST, j], y)
        floor, ceiling = range_after(heads, target, clip, before, j)
        if intercept:
            target[GROWTH, j] = grown(target[GROWTH, j], before, c, clock[T], counts_as - old)
        unit = target[SPREAD, j] / np.sqrt(clock[T])
        if in_units:
            for row in HELD:
                heads[row, j] = min(max(old + heads[UNIT, j] * heads[row, j], least), most)
            heads[PREDICTION, j] = min(max(mean + unit * heads[PREDICTION, j], floor), ceiling)
            heads[UNIT, j] = unit
        else:
            heads[MEAN_BEFORE, j], heads[PLAYED_LEAST, j], heads[PLAYED_MOST, j] = old, least, most
            for k in range(j, n_heads, n_targets):
                heads[PREDICTION, k] = min(max(heads[PREDICTION, k] + mean, floor), ceiling)
                heads[UNIT, k] = unit


@slow
def read_targets_and_scale(heads, target, intercept, clip, clock, before, c):
    """`read_targets` for predictions ``sum u z`` in units of the target, with one head per target."""
    n = target.shape[1]
    read_targets(heads, target, intercept, clip, clock, before, c, n, n, True)


@slow
def clip_alone(heads, target, intercept, clip, before, n_heads):
    """Clip predictions as `read_targets` does, if no units of targets are learnt."""
    n_targets = target.shape[1]
    for j in range(n_targets):
        y = heads[TARGET, j]
        if before == 0 and intercept and clip == TO_TARGETS:
            target[LEAST, j] = target[MOST, j] = y
        least, most = range_before(heads, target, clip, before, j, False)
        if clip == TO_TARGETS:
            target[LEAST, j], target[MOST, j] = min(target[LEAST, j], y), max(target[MOST, j], y)
        floor, ceiling = range_after(heads, target, clip, before, j)
        heads[PLAYED_LEAST, j], heads[PLAYED_MOST, j] = least, most
        for k in range(j, n_heads, n_targets):
            heads[PREDICTION, k] = min(max(heads[PREDICTION, k], floor), ceiling)


@strict_slow
def read_rates(heads, target, clip, clock, before, c, n_heads):
    """`vectorized.targets.read_rates` for one row; without a unit of targets, the mean counts as 1."""
    n_targets = target.shape[1]
    for j in range(n_targets):
        y = heads[TARGET, j]
        log_y = np.log(y) if y > 0.0 else ZERO
        mean, mean_before, heads[RATIO, j] = 0.0, 0.0, y
        growth, spread = target[GROWTH, j], target[SPREAD, j]
        if HAS_TARGET_UNIT:
            total = target[SUM, j] if before > 0.0 else NOTHING
            mean_before = total - np.log(before) if total > NOTHING / 2.0 else NOTHING
            if y > 0.0:
                more = np.log(c) + log_y
                total = max(total, more) + np.log1p(np.exp(-abs(total - more)))
            target[SUM, j], heads[RATIO, j] = total, 1.0
            if total > NOTHING / 2.0:
                mean = total - np.log(clock[T])
                heads[RATIO, j] = np.exp(min(max(log_y - mean, -FARTHEST), FARTHEST)) if y > 0.0 else 0.0
            fallen = np.exp(min(mean_before - mean, FARTHEST)) if mean_before != NOTHING else heads[RATIO, j]
            difference = heads[RATIO, j] - fallen
            kept = min(max(growth * fallen, -LARGEST_GROWTH), LARGEST_GROWTH)
            target[GROWTH, j] = min(max(grown(kept, before, c, clock[T], difference), -LARGEST_GROWTH), LARGEST_GROWTH)
            deviation = np.sqrt(c * (before / clock[T])) * abs(difference)
            target[SPREAD, j] = min(length(spread * fallen, deviation), LARGEST_GROWTH)
        least, most = -LARGEST, FARTHEST
        if clip == TO_NUMBERS:
            least, most = heads[LOW, j], heads[HIGH, j]
        floor, ceiling = least, most
        if clip == TO_TARGETS and (before > 0.0 or not HAS_TARGET_UNIT):
            least, most = widened_rates(target[LEAST, j], target[MOST, j], growth, spread, mean_before, before)
        if before == 0.0 and HAS_TARGET_UNIT:
            target[LEAST, j] = target[MOST, j] = log_y
        target[LEAST, j], target[MOST, j] = min(target[LEAST, j], log_y), max(target[MOST, j], log_y)
        if clip == TO_TARGETS:
            floor, ceiling = target[LEAST, j], target[MOST, j]
            if HAS_TARGET_UNIT and target[SUM, j] <= NOTHING / 2.0:
                floor, ceiling = -LARGEST, FARTHEST
        if mean_before == NOTHING:
            least = most = NOTHING
        heads[MEAN_BEFORE, j], heads[PLAYED_LEAST, j], heads[PLAYED_MOST, j] = mean_before, least, most
        heads[LOWEST, j] = max(floor - mean, 0.0) if y == 0.0 and spread > SELDOM * before else -LARGEST
        for k in range(j, n_heads, n_targets):
            heads[PREDICTION, k] = min(max(heads[PREDICTION, k], floor - mean), ceiling - mean)
            heads[UNIT, k] = 1.0


@slow
def fade_targets(target, factor, t):
    """Multiply sums over rows by ``factor``, as `state.fading.fade_rows`; ``t`` has been multiplied already."""
    for j in range(target.shape[1]):
        if OF_RATE:
            target[SUM, j] = max(target[SUM, j] + np.log(factor), NOTHING)
        else:
            target[SUM, j] *= factor
        target[SPREAD, j] *= np.sqrt(factor)
        if not OF_RATE and target[SPREAD, j] > 0.0:
            target[SPREAD, j] = max(target[SPREAD, j], FAINT * abs(target[SUM, j]) / np.sqrt(max(t, TINY)))


@slow
def make_absolute(heads, target, rule, before, n_played):
    """Make the predictions to return absolute; before the first target there is nothing to predict from."""
    if OF_RATE:
        for k in range(n_played):
            heads[PLAYED, k] = min(max(heads[PLAYED, k], heads[LOW, k]), heads[HIGH, k])
        return
    if not HAS_TARGET_UNIT:
        return
    n_targets = target.shape[1]
    for k in range(n_played):
        heads[PLAYED, k] = heads[PLAYED, k] + target[ORIGIN, k % n_targets] if before > 0 else 0.0
        if before == 0 and rule.clip == TO_NUMBERS:
            heads[PLAYED, k] = min(max(0.0, heads[LOW, k]), heads[HIGH, k])


@fast
def suffer(heads, rule, loss, clock, before, c, target, losses):
    """Count losses; fill ``GRADIENT``, ``LOSS`` and ``PLAYED``; return whether predictions are finite.

    For rules whose predictions are in units of the target. Derivatives and ``LOSS`` are those of ``PREDICTION``;
    ``CLIPPED`` is what is played.
    """
    n = losses.size
    if OF_RATE:
        read_rates(heads, target, rule.clip, clock, before, c, n)
        for row in HELD:
            for j in range(n):
                heads[row, j] = held(heads, row, j, j)
    elif HAS_TARGET_UNIT:
        read_targets_and_scale(heads, target, rule.intercept, rule.clip, clock, before, c)
    else:
        for j in range(n):
            heads[PREDICTION, j] = min(max(heads[PREDICTION, j], -LARGEST), LARGEST)
        if rule.clip != FREE:
            clip_alone(heads, target, rule.intercept, rule.clip, before, n)
            for row in HELD:
                for j in range(n):
                    heads[row, j] = held(heads, row, j, j)
    for j in range(n):
        heads[PLAYED, j] = heads[CLIPPED, j]
    fill_losses(heads, loss, n, n)
    for j in range(n):
        losses[j] = total_loss(losses[j], loss_of(heads, PLAYED, loss, heads[UNIT, j], 1.0, j, n), c)
    make_absolute(heads, target, rule, before, n)
    return finite(heads, PLAYED, n)


def compiled_bound(loss):
    """Lipschitz constant of a loss, -1 if there is none, and whether the target's unit scales it."""
    bound = loss.lipschitz(1.0)
    return -1.0 if bound is None else float(bound), bound is not None and loss.lipschitz(2.0) != bound


@fast
def suffer_bounded(heads, rule, loss, clock, before, c, target, losses, largest_gradient):
    """`suffer` for learners without a learning rate; ``GRADIENT`` has derivatives over their bound."""
    ok = suffer(heads, rule, loss, clock, before, c, target, losses)
    for j in range(losses.size):
        g = heads[GRADIENT, j]
        bound = rule.bound * heads[UNIT, j] if rule.bound_scaled else rule.bound
        if bound < 0.0:
            largest_gradient[j] = max(largest_gradient[j], abs(g))
            bound = largest_gradient[j]
        heads[GRADIENT, j] = min(max(g / bound, -1.0), 1.0) if bound > 0 else g
    return ok
