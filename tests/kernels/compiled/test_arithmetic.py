"""Roots by vector instructions."""

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
            found[:, i] = inverse_sqrt_of_any(x[i]), inverse_sqrt(x[i])
        return found

    least, most = np.finfo(float).tiny, np.finfo(float).max
    some = np.concatenate([[5e-324, 1e-310, least, most], np.geomspace(1e-307, 1e308, 10_007)])
    of_any, square = roots(some)
    np.testing.assert_allclose(of_any, some**-0.5, rtol=4e-16)
    np.testing.assert_allclose(square[2:], some[2:] ** -0.5, rtol=4e-16)  # of normal numbers
