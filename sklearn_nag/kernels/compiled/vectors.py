"""Eight numbers as one value of compiled code, with the operations of numbers.

A compiler vectorises a loop over columns only if it can show that rows of a table do not overlap, which the loop checks
each time it begins. A loop over these values takes eight columns at a time itself, and always adds in the same order.

`load` and `store` check nothing: rows must have room for whole vectors.
"""

import operator
from functools import partial

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.core.registry import cpu_target
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, models, register_model

WIDTH = 8
BYTES = 8  # of a number, and of an index
GUESS = 0x5FE6EB50C7B537A9  # this minus half the bits of x is nearly the bits of 1 / sqrt(x)
NUMBER, INTEGER, SHORT, BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(32), ir.IntType(1)
NUMBERS, INTEGERS, BITS = (ir.VectorType(kind, WIDTH) for kind in (NUMBER, INTEGER, BIT))
PLACES = INTEGERS(list(range(WIDTH)))
# Whether the processor has an instruction for ``1 / sqrt(x)`` to 14 bits, and Numba compiles for it.
IS_CLOSE = "+avx512f" in getattr(cpu_target.target_context.codegen(), "_tm_features", "")


# -- types


class Vector(types.Type):
    """Type of eight numbers."""


class Mask(types.Type):
    """Type of eight truth values."""


vector, mask = Vector("Vector"), Mask("Mask")
register_model(Vector)(partial(models.PrimitiveModel, be_type=NUMBERS))
register_model(Mask)(partial(models.PrimitiveModel, be_type=BITS))


# -- generating the compiler's code


def _chosen(builder, one, other, places):
    """Vector of entries of two vectors, by place."""
    return builder.shuffle_vector(one, other, ir.Constant(ir.VectorType(SHORT, len(places)), list(places)))


def _spread(builder, value):
    """Vector whose entries are all one value."""
    empty = ir.Constant(ir.VectorType(value.type, WIDTH), ir.Undefined)
    return _chosen(builder, builder.insert_element(empty, value, SHORT(0)), empty, [0] * WIDTH)


def _as_vectors(builder, values):
    """Turn numbers into vectors."""
    return [value if isinstance(value.type, ir.VectorType) else _spread(builder, value) for value in values]


def _like(kind, value):
    """Constant, or vector of such, as operand for values of type ``kind``."""
    return kind([value] * WIDTH) if isinstance(kind, ir.VectorType) else kind(value)


def _call(builder, name, result, *values):
    """Call of an LLVM function."""
    kind = ir.FunctionType(result, [value.type for value in values])
    return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)


def _mathematical(name):
    """Generator of an LLVM function of vectors or numbers."""

    def write(context, builder, sig, args):
        suffix = f"v{WIDTH}f64" if isinstance(sig.return_type, Vector) else "f64"
        return _call(builder, f"llvm.{name}.{suffix}", args[0].type, *args)

    return write


# -- operators


def _define(function, result, operands, write):
    """Define an operator or built-in function for some types of operands."""

    @infer_global(function)
    class Template(ConcreteTemplate):
        cases = [signature(result, *operands)]

    lower_builtin(function, *operands)(lambda context, builder, sig, args: write(builder, *args))


def _define_for_vectors(function, result, write):
    """Define an operator for two vectors, or a vector and a number."""
    for operands in ((vector, vector), (vector, types.float64), (types.float64, vector)):
        _define(function, result, operands, lambda builder, *values: write(builder, *_as_vectors(builder, values)))


def _instruction(name):
    return lambda builder, *values: getattr(builder, name)(*values)


def _comparison(sign):
    return lambda builder, one, other: builder.fcmp_ordered(sign, one, other)


for _operator, _name in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv"), ("iadd", "fadd")):
    _define_for_vectors(getattr(operator, _operator), vector, _instruction(_name))
for _operator, _name in (("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="), ("eq", "==")):
    _define_for_vectors(getattr(operator, _operator), mask, _comparison(_name))
for _operator, _name in (("and_", "and_"), ("or_", "or_"), ("xor", "xor"), ("ior", "or_")):
    _define(getattr(operator, _operator), mask, (mask, mask), _instruction(_name))
