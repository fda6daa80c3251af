"""Quantiles of a stream of sizes, such as those of errors, that follow it wherever it goes.

A size is *missed* at a level ``a`` if it is above the quantile from before it came. Levels are rates of misses: the
quantile of level 0.1 is the half-width of intervals of coverage 0.9.

A quantile is ``scale * exp(place)``. Both change every few sizes, always after the same ones, so that no cut of the
stream changes a bit.

- The *scale* has the unit of the sizes. Its experts are the means of all sizes, of about the last 500 and of about the
  last 30, each for an exponential distribution of that mean. Their shares are posterior probabilities (log loss,
  rate 1), of which a part ``1 / t`` begins anew at each size (fixed share; Herbster and Warmuth 1998). The scale is
  their geometric mean.
- The *places* bring rates of misses to their levels: ``place += rate * (misses - a * sizes)``, adaptive conformal
  inference (Gibbs and Candès 2021; "quantile tracking" of Angelopoulos, Candès and Tibshirani 2023) for the logarithm
  of sizes over scale. Rates fall as ``t**-0.6``, to a floor (Angelopoulos, Barber and Bates 2024). For levels below
  0.05 they are `FASTER` times as large, except at first: otherwise it would take a hundred thousand sizes to find a
  quantile hundreds of times as large as most.
- A quantile uses the largest of the places up to its own, so those of rarer misses are never lower. Their places
  move as fast, or faster, so one that is below another comes back.

For any sizes, sums of ``misses - a`` are sums of ``change of place / rate``, so they are within ``(range of the places
+ a step) / rate``. Places above `HIGHEST` miss nothing, so they cannot rise further: the rate of misses is at most
``a + (HIGHEST - LOWEST + LONGEST * MOST) / (FLOOR * t)`` for every sequence. It is as close from below, unless most
sizes are below ``exp(LOWEST)`` of the scale, or all so far were 0: these are never missed, and no place moves.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ..kernels import check_array, check_finite
from ..kernels._backend import is_compiled

LEVELS = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001])
MEMORIES = np.array([np.inf, 500.0, 30.0])  # sizes
RATE, POWER, FLOOR = 1.5, 0.6, 0.008  # of places
FASTER = np.maximum(0.05 / LEVELS, 1.0) ** 0.75  # times the rate, up to ``MOST``
MOST = 0.125  # largest rate, unless the plain rate is larger
FIRST = 10  # sizes that only form a scale
LOWEST, HIGHEST = -10.0, 10.0  # of places; e**10 is 22,000
LONGEST, PART = 32, 8  # a step waits for one ``PART``-th of the sizes so far, and for at most ``LONGEST``
OUTLYING = 32.0  # scales: larger sizes count as this many in means
FEW, RARE = 8, 3  # this many sizes, most of them above the quantile of ``LEVELS[RARE]``, are no outliers
LARGEST = np.finfo(np.float64).max
ROUNDING = 2.0**-40  # relative difference of two numbers that rounding may cause, for example in logarithms
FAINT = 1e-100  # least mean that counts, relative to that of all sizes
N_MEANS, N_LEVELS = len(MEMORIES), len(LEVELS)
MEAN, SHARE, PLACE, MISSES, TOTAL = np.add.accumulate([0, N_MEANS, N_MEANS, N_LEVELS, N_LEVELS]).tolist()  # columns

_MEAN, _SHARE, _PLACE = slice(MEAN, SHARE), slice(SHARE, PLACE), slice(PLACE, MISSES)
_MISSES = slice(MISSES, TOTAL)
_NONE = np.empty(0)
_DEPTHS = -np.log(LEVELS)  # places are between those of an exponential distribution in the beginning


class Quantiles(NamedTuple):
    """What is known of several streams of sizes that come together, such as those of several outputs.

    Attributes
    ----------
    rows : int
        Sizes of each stream that steps have taken in.
    waiting : int
        Sizes since the last step.
    table : ndarray of shape (n_streams, 23)
        ``mean``, ``share``, ``place``; then how many waiting sizes were above the quantile of each of `LEVELS`, and
        their sum over `LONGEST`.
    mean, share : ndarray of shape (n_streams, 3)
        For each of `MEMORIES`.
    place : ndarray of shape (n_streams, 8)
        For each of `LEVELS`, before ordering.
    """

    rows: int
    waiting: int
    table: np.ndarray

    @property
    def mean(self):
        return self.table[:, _MEAN]

    @property
    def share(self):
        return self.table[:, _SHARE]

    @property
    def place(self):
        return self.table[:, _PLACE]


def new(n_streams: int) -> Quantiles:
    """What is known before the first size."""
    row = np.concatenate([[0.0] * N_MEANS, [1.0 / N_MEANS] * N_MEANS, np.log(_DEPTHS), [0.0] * (N_LEVELS + 1)])
    return Quantiles(0, 0, np.tile(row, (n_streams, 1)))


def learn(known: Quantiles, ends: np.ndarray, begins: np.ndarray, memory: float = np.inf) -> Quantiles:
    """What is known after more sizes: distances of two finite numbers, such as predictions and targets.

    Arrays are of shape (n, n_streams). At most about the last ``memory`` sizes count. ``known`` does not change.
    """
    if not is_compiled():
        return play(known, ends, begins, _NONE, memory)[0]
    table = np.array(known.table, order="C")
    ends, begins = np.ascontiguousarray(ends), np.ascontiguousarray(begins)
    room = np.empty(N_LEVELS), np.empty(LONGEST)
    counts = _compiled().learn_sizes(ends, begins, known.rows, known.waiting, table, float(memory), *room)
    return Quantiles(counts[0], counts[1], table)


@cache
def _compiled():
    return importlib.import_module("._numba_rows", __package__)


def play(
    known: Quantiles, ends: np.ndarray, begins: np.ndarray, coverage: np.ndarray, memory: float = np.inf
) -> tuple[Quantiles, np.ndarray]:
    """Like `learn`, in NumPy; also return `widths` from before each size: (n, n_streams, n_coverages)."""
    with np.errstate(all="ignore"):
        size = np.minimum(np.abs(ends - begins), LARGEST)
        size[size <= ROUNDING * np.maximum(np.abs(ends), np.abs(begins))] = 0.0
        rows, waiting, table, start = known.rows, known.waiting, np.array(known.table), 0
        played = np.empty((*size.shape, len(coverage)))
        memories = np.minimum(MEMORIES, memory)
        while start < len(size):
            length = max(1, min(LONGEST, rows // PART))
            stop = min(len(size), start + length - waiting)
            scale, width = _scales_and_widths(table)
            if len(coverage):
                played[start:stop] = _between(rows, width, coverage)
            _count(table, size[start:stop], waiting, scale, np.where(_unknown(rows, LEVELS), np.inf, width))
            waiting += stop - start
            if waiting == length:
                rows += waiting
                _step(table, waiting, rows, memories)
                waiting = 0
            start = stop
    return Quantiles(rows, waiting, table), played


def _count(table, size, waiting, scale, width):
    """Count sizes after ``waiting`` others of this step, and how many exceed the quantile of each level."""
    most = np.where(scale > 0.0, np.minimum(OUTLYING * scale, LARGEST), LARGEST)
    if (size > most).any():
        missed = table[:, MISSES + RARE].copy()
        for before, now in enumerate(size, waiting):
            mean = np.where(2.0 * missed > max(before, FEW), table[:, TOTAL] * (LONGEST / max(before, FEW)), 0.0)
            table[:, TOTAL] += np.minimum(now, np.clip(OUTLYING * mean, most, LARGEST)) / LONGEST
            missed += now > width[:, RARE]
    else:
        terms = size / LONGEST
        terms[0] += table[:, TOTAL]
        table[:, TOTAL] = np.add.accumulate(terms)[-1]  # one by one, so that no cut of the stream changes the rounding
    table[:, MISSES:TOTAL] += (size[:, :, None] > width).sum(axis=0)


def _step(table, n, rows, memories):
    """Take in the ``n`` waiting sizes, which brings the number taken in to ``rows``."""
    mean, share, place, misses = (table[:, columns] for columns in (_MEAN, _SHARE, _PLACE, _MISSES))
    of_step = np.minimum(table[:, TOTAL] * (LONGEST / n), LARGEST)[:, None]
    tells = mean[:, :1] > 0.0
    whole = np.where(tells, mean[:, :1], 1.0)
    relative = np.maximum(mean / whole, FAINT)
    evidence = np.log(share) - n * (np.log(relative) + of_step / whole / relative)
    judged = np.exp(evidence - evidence.max(axis=1, keepdims=True))
    share[...] = np.where(tells, judged / judged.sum(axis=1, keepdims=True), share)
    share += (1.0 / N_MEANS - share) * (n / rows)
    mean += (of_step - mean) * (n / np.maximum(n, np.minimum(rows, memories + 0.5 * n)))
    if rows > FIRST:
        rate = max(FLOOR, RATE * rows**-POWER)
        rate = np.maximum(rate, np.minimum(FASTER * rate, MOST))
        rate = rate * ((mean[:, :1] > 0.0) | (misses > 0.0))  # sizes that are all 0 have no place
        np.maximum(place + rate * (misses - LEVELS * n), LOWEST, out=place)
    table[:, MISSES:] = 0.0


def _scales_and_widths(table):
    """Scale of each stream, 0 if all sizes were, and its quantiles, infinite if places are too high."""
    mean, highest = table[:, _MEAN], np.maximum.accumulate(table[:, _PLACE], axis=1)
    whole = mean[:, 0]
    relative = np.maximum(mean / np.where(whole > 0.0, whole, 1.0)[:, None], FAINT)
    scale = np.minimum(whole * np.exp((table[:, _SHARE] * np.log(relative)).sum(axis=1)), LARGEST)
    width = np.minimum(scale[:, None] * np.exp(highest), LARGEST)
    return scale, np.where(highest >= HIGHEST, np.inf, width)


def about(middle: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Intervals of these half-widths, including errors that count as 0: (n_rows, n_streams, 2, n_coverages)."""
    middle = middle[:, :, None]
    width = np.maximum(width, ROUNDING * np.abs(middle))
    with np.errstate(over="ignore"):
        return np.stack([middle - width, middle + width], axis=2)


