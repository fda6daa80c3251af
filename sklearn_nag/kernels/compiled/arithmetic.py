"""Roots and exponentials that become vector instructions."""

from __future__ import annotations

import numpy as np

from .jit import contracted, fast

GUESS = np.uint64(0x5FE6EB50C7B537A9)  # this less half the bits of x is nearly the bits of 1 / sqrt(x)
SMALL, ENLARGED = 2.0**-900, 2.0**60  # below, a number may be subnormal, whose bits tell nothing of its size
TO_BITS = 1.5 * 2.0**52  # added to a double, it leaves the nearest integer in the last bits
PER_LOG2, LOG2_HIGH, LOG2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10


@contracted
def inverse_sqrt(x):
    """``1 / sqrt(x)`` of a normal number, to rounding, by Newton's method from a guess by the bits (Lomont, 2003).

    A processor does several products in the time of one division or root.
    """
    y = np.uint64(GUESS - (np.float64(x).view(np.uint64) >> np.uint64(1))).view(np.float64)
    for _ in range(4):
        y = y * (1.5 - (0.5 * y) * (x * y))
    return y


@contracted
def inverse_sqrt_of_any(x):
    """As `inverse_sqrt`, of any positive number."""
    small = x < SMALL
    y = inverse_sqrt(x * ENLARGED**2 if small else x)
    return y * ENLARGED if small else y


@contracted
def exp(x):
    """Exponential for ``|x| <= 708``, to 3e-13; unlike NumPy's it becomes vector instructions."""
    shifted = x * PER_LOG2 + TO_BITS
    n = shifted - TO_BITS
    r = (x - n * LOG2_HIGH) - n * LOG2_LOW
    p = 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = (np.float64(shifted).view(np.int64) + 1023) << 52
    return p * np.int64(power).view(np.float64)


@fast
def exp_minus_1(x):
    """``exp(x) - 1`` for ``0 <= x <= 708``."""
    return exp(x) - 1.0 if x > 1e-3 else x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)))
