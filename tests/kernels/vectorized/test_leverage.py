"""Leverage, or how far rows are from learnt rows, against the formula written out."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import FTRLRegressor, NAGRegressor, ScaleInvariantRegressor, config_context
from sklearn_nag.kernels import excess_leverage

ALL = [
    NAGRegressor(),
    NAGRegressor("huber", normalization="max"),
    NAGRegressor(normalization="rms", centering=False),
    NAGRegressor(half_life=30),
    FTRLRegressor(),
    ScaleInvariantRegressor(),
    ScaleInvariantRegressor(invariance="full"),
    ScaleInvariantRegressor(invariance="full", update="least_squares"),
]


@pytest.fixture(autouse=True)
def in_numpy():
    with config_context(kernel="numpy"):
        yield


def rows_and_targets(n=200):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 4)) * [1.0, 0.01, 300.0, 5.0] + [0.0, 1.0, -50.0, 5.0]
    return X, X[:, 0] + rng.normal(size=n)


def far_rows(X):
    return X[:6] * np.array([1.0, 4.0, 30.0, -30.0, 1e6, 0.0])[:, None]


def of(estimator, X):
    return excess_leverage(estimator._state, X)[:, 0]


def test_by_the_formula():
    X, y = rows_and_targets()
    reg, far = NAGRegressor().partial_fit(X, y), far_rows(X)
    z = (far - X.mean(axis=0)) / X.std(axis=0)
    expected = [sum(max(value**2 - 9.0, 0.0) for value in row) / len(X) for row in z]
    np.testing.assert_allclose(of(reg, far), expected, rtol=1e-9, atol=1e-12)
    assert expected[0] == 0.0 < expected[1]


@pytest.mark.parametrize("update", ["potential", "least_squares"])
def test_of_all_columns_together(update):
    X, y = rows_and_targets()
    reg, far = ScaleInvariantRegressor(invariance="full", update=update).partial_fit(X, y), far_rows(X)
    with_one = np.column_stack([X, np.ones(len(X))])
    inverse = np.linalg.inv(with_one.T @ with_one)
    expected = [max(row @ inverse @ row - 9.0 * 5 / len(X), 0.0) for row in np.column_stack([far, np.ones(6)])]
    np.testing.assert_allclose(of(reg, far), expected, rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_units_of_features_do_not_matter(estimator):
    X, y = rows_and_targets()
    units = np.array([1e200, 1.0, 1e-200, 1000.0])
    far = far_rows(X)
    expected = of(estimator.partial_fit(X, y), far)
    assert (np.sort(expected)[-2:] > 1.0).all()
    scaled = type(estimator)(**estimator.get_params()).partial_fit(X * units, y)
    np.testing.assert_allclose(of(scaled, far * units), expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("estimator", ALL[:-2], ids=repr)
@pytest.mark.parametrize("as_sparse", [False, True])
def test_sparse_rows_as_dense_ones(estimator, as_sparse):
    X, y = rows_and_targets()
    X[np.random.default_rng(0).random(X.shape) < 0.2] = 0.0
    X[:, 3] *= np.arange(len(X)) % 50 == 0  # a rare column
    reg = type(estimator)(**estimator.get_params()).partial_fit(sparse.csr_array(X) if as_sparse else X, y)
    far = np.vstack([far_rows(X), np.eye(4) * 1e4])
    data = np.append(far[:1], far[:1]) / 2.0  # entries that are named twice
    twice = sparse.csr_array((data, np.tile(np.arange(4), 2), [0, 8]), shape=(1, 4))
    np.testing.assert_allclose(of(reg, sparse.csr_array(far)), of(reg, far), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(of(reg, twice), of(reg, far[:1]), rtol=1e-9, atol=1e-12)
    assert not twice.has_canonical_format


@pytest.mark.parametrize("estimator", ALL, ids=repr)
def test_finite_whatever_the_row(estimator):
    X, y = rows_and_targets()
    X[:, 1] = 7.0  # a column that has not varied
    reg = type(estimator)(**estimator.get_params()).partial_fit(X, y)
    largest = np.finfo(np.float64).max
    excess = of(reg, np.array([[largest, -largest, largest, largest], [1e-320, 0.0, -largest, 1e300]]))
    assert np.isfinite(excess).all()
    assert (excess > 1e100).all()
    assert np.isfinite(of(reg, X[:1] + [[0.0, 1e9, 0.0, 0.0]])).all()


def test_nothing_is_unusual_without_scales_or_rows():
    X, y = rows_and_targets()
    assert not of(NAGRegressor(normalization=None).partial_fit(X, y), far_rows(X)).any()
    assert not of(NAGRegressor().partial_fit(X, y, sample_weight=np.zeros(len(y))), far_rows(X)).any()


def test_mixtures_of_models_have_the_mean():
    X, y = rows_and_targets()
    reg, far = NAGRegressor(half_life="auto").partial_fit(X, y), far_rows(X)
    parts = [share[0] * excess_leverage(model, far)[:, 0] for share, model in reg._state.models()]
    np.testing.assert_allclose(of(reg, far), sum(parts))
    assert len(parts) > 2
