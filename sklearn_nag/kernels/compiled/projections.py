"""Projections onto the sets of `sklearn_nag.constraints`, in a row of the table of columns."""

import numpy as np

from ...constraints import FLATTEST, ROUNDING, STEPS, L2Ball, Simplex
from .columns import lift_of
from .jit import strict_slow

NO_SET, L2_BALL, SIMPLEX = -1, L2Ball.code, Simplex.code


@strict_slow
def sift(table, key, inverse, start, n):
    """Sift an entry of a max-heap of keys down to its place; inverses go with keys."""
    parent, child = start, 2 * start + 1
    while child < n:
        if child + 1 < n and table[key, child] < table[key, child + 1]:
            child += 1
        if table[key, parent] >= table[key, child]:
            return
        for row in (key, inverse):
            table[row, parent], table[row, child] = table[row, child], table[row, parent]
        parent, child = child, 2 * child + 1


@strict_slow
def shift_to_simplex(table, v, metric, key, inverse, size, radius):
    """`_on_simplex` with the signs of the metric; sorts only keys above ``level``."""
    for _ in range(STEPS):
        for i in range(size):
            table[key, i] = table[v, i] * abs(table[metric, i])
            table[inverse, i] = 1.0 / abs(table[metric, i])
        for start in range(size // 2 - 1, -1, -1):
            sift(table, key, inverse, start, size)
        n, total, inverses, level = size, -radius, 0.0, 0.0
        while n > 0 and (inverses == 0.0 or table[key, 0] > level):
            total += table[key, 0] * table[inverse, 0]
            inverses += table[inverse, 0]
            level = total / inverses
            n -= 1
            table[key, 0], table[inverse, 0] = table[key, n], table[inverse, n]
            sift(table, key, inverse, 0, n)
        total, n = 0.0, 0
        for i in range(size):
            table[v, i] -= level / abs(table[metric, i])
            total += max(table[v, i], 0.0)
            n += table[v, i] > 0.0
        if not abs(total - radius) > ROUNDING * n * radius:
            break
    for i in range(size):
        table[v, i] = np.copysign(max(table[v, i], 0.0), table[metric, i])


@strict_slow
def shrink_to_ball(table, v, metric, scratch, n, radius):
    """Project onto an `L2Ball`."""
    squared = strength = 0.0
    for i in range(n):
        squared += table[v, i] * table[v, i]
        pulled = table[v, i] * table[metric, i]
        strength += pulled * pulled
    if np.sqrt(squared) <= radius:
        return
    strength = np.sqrt(strength)
    if strength > 1e20 * radius:
        for i in range(n):
            table[v, i] *= table[metric, i] / strength * radius
        return
    shrink, length = 0.0, 0.0
    for _ in range(STEPS):
        squared = weighted = 0.0
        for i in range(n):
            u = table[v, i] * (table[metric, i] / (table[metric, i] + shrink))
            table[scratch, i] = u
            squared += u * u
            weighted += u * u / (table[metric, i] + shrink)
        length = np.sqrt(squared)
        further = shrink + (length - radius) / radius * squared / weighted
        if not further > shrink:
            break
        shrink = further
    for i in range(n):
        table[v, i] = table[scratch, i] * min(radius / length, 1.0)


@strict_slow
def project(table, v, metric, key, inverse, n, code, radius):
    """Replace the first ``n`` entries of row ``v`` with the nearest point of a set.

    Row ``metric`` weights squared differences; rows ``key`` and ``inverse`` are scratch. All three change.
    """
    largest = steepest = 0.0
    for i in range(n):
        largest, steepest = max(largest, abs(table[v, i])), max(steepest, table[metric, i])
    power = lift_of(max(largest, radius))
    radius *= power
    size = 0.0
    for i in range(n):
        table[v, i] *= power
        table[metric, i] = max(table[metric, i] / steepest, FLATTEST)
        size += abs(table[v, i])
    if code == L2_BALL:
        shrink_to_ball(table, v, metric, key, n, radius)
    elif code == SIMPLEX or size > radius:
        for i in range(n):
            table[metric, i] /= FLATTEST
            if code != SIMPLEX and table[v, i] < 0.0:  # the sign is in the metric from here on
                table[v, i], table[metric, i] = -table[v, i], -table[metric, i]
        shift_to_simplex(table, v, metric, key, inverse, n, radius)
    for i in range(n):
        table[v, i] /= power


def compiled_constraint(state):
    """Code and radius of a model's set; if it has none, or a box, `NO_SET` and the lift of targets."""
    constraint = state.rule.constraint
    if not state.rule.projected:
        return NO_SET, float(state.targets.lift)
    return constraint.code, float(constraint.radius)
