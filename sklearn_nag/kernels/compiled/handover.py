"""From arrays to arguments of compiled code, and back."""

from collections import namedtuple
from functools import lru_cache

import numpy as np

from ..state.columns import count_rows, rows_apart, rows_of_fields
from ..state.memory import LINE, array_in_lines
from ..vectorized.blocks import change_columns, dense_blocks
from ..vectorized.columns import prepare_row

# Entries of ``clock`` in every family: the total weight of the rows, and a number that is not 0 while a row waits for a
# preparation of its step. For a sparse row, it is the number of its columns plus 1, because there may be none.
T, PENDING = range(2)
# Rows of a table begin at least ``APART`` numbers apart. Compiled loops check whether rows overlap, and for close rows
# take another path, which rounds differently. Distances are ``APART`` modulo ``STEP``: if addresses agree in the last
# 12 bits, a processor mistakes a read for one of what was just written, and waits.
APART, STEP = 72, 128
AT_ONCE = 2**22  # numbers that a call goes through, in some hundredths of a second


def constant(array, dtype=None):
    """Contiguous, read-only view or copy, so that compiled code always sees the same type."""
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    if view is array:
        view = view[...]
    view.flags.writeable = False
    return view


def plain(values):
    """Plain tuples for named ones, at all depths."""
    return tuple(map(plain, values)) if isinstance(values, tuple) else values


NO_CLASSES, NO_INTEGERS = constant(np.empty(0, np.int32)), constant(np.empty(0, np.int64))
NO_FLOATS, NO_TABLE = constant(np.empty(0)), constant(np.empty((0, 0)))
NOTHING_KEPT = np.empty((0, 0))


def workspace(state, n_scratch, indptr):
    """Arrays of columns for ``learn_dense`` or, with ``indptr`` of CSR rows, ``learn_sparse``."""
    columns = state.columns
    if indptr is not None:
        entries, followed = longest(indptr), np.zeros(0, np.int64)
        if state.rule.selective:
            features = state.followed(entries)
            followed = np.zeros(1 + state.most_followed(), np.int64)
            followed[0], followed[1 : 1 + len(features)] = len(features), features
        staying = followed.size + 1  # 1 for the intercept
        n_rows = len(columns.apart) + len(columns.table)
        room = rows_of_zeros(n_rows + n_scratch, entries + staying + LINE)
        return columns.table.T, columns.apart, room, np.empty(room.shape[1], np.uint64), columns.places(), followed
    n_fields, width = columns.table.shape
    table = rows_of_zeros(n_fields + n_scratch, width)
    table[:n_fields, :width] = columns.table
    table[columns.ranges()["lift"].start, width:] = 1.0
    return (table,)


def longest(indptr):
    """The most entries of a CSR row, or an upper bound if all rows have few; uses bounded memory."""
    if indptr[-1] < APART or len(indptr) == 2:
        return int(indptr[-1])
    step = 2**14
    parts = (indptr[i : i + step + 1] for i in range(0, len(indptr) - 1, step))
    return int(max((part[1:] - part[:-1]).max() for part in parts))  # np.diff takes longer for few


def rows_of_zeros(n_rows, width):
    """Table of zeros that begins with a cache line: vectors across two lines are read at half the speed."""
    return array_in_lines((n_rows, distance_of(width)), "C")


def distance_of(width):
    """Distance between rows of ``width`` numbers."""
    return max(width - APART + STEP - 1, 0) // STEP * STEP + APART


def columns_of(state, table):
    """Columns of a model on the table of `workspace` for dense rows."""
    n_fields, width = state.columns.table.shape
    return state.columns.with_table(table[:n_fields, :width])


def has_rare(rule, columns):
    """Whether any column is rare; all are if the rule is not selective."""
    return not rule.selective or bool(np.count_nonzero(columns.frequent) < columns.frequent.size)


def put_back(state, arrays):
    """Give the model what was learnt on the arrays of `workspace`."""
    if len(arrays) == 1:
        n_fields, width = state.columns.table.shape
        state.columns.table[:] = arrays[0][:n_fields, :width]
        state.frequent = None


class Preparation:
    """What a few rows need before they can be learnt, done in NumPy as by the definition.

    ``tables`` come from `workspace`.
    """

    def __init__(self, state, tables, clock):
        self.state, self.tables, self.clock = state, tables, clock

    def begins(self):
        """Whether the next row needs it in any case: centred rules count from the first row."""
        return self.clock[T] == 0.0 and self.state.rule.centred

    def columns(self):
        """Columns of the workspace for dense rows."""
        return columns_of(self.state, self.tables[0])

    def dense(self, X, row, c):
        """Prepare the columns of the workspace for a row of ``X`` of weight ``c``."""
        x = np.ones(self.state.columns.lift.size)
        x[: X.shape[1]] = X[row]
        self.state.t = float(self.clock[T])
        prepare_row(self.state, self.columns(), x, c)

    def sparse(self, data, indices, indptr, row, c):
        """Prepare the columns of the model that a CSR row visits."""
        state, (*_, followed) = self.state, self.tables
        some = slice(indptr[row], indptr[row + 1])
        state.t = float(self.clock[T])
        change_columns(state, [indices[some]], [data[some]], lambda columns, x: prepare_row(state, columns, x[0], c))
        if state.rule.selective:
            features = state.followed()
            followed[0], followed[1 : 1 + len(features)] = len(features), features


