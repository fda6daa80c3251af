"""The loops over dense and sparse rows, for all families that learn columns one by one.

`bind` makes a family's loops of those here and of its functions: at least ``predict`` and ``step``. Families that
separate scales from weights have three more, and those that forget up to five more. ``table`` has the columns that the
row visits, ``model`` what only the family reads, ``rule`` at least ``n_targets`` and ``intercept``.

If a family can separate the two, a dense row enters the scales before the previous row has moved the weights: a
processor handles many columns while a chain of exponentials determines how far weights move.

========================================================================= ==============================================
``settle(table, heads, f, rule, model, clock, width, bias)``              does what is due before the row, by the scales
                                                                          before it; returns whether weights change
``take(table, heads, f, rule, clock, c, bias, rare, n, has_moved)``       takes the row into the scales; columns from
                                                                          ``rare`` on are not frequent; ``has_moved``
                                                                          if the row predicts with the present weights
``predict(table, heads, f, rule, model, clock, c, bias, rare, width, n)`` leaves predictions and slopes in ``heads``;
                                                                          returns whether they are finite; does the
                                                                          work of ``take`` if there is none
``must_wait(heads, rule, model, c)``                                      whether the step needs preparation first
``step(table, heads, f, rule, model, clock, c, bias, width, n)``          changes the weights, or leaves their changes
                                                                          to ``move``
``move(table, heads, f, rule, model, clock, width, n, is_taken)``         changes them; ``is_taken`` if the next row has
                                                                          been taken, and may predict
``takes_ahead()``                                                         whether a row may be taken ahead
``note(noted, row, heads, rule, c)``                                      notes what the caller needs of the row
``due(rule, clock, c)``                                                   factor of fading after the row, mostly 1
``fade(table, n, f, rule, model, clock, factor, unseen)``                 fades the first columns, and what is of no
                                                                          column; with ``unseen``, the units in which
                                                                          the others are stored
``revive(table, f, rule, model, clock, rare, n)``                         converts these from their units
``suspend(table, f, rule, model, clock, rare, n)``                        converts them back
``must_renew(clock, c)``                                                  whether units are too small
``named(f, rule, model)``                                                 makes named tuples of plain ones, which are
                                                                          passed in a quarter of the time
========================================================================= ==============================================
"""

import numpy as np

from ..state.memory import LINE
from .columns import (
    all_finite,
    copy_columns,
    count_entries,
    enter,
    gather,
    inverse_size,
    leave,
    padded,
    read_dense,
    read_entries,
    stops,
    update_maxima,
    whole_vectors,
)
from .constants import COUNTS_ENTRIES, IS_CENTRED, MAX, NORM, UNBOUND
from .handover import PENDING, Preparation, T, entries_of_row, put_back, run, table_layout, workspace
from .heads import PLAYED, new_heads
from .jit import bound, entry_by_eight, fast
from .targets import read_row
from .vectors import ask_for, ask_for_entry

AHEAD = 4  # a row is prefetched this many rows ahead, if rows are not in memory order
LINES = 16  # cache lines to prefetch of a dense row; the processor finds those that follow by itself
MOST_LINES = 64  # of a sparse row: reading scattered columns in between, the processor forgets where it was

predict = step = UNBOUND  # of families; functions that a family lacks are these:


@fast
def nothing(*args):
    """Do nothing."""


@fast
def never(*args):
    """Return False."""
    return False


take = move = fade = revive = suspend = nothing
settle = must_wait = must_renew = never


@fast
def takes_ahead():
    """Whether a row may be taken ahead: always, for families without ``move``."""
    return True


@fast
def note(noted, row, heads, rule, c):
    """Note predictions, if wanted, for families that play while they learn."""
    if noted.shape[0] > 0:
        for j in range(rule.n_targets):
            noted[row, j] = heads[PLAYED, j]


@fast
def due(rule, clock, c):
    """Factor of fading for families that do not forget."""
    return 1.0


@fast
def named(f, rule, model):
    """What families pass that has names already."""
    return f, rule, model


def bind(module, **functions):
    """Loops for dense and sparse rows, made of a family's functions and, for those that it lacks, of those above."""
    return bound(learn_dense, module, functions), bound(learn_sparse, module, functions)