_define(operator.invert, mask, (mask,), _instruction("not_"))
_define(operator.neg, vector, (vector,), _instruction("fneg"))
_define(abs, vector, (vector,), lambda builder, x: _call(builder, f"llvm.fabs.v{WIDTH}f64", NUMBERS, x))


# -- memory


def _address(context, builder, kind, table, row, place):
    """Pointer to eight contiguous entries of a row of a table, and the bytes of one entry."""
    array, number = context.make_array(kind)(context, builder, table), context.get_value_type(kind.dtype)
    size = context.get_abi_sizeof(number)
    step = cgutils.unpack_tuple(builder, array.strides)[0]
    start = builder.add(builder.ptrtoint(array.data, INTEGER), builder.mul(row, step))
    at = builder.add(start, builder.mul(place, INTEGER(size)))
    return builder.inttoptr(at, ir.VectorType(number, WIDTH).as_pointer()), size


def _doubled(builder, values):
    """Eight numbers in double precision."""
    return values if values.type == NUMBERS else builder.fpext(values, NUMBERS)


@intrinsic
def load(typing_context, table, row, place):
    """Eight entries of a row of a table, from a place on."""

    def write(context, builder, sig, args):
        at, size = _address(context, builder, sig.args[0], *args)
        return _doubled(builder, builder.load(at, align=size))

    return vector(table, types.int64, types.int64), write


@intrinsic
def load_first(typing_context, table, row, place, n):
    """The first ``n`` of eight entries; 0 for the others, which are not read."""

    def write(context, builder, sig, args):
        *where, n = args
        at, size = _address(context, builder, sig.args[0], *where)
        kind, asked = at.type.pointee, builder.icmp_signed(">", _spread(builder, n), PLACES)
        name = f"v{WIDTH}f{8 * size}"
        found = _call(builder, f"llvm.masked.load.{name}.p0{name}", kind, at, SHORT(size), asked, _like(kind, 0.0))
        return _doubled(builder, found)

    return vector(table, types.int64, types.int64, types.int64), write


@intrinsic
def store(typing_context, table, row, place, values):
    """Write eight entries of a row of a table, from a place on."""

    def write(context, builder, sig, args):
        *where, values = args
        at, size = _address(context, builder, sig.args[0], *where)
        builder.store(values, at, align=size)
        return context.get_dummy_value()

    return types.void(table, types.int64, types.int64, vector), write


def _ask_for(context, builder, sig, args):
    """Prefetch the cache line of an entry of an array, without waiting for it."""
    array, *places = args
    struct = context.make_array(sig.args[0])(context, builder, array)
    at = builder.ptrtoint(struct.data, INTEGER)
    for place, step in zip(places, cgutils.unpack_tuple(builder, struct.strides)):
        at = builder.add(at, builder.mul(place, step))
    at = builder.inttoptr(at, ir.IntType(8).as_pointer())
    reading, to_be_kept, of_data = SHORT(0), SHORT(3), SHORT(1)
    _call(builder, "llvm.prefetch.p0i8", ir.VoidType(), at, reading, to_be_kept, of_data)
    return context.get_dummy_value()


@intrinsic
def ask_for(typing_context, array, place):
    """Prefetch an entry of a one-dimensional array."""
    return types.void(array, types.int64), _ask_for


@intrinsic
def ask_for_entry(typing_context, table, row, place):
    """Prefetch an entry of a table."""
    return types.void(table, types.int64, types.int64), _ask_for


# -- square blocks of a transposed table, copied to rows and back


def _transposed(builder, rows):
    """Transpose a square of vectors: blocks of 1, 2, … a side change places across the diagonal."""
    n, rows, side = len(rows), list(rows), 1
    while side < n:
        low = [j if j & side == 0 else n + j - side for j in range(n)]
        high = [j + side if j & side == 0 else n + j for j in range(n)]
        for i in range(n):
            if i & side == 0:
                pair = rows[i], rows[i + side]
                rows[i], rows[i + side] = (_chosen(builder, *pair, places) for places in (low, high))
        side *= 2
    return rows


