"""Class probabilities from decision values: a temperature and an offset per class, learnt along the way.

Decision values become *logits*, one column per class. Probabilities are ``p = softmax(a z + b)``, where ``z`` are the
logits over their root mean square, or unchanged if they already mean probabilities. Platt (1999) fits ``a`` and ``b``
to held-out rows. Here, rows predicted before they are learnt take their place. After every few of them comes a Newton
step, by the curvature of each number alone. Curvatures forget, because learners change while they learn. Steps come
after the same rows however a stream is cut.
"""

from __future__ import annotations

import math
import sys
from typing import NamedTuple

import numpy as np

from ..kernels import check_array, check_finite
from ..kernels._backend import imported, is_compiled
from . import quantiles
from .quantiles import LONGEST, PART, Quantiles

MEMORY = 2000.0  # rows
PRIOR = 20.0  # rows of curvature that pull to no offset and, if logits mean nothing yet, to the first factor
SURE = 1500.0  # the same for the factor of probabilities, which a few hundred rows seldom show to be wrong
FARTHEST = 1e6  # of logits
LEAST, MOST = 1e-6, 1e6  # of the factor of logits
LARGEST_SQUARE = 1e200  # of logits, in the mean


class Probabilities(NamedTuple):
    """What is known of the relation between decision values and classes.

    Attributes
    ----------
    rows, waiting : int
        Rows that steps have taken in, and rows since the last step.
    table : ndarray of shape (5, n_classes + 1)
        Factor of the logits and offset of each class; their curvatures; gradients and curvatures summed since the last
        step; and, in the last row, the mean square of logits, the sum of squares since the last step, and the mean
        weight of rows (0 stands for 1, in models of earlier versions).
    surprise : Quantiles
        Of ``-log p`` of the right classes.
    """

    rows: int
    waiting: int
    table: np.ndarray
    surprise: Quantiles


def new(n_classes: int, has_unit: bool = True) -> Probabilities:
    """What is known before the first row; ``has_unit`` if logits have a unit of their own."""
    table = np.zeros((5, n_classes + 1))
    table[0, 0] = 1.0
    table[1] = 0.25 * PRIOR
    table[1, 0] = 0.25 * (PRIOR if has_unit else SURE)
    table[4, 0] = 1.0
    return Probabilities(0, 0, table, quantiles.new(1))


