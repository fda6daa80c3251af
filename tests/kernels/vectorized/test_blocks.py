"""Rows in blocks: in any layout, and cut anywhere."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import config_context
from sklearn_nag.kernels.nag.rule import settle

from ..helpers import RULES, flat, make_data, make_state, progressive


@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_cutting_between_blocks_of_a_long_stream(rng, normalization, adaptive):
    X, y = make_data(rng, n=3000, d=40)
    X /= np.abs(X).max(axis=0) if normalization is None else 1.0
    whole, parts = make_state(40, normalization, adaptive), make_state(40, normalization, adaptive)
    played = progressive(whole, X, y)
    cuts = itertools.pairwise([0, 1, 2, 700, 701, 2999, 3000])
    assert np.array_equal(np.concatenate([progressive(parts, X[i:j], y[i:j]) for i, j in cuts]), played)
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


@pytest.mark.parametrize("heads", [1, 3])
@pytest.mark.parametrize("normalization", ["auto", "max", None])
def test_no_sparse_row_depends_on_those_that_share_its_block(rng, normalization, heads):
    n, d = 110, 400
    columns = np.minimum(rng.zipf(1.3, size=(n, 40)) - 1, d - 1)  # some are frequent, some are named more than once
    values = rng.lognormal(size=columns.shape) * 10.0 ** rng.choice([0, 0, 0, 30], size=(n, 1))  # lifts that change
    values = values if normalization else values / values.max()
    ends = np.concatenate([[0], np.add.accumulate(rng.choice([0, 5, 40], size=n))])
    X = sparse.csr_array((values.ravel()[: ends[-1]], columns.ravel()[: ends[-1]], ends), shape=(n, d))
    y = rng.choice([-1.0, 1.0], size=(n, heads))
    options = {"average_from": 1.0, "importance_aware": True, "centred": normalization == "auto"}
    states = [make_state(d, normalization, eta=(0.5,) * heads, **options) for _ in range(3)]
    with config_context(kernel="numpy"):
        whole = progressive(states[0], X, y)
        parts = [progressive(states[1], X[i:j], y[i:j]) for i, j in itertools.pairwise([0, 1, 2, 90, 101, n])]
        alone = [progressive(states[2], X, y, order=np.array([i])) for i in range(n)]
    for state, p in zip(states[1:], (parts, alone), strict=True):
        assert np.array_equal(np.concatenate(p), whole)
        assert np.array_equal(flat(state), flat(states[0]))
    assert normalization != "auto" or 0 < (states[0].columns.frequent[:-1] > 0).sum() < d


def test_penalties_are_settled_before_columns_stop_to_be_frequent(rng):
    """Penalties are settled at the row with 0, by the scales so far, as if all columns were settled before each row."""
    X, y = rng.normal(size=(120, 6)), rng.choice([-1.0, 1.0], 120)
    X[30:, :3] = 0.0
    whole, by_row = (make_state(6, "auto", centred=True, l1=0.01) for _ in range(2))
    n = 0
    while n < 30 or by_row.columns.frequent.all():
        settle(by_row, by_row.columns)
        progressive(by_row, X[n : n + 1], y[n : n + 1])
        n += 1
    progressive(whole, X[:n], y[:n])
    np.testing.assert_allclose(whole.unit_free_weight(), by_row.unit_free_weight(), rtol=1e-9)
