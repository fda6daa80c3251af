"""Powers of two that keep squares in range.

Squares of doubles overflow, so columns and gradients are *lifted*: multiplied by a power of two, which is exact, that
brings the largest value seen near 1. The lift of a column is 1 until its first nonzero value. It stays 1 if that value
is between 2**-64 and 2**64, and is set anew otherwise. After that it only falls, at most fourteen times.
"""

import numpy as np

from ...losses import between

LIFT_STEP = 2.0**128
HIGHEST, LOWEST = 2.0**64, 2.0**-64  # lifted values from the one on, and first ones below the other, need a new lift
LEAST_PLAIN = 2.0**4 * LOWEST  # a column with ``largest`` at least this, and below `HIGHEST`, has a lift of 1
LARGEST_LIFT = 2.0**896
TINY = np.finfo(np.float64).tiny  # ``G`` of a column without a gradient: 0 / sqrt(G) is then 0, not NaN
LARGEST = np.finfo(np.float64).max
LARGEST_POWER = 700.0  # exponents are cut off here, to stay in range


def lift(largest):
    """Power of two, with an exponent in steps of 128, that brings ``largest`` into or near [2**-64, 2**64)."""
    _, exponent = np.frexp(largest)
    steps = between((exponent + 63) // 128, -7, 7)
    return np.ldexp(1.0, -128 * steps)


def needs_lift(values, lifted, seen):
    """Whether values need another lift, from their lifted sizes and whether their columns had values before."""
    return (lifted >= HIGHEST) | (~seen & (values > 0) & (lifted < LOWEST))


def all_finite(array):
    """Whether no number is NaN or infinite; adds nothing up, so nothing warns."""
    return bool(np.count_nonzero(np.isfinite(array)) == array.size)


def positive(array):
    """``array`` with 1 in place of 0, as a divisor of what is 0 there."""
    zero = array == 0
    return np.where(zero, 1.0, array) if np.count_nonzero(zero) else array  # booleans are counted fast


def over_scales(values, scale, lift):
    """``values / scale / lift`` for positive scales and a power of two; in range whenever the result is."""
    if lift == 1.0:
        return values / scale
    mantissa, exponent = np.frexp(scale)
    return np.ldexp(values / mantissa, 1 - np.frexp(lift)[1] - exponent)


def times_scales(values, scale, lift):
    """``values * scale * lift``, as `over_scales`."""
    if lift == 1.0:
        return values * scale
    mantissa, exponent = np.frexp(scale)
    return np.ldexp(values * mantissa, exponent + np.frexp(lift)[1] - 1)