def learn(state, dense, sparse, Fields, scratch, rule, clock, model, cost, X, y, sample_weight, order, predictions):
    """Learn rows with the loops of a family; return whether all numbers stayed in range.

    ``scratch`` names the rows below the fields of a table; each head has its own copy of the last. Loops go through
    ``cost`` numbers for each entry and head; ``rule``, ``clock`` and ``model`` are further arguments for them.
    """
    columns, n_heads = state.columns, state.rule.n_heads
    by_row = not isinstance(X, np.ndarray) and state.rule.lazy and sparse is not None
    columns.arrange("F" if by_row else "C")
    tables = workspace(state, len(scratch) - 1 + n_heads, X.indptr if by_row else None)
    layout = table_layout(Fields, scratch, state.rule, columns.shared, columns.per_head, by_row)
    ok = run(
        sparse if by_row else None, dense, X, y, sample_weight, order,
        (*tables, layout, rule, new_heads(state), clock, model), predictions,
        row_cost=cost * entries_of_row(X) * n_heads, prepare=Preparation(state, tables, clock),
    )  # fmt: skip
    if ok:
        put_back(state, tables)
    return ok and bool(np.isfinite(clock).all())


@fast
def ask_for_targets(y, codes, weights, row):
    """Prefetch the target and weight of a later row."""
    if codes.size > 0:
        ask_for(codes, row)
    else:
        ask_for_entry(y, row, 0)
    if weights.size > 0:
        ask_for(weights, row)


@fast
def ask_for_dense(X, y, codes, weights, order, place):
    """Prefetch a later dense row, if rows are not in memory order."""
    place += AHEAD
    if place < order.size:
        row = order[place]
        for i in range(0, min(X.shape[1], LINES * LINE), LINE):
            ask_for_entry(X, row, i)
        ask_for_targets(y, codes, weights, row)


@fast
def ask_for_sparse(data, indices, indptr, y, codes, weights, order, place):
    """Prefetch a later CSR row: the next one or, if rows are not in memory order, one after it.

    In the latter case, also prefetch where a still later row begins, and its target.
    """
    row, end = place + 1, indptr.size - 1
    if order.size > 0:
        place += AHEAD
        row = order[place] if place < order.size else end
        if place + AHEAD < order.size:
            later = order[place + AHEAD]
            ask_for(indptr, later)
            ask_for_targets(y, codes, weights, later)
    if row < end:
        start, stop = indptr[row], indptr[row + 1]
        for i in range(start, min(stop, start + MOST_LINES * LINE), LINE):
            ask_for(data, i)
            ask_for(indices, i)


@entry_by_eight
def learn_dense(X, y, codes, weights, order, table, f, rule, heads, clock, model, noted, first):
    """Learn rows from ``first`` on; return the row before which it stopped, as in `handover.run`.

    If a step has to wait, the loop stops after the row's prediction.
    """
    f, rule, model = named(f, rule, model)
    width = X.shape[1] + rule.intercept
    n = padded(width)
    bias = width - 1 if rule.intercept else -1
    end = order.size if order.size > 0 else X.shape[0]
    if NORM == MAX and not IS_CENTRED:  # for other rules, each row fills ``inverse`` anew
        for i in range(n):
            table[f.inverse, i] = inverse_size(table[f.largest, i], table[f.lift, i])
    place, moves, factor = max(first, 0), False, 1.0  # ``moves``: the previous row has still to move weights
    while place < end or moves:
        waited = clock[PENDING] != 0.0
        taken = place < end and not (moves and (factor != 1.0 or not takes_ahead()))
        row = place if order.size == 0 or not taken else order[place]
        c = weights[row] if weights.size > 0 and taken else 1.0
        if taken and not waited:
            ask_for_dense(X, y, codes, weights, order, place)
            grew, is_unusual = read_dense(X, row, table, f, bias, n)
            settle(table, heads, f, rule, model, clock, width, bias)
            if place != first and (grew or is_unusual) and stops(table, f, rule, clock[T], c, n):
                taken, end = False, place
            else:
                if COUNTS_ENTRIES and is_unusual:
                    count_entries(table, f, c, n)
                if grew:
                    update_maxima(table, f, n, NORM == MAX and not IS_CENTRED)
                take(table, heads, f, rule, clock, c, bias, n, n, not takes_ahead())
        if moves:
            move(table, heads, f, rule, model, clock, width, n, taken)
            if factor != 1.0:
                fade(table, n, f, rule, model, clock, factor, False)
        moves = taken
        if taken:
            if not waited:
                read_row(y, codes, row, heads, rule.n_targets)
                if not predict(table, heads, f, rule, model, clock, c, bias, n, width, n):
                    return -1
                note(noted, place, heads, rule, c)
                if must_wait(heads, rule, model, c):
                    clock[PENDING] = 1.0
                    return place
            clock[PENDING] = 0.0
            step(table, heads, f, rule, model, clock, c, bias, width, n)
            factor = due(rule, clock, c)
            place += 1
    return end if all_finite(table, f.lift, f.x, n) else -1


