"""Heads of classes that are compared with one another, as compiled functions; see `sklearn_nag.losses.Softmax`."""

import numpy as np

from ...losses import BISECTIONS
from ..state.lifts import LARGEST_POWER
from .arithmetic import exp, log_1_plus
from .heads import PREDICTION, SHARE, compared
from .jit import fast, slow
from .vectors import WIDTH, before, eight, lane, load, maximum, store, total, where


@fast
def powers(heads, row, reference, k, stop):
    """``exp(p - reference)`` of eight heads from ``k`` on; 0 from ``stop`` on."""
    return where(before(stop - k), exp(maximum(load(heads, row, k) - reference, -LARGEST_POWER)), 0.0)


@slow
def margin(heads, row, k, n_targets):
    """Margin of a single prediction, which stays as it is; see `margins`."""
    start = k // n_targets * n_targets
    most, others = -np.inf, eight(0.0)
    for j in range(start, start + n_targets):
        if j != k:
            most = max(most, heads[row, j])
    for j in range(start, start + n_targets, WIDTH):
        others += where(lane(k - j), 0.0, powers(heads, row, most, j, start + n_targets))
    return heads[row, k] - most - np.log(total(others))


@slow
def margins(heads, row, start, stop):
    """`Softmax.margins` in place, for heads ``start`` to ``stop`` in a row of the table of heads.

    ``log(1 + sum of all but k)`` is ``log(1 + sum) + log(1 - p_k)``, and no ``p_k`` but the largest is above 1 / 2.
    Equal predictions have equal margins, bit for bit.
    """
    best, second, others = start, -np.inf, eight(0.0)
    for k in range(start + 1, stop):
        if heads[row, k] > heads[row, best]:
            best, second = k, heads[row, best]
        else:
            second = max(second, heads[row, k])
    for k in range(start, stop, WIDTH):
        power = powers(heads, row, second, k, stop)
        store(heads, SHARE, k, power)
        others += where(lane(best - k), 0.0, power)
    gap, rest = heads[row, best] - second, total(others)
    share = exp(-min(gap, LARGEST_POWER))
    above, per_power = second + gap + np.log1p(rest * share), share / (1.0 + rest * share)
    for k in range(start, stop, WIDTH):
        p = load(heads, row, k)
        margin = p - above - log_1_plus(-(per_power * load(heads, SHARE, k)))
        if gap > 0.0:
            margin = where(lane(best - k), gap - np.log(rest), margin)
        store(heads, row, k, where(before(stop - k), margin, p))


@slow
def share_moves(heads, row, start, stop):
    """Multiply the moves of heads ``start`` to ``stop``, in a row of the table, by `Softmax.share`."""
    is_soft, wanted = False, 0.0
    for k in range(start, stop):
        y = compared(heads, k - start)
        is_soft |= abs(y) < 1.0
        wanted += 0.5 * (1.0 + y) * heads[row, k]
    if not is_soft:
        return
    least, most, share = 0.0, 1.0, 1.0
    for _ in range(BISECTIONS):
        highest, total, moved = -np.inf, 0.0, 0.0
        for k in range(start, stop):
            margin = heads[PREDICTION, k]
            log = min(margin, 0.0) - np.log1p(exp(max(-abs(margin), -LARGEST_POWER)))
            heads[SHARE, k] = log + share * heads[row, k]
            highest = max(highest, heads[SHARE, k])
        for k in range(start, stop):
            p = exp(max(heads[SHARE, k] - highest, -LARGEST_POWER))
            total += p
            moved += p * heads[row, k]
        if moved > wanted * total:
            most = share
        else:
            least = share
        if least == most:
            break
        share = 0.5 * (least + most)
    for k in range(start, stop):
        heads[row, k] *= least
