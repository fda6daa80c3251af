"""Fading within compiled loops; see `state.fading`."""

from typing import NamedTuple

import numpy as np

from ..state.fading import EVERY, MOST, PARTS
from ..state.lifts import TINY
from .constants import FADES_ON_THE_WAY
from .jit import entry, slow, strict

LEAST = TINY * (1.0 + 1e-15)  # products below `TINY` would take a hundred times as long


class Fading(NamedTuple):
    """How each row of a table of columns fades.

    Attributes
    ----------
    powers : ndarray of shape (n_fields, 2)
        Exponents of the factors of sums and of weights.
    least : ndarray of shape (n_fields,)
        Lower bound; for ``G``, whose root is a divisor, the least number with all its digits.
    """

    powers: np.ndarray
    least: np.ndarray


def fading_by(rows, powers):
    """`Fading` of a table, from the ``rows`` and ``powers`` of fields by name."""
    n = max(own.stop for own in rows.values())
    fading = Fading(np.zeros((n, 2)), np.full(n, -np.inf))
    for name in powers.keys() & rows.keys():
        fading.powers[rows[name]] = powers[name]
    fading.least[rows.get("G", range(0))] = LEAST
    return fading


@strict
def factor_due(clock, age, per_weight, c):
    """Factor by which everything fades after a row of weight ``c``; 1 if nothing is due, or loops do not fade.

    ``clock[age]`` counts the total weight of all rows, and the next entry the parts that have faded.
    """
    if not FADES_ON_THE_WAY:
        return 1.0
    clock[age] += c
    due = EVERY * np.floor(clock[age] * per_weight)
    if not due > clock[age + 1]:
        return 1.0
    passed, clock[age + 1] = due - clock[age + 1], due
    return 0.5 ** min(passed / PARTS, MOST)


@slow
def fade_table(table, n, fading, factor, kept):
    """Fade the first ``n`` columns: sums by ``factor``, weights by ``kept``."""
    for i in range(fading.least.size):
        of_field = power(factor, fading.powers[i, 0]) * power(kept, fading.powers[i, 1])
        if of_field != 1.0:
            floor = fading.least[i] / of_field
            for j in range(n):
                table[i, j] = max(table[i, j], floor) * of_field


@strict
def power(x, p):
    """``x ** p``, where ``p`` is mostly 0 or 1."""
    return 1.0 if p == 0.0 else x if p == 1.0 else x**p


@entry
def multiply_columns(columns, largest, factors, floors):
    """`Columns.multiply` of a transposed table; columns that no row has named are as new, and stay so."""
    for j in range(columns.shape[0]):
        if columns[j, largest] > 0.0:
            for i in range(factors.size):
                columns[j, i] = max(columns[j, i], floors[i]) * factors[i]


def multiply(columns, factors, moved=0.0):
    """Multiply fields by factors; see `Columns.multiply`."""
    columns.settle()
    if columns.table.flags.c_contiguous:  # few columns, of dense rows
        columns.multiply(factors, moved)
        return
    if moved:
        columns.past -= moved * columns.weight
    rows, by_row = columns.ranges(), np.ones(columns.n_rows)
    for name, factor in factors.items():
        by_row[rows[name]] = factor
    here = slice(len(columns.apart), None)  # no field that is stored apart fades like this
    largest, floors = rows["largest"].start - here.start, fading_by(rows, {}).least / by_row
    multiply_columns(columns.table.T, largest, by_row[here], floors[here])
