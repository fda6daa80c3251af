"""Quantiles of a stream of sizes, such as those of errors, that follow it wherever it goes.

A size is *missed* at a level ``a`` if it is above the quantile that was had before it came. Levels are rates of misses,
so the quantile of level 0.1 is the half-width of intervals of coverage 0.9.

A quantile is ``scale * exp(place)``. Both change every few sizes, always after the same ones, so that no cut of the
stream changes a bit.

- The *scale* has the unit of the sizes. Means of all sizes, of about the last 500 and of about the last 30 are experts
  for it. Each stands for an exponential distribution of that mean; their shares are the posterior probabilities of
  these (log loss, rate 1), of which a part ``1 / t`` begins anew at each size (fixed share; Herbster and Warmuth 1998).
  The scale is the geometric mean of theirs.
- The *places* make rates of misses what they are to be: ``place += rate * (misses - a * sizes)``, adaptive conformal
  inference (Gibbs and Candès 2021; "quantile tracking" of Angelopoulos, Candès and Tibshirani 2023) of the logarithm of
  sizes over scale. Rates fall as ``t**-0.6``, to a floor (Angelopoulos, Barber and Bates 2024). Those of levels below
  0.05 are `FASTER` times as large, but for the first ones, or they would take a hundred thousand sizes to find a
  quantile hundreds of times as large as most.
- A quantile is taken at the largest of the places up to its own, so those of rarer misses are never below others.
  As their places move as fast, or faster, one that is below another comes back.

Whatever the sizes are, sums of ``misses - a`` are sums of ``change of place / rate``, so they are within ``(range of
the places + a step) / rate``. Places above `HIGHEST` miss nothing, so they cannot rise further: the rate of misses is
at most ``a + (HIGHEST - LOWEST + LONGEST * MOST) / (FLOOR * t)`` for every sequence. It is as near from below unless
most sizes are less than ``exp(LOWEST)`` of the scale, or all so far were 0: these are never missed, and no place moves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..kernels import check_array, check_finite
from ..kernels._backend import imported, is_compiled

LEVELS = np.array([0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001])
MEMORIES = np.array([np.inf, 500.0, 30.0])  # sizes
RATE, POWER, FLOOR = 1.5, 0.6, 0.008  # of places
FASTER = np.maximum(0.05 / LEVELS, 1.0) ** 0.75  # times the rate, up to ``MOST``
MOST = 0.125  # rate, but for those that are larger by themselves
FIRST = 10  # sizes that only make a scale
LOWEST, HIGHEST = -10.0, 10.0  # of places; e**10 is 22,000
LONGEST, PART = 32, 8  # a step waits for this part of the sizes so far, and for so many at most
OUTLYING = 32.0  # scales: a larger size counts as one of so many, in means
FEW, RARE = 8, 3  # so many sizes, most of them above the quantile of this place in LEVELS, are no outliers
LARGEST = np.finfo(np.float64).max
ROUNDING = 2.0**-40  # of two numbers: by so much rounding may have put them apart, as of logarithms
FAINT = 1e-100  # the least of a mean that counts, in those of all sizes
N_MEANS, N_LEVELS = len(MEMORIES), len(LEVELS)
MEAN, SHARE, PLACE, MISSES, TOTAL = np.add.accumulate([0, N_MEANS, N_MEANS, N_LEVELS, N_LEVELS]).tolist()  # columns

_LEVELS, _MEMORIES, _FASTER = (tuple(values.tolist()) for values in (LEVELS, MEMORIES, FASTER))
_DEPTHS = -np.log(LEVELS)  # places are between those of an exponential distribution in the beginning


class Quantiles(NamedTuple):
    """What is known of some streams of sizes that come together, as of several outputs.

    Attributes
    ----------
    rows : int
        Sizes of each stream that steps have taken in.
    waiting : int
        Sizes that have come since the last step.
    table : ndarray of shape (n_streams, 23)
        What else is kept of each: the mean and the share of each of `MEMORIES`, the place of each of `LEVELS`, before
        they are put in order; then of the sizes that wait how many were above the quantile of each level, and their
        sum, over `LONGEST`. The columns where these begin are `MEAN`, `SHARE`, `PLACE`, `MISSES` and `TOTAL`.
    """

    rows: int
    waiting: int
    table: np.ndarray


def new(n_streams: int) -> Quantiles:
    """What is known before the first size."""
    row = np.concatenate([[0.0] * N_MEANS, [1.0 / N_MEANS] * N_MEANS, np.log(_DEPTHS), [0.0] * (N_LEVELS + 1)])
    return Quantiles(0, 0, np.tile(row, (n_streams, 1)))


def learn(known: Quantiles, ends: np.ndarray, begins: np.ndarray, memory: float = np.inf) -> Quantiles:
    """What is known after more sizes, which are distances of two finite numbers, such as predictions and targets.

    They are of shape (n, n_streams). About ``memory`` of the last sizes count at most. ``known`` is left as it is.
    """
    if not is_compiled():
        return _learn(known, ends, begins, memory)
    table, memory = np.array(known.table, order="C"), float(memory)
    ends, begins = np.ascontiguousarray(ends.T), np.ascontiguousarray(begins.T)
    room = np.empty(N_LEVELS), np.empty(LONGEST)
    run = imported(__package__, "_numba_rows").learn_sizes
    rows, waiting = run(ends, begins, known.rows, known.waiting, table, memory, *room)
    return Quantiles(rows, waiting, table)


def _learn(known, ends, begins, memory):
    """As `learn`, by numbers of Python, as an operation on a small array takes as long as twenty of these."""
    table = known.table.tolist()
    room = [0.0] * N_LEVELS, [0.0] * LONGEST
    with np.errstate(all="ignore"):
        counts = learn_sizes(ends.T.tolist(), begins.T.tolist(), known.rows, known.waiting, table, memory, *room)
    return Quantiles(*counts, np.array(table))


def play(
    known: Quantiles, ends: np.ndarray, begins: np.ndarray, coverage: np.ndarray, memory: float = np.inf
) -> tuple[Quantiles, np.ndarray]:
    """As `learn`; also return the `widths` that were had before each size: (n, n_streams, n_coverages)."""
    played, start = np.empty((*ends.shape, len(coverage))), 0
    while start < len(ends):
        stop = start + length_of_step(known.rows) - known.waiting
        played[start:stop] = widths(known, coverage)
        known = _learn(known, ends[start:stop], begins[start:stop], memory)
        start = stop
    return known, played


# -- a number at a time; the same functions run compiled and as they are, on arrays or on lists


def exp(x):
    """As NumPy's, of a number."""
    return float(np.exp(x))


