"""What was learnt fades while compiled loops learn; see `state.fading`."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..state.fading import EVERY, MOST, PARTS
from ..state.lifts import TINY
from .jit import entry, slow, strict
from .vectors import WIDTH, load, maximum, store

LEAST = TINY * (1.0 + 1e-15)  # products below `TINY` would take a hundred times as long


FACTOR, FLOOR = range(2)  # rows of `Fading.factors`


class Fading(NamedTuple):
    """How the columns of a model fade, by row of their table.

    Attributes
    ----------
    powers : ndarray of shape (n_fields, 2)
        By which powers of what sums, and of what weights, are multiplied by.
    least : ndarray of shape (n_fields,)
        What it does not fall below: of ``G``, of which a root is divided by, the least number with all its digits.
    factors : ndarray of shape (2, n_fields)
        What each is multiplied by, and what it counts at least before that.
    """

    powers: np.ndarray
    least: np.ndarray
    factors: np.ndarray


def fading_by(rows, powers):
    """`Fading` of a table with the fields in some ``rows``, by name, of which some fade by ``powers``."""
    n = max(own.stop for own in rows.values())
    fading = Fading(np.zeros((n, 2)), np.full(n, -np.inf), np.ones((2, n)))
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
def fade_table(table, transposed, f, n_averaged, fading, factor, kept, moved):
    """Let all columns fade: sums by ``factor``, weights by ``kept``.

    Of as many heads as are averaged, ``moved`` times the weights is taken from ``past`` first, as `Columns.multiply`.
    """
    for i in range(fading.least.size):
        fading.factors[FACTOR, i] = power(factor, fading.powers[i, 0]) * power(kept, fading.powers[i, 1])
        fading.factors[FLOOR, i] = fading.least[i] / fading.factors[FACTOR, i]
    multiply_table(table, transposed, f.largest, f.past, f.weight, n_averaged, fading.factors, moved)


@strict
def power(x, p):
    """``x ** p``, which mostly is by 0 or 1."""
    return 1.0 if p == 0.0 else x if p == 1.0 else x**p


@slow
def multiply_table(table, transposed, largest, past, weight, n_averaged, factors, moved):
    """As `Columns.multiply`; columns of a ``transposed`` table that no row has named are 0, and stay so."""
    if transposed:
        for j in range(table.shape[0]):
            if table[j, largest] > 0.0:
                multiply_column(table, j, past, weight, n_averaged, factors, moved)
        return
    for k in range(n_averaged):
        for j in range(table.shape[1]):
            table[past + k, j] -= moved * table[weight + k, j]
    for i in range(factors.shape[1]):
        factor, floor = factors[FACTOR, i], factors[FLOOR, i]
        if factor != 1.0:
            for j in range(table.shape[1]):
                table[i, j] = multiplied(table[i, j], floor, factor)


@strict
def multiply_column(table, j, past, weight, n_averaged, factors, moved):
    """Of a transposed table, by eight fields. What was just written is not read again, which would have to wait."""
    last = factors.shape[1] - WIDTH  # from where on there are eight, of which those before may have been multiplied
    if last < 0 or n_averaged > 1:
        for k in range(n_averaged):
            table[j, past + k] -= moved * table[j, weight + k]
        for i in range(factors.shape[1]):
            table[j, i] = multiplied(table[j, i], factors[FLOOR, i], factors[FACTOR, i])
        return
    end = multiplied(load(table, j, last), load(factors, FLOOR, last), load(factors, FACTOR, last))
    moved_past = table[j, past] - moved * table[j, weight] if n_averaged == 1 else 0.0
    for i in range(0, last, WIDTH):
        store(table, j, i, multiplied(load(table, j, i), load(factors, FLOOR, i), load(factors, FACTOR, i)))
    store(table, j, last, end)
    if n_averaged == 1:
        table[j, past] = moved_past * factors[FACTOR, past]


@strict
def multiplied(value, floor, factor):
    """A value, or a floor below which it does not count, times a factor."""
    return maximum(value, floor) * factor


@entry
def multiply_columns(columns, largest, past, weight, n_averaged, factors, moved):
    """As `multiply_table`, of a transposed table."""
    multiply_table(columns, True, largest, past, weight, n_averaged, factors, moved)


def multiply(columns, factors, moved=0.0):
    """As `Columns.multiply`."""
    if not columns.table.flags.f_contiguous or columns.table.flags.c_contiguous:  # few columns, of dense rows
        columns.multiply(factors, moved)
        return
    rows, fading, first = columns.ranges(), fading_by(columns.ranges(), {}), columns.rows()
    for name, factor in factors.items():
        fading.factors[FACTOR, rows[name]] = factor
    fading.factors[FLOOR] = fading.least / fading.factors[FACTOR]
    n_averaged = columns.n_heads if moved else 0
    places = first["largest"], first.get("past", 0), first["weight"]
    multiply_columns(columns.table.T, *places, n_averaged, fading.factors, float(moved))
