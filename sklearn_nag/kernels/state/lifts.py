"""Powers of two that keep squares in range.

Squares of doubles overflow, so columns and gradients are *lifted*: multiplied by a power of two, which is exact, that
brings the largest value seen near 1. The lift of a column is 1 until a value other than 0 is seen, and stays 1 if that
is between 2**-64 and 2**64; else it is set anew. After that it only falls, at most fourteen times.
"""

import numpy as np

from ...losses import between

LIFT_STEP = 2.0**128
HIGHEST, LOWEST = 2.0**64, 2.0**-64  # lifted values need a new lift from the one on; first ones, below the other
LEAST_PLAIN = 2.0**4 * LOWEST  # lifts are 1 of columns whose ``largest`` is not less, and below `HIGHEST`
LARGEST_LIFT = 2.0**896
TINY = np.finfo(np.float64).tiny  # G of a column without a gradient: 0 / sqrt(G) is then 0, not NaN
LARGEST = np.finfo(np.float64).max
LARGEST_POWER = 700.0  # exponents are cut off there, to stay in range


def lift(largest):
    """Power of two, with an exponent in steps of 128, that brings ``largest`` into [2**-64, 2**64) or near."""
    _, exponent = np.frexp(largest)
    steps = between((exponent + 63) // 128, -7, 7)
    return np.ldexp(1.0, -128 * steps)


def needs_lift(values, lifted, seen):
    """Whether values need another lift: by their lifted sizes, and whether their columns had values before."""
    return (lifted >= HIGHEST) | (~seen & (values > 0) & (lifted < LOWEST))


def all_finite(array):
    """Whether no number is NaN or infinite; nothing is added up, so nothing warns."""
    return bool(np.count_nonzero(np.isfinite(array)) == array.size)


def positive(array):
    """``array`` with 1 in place of 0, to divide by: what is divided is 0 there."""
    return array if np.count_nonzero(array) == array.size else np.where(array == 0, 1.0, array)


def over_scales(values, scale, lift):
    """``values / scale / lift`` for positive scales and a power of two: in range wherever the result is."""
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
