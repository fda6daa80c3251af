"""What a row does to the targets and their unit, as compiled functions."""

from __future__ import annotations

import numpy as np

from ..state.lifts import TINY
from .columns import T
from .heads import CLIPPED, PREDICTION, TARGET, UNIT
from .jit import slow, strict

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
