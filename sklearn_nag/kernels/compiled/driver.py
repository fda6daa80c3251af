"""The loops over rows, dense and sparse, of all families that learn columns one by one.

A family says by two functions at least, ``predict`` and ``step``, what a row does to a model, and `bind` makes its
loops of those here. One that tells scales from weights has three more, one whose models can forget up to five.
``table`` has the columns that the row visits, ``model`` what only the family reads, ``rule`` at least ``n_targets`` and
``intercept``.

Dense rows are taken into the scales before the row before has moved the weights, where a family can do both apart: a
processor does many columns in the time in which one exponential after the other says how far weights are to move.

========================================================================= ==============================================
``settle(table, heads, f, rule, model, clock, width, bias)``              does what is due before the row, by the scales
                                                                          of before; tells whether that changes weights
``take(table, heads, f, rule, clock, c, bias, rare, n, has_moved)``       takes the row into the scales; from ``rare``
                                                                          on columns are not frequent; whether weights
                                                                          are by now those that the row predicts by
``predict(table, heads, f, rule, model, clock, c, bias, rare, width, n)`` leaves predictions and slopes in ``heads``;
                                                                          tells whether they are finite; does what
                                                                          ``take`` does where there is none
``must_wait(heads, rule, model, c)``                                      whether the step needs preparation first
``step(table, heads, f, rule, model, clock, c, bias, width, n)``          changes the weights, or finds how they are to
                                                                          change, and leaves that to ``move``
``move(table, heads, f, rule, model, clock, width, n, is_taken)``         changes them; whether the next row has been
                                                                          taken, by which it may predict then
``takes_ahead()``                                                         whether it may have been
``note(noted, row, heads, rule, c)``                                      writes down what the caller is to know of it
``due(rule, clock, c)``                                                   by what all fades after the row, mostly 1
``fade(table, n, f, rule, model, clock, factor, unseen)``                 lets the first columns fade, and what no
                                                                          column has; the others fade ``unseen``: what
                                                                          they are kept in gets smaller
``revive(table, f, rule, model, clock, rare, n)``                         makes others what they are by now
``suspend(table, f, rule, model, clock, rare, n)``                        makes them what is kept of them
``must_renew(clock, c)``                                                  whether what they are kept in is too small
``named(f, rule, model)``                                                 makes named tuples of plain ones, which are
                                                                          handed over in a quarter of the time
========================================================================= ==============================================
"""

from __future__ import annotations

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

AHEAD = 4  # how many rows before it is learnt a row is asked for, whose turn is not that of its place in memory
LINES = 16  # of the cache, that are asked for of a dense row: what follows the processor finds out by itself
MOST_LINES = 64  # of a sparse one, between whose entries it reads columns from all over, and forgets where it was

settle = predict = must_wait = step = note = named = UNBOUND  # of a family
take = move = takes_ahead = UNBOUND  # of one that tells scales from weights
due = fade = revive = suspend = must_renew = UNBOUND  # of one that forgets


@fast
def nothing(*args):
    """Of families that predict by what a row makes of the scales, leave nothing to ``move``, or do not forget."""


@fast
def never(*args):
    """Of families to which nothing is due, whose steps need no preparation, or that do not forget."""
    return False


@fast
def always_ahead():
    """``takes_ahead`` of families that leave nothing to ``move``."""
    return True


@fast
def note_played(noted, row, heads, rule, c):
    """``note`` of families that play while they learn: predictions, if they are wanted."""
    if noted.shape[0] > 0:
        for j in range(rule.n_targets):
            noted[row, j] = heads[PLAYED, j]


@fast
def never_due(rule, clock, c):
    """``due`` of families that do not forget."""
    return 1.0


@fast
def named_already(f, rule, model):
    """``named`` of families that hand over named tuples."""
    return f, rule, model


BY_DEFAULT = {
    "settle": never, "take": nothing, "takes_ahead": always_ahead, "move": nothing, "must_wait": never,
    "note": note_played, "named": named_already,
    "due": never_due, "fade": nothing, "revive": nothing, "suspend": nothing, "must_renew": never,
}  # fmt: skip


def bind(module, **functions):
    """The loops for dense and for sparse rows of a family, by its functions; `BY_DEFAULT` has those that it lacks."""
    functions = {**BY_DEFAULT, **functions}
    return bound(learn_dense, module, functions), bound(learn_sparse, module, functions)


def learn(state, dense, sparse, Fields, scratch, rule, clock, model, cost, X, y, sample_weight, order, predictions):
    """Let the loops of a family learn rows; tell whether all numbers stayed in range.

    ``scratch`` are names of the rows below the fields of a table, of which each head has its own last one; ``rule``,
    ``clock`` and ``model`` are what else the loops take, which go through ``cost`` numbers for each entry and head.
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
    """Ask for what else is read of a row to come."""
    if codes.size > 0:
        ask_for(codes, row)
    else:
        ask_for_entry(y, row, 0)
    if weights.size > 0:
        ask_for(weights, row)


@fast
def ask_for_dense(X, y, codes, weights, order, place):
    """Ask for a dense row to come, where rows do not come as they lie in memory."""
    place += AHEAD
    if place < order.size:
        row = order[place]
        for i in range(0, min(X.shape[1], LINES * LINE), LINE):
            ask_for_entry(X, row, i)
        ask_for_targets(y, codes, weights, row)


@fast
def ask_for_sparse(data, indices, indptr, y, codes, weights, order, place):
    """Ask for a CSR row to come: the next one, or where rows do not come as they lie in memory, one after it.

    Then also for where another one after that is, and its target.
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
    """Learn rows in order, from the ``first`` on; return before which one it has stopped: see `handover.run`.

    A row whose step has to wait stops with what follows its prediction still to be done.
    """
    f, rule, model = named(f, rule, model)
    width = X.shape[1] + rule.intercept
    n = padded(width)
    bias = width - 1 if rule.intercept else -1
    end = order.size if order.size > 0 else X.shape[0]
    if NORM == MAX and not IS_CENTRED:  # for the other rules each row fills ``inverse`` anew
        for i in range(n):
            table[f.inverse, i] = inverse_size(table[f.largest, i], table[f.lift, i])
    place, moves, factor = max(first, 0), False, 1.0  # whether weights are still to be moved by the row before
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
    """As `learn_dense`, for CSR rows; ``columns`` is the transposed table, with all of a column side by side.

    But for ``apart``, its first rows, in which most columns are as new ones are. ``subset`` has room for the columns of
    a row, ``index`` for which they are. Those that every row visits stay in it.
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