def _unknown(rows, level):
    """Whether sizes are too few for quantiles of these levels: fewer than one expected miss."""
    return rows * level < 1.0


def widths(known: Quantiles, coverage: np.ndarray) -> np.ndarray:
    """Half-widths of intervals with these coverages, of shape (n_streams, n_coverages).

    Between levels, they are linear in the logarithm of the rate of misses, as for exponential distributions. They
    increase with the coverage, and are infinite above 0.999, and while less than one miss is expected so far.
    """
    with np.errstate(all="ignore"):
        return _between(known.rows, _scales_and_widths(known.table)[1], coverage)


def _between(rows, width, coverage):
    """Quantiles for any coverage, from those of `LEVELS`."""
    level = np.round(1.0 - coverage, 15)
    depth = np.append(0.0, _DEPTHS)
    width = np.column_stack([np.zeros(len(width)), width])
    above = np.minimum(np.searchsorted(-LEVELS, -level) + 1, len(LEVELS))  # the level that is as rare, or rarer
    part = (-np.log(level) - depth[above - 1]) / (depth[above] - depth[above - 1])
    low, high = width[:, above - 1], width[:, above]
    between = np.minimum(low + (high - low) * np.minimum(part, 1.0), high)
    return np.where((level < LEVELS[-1]) | _unknown(rows, level) | np.isinf(high), np.inf, between)


