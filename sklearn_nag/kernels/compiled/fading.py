"""Columns that fade, in one pass over their table: many columns are faded after few rows."""

from __future__ import annotations

import numpy as np

from ..state.lifts import TINY
from .jit import entry


@entry
def multiply_columns(columns, factors, first_G, G_factors, least, weight, past, n_heads, moved):
    """As `Columns.multiply`, for a table with a row for each column; ``factors`` of ``G`` are 1."""
    for j in range(columns.shape[0]):
        for k in range(n_heads):
            columns[j, past + k] -= moved * columns[j, weight + k]
        for i in range(columns.shape[1]):
            columns[j, i] *= factors[i]
        for k in range(G_factors.shape[0]):
            columns[j, first_G + k] = max(columns[j, first_G + k], least[k]) * G_factors[k]


def multiply(columns, factors, moved=0.0):
    """As `Columns.multiply`."""
    if not columns.table.flags.f_contiguous or columns.table.flags.c_contiguous:  # few columns, of dense rows
        columns.multiply(factors, moved)
        return
    rows = columns.ranges()
    of_row, G, past = np.ones(len(columns.table)), rows.get("G", range(0)), rows.get("past", range(0))
    for name, factor in factors.items():
        of_row[rows[name]] = factor
    G_factors = of_row[G.start : G.stop].copy()
    of_row[G.start : G.stop] = 1.0
    least = TINY / G_factors * (1.0 + 1e-15)  # products below `TINY` would take a hundred times as long
    places = rows["weight"].start, past.start, len(past) if moved else 0
    multiply_columns(columns.table.T, of_row, G.start, G_factors, least, *places, float(moved))