def _addresses(context, builder, kinds, values, side):
    """Addresses of the rows of a block in a table, and of its columns in a transposed one.

    ``values`` are the table, its first row and place; the transposed table and its first field; the columns by place.
    """
    table, row, place, columns, field, index = values

    def parts(kind, value):
        array = context.make_array(kind)(context, builder, value)
        return builder.ptrtoint(array.data, INTEGER), cgutils.unpack_tuple(builder, array.strides)

    def at(start, *steps):
        for number, step in steps:
            start = builder.add(start, builder.mul(number, step))
        return start

    size = INTEGER(BYTES)
    (of_table, strides), (of_columns, (stride, _)), (of_index, _) = (
        parts(kinds[i], value) for i, value in ((0, table), (3, columns), (5, index))
    )
    rows, named = [], []
    for i in map(INTEGER, range(side)):
        rows.append(at(of_table, (builder.add(row, i), strides[0]), (place, size)))
        number = builder.load(builder.inttoptr(at(of_index, (builder.add(place, i), size)), INTEGER.as_pointer()))
        named.append(at(of_columns, (number, stride), (field, size)))
    return rows, named


def _copier(side, fetches):
    """Intrinsic that copies ``side`` fields of ``side`` columns to rows of ``table`` if it ``fetches``, else back.

    The block begins at ``field`` of the columns, and at ``row`` and ``place`` of the table. ``index`` has the columns
    by place; in ``columns``, a transposed table, a column is contiguous.
    """
    pointer = ir.VectorType(NUMBER, side).as_pointer()

    def write(context, builder, signature, values):
        sources, targets = _addresses(context, builder, signature.args, values, side)
        if fetches:
            sources, targets = targets, sources
        rows = [builder.load(builder.inttoptr(source, pointer), align=BYTES) for source in sources]
        for row, target in zip(_transposed(builder, rows), targets, strict=True):
            builder.store(row, builder.inttoptr(target, pointer), align=BYTES)
        return context.get_dummy_value()

    @intrinsic
    def copy(typing_context, table, row, place, columns, field, index):
        return types.void(table, types.int64, types.int64, columns, types.int64, index), write

    return copy


fetch_4, put_4, fetch_8, put_8 = (_copier(side, fetches) for side in (4, 8) for fetches in (True, False))


# -- vectors of numbers, and numbers of vectors


@intrinsic
def eight(typing_context, value):
    """Vector of eight times the same number."""
    return vector(types.float64), lambda context, builder, sig, args: _spread(builder, *args)


@intrinsic
def total(typing_context, x):
    """Sum of eight numbers: of pairs that are four apart, then two, then one."""

    def write(context, builder, sig, args):
        (x,), n = args, WIDTH
        while n > 2:
            n //= 2
            x = builder.fadd(*(_chosen(builder, x, x, range(first, first + n)) for first in (0, n)))
        return builder.fadd(*(builder.extract_element(x, SHORT(i)) for i in (0, 1)))

    return types.float64(vector), write


# -- masks


@intrinsic
def nowhere(typing_context):
    """Mask that is false everywhere."""
    return mask(), lambda context, builder, sig, args: _like(BITS, 0)


def _places_that(sign):
    """Definition of a mask: true at the places, of eight, with which ``place`` compares by ``sign``."""

    def define(typing_context, place):
        return mask(types.int64), lambda context, builder, sig, args: builder.icmp_signed(
            sign, _spread(builder, *args), PLACES
        )

    return define


# ``lane``: true at this place, if it is one of the eight; ``before``: true at all places below it.
lane, before = intrinsic(_places_that("==")), intrinsic(_places_that(">"))