def merge(parts: list[Quantiles], base: Quantiles | None = None) -> Quantiles:
    """What several know, merged: means weighted by the sizes of each, without those of ``base``.

    Sizes that wait for a step are left out. If at most one part has made a step, the result is the `furthest`.
    """
    begun = 0 if base is None else base.rows
    own = np.array([max(part.rows - begun, 0) for part in parts], dtype=float)
    if np.count_nonzero(own) < 2:
        return furthest(parts)
    weight = own / own.sum()

    table = sum(w * part.table for w, part in zip(weight, parts))
    table[:, MISSES:] = 0.0
    return Quantiles(begun + int(own.sum()), 0, table)


def furthest(parts: list) -> Any:
    """The part that has seen most, whatever the order of the parts."""
    return max(parts, key=lambda part: (part.rows, part.waiting, part.table.tolist()))


def check_counts(name: str, known: Any) -> None:
    """Raise unless rows, and those waiting for a step, are counted by integers."""
    for what in ("rows", "waiting"):
        count = getattr(known, what)
        if type(count) is not int or not 0 <= count < 2**53:
            raise ValueError(f"{name}.{what} is {count!r:.60}; it must be an integer that is not negative")


def check(name: str, known: object, n_streams: int) -> None:
    """Raise unless ``known`` can come from sizes of ``n_streams`` streams, as far as numbers tell."""
    if type(known) is not Quantiles:
        raise ValueError(f"{name} is a {type(known).__name__}; it must be quantiles")
    check_counts(name, known)
    if known.waiting >= max(1, min(LONGEST, known.rows // PART)):
        raise ValueError(f"{name}.waiting is {known.waiting} after {known.rows} rows, which it cannot be")
    check_array(f"{name}.table", known.table, (n_streams, len(_LEAST)))
    check_finite(f"{name}.table", known.table)
    if not ((known.table >= _LEAST) & (known.table <= _MOST)).all():
        raise ValueError(f"{name}.table has entries out of their range")


_SIZES = [N_MEANS, N_MEANS, N_LEVELS, N_LEVELS, 1]
_LEAST = np.repeat([0.0, np.finfo(np.float64).tiny, LOWEST, 0.0, 0.0], _SIZES)
_MOST = np.repeat([LARGEST, 1.0, 2.0 * HIGHEST, LONGEST, LARGEST], _SIZES)
