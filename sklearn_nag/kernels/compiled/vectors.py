"""Whole vectors of eight numbers as values of compiled code, with the operations of numbers.

A loop over the columns of a table, by numbers, becomes vector instructions only where the compiler can show that rows do
not overlap, which takes it long, needs checks each time that the loop begins, and fails for long bodies. With these
values a loop says itself that eight columns go at a time. What is added up is so in an order that is always the same.
"""

from __future__ import annotations

import operator

import llvmlite.ir as ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import lower_builtin
from numba.core.registry import cpu_target
from numba.core.typing.templates import ConcreteTemplate, infer_global, signature
from numba.extending import intrinsic, models, register_model

WIDTH = 8
BYTES = 8  # of a number
GUESS = 0x5FE6EB50C7B537A9
NUMBER, INTEGER, BIT = ir.DoubleType(), ir.IntType(64), ir.IntType(1)
NUMBERS, INTEGERS, BITS = (ir.VectorType(kind, WIDTH) for kind in (NUMBER, INTEGER, BIT))


class Vector(types.Type):
    """Type of eight numbers."""

    def __init__(self):
        super().__init__(name="Vector")


class Mask(types.Type):
    """Type of eight truth values."""

    def __init__(self):
        super().__init__(name="Mask")


vector, mask = Vector(), Mask()


@register_model(Vector)
class VectorModel(models.PrimitiveModel):
    """Eight numbers in a register."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, NUMBERS)


@register_model(Mask)
class MaskModel(models.PrimitiveModel):
    """Eight bits in a register."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, BITS)


def spread(builder, value):
    """A vector of which all entries are one value."""
    kind = ir.VectorType(value.type, WIDTH)
    first = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
    return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), [0] * WIDTH))


def as_vectors(builder, kinds, values):
    return [v if isinstance(k, (Vector, Mask)) else spread(builder, v) for k, v in zip(kinds, values)]


def _operator(op, result, build):
    pairs = [(vector, vector), (vector, types.float64), (types.float64, vector)]

    @infer_global(op)
    class Template(ConcreteTemplate):
        cases = [signature(result, *pair) for pair in pairs]

    for pair in pairs:

        @lower_builtin(op, *pair)
        def lower(context, builder, sig, args):
            return build(builder, *as_vectors(builder, sig.args, args))


for _op, _name in ((operator.add, "fadd"), (operator.sub, "fsub"), (operator.mul, "fmul"), (operator.truediv, "fdiv")):
    _operator(_op, vector, lambda builder, a, b, name=_name: getattr(builder, name)(a, b))
    _inplace = getattr(operator, {"fadd": "iadd", "fsub": "isub", "fmul": "imul", "fdiv": "itruediv"}[_name])
    _operator(_inplace, vector, lambda builder, a, b, name=_name: getattr(builder, name)(a, b))
for _op, _sign in ((operator.lt, "<"), (operator.le, "<="), (operator.gt, ">"), (operator.ge, ">="), (operator.eq, "==")):
    _operator(_op, mask, lambda builder, a, b, sign=_sign: builder.fcmp_ordered(sign, a, b))


@infer_global(operator.neg)
class _Neg(ConcreteTemplate):
    cases = [signature(vector, vector)]


@lower_builtin(operator.neg, vector)
def _neg(context, builder, sig, args):
    return builder.fneg(args[0])


@infer_global(operator.invert)
class _Not(ConcreteTemplate):
    cases = [signature(mask, mask)]


@lower_builtin(operator.invert, mask)
def _not(context, builder, sig, args):
    return builder.not_(args[0])


for _op, _name in ((operator.and_, "and_"), (operator.or_, "or_"), (operator.xor, "xor"), (operator.ior, "or_"), (operator.iand, "and_")):

    @infer_global(_op)
    class _Bits(ConcreteTemplate):
        cases = [signature(mask, mask, mask)]

    @lower_builtin(_op, mask, mask)
    def _bits(context, builder, sig, args, name=_name):
        return getattr(builder, name)(*args)


def unary(name):
    def build(context, builder, sig, args):
        kind = NUMBERS if isinstance(sig.args[0], Vector) else NUMBER
        suffix = "v8f64" if isinstance(sig.args[0], Vector) else "f64"
        fn = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kind, [kind]), f"llvm.{name}.{suffix}")
        return builder.call(fn, args)

    return build


