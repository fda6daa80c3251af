"""Roots and exponentials that compile to vector instructions."""

import numpy as np

from .jit import fast, strict
from .vectors import IS_CLOSE, guess_inverse_sqrt, power_of_2, where

SMALL, ENLARGED = 2.0**-900, 2.0**60  # below this, a number may be subnormal, and its bits do not show its size
LEAST, MOST = 1e-280, 1e280  # a sum of squares between these has lost no digits
TO_BITS = 1.5 * 2.0**52  # added to a double, it leaves the nearest integer in the last bits
NEAR_0 = 0.35
PER_LOG2, LOG2_HIGH, LOG2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10


@fast
def inverse_sqrt(x):
    """``1 / sqrt(x)`` of normal numbers, to rounding, by iteration from the processor's guess or one from the bits.

    The guess from the bits is that of Lomont (2003). Several products take no longer than one division or root.
    """
    y = guess_inverse_sqrt(x)
    if IS_CLOSE:
        rest = 1.0 - y * (x * y)
        return y + (y * rest) * (0.5 + rest * (0.375 + rest * 0.3125))
    half = 0.5 * x
    for _ in range(4):
        y = y * (1.5 - y * (half * y))
    return y


@fast
def inverse_sqrt_of_any(x):
    """`inverse_sqrt` of any positive numbers."""
    if IS_CLOSE:
        return inverse_sqrt(x)
    small = x < SMALL
    y = inverse_sqrt(where(small, x * ENLARGED**2, x))
    return where(small, y * ENLARGED, y)


@strict
def length(a, b):
    """``sqrt(a^2 + b^2)``, rounded alike at all sizes."""
    squared = a * a + b * b
    if LEAST < squared < MOST:
        return np.sqrt(squared)
    lift = 2.0**600 if squared < 1.0 else 2.0**-600
    a, b = a * lift, b * lift
    return np.sqrt(a * a + b * b) / lift


@fast
def exp(x):
    """Exponential for ``|x| <= 708``, to 4e-16; unlike NumPy's, it compiles to vector instructions and needs no call.

    Polynomials here are summed in parts, which a processor computes in parallel.
    """
    shifted = x * PER_LOG2 + TO_BITS
    n = shifted - TO_BITS
    r = (x - n * LOG2_HIGH) - n * LOG2_LOW
    rr = r * r
    rrrr = rr * rr
    low = (1.0 + r) + rr * (1 / 2 + r * (1 / 6))
    middle = (1 / 24 + r * (1 / 120)) + rr * (1 / 720 + r * (1 / 5040))
    high = (1 / 40320 + r * (1 / 362880)) + rr * (1 / 3628800 + r * (1 / 39916800)) + rrrr * (1 / 479001600)
    return (low + rrrr * (middle + rrrr * high)) * power_of_2(shifted)


@fast
def log_1_plus(x):
    """``log(1 + x)`` for ``-1/2 <= x <= 1``, to rounding: ``2 artanh(s)`` with ``s = x / (2 + x)``.

    The polynomial in ``y = s^2`` has the least error of ``artanh(s) / s``.
    """
    s = x / (2.0 + x)
    y = s * s
    yy = y * y
    low = (1.0 + y * 0.33333333333341286) + yy * (0.199999999976438 + y * 0.1428571455582858)
    middle = (0.11111095430673142 + y * 0.09091429900236955) + yy * (0.07681838124445817 + y * 0.06795652742789947)
    high = 0.04940394524382393 + y * 0.08890381913056651
    return 2.0 * s * (low + yy * yy * (middle + yy * yy * high))


@fast
def near_exp_minus_1(x):
    """``exp(x) - 1`` for ``|x| <= NEAR_0``, to rounding, by odd and even powers."""
    y = x * x
    yy = y * y
    odd = (1 / 6 + y * (1 / 120)) + yy * ((1 / 5040 + y * (1 / 362880)) + yy * (1 / 39916800))
    even = (1 / 2 + y * (1 / 24)) + yy * ((1 / 720 + y * (1 / 40320)) + yy * (1 / 3628800 + y * (1 / 479001600)))
    return x + y * (x * odd + even)


@fast
def exp_minus_1(x):
    """``exp(x) - 1`` of a number ``|x| <= 708``."""
    return exp(x) - 1.0 if abs(x) > NEAR_0 else near_exp_minus_1(x)


@fast
def each_exp_minus_1(x):
    """`exp_minus_1` of each number of a vector."""
    return where(abs(x) > NEAR_0, exp(x) - 1.0, near_exp_minus_1(x))
