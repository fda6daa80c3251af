"""What was learnt fades while compiled loops learn; see `state.fading`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..state.fading import EVERY, MOST, PARTS
from ..state.lifts import TINY
from .jit import entry, slow, strict

LEAST = TINY * (1.0 + 1e-15)  # products below `TINY` would take a hundred times as long


class Fading(NamedTuple):
    """How the columns of a model fade, by row of their table.

    Attributes
    ----------
    powers : ndarray of shape (n_fields, 2)
        By which powers of what sums, and of what weights, are multiplied by.
    least : ndarray of shape (n_fields,)
        What it does not fall below: of ``G``, of which a root is divided by, the least number with all its digits.
    factors : ndarray of shape (n_fields,)
        What each is multiplied by.
    """

    powers: np.ndarray
    least: np.ndarray
    factors: np.ndarray


def fading_by(rows, powers):
    """`Fading` of a table with the fields in some ``rows``, by name, of which some fade by ``powers``."""
    n = max(own.stop for own in rows.values())
    fading = Fading(np.zeros((n, 2)), np.full(n, -np.inf), np.ones(n))
    for name in powers.keys() & rows.keys():
        fading.powers[rows[name]] = powers[name]
    fading.least[rows.get("G", range(0))] = LEAST
    return fading


@strict
def factor_due(clock, age, per_weight, c):
    """By what all fades after a row of weight ``c``, 1 where nothing is due.

    In the clock ``age`` is the place of the total weight of all rows, and the next one that of the parts that faded.
    """
    clock[age] += c
    due = EVERY * np.floor(clock[age] * per_weight)
    if not due > clock[age + 1]:
        return 1.0
    passed, clock[age + 1] = due - clock[age + 1], due
    return 0.5 ** min(passed / PARTS, MOST)


@slow
def move_past(table, transposed, past, weight, n_heads, moved):
    """Take ``moved`` times the weights from ``past``, as `Columns.multiply`."""
    if transposed:
        for j in range(table.shape[0]):
            for k in range(n_heads):
                table[j, past + k] -= moved * table[j, weight + k]
        return
    for k in range(n_heads):
        for j in range(table.shape[1]):
            table[past + k, j] -= moved * table[weight + k, j]


@slow
def fade_table(table, transposed, largest, fading, factor, kept):
    """Let all columns fade: sums by ``factor``, weights by ``kept``."""
    for i in range(fading.factors.size):
        fading.factors[i] = factor ** fading.powers[i, 0] * kept ** fading.powers[i, 1]
    multiply_table(table, transposed, largest, fading)


@slow
def multiply_table(table, transposed, largest, fading):
    """Multiply the fields of all columns; those of a ``transposed`` table that no row has named are 0, and stay so."""
    if transposed:
        for j in range(table.shape[0]):
            if table[j, largest] > 0.0:
                for i in range(fading.factors.size):
                    table[j, i] = max(table[j, i], fading.least[i] / fading.factors[i]) * fading.factors[i]
        return
    for i in range(fading.factors.size):
        factor, least = fading.factors[i], fading.least[i] / fading.factors[i]
        if factor != 1.0:
            for j in range(table.shape[1]):
                table[i, j] = max(table[i, j], least) * factor


@entry
def multiply_columns(columns, largest, fading):
    """As `multiply_table`, of a transposed table."""
    multiply_table(columns, True, largest, fading)


def multiply(columns, factors, moved=0.0):
    """As `Columns.multiply`."""
    if not columns.table.flags.f_contiguous or columns.table.flags.c_contiguous:  # few columns, of dense rows
        columns.multiply(factors, moved)
        return
    if moved:
        columns.past -= moved * columns.weight
    rows, fading = columns.ranges(), fading_by(columns.ranges(), {})
    for name, factor in factors.items():
        fading.factors[rows[name]] = factor
    multiply_columns(columns.table.T, rows["largest"].start, fading)
