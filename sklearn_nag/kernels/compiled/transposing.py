"""Columns that lie side by side in a transposed table, copied to rows and back, four fields of four columns at a time.

A compiler makes one read and one write of each number; here those of four make one instruction. Numbers are copied as
they are.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

SIDE = 4  # of the square blocks
BYTES = 8  # of a number, and of an index
NUMBER, INTEGER = ir.DoubleType(), ir.IntType(64)
NUMBERS = ir.VectorType(NUMBER, SIDE)


def _mix(builder, one, other, places):
    """A vector of the entries of two, by their places."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(ir.IntType(32), SIDE), list(places)))


def _transposed(builder, rows):
    """The columns of four vectors of four."""
    a, b, c, d = rows
    even, odd = ((0, 4, 2, 6), (1, 5, 3, 7))
    low, high = ((0, 1, 4, 5), (2, 3, 6, 7))
    pairs = [(_mix(builder, a, b, half), _mix(builder, c, d, half)) for half in (even, odd)]
    return [_mix(builder, *pair, half) for half in (low, high) for pair in pairs]


def _vector(builder, address):
    """Pointer to four numbers at an address."""
    return builder.inttoptr(address, NUMBERS.as_pointer())


def _addresses(context, builder, kinds, values):
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
    for i in map(INTEGER, range(SIDE)):
        rows.append(at(of_table, (builder.add(row, i), strides[0]), (place, byte)))
        number = builder.load(builder.inttoptr(at(of_index, (builder.add(place, i), byte)), INTEGER.as_pointer()))
        named.append(at(of_columns, (number, stride), (field, byte)))
    return rows, named


def _copy(context, builder, sources, targets):
    """Copy vectors from some addresses, transposed, to others."""
    vectors = [builder.load(_vector(builder, source), align=BYTES) for source in sources]
    for vector, target in zip(_transposed(builder, vectors), targets, strict=True):
        builder.store(vector, _vector(builder, target), align=BYTES)
    return context.get_dummy_value()


def _block(table, columns, index, fetches):
    """What an intrinsic returns that copies a block from ``columns`` to ``table``, or back."""

    def build(context, builder, signature, values):
        rows, named = _addresses(context, builder, signature.args, values)
        return _copy(context, builder, *((named, rows) if fetches else (rows, named)))

    return types.void(table, types.int64, types.int64, columns, types.int64, index), build


@intrinsic
def fetch_block(typing_context, table, row, place, columns, field, index):
    """Copy four fields of four columns, from ``field`` on, to four rows of ``table``, at ``place`` and after.

    ``index`` names the columns by place; ``columns`` is a transposed table, with the fields of a column side by side.
    """
    return _block(table, columns, index, True)


@intrinsic
def put_block(typing_context, table, row, place, columns, field, index):
    """As `fetch_block`, the other way."""
    return _block(table, columns, index, False)