def learn_rows(logits, codes, weights, rows, waiting, table, has_unit, has_offsets, memory, surprise, share, played):
    """Take in rows, one number at a time; the same function runs compiled and as it is.

    Logits are finite, of shape (n, n_classes); with ``has_unit`` they are divided by their size. Rows with a code below
    0 are not learnt. ``weights`` of the others are above 0; without any they are 1. A row counts by its weight over the
    mean so far. ``rows``, ``waiting`` and ``table`` are what is known; ``table`` changes in place, the others are
    returned. Curvatures remember ``memory`` rows. ``surprise`` gets ``-log p`` of each row's class and ``played``,
    unless it has no rows, all ``p``, both from before the row was learnt. ``share`` is a buffer with one number per
    class.
    """
    n_classes = logits.shape[1]
    for i in range(logits.shape[0]):
        factor = table[0, 0]
        if has_unit and rows == 0:  # the unit is not known yet
            factor = table[4, 0] = 0.0
            for k in range(n_classes):
                table[4, 0] = min(table[4, 0] + logits[i, k] * logits[i, k] / n_classes, LARGEST_SQUARE)
        size = math.sqrt(table[4, 0]) if has_unit and table[4, 0] > 0.0 else 1.0
        top, total, mean, square, code = -math.inf, 0.0, 0.0, 0.0, codes[i]
        for k in range(n_classes):
            z = min(max(logits[i, k] / size, -FARTHEST), FARTHEST)
            share[k] = factor * z + table[0, 1 + k]
            top = max(top, share[k])
        own = share[code]
        for k in range(n_classes):
            share[k] = math.exp(share[k] - top)
            total += share[k]
        for k in range(n_classes if played.shape[0] > 0 else 0):
            played[i, k] = share[k] / total
        if code < 0:
            continue
        surprise[i] = max(math.log(total) + top - own, 0.0)
        c, behind = weights[i] if weights.shape[0] > 0 else 1.0, rows + waiting
        before = table[4, 2] if table[4, 2] > 0.0 else 1.0
        table[4, 2] = before + (c - before) / (behind + 1) if behind > 0 else c
        c /= table[4, 2]
        for k in range(n_classes):
            p = share[k] / total
            z = min(max(logits[i, k] / size, -FARTHEST), FARTHEST)
            miss = p - 1.0 if k == code else p
            table[4, 1] += z * z / n_classes
            mean += p * z
            square += p * z * z
            table[2, 0] += c * miss * z
            table[2, 1 + k] += c * miss
            table[3, 1 + k] += c * p * (1.0 - p)
        table[3, 0] += c * max(square - mean * mean, 0.0)
        waiting += 1
        if waiting < max(1, min(LONGEST, rows // PART)):
            continue
        rows += waiting
        fades = 1.0 - waiting / (memory + waiting) if rows > memory else 1.0
        for k in range(n_classes + 1 if has_offsets else 1):
            table[1, k] = fades * table[1, k] + table[3, k]
            furthest = 0.5 * table[0, 0] if k == 0 else 1.0
            table[0, k] -= min(max(table[2, k] / table[1, k], -furthest), furthest)
        before = table[4, 0]
        if has_unit:
            pace = waiting / min(float(rows), memory + waiting)
            table[4, 0] = min(before + (table[4, 1] / waiting * size * size - before) * pace, LARGEST_SQUARE)
            if table[4, 0] > 0.0 and before > 0.0 and rows > waiting:
                ratio = math.sqrt(table[4, 0] / before)  # so that played probabilities stay as they were
                table[0, 0] *= ratio
                table[1, 0] /= ratio * ratio
        table[0, 0] = min(max(table[0, 0], LEAST), MOST)
        for k in range(n_classes + 1):
            table[2, k] = 0.0
            table[3, k] = 0.0
        table[4, 1] = 0.0
        waiting = 0
    return rows, waiting


def learn(known: Probabilities, logits: np.ndarray, codes: np.ndarray, weights=None, **options) -> Probabilities:
    """What is known after more rows; ``has_unit``, ``has_offsets`` and ``memory`` are as in `learn_rows`.

    Existing offsets go on in any case. By default, the memory is infinite and weights are 1.
    """
    rows, waiting, table, surprise = _learn(known, logits, codes, weights, np.empty((0, logits.shape[1])), **options)
    memory = options.get("memory", np.inf)
    surprise = quantiles.learn(known.surprise, surprise, np.zeros_like(surprise), memory)
    return Probabilities(rows, waiting, table, surprise)


def play(known: Probabilities, logits, codes, weights=None, **options) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of all classes, and ``-log p`` of the right one, from before `learn` with these options.

    Rows with a code below 0 are not learnt, and have no right class.
    """
    played = np.empty(logits.shape)
    surprise = _learn(known, logits, codes, weights, played, **options)[-1]
    return played, surprise


def _learn(known, logits, codes, weights, played, has_unit, has_offsets, memory=np.inf):
    run = imported(__package__, "_numba_rows").calibrate if is_compiled() else learn_rows
    table, surprise = np.array(known.table, order="C"), np.empty(len(codes))
    logits, codes = np.ascontiguousarray(logits), np.ascontiguousarray(codes, dtype=np.int64)
    weights = np.ascontiguousarray([] if weights is None else weights, dtype=np.float64)
    has_offsets = has_offsets or bool(table[0, 1:].any())
    rest = table, has_unit, has_offsets, min(float(memory), MEMORY), surprise, np.empty(logits.shape[1]), played
    with np.errstate(over="ignore", under="ignore"):
        rows, waiting = run(logits, codes, weights, known.rows, known.waiting, *rest)
    return int(rows), int(waiting), table, surprise[:, None]


def line(known: Probabilities, has_unit: bool) -> tuple[float, np.ndarray]:
    """The factor of the logits, and the offset of each class."""
    if has_unit and known.rows == 0:
        return 0.0, known.table[0, 1:].copy()
    square = known.table[4, 0]
    size = math.sqrt(square) if has_unit and square > 0.0 else 1.0
    return float(known.table[0, 0] / size), known.table[0, 1:].copy()


def log_probability(known: Probabilities, logits: np.ndarray, has_unit: bool) -> np.ndarray:
    """Logarithm of the probability of each class."""
    factor, offset = line(known, has_unit)
    with np.errstate(over="ignore"):
        behind = np.maximum(logits - logits.max(axis=1, keepdims=True), -sys.float_info.max)
        score = np.maximum(factor * behind, -MOST * FARTHEST) + offset
    score -= score.max(axis=1, keepdims=True)
    with np.errstate(under="ignore"):
        return score - np.log(np.exp(score).sum(axis=1, keepdims=True))


def merge(parts: list[Probabilities], base: Probabilities | None = None) -> Probabilities:
    """What several know, merged: means weighted by the rows of each, without those of ``base``.

    Rows that wait for a step are left out.
    """
    begun = 0 if base is None else base.rows
    own = np.array([max(part.rows - begun, 0) for part in parts], dtype=float)
    if np.count_nonzero(own) < 2:
        return quantiles.furthest(parts)
    table = sum(share * part.table for share, part in zip(own / own.sum(), parts))
    table[2:4], table[4, 1] = 0.0, 0.0
    surprise = quantiles.merge([part.surprise for part in parts], None if base is None else base.surprise)
    return Probabilities(begun + int(own.sum()), 0, table, surprise)


def check(name: str, known: object, n_classes: int) -> None:
    """Raise unless ``known`` can come from rows of ``n_classes`` classes, as far as numbers tell."""
    if type(known) is not Probabilities:
        raise ValueError(f"{name} is a {type(known).__name__}; it must be that of probabilities")
    quantiles.check_counts(name, known)
    check_array(f"{name}.table", known.table, (5, n_classes + 1))
    check_finite(f"{name}.table", known.table)
    in_range = LEAST <= known.table[0, 0] <= MOST and (known.table[1] > 0.0).all() and (known.table[3:] >= 0.0).all()
    if not in_range or known.waiting >= LONGEST:
        raise ValueError(f"{name}.table has entries out of their range")
    quantiles.check(f"{name}.surprise", known.surprise, 1)
