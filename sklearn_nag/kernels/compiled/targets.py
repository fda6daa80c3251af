"""What a row does to the targets and their unit, as compiled functions."""

from __future__ import annotations

import numpy as np

from ..state.lifts import LARGEST, TINY
from .columns import T, finite
from .heads import CLIPPED, GRADIENT, PLAYED, PREDICTION, TARGET, UNIT
from .jit import fast, slow, strict
from .losses import SOFTMAX, loss_and_gradient, margins

ORIGIN, SUM, SPREAD, LOW, HIGH = range(5)  # rows of `state.targets.Targets.table`


@strict
def read_row(y, codes, row, heads, n_targets):
    """Fill ``TARGET`` with targets as given or, of classes, 1 for the class of a head and -1 for others."""
    for j in range(n_targets):
        if codes.size == 0:
            heads[TARGET, j] = y[row, j]
        else:
            heads[TARGET, j] = 1.0 if codes[row] == (j if n_targets > 1 else 1) else -1.0


@slow
def read_targets(heads, target, intercept, clock, before, c, n_heads):
    """As `vectorized.targets.read_targets`, for one row: targets become relative to the first.

    The mean of the targets with the row is added to ``PREDICTION``, that without it to ``CLIPPED``.
    """
    n_targets = target.shape[1]
    for j in range(n_targets):
        if before == 0 and intercept:
            target[ORIGIN, j] = heads[TARGET, j]
        y = heads[TARGET, j] - target[ORIGIN, j]
        heads[TARGET, j] = y
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
            heads[CLIPPED, k] = min(max(heads[PREDICTION, k] + old, low - width), high + width)
            heads[PREDICTION, k] += mean
            heads[UNIT, k] = unit
        target[LOW, j], target[HIGH, j] = min(low, y), max(high, y)


@slow
def read_targets_and_scale(heads, target, intercept, clock, before, c):
    """As `read_targets`, where predictions are ``sum u z`` in units of the target; one head for each target.

    It repeats what the two have in common, because the compiler rearranges that together with what follows it: a
    function that both call would round otherwise, and cost a call for each target.
    """
    for j in range(target.shape[1]):
        if before == 0 and intercept:
            target[ORIGIN, j] = heads[TARGET, j]
        y = heads[TARGET, j] - target[ORIGIN, j]
        heads[TARGET, j] = y
        old = target[SUM, j] / max(before, TINY)
        if intercept:
            target[SUM, j] += c * y
        mean = target[SUM, j] / clock[T]
        deviation = np.sqrt(c * (before / clock[T]) if intercept else c) * abs(y - old)
        target[SPREAD, j] = np.hypot(target[SPREAD, j], deviation)
        low, high = target[LOW, j], target[HIGH, j]
        width = high - low
        heads[CLIPPED, j] = min(max(old + heads[UNIT, j] * heads[PREDICTION, j], low - width), high + width)
        heads[UNIT, j] = target[SPREAD, j] / np.sqrt(clock[T])
        heads[PREDICTION, j] = mean + heads[UNIT, j] * heads[PREDICTION, j]
        target[LOW, j], target[HIGH, j] = min(low, y), max(high, y)


@fast
def suffer(heads, rule, loss, clock, before, c, target, losses):
    """Count the losses; leave derivatives in ``GRADIENT`` and clipped predictions in ``PLAYED``.

    For rules whose predictions are in units of the target; tells whether they are finite.
    """
    n = losses.size
    if rule.target_unit:
        read_targets_and_scale(heads, target, rule.intercept, clock, before, c)
    else:
        for j in range(n):
            heads[CLIPPED, j] = heads[PREDICTION, j]
    for j in range(n):
        heads[PREDICTION, j] = min(max(heads[PREDICTION, j], -LARGEST), LARGEST)
        heads[PLAYED, j] = heads[CLIPPED, j]
    if loss.code == SOFTMAX:
        margins(heads, PREDICTION, 0, n)
        margins(heads, CLIPPED, 0, n)
    for j in range(n):
        parameter = loss.parameter * heads[UNIT, j] if loss.scaled else loss.parameter
        _, heads[GRADIENT, j] = loss_and_gradient(loss.code, parameter, heads[PREDICTION, j], heads[TARGET, j])
        value, _ = loss_and_gradient(loss.code, parameter, heads[CLIPPED, j], heads[TARGET, j])
        losses[j] = min(losses[j] + min(value * c, LARGEST), LARGEST)
        if rule.target_unit:
            heads[PLAYED, j] = heads[PLAYED, j] + target[ORIGIN, j] if before > 0 else 0.0
    return finite(heads, PLAYED, n)
