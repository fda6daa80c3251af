"""The loops over rows, dense and sparse, of all families that learn columns one by one.

A family says by five functions what a row does to a model, and `bind` makes its loops of those here. Those whose models
can forget have a sixth, those with plain tuples a seventh. ``table`` has the
columns that the row visits, ``model`` what only the family reads, ``rule`` at least ``n_targets`` and ``intercept``.

========================================================================= ==============================================
``settle(table, heads, f, rule, model, clock, width, bias)``              does what is due before the row, by the scales
                                                                          of before; tells whether that changes weights
``predict(table, heads, f, rule, model, clock, c, bias, width, n)``       takes the row into the scales, and leaves
                                                                          predictions and slopes in ``heads``; tells
                                                                          whether they are finite
``must_wait(heads, rule, model, c)``                                      whether the step needs preparation first
``step(table, heads, f, rule, model, clock, c, bias, width, n)``          changes the weights
``note(noted, row, heads, rule, c)``                                      writes down what the caller is to know of it
``fade(table, transposed, f, rule, model, clock, c)``                    lets all columns fade, and what no column has,
                                                                          if that is due after the row
``named(f, rule, model)``                                                 makes named tuples of plain ones, which are
                                                                          handed over in a quarter of the time
========================================================================= ==============================================
"""

from __future__ import annotations

import numpy as np

from .columns import (
    all_finite,
    count_entries,
    gather,
    inverse_size,
    is_unusual,
    needs_lift,
    padded,
    read_entries,
    scatter,
    switches,
    update_maxima,
)
from .constants import COUNTS_ENTRIES, IS_CENTRED, IS_LIFTED, IS_SELECTIVE, MAX, NORM, UNBOUND
from .handover import PENDING, T
from .heads import PLAYED
from .jit import bound, counted, entry, fast
from .targets import read_row

settle = predict = must_wait = step = note = fade = named = UNBOUND  # of a family


@fast
def nothing_due(table, heads, f, rule, model, clock, width, bias):
    """``settle`` of families to which nothing is due."""
    return False


@fast
def never_waits(heads, rule, model, c):
    """``must_wait`` of families whose steps need no preparation."""
    return False


@fast
def note_played(noted, row, heads, rule, c):
    """``note`` of families that play while they learn: predictions, if they are wanted."""
    if noted.shape[0] > 0:
        for j in range(rule.n_targets):
            noted[row, j] = heads[PLAYED, j]


@fast
def nothing_fades(table, transposed, f, rule, model, clock, c):
    """``fade`` of families that do not forget."""


@counted
def named_already(f, rule, model):
    """``named`` of families that hand over named tuples."""
    return f, rule, model


def bind(module, **functions):
    """The loops for dense and for sparse rows of a family, by its functions."""
    functions = {"fade": nothing_fades, "named": named_already, **functions}
    return bound(learn_dense, module, functions), bound(learn_sparse, module, functions)


@entry
def learn_dense(X, y, codes, weights, order, table, f, rule, heads, clock, model, noted, first):
    """Learn rows in order, from the ``first`` on; return before which one it has stopped: see `handover.run`.

    A row whose step has to wait stops with what follows its prediction still to be done.
    """
    f, rule, model = named(f, rule, model)
    d = X.shape[1]
    width = d + rule.intercept
    n = padded(width)
    bias = width - 1 if rule.intercept else -1
    n_rows = order.size if order.size > 0 else X.shape[0]
    if NORM == MAX and not IS_CENTRED:  # for the other rules each row fills ``inverse`` anew
        for i in range(n):
            table[f.inverse, i] = inverse_size(table[f.largest, i], table[f.lift, i])
    for place in range(first if first > 0 else 0, n_rows):
        row = order[place] if order.size > 0 else place
        c = weights[row] if weights.size > 0 else 1.0
        if clock[PENDING] == 0.0:
            read_row(y, codes, row, heads, rule.n_targets)
            grew = 0
            for i in range(d):
                value = X[row, i]
                table[f.x, i] = value
                grew |= abs(value) > table[f.largest, i]
            if bias >= 0:
                table[f.x, bias] = 1.0
                grew |= table[f.largest, bias] < 1.0
            settle(table, heads, f, rule, model, clock, width, bias)
            if IS_LIFTED and grew and place != first and needs_lift(table, f, n):
                return place
            if COUNTS_ENTRIES and is_unusual(table, f, width):
                if IS_SELECTIVE and place != first and switches(table, f, clock[T], c, width):
                    return place
                count_entries(table, f, c, width)
            if grew:
                update_maxima(table, f, n, NORM == MAX and not IS_CENTRED)
            if not predict(table, heads, f, rule, model, clock, c, bias, width, n):
                return -1
            note(noted, place, heads, rule, c)
            if must_wait(heads, rule, model, c):
                clock[PENDING] = 1.0
                return place
        clock[PENDING] = 0.0
        step(table, heads, f, rule, model, clock, c, bias, width, n)
        fade(table, False, f, rule, model, clock, c)
    return n_rows if all_finite(table, f.lift, f.x, n) else -1


@entry
def learn_sparse(
    data, indices, indptr, y, codes, weights, order, columns, subset, index, places, followed, f, rule, heads, clock,
    model, noted, first,
):  # fmt: skip
    """As `learn_dense`, for CSR rows; ``columns`` is the transposed table, with all of a column side by side.

    ``subset`` has room for the columns of a row, ``index`` for their places.
    """
    fields = columns.shape[1]
    n_rows = order.size if order.size > 0 else indptr.size - 1
    for place in range(first if first > 0 else 0, n_rows):
        row = order[place] if order.size > 0 else place
        c = weights[row] if weights.size > 0 else 1.0
        width = np.int64(clock[PENDING]) - 1
        if width < 0:
            read_row(y, codes, row, heads, rule.n_targets)
            start, stop = indptr[row], indptr[row + 1]
            width = read_entries(
                subset, f, index, places, data, indices, start, stop, columns, followed, rule.intercept
            )  # fmt: skip
            bias, n = width - 1 if rule.intercept else -1, padded(width)
            gather(subset, f, columns, index, width, n)
            settled = settle(subset, heads, f, rule, model, clock, width, bias)
            if place != first and (
                (IS_LIFTED and needs_lift(subset, f, n))
                or (IS_SELECTIVE and switches(subset, f, clock[T], c, width))
            ):  # fmt: skip
                if settled:
                    scatter(subset, columns, index, width, f.largest, fields)
                return place
            if COUNTS_ENTRIES:
                count_entries(subset, f, c, width)
            update_maxima(subset, f, n, NORM == MAX and not IS_CENTRED)
            if not predict(subset, heads, f, rule, model, clock, c, bias, width, n):
                return -1
            note(noted, place, heads, rule, c)
            if must_wait(heads, rule, model, c):
                clock[PENDING] = width + 1
                return place
        clock[PENDING], bias, n = 0.0, width - 1 if rule.intercept else -1, padded(width)
        step(subset, heads, f, rule, model, clock, c, bias, width, n)
        if not all_finite(subset, f.largest + 1, fields, n):
            return -1
        scatter(subset, columns, index, width, f.largest, fields)
        fade(columns, True, f, rule, model, clock, c)
    return n_rows
