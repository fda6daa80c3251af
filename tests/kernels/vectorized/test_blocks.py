"""Rows in blocks: in any layout, and cut anywhere."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from ..helpers import RULES, flat, make_data, make_state, progressive


@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_cutting_between_blocks_of_a_long_stream(rng, normalization, adaptive):
    X, y = make_data(rng, n=3000, d=40)
    X /= np.abs(X).max(axis=0) if normalization is None else 1.0
    whole, parts = make_state(40, normalization, adaptive), make_state(40, normalization, adaptive)
    progressive(whole, X, y)
    for i, j in itertools.pairwise([0, 1, 2, 700, 701, 2999, 3000]):
        progressive(parts, X[i:j], y[i:j])
    assert np.array_equal(flat(whole), flat(parts))


@pytest.mark.parametrize("rule", RULES)
def test_dense_in_any_layout_and_sparse_with_any_indices(rng, rule):
    X, y = make_data(rng, n=150)
    X = (X / np.abs(X).max(axis=0)).astype(np.float32)
    expected = progressive(make_state(6, *rule), X, y)
    for rows in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert np.array_equal(progressive(make_state(6, *rule), rows, y), expected)
    np.testing.assert_allclose(progressive(make_state(6, *rule), X.astype(float), y), expected, rtol=1e-12)
    narrow = sparse.csr_array(X)
    wide = narrow.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    a, b = (progressive(make_state(6, *rule), rows, y) for rows in (narrow, wide))
    assert np.array_equal(a, b)
    np.testing.assert_allclose(a, expected, rtol=1e-12, atol=1e-13)
