"""Roots by vector instructions."""

import numpy as np

from ..helpers import needs_numba


@needs_numba
def test_inverse_square_roots():
    from numba import njit

    from sklearn_nag.kernels.compiled.arithmetic import inverse_sqrt, inverse_sqrt_of_any

    @njit
    def roots(x, normal):
        found = np.empty(x.size)
        for i in range(x.size):
            found[i] = inverse_sqrt(x[i]) if normal else inverse_sqrt_of_any(x[i])
        return found

    least, most = np.finfo(float).tiny, np.finfo(float).max
    some = np.concatenate([[5e-324, 1e-310, least, most], np.geomspace(1e-307, 1e308, 10_007)])
    np.testing.assert_allclose(roots(some[2:], True), some[2:] ** -0.5, rtol=4e-16)
    np.testing.assert_allclose(roots(some, False), some**-0.5, rtol=4e-16)
