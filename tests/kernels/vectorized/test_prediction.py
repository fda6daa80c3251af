"""Decision values, however rows are split into batches."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantRegressor
from sklearn_nag.kernels import FEW, predict, predict_by_row, predict_few, predict_unit_free
from sklearn_nag.kernels.state.model import LinearState

from ..helpers import make_data, make_state, progressive


@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("n_heads", [1, 7])
def test_by_row_no_bit_depends_on_batches(rng, container, n_heads):
    X, y = make_data(rng, n=200, d=23)
    state = make_state(23, eta=tuple(0.1 * np.arange(1, n_heads + 1)), experts=n_heads, mixed=False)
    progressive(state, X, y)
    rows = container(X)
    whole = predict_by_row(state, rows)
    np.testing.assert_allclose(whole, predict(state, rows), rtol=1e-6, atol=1e-6 * np.abs(whole).max())
    for size in (1, 2, 7, 64):
        parts = [predict_by_row(state, rows[i : i + size]) for i in range(0, 200, size)]
        assert np.array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, lambda X: X.astype(np.float32)])
def test_few_rows(rng, container):
    X, y = make_data(rng, n=200, d=23)
    state = make_state(23, target_unit=True, clip=(-1.0, 1.0))
    progressive(state, X, y)
    rows = container(30.0 * X[:9])  # most of their predictions are clipped
    expected = predict(state, rows)
    assert (np.abs(expected) == 1.0).any()
    for predicts in (predict_few, predict_by_row):
        np.testing.assert_allclose(predicts(state, rows), expected, rtol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("unit", [1e-306, 1e-200, 1.0, 1e150, 1e300])
def test_few_rows_that_may_leave_the_range(rng, unit):
    X, y = make_data(rng, n=100)
    for size in (1.0, 1e200, 1e308):
        state = make_state(6, target_unit=True)
        progressive(state, X * unit, y * size)
        for row in (X[:1] * unit, np.full((1, 6), 1e308)):
            few = predict_few(state, row)
            assert few is None or np.isfinite(few).all()
    assert state.linear()[0].size <= FEW
    for beyond in (np.nan, np.inf, -np.inf):
        assert predict_few(state, np.array([[0.0, beyond, 0.0, 0.0, 0.0, 0.0]])) is None


def test_by_row_out_of_range(rng):
    """Weights in raw units, or products with them, leave the range of doubles."""
    X, y = make_data(rng, n=100)
    for unit in (1e-306, 1e300):
        state = make_state(6)
        progressive(state, X * unit, y)
        expected = predict(state, X * unit)
        assert np.isfinite(expected).all()
        parts = np.concatenate([predict_by_row(state, X[i : i + 3] * unit) for i in range(0, 100, 3)])
        np.testing.assert_allclose(parts, expected, rtol=1e-9)


@pytest.mark.parametrize("predicts", [predict, predict_by_row, predict_unit_free])
def test_terms_that_leave_the_range_and_cancel(predicts):
    """Two columns far outside the learnt range have large weights; the sum of their terms is as in other units."""
    X, y, far = np.array([[0.0, 0.0], [1e-11, -1e-11]]), np.array([0.0, 1.0]), np.ones((1, 2))
    found = []
    for power in (0, 1000):
        model = ScaleInvariantRegressor(average=False).partial_fit(X, np.ldexp(y, power))
        found.append(np.ldexp(predicts(model._state, far), -power))
    assert np.array_equal(*found)
    assert found[0] > 0.1


@pytest.mark.parametrize("rule", [{}, {"normalization": "auto", "centred": True}])
def test_wide_sparse_rows_are_predicted_by_the_columns_they_name(rng, rule):
    """Predictions are those of dense rows up to rounding, with the same bits in any batches, and take little memory."""
    X = sparse.csr_array(rng.normal(size=(60, 3000)) * (rng.random((60, 3000)) < 0.01))
    state = make_state(3000, **rule)
    progressive(state, X, np.sign(rng.normal(size=(60, 1))))
    whole = predict_unit_free(state, X)
    np.testing.assert_allclose(whole, predict_unit_free(state, X.toarray()), rtol=1e-10, atol=1e-12)
    for size in (1, 7):
        assert np.array_equal(np.vstack([predict_unit_free(state, X[i : i + size]) for i in range(0, 60, size)]), whole)
    wide = sparse.csr_array((X.data, X.indices, X.indptr), shape=(60, 2**20))
    state = make_state(2**20, **rule)
    progressive(state, wide[:5], np.ones((5, 1)))
    tracemalloc.start()
    predict_unit_free(state, wide)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20  # bytes: one for each column


def test_a_part_that_is_wide_itself_knows_its_own_frequent_columns(rng):
    """If weights in raw units leave the range of doubles, rows of the part are predicted by parts of the part."""
    d = 3000
    X = sparse.random_array((40, d), density=0.5, rng=rng, format="csr")
    X.data[:] = rng.normal(size=X.nnz)
    model = NAGClassifier().partial_fit(X, X[:, [0]].toarray().ravel() > 0, classes=[False, True])
    state, features = model._state, np.arange(1, d, 2)
    assert len(state.followed()) > 100
    part = state.part(features)
    dense = predict_unit_free(part, X[:, features].toarray())
    np.testing.assert_allclose(predict_unit_free(part, sparse.csr_array(X[:, features])), dense, rtol=1e-9)


def test_no_bit_depends_on_what_was_predicted_before(rng):
    """Weights of all columns and of those that rows name give the same bits, even if digits are lost in raw units."""
    X = np.zeros((20, 60))
    X[:, 1:59:9] = rng.normal(size=(20, 7)) * [1.0, 100.0, 1000.0, 1e-3, 1.0, 1.0, 1.0]
    X[:, 28] += 1e6
    rows = sparse.csr_array(X)
    model = NAGClassifier().partial_fit(rows, np.arange(20) % 3, classes=[0, 1, 2])
    seen = [predict(model._state.copy(), rows[i : i + 1])[0] for i in range(20)]
    assert not model._state.is_exact()  # this computes weights of all columns
    np.testing.assert_array_equal(seen, predict(model._state, rows))


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
@pytest.mark.parametrize("half_life", [None, "auto"])
def test_ranges_of_targets_are_worked_out_only_where_they_tell(loss, half_life, n_outputs, rng, monkeypatch):
    X = rng.normal(size=(100, 3))
    y = np.squeeze(np.exp(X[:, :n_outputs] + np.linspace(0.0, 2.0, 100)[:, None]))
    reg = NAGRegressor(loss, half_life=half_life).partial_fit(X, y)
    X *= np.exp(rng.normal(size=(100, 1)))
    few, many = [reg.predict(x[None])[0] for x in X], reg.predict(X)
    monkeypatch.setattr(LinearState, "is_among_targets", lambda *_: False)
    np.testing.assert_array_equal(few, [reg.predict(x[None])[0] for x in X])
    np.testing.assert_array_equal(many, reg.predict(X))
    held = (np.log(many) if loss == "poisson" else many).reshape(100, -1) - reg._state.clip_range()[1]
    assert half_life or (abs(held) < 1e-9).any(axis=0).all()
