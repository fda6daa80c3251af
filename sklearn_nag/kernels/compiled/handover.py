"""From arrays to what compiled code takes, and back."""

from __future__ import annotations

import numpy as np

from ..state.columns import first_rows
from ..vectorized.blocks import dense_blocks

# Rows of a table begin at least ``APART`` numbers apart. Compiled loops check whether rows overlap, and for rows close
# together would take another path, which rounds otherwise. Distances are ``APART`` modulo ``STEP``: where addresses
# agree in the last 12 bits, a processor takes what is to be read for what was just written, and waits.
APART, STEP = 72, 128
LINE = 8  # numbers of 8 bytes in a cache line


def constant(array, dtype=None):
    """Contiguous, read-only view or copy, so that compiled code sees one type whatever the caller has."""
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    if view is array:
        view = view[...]
    view.flags.writeable = False
    return view


NO_CLASSES, NO_INTEGERS = constant(np.empty(0, np.int32)), constant(np.empty(0, np.int64))
NO_FLOATS, NO_TABLE = constant(np.empty(0)), constant(np.empty((0, 0)))
NOTHING_KEPT = np.empty((0, 0))


def workspace(columns, n_scratch, indptr):
    """Arrays that ``learn_dense`` takes for the columns; with ``indptr`` of CSR rows those of ``learn_sparse``."""
    n_fields, width = columns.table.shape
    if indptr is not None:
        room = rows_of_zeros(n_fields + n_scratch, longest(indptr) + 1)  # 1 for the intercept
        return columns.table.T, room, np.empty(room.shape[1], np.uint64)
    table = rows_of_zeros(n_fields + n_scratch, width)
    table[:n_fields, :width] = columns.table
    table[columns.rows()["lift"], width:] = 1.0
    return (table,)


def longest(indptr):
    """The most entries of a CSR row, or an upper bound where all rows have few; its memory does not grow with them."""
    if indptr[-1] < APART:
        return int(indptr[-1])
    step = 2**14
    return int(max(np.diff(indptr[i : i + step + 1]).max(initial=0) for i in range(0, len(indptr), step)))


def rows_of_zeros(n_rows, width):
    """Table of zeros that begins with a cache line, as vectors that lie in two lines are read at half the speed."""
    distance = max(width - APART + STEP - 1, 0) // STEP * STEP + APART
    room = np.zeros(n_rows * distance + LINE)
    first = -room.__array_interface__["data"][0] // 8 % LINE
    return room[first : first + n_rows * distance].reshape(n_rows, distance)


def put_back(columns, table):
    """Copy what was learnt on a table of `workspace` back to the columns."""
    n_fields, width = columns.table.shape
    columns.table[:] = table[:n_fields, :width]


def run(sparse, dense, X, y, sample_weight, order, model, predictions):
    """Give rows to ``sparse``, which learns CSR rows, or where it is None to ``dense``; return what that returns."""
    targets = (
        constant(y, np.float64) if y.ndim == 2 else NO_TABLE,
        constant(y, np.int32) if y.ndim == 1 else NO_CLASSES,
        NO_FLOATS if sample_weight is None else constant(sample_weight),
    )
    order = NO_INTEGERS if order is None else constant(order, np.int64)
    kept = NOTHING_KEPT if predictions is None else predictions
    if sparse is not None:
        return sparse(constant(X.data), constant(X.indices), constant(X.indptr), *targets, order, *model, kept)
    if isinstance(X, np.ndarray) and X.flags.c_contiguous:
        return dense(constant(X), *targets, order, *model, kept)
    ok = True
    for rows, block in dense_blocks(X, order if len(order) else None):
        some = (a[rows] if len(a) else a for a in targets)
        first, kept = kept[: len(block)], kept[len(block) :]
        ok = ok and dense(constant(block), *map(constant, some), NO_INTEGERS, *model, first)
    return ok


def in_own_lines(array):
    """Copy in cache lines of its own: threads that write to the same line wait for one another."""
    own = np.empty(array.size + 2 * LINE)[LINE:-LINE].reshape(array.shape)
    own[...] = array
    return own


def table_layout(Fields, scratch, rule, shared, per_head):
    """``Fields`` of a table of columns and of the scratch rows below them, and the powers of lifts.

    The latter are by which power of a lift each row is multiplied: 0 for those of ``G``, which `raise_lifts` rescales.
    """
    rows, n_heads = first_rows(shared, per_head, rule.n_heads), rule.n_heads
    n = len(shared) + n_heads * len(per_head)
    powers = np.zeros(n, np.int64)
    for name, row in rows.items():
        powers[row : row + (n_heads if name in per_head else 1)] = rule.lift_powers.get(name, 0)
    return Fields(**rows, **{name: n + i for i, name in enumerate(scratch)}), constant(powers)