@infer_global(abs)
class _Abs(ConcreteTemplate):
    cases = [signature(vector, vector)]


lower_builtin(abs, vector)(unary("fabs"))


def _address(context, builder, kind, table, row, place):
    """Pointer to eight entries of a row of a table, whose entries lie side by side."""
    array, number = context.make_array(kind)(context, builder, table), context.get_value_type(kind.dtype)
    step = cgutils.unpack_tuple(builder, array.strides)[0]
    start = builder.add(builder.ptrtoint(array.data, INTEGER), builder.mul(row, step))
    at = builder.add(start, builder.mul(place, INTEGER(context.get_abi_sizeof(number))))
    return builder.inttoptr(at, ir.VectorType(number, WIDTH).as_pointer())


def _as_numbers(builder, values):
    """Eight numbers of either precision as doubles."""
    return values if values.type == NUMBERS else builder.fpext(values, NUMBERS)


@intrinsic
def load(typing_context, table, row, place):
    """Eight entries of a row of a table, from a place on."""

    def build(context, builder, sig, args):
        found = builder.load(_address(context, builder, sig.args[0], *args), align=sig.args[0].dtype.bitwidth // 8)
        return _as_numbers(builder, found)

    return vector(table, types.int64, types.int64), build


@intrinsic
def load_first(typing_context, table, row, place, n):
    """The first ``n`` of eight entries, and 0 for the others, which are not read."""

    def build(context, builder, sig, args):
        kind, at = sig.args[0], _address(context, builder, sig.args[0], *args[:3])
        values = at.type.pointee
        asked = builder.icmp_signed(">", spread(builder, args[3]), INTEGERS(list(range(WIDTH))))
        name = f"llvm.masked.load.v{WIDTH}f{kind.dtype.bitwidth}.p0v{WIDTH}f{kind.dtype.bitwidth}"
        kinds = [at.type, ir.IntType(32), BITS, values]
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(values, kinds), name)
        width = ir.IntType(32)(kind.dtype.bitwidth // 8)
        return _as_numbers(builder, builder.call(function, [at, width, asked, ir.Constant(values, [0.0] * WIDTH)]))

    return vector(table, types.int64, types.int64, types.int64), build


@intrinsic
def store(typing_context, table, row, place, values):
    """Write eight entries of a row of a table, from a place on."""

    def build(context, builder, sig, args):
        *where, values = args
        builder.store(values, _address(context, builder, sig.args[0], *where), align=BYTES)
        return context.get_dummy_value()

    return types.void(table, types.int64, types.int64, vector), build


@intrinsic
def eight(typing_context, value):
    """Eight times a number."""
    return vector(types.float64), lambda context, builder, sig, args: spread(builder, args[0])


@intrinsic
def nowhere(typing_context):
    """No truth in eight."""
    return mask(), lambda context, builder, sig, args: ir.Constant(BITS, [0] * WIDTH)


@intrinsic
def everywhere(typing_context):
    """Eight truths."""
    return mask(), lambda context, builder, sig, args: ir.Constant(BITS, [1] * WIDTH)


@intrinsic
def anywhere(typing_context, condition):
    """Whether one of eight is true."""

    def build(context, builder, sig, args):
        byte = builder.bitcast(args[0], ir.IntType(WIDTH))
        return builder.icmp_unsigned("!=", byte, byte.type(0))

    return types.boolean(mask), build


@intrinsic
def where(typing_context, condition, one, other):
    """As of NumPy, of vectors or of numbers."""
    if isinstance(condition, Mask):
        kinds = [kind if isinstance(kind, Vector) else types.float64 for kind in (one, other)]

        def build(context, builder, sig, args):
            return builder.select(args[0], *as_vectors(builder, sig.args[1:], args[1:]))

        return vector(mask, *kinds), build
    return types.float64(types.boolean, types.float64, types.float64), lambda context, builder, sig, args: builder.select(*args)


def _kinds(*kinds):
    """Types of numbers and vectors of which one is a vector, or none."""
    return [kind if isinstance(kind, Vector) else types.float64 for kind in kinds]


def _either(sign):
    """What an intrinsic of two numbers, or vectors, returns of which it takes those that a comparison holds for."""

    def typed(one, other):
        kinds = _kinds(one, other)
        result = vector if vector in kinds else types.float64

        def build(context, builder, sig, args):
            a, b = as_vectors(builder, sig.args, args) if vector in kinds else args
            return builder.select(builder.fcmp_ordered(sign, a, b), a, b)

        return result(*kinds), build

    return typed


_larger, _smaller = _either(">"), _either("<")


@intrinsic
def maximum(typing_context, one, other):
    """The larger numbers."""
    return _larger(one, other)


@intrinsic
def minimum(typing_context, one, other):
    """The smaller numbers."""
    return _smaller(one, other)


@intrinsic
def copysign(typing_context, size, sign):
    """Numbers with the signs of others."""

    def build(context, builder, sig, args):
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(NUMBERS, [NUMBERS, NUMBERS]), "llvm.copysign.v8f64"
        )
        return builder.call(function, args)

    return vector(vector, vector), build


