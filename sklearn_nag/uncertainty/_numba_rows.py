"""Compiled loops of `quantiles`, `alarm` and `probabilities`; no sum is reordered."""

import numpy as np

from ..kernels.compiled.jit import entry, strict_entry, strict_slow
from . import alarm, probabilities
from . import quantiles as q

LEVELS, MEMORIES, FASTER = tuple(q.LEVELS.tolist()), tuple(q.MEMORIES.tolist()), tuple(q.FASTER.tolist())
N_LEVELS, N_MEANS = q.N_LEVELS, q.N_MEANS
MEAN, SHARE, PLACE, MISSES, TOTAL = q.MEAN, q.SHARE, q.PLACE, q.MISSES, q.TOTAL
FAINT, FEW, FIRST, LOWEST, HIGHEST = q.FAINT, q.FEW, q.FIRST, q.LOWEST, q.HIGHEST
RATE, POWER, FLOOR, MOST, ROUNDING = q.RATE, q.POWER, q.FLOOR, q.MOST, q.ROUNDING
LARGEST, LONGEST, OUTLYING, PART, RARE = q.LARGEST, q.LONGEST, q.OUTLYING, q.PART, q.RARE

watch, calibrate = strict_entry(alarm.learn_rows), strict_entry(probabilities.learn_rows)


@strict_slow
def set_widths(rows, known, width):
    """Write the quantile of each level to ``width``; return the scale."""
    scale, highest, power = known[MEAN], -np.inf, 0.0
    if scale > 0.0:
        for k in range(N_MEANS):
            power += known[SHARE + k] * np.log(max(known[MEAN + k] / scale, FAINT))
        scale = min(scale * np.exp(power), LARGEST)
    for k in range(N_LEVELS):
        highest = max(highest, known[PLACE + k])
        unknown = highest >= HIGHEST or rows * LEVELS[k] < 1.0
        width[k] = np.inf if unknown else min(scale * np.exp(highest), LARGEST)
    return scale


@strict_slow
def step(n, rows, known, memory):
    """Take in the ``n`` waiting sizes, which brings the number taken in to ``rows``."""
    whole, of_step = known[MEAN], min(known[TOTAL] * (LONGEST / n), LARGEST)
    if whole > 0.0:
        best, summed = -np.inf, 0.0
        for k in range(N_MEANS):
            relative = max(known[MEAN + k] / whole, FAINT)
            known[SHARE + k] = np.log(known[SHARE + k]) - n * (np.log(relative) + of_step / whole / relative)
            best = max(best, known[SHARE + k])
        for k in range(N_MEANS):
            known[SHARE + k] = np.exp(known[SHARE + k] - best)
            summed += known[SHARE + k]
        for k in range(N_MEANS):
            known[SHARE + k] /= summed
    for k in range(N_MEANS):
        known[SHARE + k] += (1.0 / N_MEANS - known[SHARE + k]) * (n / rows)
        lasting = min(float(rows), min(MEMORIES[k], memory) + 0.5 * n)
        known[MEAN + k] += (of_step - known[MEAN + k]) * (n / max(float(n), lasting))
    rate = max(FLOOR, RATE * rows**-POWER) if rows > FIRST else 0.0
    for k in range(N_LEVELS):
        own = max(rate, min(FASTER[k] * rate, MOST)) if known[MEAN] > 0.0 or known[MISSES + k] > 0.0 else 0.0
        known[PLACE + k] = max(known[PLACE + k] + own * (known[MISSES + k] - LEVELS[k] * n), LOWEST)
        known[MISSES + k] = 0.0
    known[TOTAL] = 0.0


@strict_slow
def count(ends, begins, start, n, j, waiting, most, known, width, size):
    """Like `quantiles._count`, for ``n`` sizes of stream ``j``; ``size`` is a buffer for them."""
    total, missed = known[TOTAL], known[MISSES + RARE]
    for i in range(n):
        end, begin = ends[start + i, j], begins[start + i, j]
        distance = min(abs(end - begin), LARGEST)
        size[i] = distance if distance > ROUNDING * max(abs(end), abs(begin)) else 0.0
    for i in range(n):
        counted = size[i]
        if counted > most:
            few = max(waiting + i, FEW)
            mean = total * (LONGEST / few) if 2.0 * missed > few else 0.0
            counted = min(counted, max(most, min(OUTLYING * mean, LARGEST)))
        total += counted / LONGEST
        missed += size[i] > width[RARE]
    known[TOTAL] = total
    for k in range(N_LEVELS):
        quantile, above = width[k], 0
        for i in range(n):
            above += size[i] > quantile
        known[MISSES + k] += above


@entry
def learn_sizes(ends, begins, rows_before, waiting_before, table, memory, width, size):
    """Update ``table`` like `quantiles.learn`, up to rounding; return ``rows`` and ``waiting``.

    ``width`` and ``size`` are buffers, for levels and waiting sizes.
    """
    rows, waiting = rows_before, waiting_before
    for j in range(ends.shape[1]):
        rows, waiting, start, known = rows_before, waiting_before, 0, table[j]
        scale = set_widths(rows, known, width)
        while start < ends.shape[0]:
            length = max(1, min(LONGEST, rows // PART))
            n = min(ends.shape[0] - start, length - waiting)
            most = min(OUTLYING * scale, LARGEST) if scale > 0.0 else LARGEST
            count(ends, begins, start, n, j, waiting, most, known, width, size)
            start, waiting = start + n, waiting + n
            if waiting == length:
                rows += waiting
                step(waiting, rows, known, memory)
                scale, waiting = set_widths(rows, known, width), 0
    return rows, waiting
