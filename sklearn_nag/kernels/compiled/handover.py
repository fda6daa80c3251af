"""From arrays to what compiled code takes, and back."""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache

import numpy as np

from ..state.columns import count_rows, rows_apart, rows_of_fields
from ..state.memory import LINE, array_in_lines
from ..vectorized.blocks import dense_blocks, gather_rows
from ..vectorized.columns import prepare_row

# Entries of ``clock``, in every family: the total weight of the rows; and what is not 0 while a row waits for what its
# step needs: 1 more than the number of its columns, if it is sparse, as an empty row has none.
T, PENDING = range(2)
# Rows of a table begin at least ``APART`` numbers apart. Compiled loops check whether rows overlap, and for rows close
# together would take another path, which rounds otherwise. Distances are ``APART`` modulo ``STEP``: where addresses
# agree in the last 12 bits, a processor takes what is to be read for what was just written, and waits.
APART, STEP = 72, 128
AT_ONCE = 2**22  # numbers that a call goes through, in some hundredths of a second


def constant(array, dtype=None):
    """Contiguous, read-only view or copy, so that compiled code sees one type whatever the caller has."""
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    if view is array:
        view = view[...]
    view.flags.writeable = False
    return view


def plain(values):
    """Tuples for named ones, at all depths."""
    return tuple(map(plain, values)) if isinstance(values, tuple) else values


NO_CLASSES, NO_INTEGERS = constant(np.empty(0, np.int32)), constant(np.empty(0, np.int64))
NO_FLOATS, NO_TABLE = constant(np.empty(0)), constant(np.empty((0, 0)))
NOTHING_KEPT = np.empty((0, 0))


def workspace(state, n_scratch, indptr):
    """Arrays that ``learn_dense`` takes for the columns; with ``indptr`` of CSR rows those of ``learn_sparse``."""
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
    """The most entries of a CSR row, or an upper bound where all rows have few; its memory does not grow with them."""
    if indptr[-1] < APART:
        return int(indptr[-1])
    step = 2**14
    return int(max(np.diff(indptr[i : i + step + 1]).max(initial=0) for i in range(0, len(indptr), step)))


def rows_of_zeros(n_rows, width):
    """Table of zeros that begins with a cache line, as vectors that lie in two lines are read at half the speed."""
    return array_in_lines((n_rows, distance_of(width)), "C")


def distance_of(width):
    """How far apart rows of ``width`` numbers begin."""
    return max(width - APART + STEP - 1, 0) // STEP * STEP + APART


def columns_of(state, table):
    """The columns of a model on the table of `workspace` for dense rows."""
    n_fields, width = state.columns.table.shape
    return state.columns.with_table(table[:n_fields, :width])


def has_rare(rule, columns):
    """Whether not all columns are frequent; none is by rules that are not selective."""
    return not rule.selective or bool(np.count_nonzero(columns.frequent) < columns.frequent.size)


def put_back(state, arrays):
    """Take over what was learnt on the arrays of `workspace`."""
    if len(arrays) == 1:
        n_fields, width = state.columns.table.shape
        state.columns.table[:] = arrays[0][:n_fields, :width]
        state.frequent = None


class Preparation:
    """What a row needs before it can be learnt, and few rows do: done in NumPy, as by the definition.

    ``tables`` are what `workspace` has returned.
    """

    def __init__(self, state, tables, clock):
        self.state, self.tables, self.clock = state, tables, clock

    def begins(self):
        """Whether the next row needs it in any case, as centred rules count from the first one."""
        return self.clock[T] == 0.0 and self.state.rule.centred

    def columns(self):
        """The columns of the workspace for dense rows."""
        return columns_of(self.state, self.tables[0])

    def dense(self, X, row, c):
        """Prepare the columns of the workspace for a row of ``X``, of weight ``c``."""
        x = np.ones(self.state.columns.lift.size)
        x[: X.shape[1]] = X[row]
        self.state.t = float(self.clock[T])
        prepare_row(self.state, self.columns(), x, c)

    def sparse(self, data, indices, indptr, row, c):
        """The same for a CSR row and the columns of the model that it visits."""
        state, (*_, followed) = self.state, self.tables
        some = slice(indptr[row], indptr[row + 1])
        index, x = gather_rows(state, [indices[some]], [data[some]])
        state.t = float(self.clock[T])
        subset = state.columns.take(index)
        before = subset.frequent.copy() if state.rule.selective else None
        prepare_row(state, subset, x[0], c)
        state.columns.put(index, subset)
        if state.rule.selective and (before != subset.frequent).any():
            n = len(index) - state.rule.intercept
            features = index[:n][subset.frequent[:n] > 0]
            state.follow(features)  # all that were frequent are among them
            followed[0], followed[1 : 1 + len(features)] = len(features), features


def run(sparse, dense, X, y, sample_weight, order, model, predictions, *, row_cost, prepare=None, player=None):
    """Give rows to a compiled function for CSR rows, where there is one, or else to that for dense ones.

    Rows go in calls of a bounded length, as Python heeds signals only between them; ``row_cost`` is about how many
    numbers the learning of a row goes through. With a `Preparation` a compiled function also takes the row to begin
    with, and returns the row before which it has stopped: -1 when a number has left its range, the number of rows when
    all are learnt, else that of a row that needs preparation, of which it has changed nothing. It then begins with
    that row, and does not stop before it again. Without one it tells whether all went well.

    The last array that it takes is the one for predictions or, where there is a player, the ``room`` for what this is
    to know of the rows, ``most_rows`` at a time, which it then plays.

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
    learn, arrays = (dense, (constant(X),)) if sparse is None else (sparse, tuple(map(constant, csr_arrays(X))))
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
            # CSR rows are those between the entries of ``indptr``, of which there is one more.
            *whole, cut = arrays
            cut = cut[start : start + step + (sparse is not None)]
            ok = _learnt(learn, (*whole, constant(cut)), some, order, model, kept[rows], prepare, player)
        if not ok:
            return False
    return True


def _run_blocks(dense, X, targets, order, model, kept, prepare, player):
    """Rows that do not lie one after another in memory, or are sparse, as dense blocks."""
    for rows, block in dense_blocks(X, order if len(order) else None):
        some = tuple(constant(a[rows]) if len(a) else a for a in targets)
        first, kept = kept[: len(block)], kept[len(block) :]
        if not _learnt(dense, (constant(block),), some, NO_INTEGERS, model, first, prepare, player):
            return False
    return True


def _learnt(learn, arrays, targets, order, model, kept, prepare, player):
    """Learn rows, with preparation for those that need it, and play them; tell whether all went well."""
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
    """``function(*args)``; an interrupt while it runs may come back wrapped by the call."""
    try:
        return function(*args)
    except SystemError as error:
        cause = error.__cause__ or error.__context__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def csr_arrays(X):
    """Data, indices and ends of the rows of a CSR array."""
    return X.data, X.indices, X.indptr


def entries_of_row(X):
    """How many entries a row has, on average, with the constant of the intercept."""
    entries = X.size if isinstance(X, np.ndarray) else len(X.data)
    return entries / max(X.shape[0], 1) + 1


def in_own_lines(array):
    """Copy in cache lines of its own: threads that write to the same line wait for one another."""
    own = np.empty(array.size + 2 * LINE)[LINE:-LINE].reshape(array.shape)
    own[...] = array
    return own


def layout_of(module, rule, scratch):
    """Class of named tuples for the first row of each field of models by a class of rules, and of scratch below them.

    It is to be in ``module`` as ``Fields``; 0 stands for what is absent.
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