@entry_by_eight
def learn_sparse(
    data, indices, indptr, y, codes, weights, order, columns, apart, subset, index, places, followed, f, rule, heads,
    clock, model, noted, first,
):  # fmt: skip
    """`learn_dense` for CSR rows; ``columns`` is the transposed table, in which a column is contiguous.

    ``apart`` has the first rows of the table, in which most columns are as new. ``subset`` has room for the columns of
    a row, and ``index`` for their numbers. Columns that every row visits stay in ``subset``.
    """
    fields = apart.shape[0] + columns.shape[1]
    n_rows = order.size if order.size > 0 else indptr.size - 1
    stopped, width = n_rows, np.int64(clock[PENDING]) - 1
    # While a row waits, ``width`` is not negative, and all columns stay where they are.
    staying = enter(subset, f, columns, apart, index, places, followed, rule.intercept, width < 0)
    bias, rare = staying - 1 if rule.intercept else -1, whole_vectors(staying)
    seeks = staying > rule.intercept
    for place in range(first if first > 0 else 0, n_rows):
        row = order[place] if order.size > 0 else place
        ask_for_sparse(data, indices, indptr, y, codes, weights, order, place)
        c = weights[row] if weights.size > 0 else 1.0
        if width < 0:
            read_row(y, codes, row, heads, rule.n_targets)
            width = read_entries(subset, f, index, places, data, indices, indptr[row], indptr[row + 1], rare, seeks)
            if bias >= 0:
                subset[f.x, bias] = 1.0
            n = padded(width)
            gather(subset, f, columns, apart, index, rare, width, n)
            revive(subset, f, rule, model, clock, rare, n)
            settled = settle(subset, heads, f, rule, model, clock, width, bias)
            if place != first and (stops(subset, f, rule, clock[T], c, n) or must_renew(clock, c)):
                if settled:
                    suspend(subset, f, rule, model, clock, rare, n)
                    copy_columns(subset, columns, apart.shape[0], index, rare, width, False)
                stopped, width = place, -1
                break
            if COUNTS_ENTRIES:
                count_entries(subset, f, c, n)
            update_maxima(subset, f, n, NORM == MAX and not IS_CENTRED)
            take(subset, heads, f, rule, clock, c, bias, rare, n, True)
            if not predict(subset, heads, f, rule, model, clock, c, bias, rare, width, n):
                stopped = -1
                break
            note(noted, place, heads, rule, c)
            if must_wait(heads, rule, model, c):
                stopped = place
                break
        n = padded(width)
        step(subset, heads, f, rule, model, clock, c, bias, width, n)
        move(subset, heads, f, rule, model, clock, width, n, False)
        if not all_finite(subset, f.largest + 1, fields, n):
            stopped = -1
            break
        suspend(subset, f, rule, model, clock, rare, n)
        copy_columns(subset, columns, apart.shape[0], index, rare, width, False)
        width = -1
        factor = due(rule, clock, c)
        if factor != 1.0:
            fade(subset, rare, f, rule, model, clock, factor, True)
    clock[PENDING] = width + 1
    leave(subset, columns, apart, index, places, staying, rule.intercept, width < 0)
    return stopped
