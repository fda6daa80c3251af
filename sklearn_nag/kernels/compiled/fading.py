"""What was learnt fades while compiled loops learn; see `state.fading`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..state.fading import EVERY, MOST, PARTS
from ..state.lifts import TINY
from .jit import entry, slow, strict
from .vectors import WIDTH, load, maximum, store

LEAST = TINY * (1.0 + 1e-15)  # products below `TINY` would take a hundred times as long


FACTOR, FLOOR = range(2)  # what fields are multiplied by, and what they count at least before that


class Fading(NamedTuple):
    """How the columns of a model fade, by row of their table.

    Attributes
    ----------
    powers : ndarray of shape (n_fields, 2)
        By which powers of what sums, and of what weights, are multiplied by.
    least : ndarray of shape (n_fields,)
        What it does not fall below: of ``G``, of which a root is divided by, the least number with all its digits.
    """

    powers: np.ndarray
    least: np.ndarray


def fading_by(rows, powers):
    """`Fading` of a table with the fields in some ``rows``, by name, of which some fade by ``powers``."""
    n = max(own.stop for own in rows.values())
    fading = Fading(np.zeros((n, 2)), np.full(n, -np.inf))
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
def fade_table(table, n, f, n_averaged, fading, factor, kept, moved):
    """Let the first ``n`` columns fade: sums by ``factor``, weights by ``kept``.

    Of as many heads as are averaged, ``moved`` times the weights is taken from ``past`` first, as `Columns.multiply`.
    """
    for k in range(n_averaged):
        for j in range(n):
            table[f.past + k, j] -= moved * table[f.weight + k, j]
    for i in range(fading.least.size):
        of_field = power(factor, fading.powers[i, 0]) * power(kept, fading.powers[i, 1])
        if of_field != 1.0:
            floor = fading.least[i] / of_field
            for j in range(n):
                table[i, j] = max(table[i, j], floor) * of_field


@strict
def power(x, p):
    """``x ** p``, which mostly is by 0 or 1."""
    return 1.0 if p == 0.0 else x if p == 1.0 else x**p


@entry
def multiply_columns(columns, largest, past, weight, n_averaged, factors, moved):
    """As `Columns.multiply`, of a transposed table; columns that no row has named are 0, and stay so."""
    for j in range(columns.shape[0]):
        if columns[j, largest] > 0.0:
            multiply_column(columns, j, past, weight, n_averaged, factors, moved)


@strict
def multiply_column(columns, j, past, weight, n_averaged, factors, moved):
    """Of a transposed table, by eight fields. What was just written is not read again, which would have to wait."""
    last = factors.shape[1] - WIDTH  # from where on there are eight, of which those before may have been multiplied
    if last < 0 or n_averaged > 1:
        for k in range(n_averaged):
            columns[j, past + k] -= moved * columns[j, weight + k]
        for i in range(factors.shape[1]):
            columns[j, i] = max(columns[j, i], factors[FLOOR, i]) * factors[FACTOR, i]
        return
    end = maximum(load(columns, j, last), load(factors, FLOOR, last)) * load(factors, FACTOR, last)
    moved_past = columns[j, past] - moved * columns[j, weight] if n_averaged == 1 else 0.0
    for i in range(0, last, WIDTH):
        some = maximum(load(columns, j, i), load(factors, FLOOR, i)) * load(factors, FACTOR, i)
        store(columns, j, i, some)
    store(columns, j, last, end)
    if n_averaged == 1:
        columns[j, past] = moved_past * factors[FACTOR, past]


def multiply(columns, factors, moved=0.0):
    """As `Columns.multiply`."""
    columns.settle()
    if not columns.table.flags.f_contiguous or columns.table.flags.c_contiguous:  # few columns, of dense rows
        columns.multiply(factors, moved)
        return
    first, rows, by_row = columns.rows(), columns.ranges(), np.ones((2, len(columns.table)))
    by_row[FLOOR] = -np.inf
    for name, factor in factors.items():
        by_row[FACTOR, rows[name]] = factor
        if name == "G":
            by_row[FLOOR, rows[name]] = LEAST / by_row[FACTOR, rows[name]]
    n_averaged = columns.n_heads if moved else 0
    places = first["largest"], first.get("past", 0), first["weight"]
    multiply_columns(columns.table.T, *places, n_averaged, by_row, float(moved))