@intrinsic
def power_of_2(typing_context, shifted):
    """2 to the integer that the last bits of a number are."""
    is_vector = isinstance(shifted, Vector)
    of_bits, of_numbers = (INTEGERS, NUMBERS) if is_vector else (INTEGER, NUMBER)

    def build(context, builder, sig, args):
        bias, places = (of_bits([n] * WIDTH if is_vector else n) for n in (1023, 52))
        bits = builder.add(builder.bitcast(args[0], of_bits), bias)
        return builder.bitcast(builder.shl(bits, places), of_numbers)

    kind = vector if is_vector else types.float64
    return kind(kind), build


@intrinsic
def sqrt(typing_context, x):
    """Square roots."""
    kind = vector if isinstance(x, Vector) else types.float64
    return kind(kind), unary("sqrt")


def _halves(builder, x, n):
    places = ((0, n), (n, 2 * n))
    return (builder.shuffle_vector(x, x, ir.Constant(ir.VectorType(ir.IntType(32), n), list(range(*some)))) for some in places)


@intrinsic
def total(typing_context, x):
    """The sum of eight: of pairs of those that are four apart, then two, then one."""

    def build(context, builder, sig, args):
        (x,), n = args, WIDTH
        while n > 2:
            n //= 2
            x = builder.fadd(*_halves(builder, x, n))
        return builder.fadd(*(builder.extract_element(x, ir.IntType(32)(i)) for i in (0, 1)))

    return types.float64(vector), build


def has_close_guess():
    """Whether the processor has an instruction for ``1 / sqrt(x)`` to 14 bits, and compiled code may use it."""
    return "+avx512f" in getattr(cpu_target.target_context.codegen(), "_tm_features", "")


IS_CLOSE = has_close_guess()


@intrinsic
def guess_inverse_sqrt(typing_context, x):
    """``1 / sqrt(x)``, to 14 bits where `IS_CLOSE`; else by bits, a number less half those of ``x``."""
    is_vector = isinstance(x, Vector)
    of_bits, of_numbers = (INTEGERS, NUMBERS) if is_vector else (INTEGER, NUMBER)

    def by_bits(context, builder, sig, args):
        number, one = (of_bits([n] * WIDTH if is_vector else n) for n in (GUESS, 1))
        half = builder.lshr(builder.bitcast(args[0], of_bits), one)
        return builder.bitcast(builder.sub(number, half), of_numbers)

    def by_instruction(context, builder, sig, args):
        (x,) = args
        if is_vector:
            kinds, name = [NUMBERS, NUMBERS, ir.IntType(8)], "llvm.x86.avx512.rsqrt14.pd.512"
            args = [x, ir.Constant(NUMBERS, ir.Undefined), ir.IntType(8)(255)]
        else:
            pair = ir.VectorType(NUMBER, 2)
            kinds, name = [pair, pair, pair, ir.IntType(8)], "llvm.x86.avx512.rsqrt14.sd"
            none = ir.Constant(pair, ir.Undefined)
            x = builder.insert_element(none, x, ir.IntType(32)(0))
            args = [x, x, none, ir.IntType(8)(255)]
        function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(kinds[0], kinds), name)
        found = builder.call(function, args)
        return found if is_vector else builder.extract_element(found, ir.IntType(32)(0))

    kind = vector if is_vector else types.float64
    return kind(kind), by_instruction if IS_CLOSE else by_bits


@intrinsic
def lane(typing_context, place):
    """Where one of eight is, if it is one of these."""

    def build(context, builder, sig, args):
        return builder.icmp_signed("==", spread(builder, args[0]), INTEGERS(list(range(WIDTH))))

    return mask(types.int64), build
