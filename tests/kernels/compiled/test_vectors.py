"""Operations on whole vectors against NumPy's."""

import os
import subprocess
import sys

import numpy as np
import pytest

from ..helpers import needs_numba

WIDE, SHORT = 3 * 8, 19  # columns of a table, and entries of a row to read, whose last vector is not full


@needs_numba
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_reading_and_arithmetic(rng, dtype):
    from numba import njit

    from sklearn_nag.kernels.compiled import vectors as v

    @njit
    def operate(X, row, table, n):
        sums, found = v.eight(0.5), v.nowhere()
        for i in range(0, table.shape[1], 8):
            x = v.load(X, row, i) if i + 8 <= n else v.load_first(X, row, i, n - i)
            y = v.load(table, 0, i)
            sums += x
            found |= (x > 2.9) & (y <= 0.0)
            v.store(table, 1, i, (x + y) * 2.0 - 1.0 / (3.0 + abs(x)))
            v.store(table, 2, i, v.where(x == 0.0, v.minimum(y, 0.25), -v.maximum(x, y)))
            v.store(table, 3, i, v.copysign(v.sqrt(abs(x)), y))
            v.store(table, 4, i, v.where((x < y) ^ ~(y >= 0.0) | v.lane(17 - i), 1.0, 0.0))
        return v.total(sums), v.anywhere(found)

    X, table = rng.normal(size=(2, SHORT)).astype(dtype), rng.normal(size=(5, WIDE))
    X[1, 4], table[0, 4] = 3.0, -1.0
    y, x = table[0].copy(), np.append(X[1].astype(float), np.zeros(WIDE - SHORT))
    total, found = operate(X, 1, table, SHORT)
    np.testing.assert_allclose(total, x.sum() + 4.0, rtol=1e-14)
    assert found
    assert np.array_equal(table[0], y)
    np.testing.assert_allclose(table[1], (x + y) * 2.0 - 1.0 / (3.0 + abs(x)), rtol=1e-14)
    assert np.array_equal(table[2], np.where(x == 0.0, np.minimum(y, 0.25), -np.maximum(x, y)))
    assert np.array_equal(table[3], np.copysign(np.sqrt(abs(x)), y))
    assert np.array_equal(table[4], ((x < y) == (y >= 0.0)) | (np.arange(WIDE) == 17))
    X[1, 4] = 0.0
    assert not operate(X, 1, table, SHORT)[1]


@needs_numba
def test_functions_of_vectors_are_those_of_numbers(rng):
    from sklearn_nag.kernels.compiled import arithmetic as a
    from sklearn_nag.kernels.compiled import vectors as v
    from sklearn_nag.kernels.compiled.jit import entry

    @entry
    def compare(table):
        for i in range(0, table.shape[1], 8):
            x = v.load(table, 0, i)
            v.store(table, 1, i, a.inverse_sqrt_of_any(x))
            v.store(table, 2, i, a.exp(v.minimum(x, 700.0)))
            v.store(table, 3, i, a.each_exp_minus_1(v.minimum(x, 700.0)))
        for i in range(table.shape[1]):
            x = table[0, i]
            table[4, i], table[5, i] = a.inverse_sqrt_of_any(x), a.exp(min(x, 700.0))
            table[6, i] = a.exp_minus_1(min(x, 700.0))

    table = np.zeros((7, 8_000))
    table[0] = np.geomspace(5e-324, 1e308, 8_000)
    compare(table)
    np.testing.assert_allclose(table[1:4], table[4:], rtol=5e-16)


ROOTS = """
import importlib.util, sys, types

package = types.ModuleType("sklearn_nag")  # of which kernels know nothing, and what it imports takes long
package.__path__ = [*importlib.util.find_spec("sklearn_nag").submodule_search_locations]
sys.modules["sklearn_nag"] = package

import numpy as np
from numba import njit
from sklearn_nag.kernels.compiled import vectors
from sklearn_nag.kernels.compiled.arithmetic import inverse_sqrt_of_any

assert not vectors.IS_CLOSE

@njit
def roots(table):
    for i in range(0, table.shape[1], 8):
        vectors.store(table, 1, i, inverse_sqrt_of_any(vectors.load(table, 0, i)))

table = np.ones((2, 8_000))
table[0] = np.geomspace(5e-324, 1e308, 8_000)
roots(table)
np.testing.assert_allclose(table[1], table[0] ** -0.5, rtol=4e-16)
"""


@needs_numba
def test_a_processor_without_wide_vectors():
    plain = {**os.environ, "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    subprocess.run([sys.executable, "-c", ROOTS], env=plain, check=True)