def log(x):
    """As NumPy's, of a number."""
    return float(np.log(x))


def length_of_step(rows):
    """How many sizes a step waits for, after which many ``rows``."""
    return max(1, min(LONGEST, rows // PART))


def learn_sizes(ends, begins, rows_before, waiting_before, table, memory, width, size):
    """Change the ``table`` of what is known as `learn` does; return ``rows`` and ``waiting``.

    ``ends`` and ``begins`` have a row for each stream, ``width`` and ``size`` room for the levels, and for the sizes
    that wait.
    """
    rows, waiting = rows_before, waiting_before
    for j in range(len(ends)):
        rows, waiting, start, known = rows_before, waiting_before, 0, table[j]
        scale = set_widths(rows, known, width)
        while start < len(ends[j]):
            length = length_of_step(rows)
            n = min(len(ends[j]) - start, length - waiting)
            most = min(OUTLYING * scale, LARGEST) if scale > 0.0 else LARGEST
            count(ends[j], begins[j], start, n, waiting, most, known, width, size)
            start, waiting = start + n, waiting + n
            if waiting == length:
                rows += waiting
                step(waiting, rows, known, memory)
                scale, waiting = set_widths(rows, known, width), 0
    return rows, waiting


def set_widths(rows, known, width):
    """Put the quantile of each level into ``width``, infinite where its place is too high; return the scale.

    So it is where there were too few ``rows``: less than one miss is expected.
    """
    scale, highest, power = known[MEAN], -np.inf, 0.0
    if scale > 0.0:
        for k in range(N_MEANS):
            power += known[SHARE + k] * log(max(known[MEAN + k] / scale, FAINT))
        scale = min(scale * exp(power), LARGEST)
    for k in range(N_LEVELS):
        highest = max(highest, known[PLACE + k])
        unknown = highest >= HIGHEST or rows * _LEVELS[k] < 1.0
        width[k] = np.inf if unknown else min(scale * exp(highest), LARGEST)
    return scale


def step(n, rows, known, memory):
    """Take in the ``n`` sizes that wait, after which ``rows`` have been."""
    whole, of_step = known[MEAN], min(known[TOTAL] * (LONGEST / n), LARGEST)
    if whole > 0.0:
        best, summed = -np.inf, 0.0
        for k in range(N_MEANS):
            relative = max(known[MEAN + k] / whole, FAINT)
            known[SHARE + k] = log(known[SHARE + k]) - n * (log(relative) + of_step / whole / relative)
            best = max(best, known[SHARE + k])
        for k in range(N_MEANS):
            known[SHARE + k] = exp(known[SHARE + k] - best)
            summed += known[SHARE + k]
        for k in range(N_MEANS):
            known[SHARE + k] /= summed
    for k in range(N_MEANS):
        known[SHARE + k] += (1.0 / N_MEANS - known[SHARE + k]) * (n / rows)
        lasting = min(float(rows), min(_MEMORIES[k], memory) + 0.5 * n)
        known[MEAN + k] += (of_step - known[MEAN + k]) * (n / max(float(n), lasting))
    rate = max(FLOOR, RATE * rows**-POWER) if rows > FIRST else 0.0
    for k in range(N_LEVELS):  # sizes of 0 alone are at no place
        own = max(rate, min(_FASTER[k] * rate, MOST)) if known[MEAN] > 0.0 or known[MISSES + k] > 0.0 else 0.0
        known[PLACE + k] = max(known[PLACE + k] + own * (known[MISSES + k] - _LEVELS[k] * n), LOWEST)
        known[MISSES + k] = 0.0
    known[TOTAL] = 0.0


def count(ends, begins, start, n, waiting, most, known, width, size):
    """Count ``n`` sizes after ``waiting`` others of this step, and which are above the quantile of each level.

    Larger ones than ``most`` count as so much, or as outliers of those that wait; ``size`` has room for them.
    """
    total, missed = known[TOTAL], known[MISSES + RARE]
    for i in range(n):
        end, begin = ends[start + i], begins[start + i]
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


def about(middle: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Intervals of these half-widths, which hold errors that count as 0: (n_rows, n_streams, 2, n_coverages)."""
    middle = middle[:, :, None]
    width = np.maximum(width, ROUNDING * np.abs(middle))
    with np.errstate(over="ignore"):
        return np.stack([middle - width, middle + width], axis=2)


def widths(known: Quantiles, coverage: np.ndarray) -> np.ndarray:
    """Half-widths of intervals of these coverages: an array of shape (n_streams, n_coverages).

    Between levels quantiles are linear in the logarithm of the rate of misses, as of exponential distributions. They
    are the larger the larger a coverage is, and infinite where there were fewer sizes than one miss is expected in and
    for coverages above 0.999.
    """
    width, level = np.zeros((len(known.table), 1 + N_LEVELS)), np.round(1.0 - coverage, 15)
    depth = np.append(0.0, _DEPTHS)
    above = np.minimum(np.searchsorted(-LEVELS, -level) + 1, N_LEVELS)  # the level that is as rare, or rarer
    with np.errstate(all="ignore"):
        for own, row in zip(width, known.table):
            set_widths(np.inf, row, own[1:])
        part = (-np.log(level) - depth[above - 1]) / (depth[above] - depth[above - 1])
        low, high = width[:, above - 1], width[:, above]
        between = np.minimum(low + (high - low) * np.minimum(part, 1.0), high)
    return np.where((level < LEVELS[-1]) | (known.rows * level < 1.0) | np.isinf(high), np.inf, between)


def merge(parts: list[Quantiles], base: Quantiles | None = None) -> Quantiles:
    """What is known of the sizes of several: means by the number of sizes behind each, less those of ``base``.

    Sizes that wait for a step are left out, but where a single part, or none, has made one: then it is the `furthest`.
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
    """The part that has seen most, whatever their order."""
    return max(parts, key=lambda part: (part.rows, part.waiting, part.table.tolist()))


def take(known: Quantiles, which: np.ndarray | slice) -> Quantiles:
    """Some of the streams."""
    return known._replace(table=known.table[which])


def check_counts(name: str, known: Any) -> None:
    """Raise unless rows, and those that wait for a step, are counted by integers."""
    for what in ("rows", "waiting"):
        count = getattr(known, what)
        if type(count) is not int or not 0 <= count < 2**53:
            raise ValueError(f"{name}.{what} is {count!r:.60}; it must be an integer that is not negative")


def check(name: str, known: object, n_streams: int) -> None:
    """Raise unless ``known`` is what sizes of so many streams can have led to, as far as its numbers tell."""
    if type(known) is not Quantiles:
        raise ValueError(f"{name} is a {type(known).__name__}; it must be quantiles")
    check_counts(name, known)
    if known.waiting >= length_of_step(known.rows):
        raise ValueError(f"{name}.waiting is {known.waiting} after {known.rows} rows, which it cannot be")
    check_array(f"{name}.table", known.table, (n_streams, len(_LEAST)))
    check_finite(f"{name}.table", known.table)
    if not ((known.table >= _LEAST) & (known.table <= _MOST)).all():
        raise ValueError(f"{name}.table has entries out of their range")


_SIZES = [N_MEANS, N_MEANS, N_LEVELS, N_LEVELS, 1]
_LEAST = np.repeat([0.0, np.finfo(np.float64).tiny, LOWEST, 0.0, 0.0], _SIZES)
_MOST = np.repeat([LARGEST, 1.0, 2.0 * HIGHEST, LONGEST, LARGEST], _SIZES)