def run(sparse, dense, X, y, sample_weight, order, model, predictions, *, row_cost, prepare=None, player=None):
    """Learn rows by the compiled function for CSR rows, if there is one, else by that for dense ones.

    Calls are bounded in length, because Python handles signals only between them; learning a row goes through about
    ``row_cost`` numbers.

    With a `Preparation`, the function also takes the row to begin with. It returns -1 if a number has left its range,
    the number of rows if all are learnt, else the number of a row that needs preparation, for which it has changed
    nothing (or has only predicted, if its step waits). It is then called to begin with that row, and does not stop
    before it again. Without a `Preparation`, it returns whether all went well.

    Its last array is for predictions or, with a player, the ``room`` for notes of up to ``most_rows`` rows, which the
    player then plays.

    Returns whether all went well; no call is made after one that did not.
    """
    if order is not None and len(order) == 0:  # below, an empty order stands for all rows
        return True
    targets = (
        constant(y, np.float64) if y.ndim == 2 else NO_TABLE,
        constant(y, np.int32) if y.ndim == 1 else NO_CLASSES,
        NO_FLOATS if sample_weight is None else constant(sample_weight),
    )
    order = NO_INTEGERS if order is None else constant(order, np.int64)
    kept = NOTHING_KEPT if predictions is None else predictions
    if sparse is None and not (isinstance(X, np.ndarray) and X.flags.c_contiguous):
        return _run_blocks(dense, X, targets, order, model, kept, prepare, player)
    learn, arrays = (dense, (X,)) if sparse is None else (sparse, (X.data, X.indices, X.indptr))
    arrays = tuple(map(constant, arrays))
    n, step = len(order) or X.shape[0], int(max(1, AT_ONCE // row_cost))
    step = step if player is None else min(step, player.most_rows)
    if n <= step:
        return _learnt(learn, arrays, targets, order, model, kept, prepare, player)
    for start in range(0, n, step):
        rows = slice(start, start + step)
        if len(order):
            ok = _learnt(learn, arrays, targets, order[rows], model, kept[rows], prepare, player)
        else:
            some = tuple(constant(a[rows]) if len(a) else a for a in targets)
            # ``indptr`` has one more entry than there are rows.
            *whole, cut = arrays
            cut = cut[start : start + step + (sparse is not None)]
            ok = _learnt(learn, (*whole, constant(cut)), some, order, model, kept[rows], prepare, player)
        if not ok:
            return False
    return True


def _run_blocks(dense, X, targets, order, model, kept, prepare, player):
    """`run` for rows that are not contiguous or are sparse, as dense blocks."""
    for rows, block in dense_blocks(X, order if len(order) else None):
        some = tuple(constant(a[rows]) if len(a) else a for a in targets)
        first, kept = kept[: len(block)], kept[len(block) :]
        if not _learnt(dense, (constant(block),), some, NO_INTEGERS, model, first, prepare, player):
            return False
    return True


def _learnt(learn, arrays, targets, order, model, kept, prepare, player):
    """Learn rows, preparing those that need it, and play them; return whether all went well."""
    n = len(order) or (len(arrays[0]) if len(arrays) == 1 else len(arrays[-1]) - 1)
    room = kept if player is None else player.room(n)
    args = *arrays, *targets, order, *model, room
    if prepare is None:
        return _called(learn, *args)
    weight = targets[-1]
    first = 0 if n > 0 and prepare.begins() else -1
    while True:
        if first >= 0:
            row = order[first] if len(order) else first
            prepared = prepare.dense if len(arrays) == 1 else prepare.sparse
            prepared(*arrays, row, weight[row] if len(weight) else 1.0)
        first = _called(learn, *args, first)
        if not 0 <= first < n:
            return first == n and (player is None or _called(player.play, room, n, kept))


def _called(function, *args):
    """Call a function, and unwrap an interrupt that the call has wrapped."""
    try:
        return function(*args)
    except SystemError as error:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def entries_of_row(X):
    """Mean number of entries of a row, and one for the intercept."""
    entries = X.size if isinstance(X, np.ndarray) else len(X.data)
    return entries / max(X.shape[0], 1) + 1


def in_own_lines(array):
    """Copy in cache lines of its own, because threads that write to the same line wait for one another."""
    own = np.empty(array.size + 2 * LINE)[LINE:-LINE].reshape(array.shape)
    own[...] = array
    return own


def layout_of(module, rule, scratch):
    """Class of named tuples: the first row of each field of a class of rules, and of scratch below them.

    ``module`` must have it as ``Fields``; 0 stands for what is absent.
    """
    names = (*(field.name for field in rule.FIELDS), *scratch)
    return namedtuple("Fields", names, defaults=[0] * len(names), module=module)


@lru_cache
def table_layout(Fields, scratch, rule, shared, per_head, by_row):
    """``Fields`` of a table of columns and of the scratch rows below them; ``by_row`` for CSR rows."""
    layout = shared, per_head, rule.n_heads, rule.sharing
    first = {name: rows.start for name, rows in rows_of_fields(*layout).items()}
    n_fields = count_rows(*layout)
    if by_row:
        n_fields = sum(rows_apart(shared, n_fields))
    return Fields(**first, **{name: n_fields + i for i, name in enumerate(scratch)})
