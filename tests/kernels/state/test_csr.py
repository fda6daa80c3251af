"""CSR rows made of parts."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag.kernels.state.csr import FEW, csr_rows


def parts(n_rows, values):
    indices = np.tile(np.array([0, 3], np.int32), n_rows)
    return np.resize(values, 2 * n_rows), indices, np.arange(0, 2 * n_rows + 1, 2, dtype=np.int32)


@pytest.mark.parametrize("n_rows", [1, 3, FEW, FEW + 1])
def test_rows_are_those_of_scipy(n_rows):
    made = parts(n_rows, [1.5, np.nan])
    rows, expected = csr_rows(*made, (n_rows, 5)), sparse.csr_array(made, shape=(n_rows, 5))
    assert type(rows) is type(expected)
    assert rows.shape == expected.shape
    for name in ("data", "indices", "indptr"):
        own, other = getattr(rows, name), getattr(expected, name)
        assert own.dtype == other.dtype
        np.testing.assert_array_equal(own, other)
    assert rows.has_canonical_format
    np.testing.assert_array_equal(rows @ np.ones((5, 2)), expected @ np.ones((5, 2)))


def test_rows_share_nothing():
    first, second = csr_rows(*parts(1, [1.0, 2.0]), (1, 5)), csr_rows(*parts(1, [3.0, 4.0]), (1, 5))
    first.data[:], first.indices[:] = 7.0, 1
    first.sum_duplicates()
    assert first.toarray().tolist() == [[0.0, 14.0, 0.0, 0.0, 0.0]]
    assert second.toarray().tolist() == [[3.0, 0.0, 0.0, 4.0, 0.0]]
    assert csr_rows(np.empty(0), np.empty(0, np.int32), np.zeros(2, np.int32), (1, 5)).nnz == 0
