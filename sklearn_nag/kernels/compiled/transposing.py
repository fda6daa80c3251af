"""Columns that lie side by side in a transposed table, copied to rows and back, as square blocks.

A compiler makes one read and one write of each number; here those of four or eight make one instruction.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

BYTES = 8  # of a number, and of an index
NUMBER, INTEGER, SHORT = ir.DoubleType(), ir.IntType(64), ir.IntType(32)


def _mix(builder, one, other, places):
    """A vector of the entries of two, by their places."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(SHORT, len(places)), places))


def _transposed(builder, rows):
    """The columns of as many vectors as these have entries: blocks of 1, 2, … a side change places across."""
    n, rows, side = len(rows), list(rows), 1
    while side < n:
        low = [j if j & side == 0 else n + j - side for j in range(n)]
        high = [j + side if j & side == 0 else n + j for j in range(n)]
        for i in range(n):
            if i & side == 0:
                pair = rows[i], rows[i + side]
                rows[i], rows[i + side] = (_mix(builder, *pair, places) for places in (low, high))
        side *= 2
    return rows


def _addresses(context, builder, kinds, values, side):
    """Lists of where a block is in the rows of a table, and in the columns of a transposed one.

    ``values`` are the table, its first row, the first place in it; the transposed table, its first field; the columns
    by place.
    """
    table, row, place, columns, field, index = values

    def parts(kind, value):
        array = context.make_array(kind)(context, builder, value)
        return builder.ptrtoint(array.data, INTEGER), cgutils.unpack_tuple(builder, array.strides)

    def at(start, *steps):
        for number, step in steps:
            start = builder.add(start, builder.mul(number, step))
        return start

    byte = INTEGER(BYTES)
    (of_table, strides), (of_columns, (stride, _)), (of_index, _) = (
        parts(kinds[i], value) for i, value in ((0, table), (3, columns), (5, index))
    )
    rows, named = [], []
    for i in map(INTEGER, range(side)):
        rows.append(at(of_table, (builder.add(row, i), strides[0]), (place, byte)))
        number = builder.load(builder.inttoptr(at(of_index, (builder.add(place, i), byte)), INTEGER.as_pointer()))
        named.append(at(of_columns, (number, stride), (field, byte)))
    return rows, named


def _copier(side, fetches):
    """What copies so many fields of as many columns, from ``field`` on, to rows of ``table``; or the other way.

    There they begin at ``row`` and ``place``. ``index`` names the columns by place; ``columns`` is a transposed table,
    with the fields of a column side by side.
    """
    pointer = ir.VectorType(NUMBER, side).as_pointer()

    def write(context, builder, signature, values):
        sources, targets = _addresses(context, builder, signature.args, values, side)
        if fetches:
            sources, targets = targets, sources
        vectors = [builder.load(builder.inttoptr(source, pointer), align=BYTES) for source in sources]
        for vector, target in zip(_transposed(builder, vectors), targets, strict=True):
            builder.store(vector, builder.inttoptr(target, pointer), align=BYTES)
        return context.get_dummy_value()

    @intrinsic
    def copy(typing_context, table, row, place, columns, field, index):
        return types.void(table, types.int64, types.int64, columns, types.int64, index), write

    return copy


fetch_4, put_4, fetch_8, put_8 = (_copier(side, fetches) for side in (4, 8) for fetches in (True, False))
