"""Roots, exponentials and logarithms with vector instructions."""

import numpy as np

from ..helpers import needs_numba


@needs_numba
def test_inverse_roots():
    from numba import njit

    from sklearn_nag.kernels.compiled.arithmetic import inverse_sqrt, inverse_sqrt_of_any

    @njit
    def roots(x):
        found = np.empty((2, x.size))
        for i in range(x.size):
            found[0, i], found[1, i] = inverse_sqrt_of_any(x[i]), inverse_sqrt(x[i])
        return found

    least, most = np.finfo(float).tiny, np.finfo(float).max
    some = np.concatenate([[5e-324, 1e-310, least, most], np.geomspace(1e-307, 1e308, 10_007)])
    of_any, square = roots(some)
    np.testing.assert_allclose(of_any, some**-0.5, rtol=4e-16)
    np.testing.assert_allclose(square[2:], some[2:] ** -0.5, rtol=4e-16)  # for normal numbers


@needs_numba
def test_exponentials_and_logarithms():
    from numba import njit

    from sklearn_nag.kernels.compiled.arithmetic import exp, exp_minus_1, log_1_plus

    @njit
    def all_three(x, share):
        found = np.empty((3, x.size))
        for i in range(x.size):
            found[0, i], found[1, i], found[2, i] = exp(x[i]), log_1_plus(share[i]), exp_minus_1(x[i])
        return found

    x = np.concatenate([np.linspace(-708.0, 708.0, 10_000), [0.0, -1e-300, np.log(2.0) / 2.0]])
    share = np.concatenate([np.linspace(0.0, 1.0, 8_000), np.geomspace(1e-308, 1.0, 2_003)])
    x[::3] *= 1e-3  # some on both sides of the points where polynomials change
    power, logarithm, less = all_three(x, share)
    np.testing.assert_allclose(power, np.exp(x), rtol=5e-16)
    np.testing.assert_allclose(logarithm, np.log1p(share), rtol=8e-16)
    np.testing.assert_allclose(less, np.expm1(x), rtol=2e-15)