@intrinsic
def anywhere(typing_context, condition):
    """Whether any of eight is true."""

    def write(context, builder, sig, args):
        byte = builder.bitcast(*args, ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", byte, byte.type(0))

    return types.boolean(mask), write


# -- functions of vectors or of numbers, for formulas that serve both


def _of(*kinds):
    """Types of operands, vectors or else numbers, and of the result."""
    kinds = [kind if isinstance(kind, Vector) else types.float64 for kind in kinds]
    return kinds, vector if vector in kinds else types.float64


@intrinsic
def where(typing_context, condition, one, other):
    """NumPy's ``where``, for vectors or numbers."""
    kinds, result = _of(one, other)
    if not isinstance(condition, Mask):
        return result(types.boolean, *kinds), lambda context, builder, sig, args: builder.select(*args)

    def write(context, builder, sig, args):
        condition, *values = args
        return builder.select(condition, *_as_vectors(builder, values))

    return vector(mask, *kinds), write


def _taken_if(sign):
    """Generator that takes the first of two if a comparison holds, else the second."""

    def write(context, builder, sig, args):
        one, other = _as_vectors(builder, args) if isinstance(sig.return_type, Vector) else args
        compare = builder.icmp_signed if isinstance(sig.return_type, types.Integer) else builder.fcmp_ordered
        return builder.select(compare(sign, one, other), one, other)

    return write


@intrinsic
def maximum(typing_context, one, other):
    """The larger value; the second if they cannot be compared."""
    kinds, result = _of(one, other)
    return result(*kinds), _taken_if(">")


@intrinsic
def minimum(typing_context, one, other):
    """The smaller value; the second if they cannot be compared."""
    kinds, result = _of(one, other)
    return result(*kinds), _taken_if("<")


@intrinsic
def copysign(typing_context, size, sign):
    """Vector with the signs of another."""
    return vector(vector, vector), _mathematical("copysign")


@intrinsic
def sqrt(typing_context, x):
    """Square roots."""
    kinds, result = _of(x)
    return result(*kinds), _mathematical("sqrt")


@intrinsic
def guess_inverse_sqrt(typing_context, x):
    """``1 / sqrt(x)``: to 14 bits if `IS_CLOSE`, else to 4, by half the bits of ``x`` (Lomont, 2003)."""

    def by_bits(context, builder, sig, args):
        (x,), kind = args, INTEGERS if isinstance(sig.return_type, Vector) else INTEGER
        half = builder.lshr(builder.bitcast(x, kind), _like(kind, 1))
        return builder.bitcast(builder.sub(_like(kind, GUESS), half), x.type)

    def by_instruction(context, builder, sig, args):
        (x,), name = args, "llvm.x86.avx512.rsqrt14"
        if isinstance(sig.return_type, Vector):
            return _call(builder, f"{name}.pd.512", NUMBERS, x, _like(NUMBERS, 0.0), ir.IntType(8)(-1))
        empty = ir.VectorType(NUMBER, 2)([0.0, 0.0])
        x = builder.insert_element(empty, x, SHORT(0))
        return builder.extract_element(_call(builder, f"{name}.sd", x.type, x, x, empty, ir.IntType(8)(-1)), SHORT(0))

    kinds, result = _of(x)
    return result(*kinds), by_instruction if IS_CLOSE else by_bits


@intrinsic
def power_of_2(typing_context, shifted):
    """2 to the integer in the last bits of a number."""

    def write(context, builder, sig, args):
        (shifted,), kind = args, INTEGERS if isinstance(sig.return_type, Vector) else INTEGER
        power = builder.add(builder.bitcast(shifted, kind), _like(kind, 1023))
        return builder.bitcast(builder.shl(power, _like(kind, 52)), shifted.type)

    kinds, result = _of(shifted)
    return result(*kinds), write


# -- numbers alone


def _taken_after(sign):
    """Definition that takes the second of two numbers if it compares by ``sign`` with the first, else the first."""
    write = _taken_if(sign)

    def define(typing_context, one, other):
        are_integers = isinstance(one, types.Integer) and isinstance(other, types.Integer)
        kind = types.int64 if are_integers else types.float64
        return kind(kind, kind), lambda context, builder, sig, args: write(context, builder, sig, args[::-1])

    return define


# As Python's `max` and `min`, which Numba compiles for each number and type of arguments.
larger, smaller = intrinsic(_taken_after(">")), intrinsic(_taken_after("<"))
