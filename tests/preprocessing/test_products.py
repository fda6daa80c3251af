"""Products of deviations compared with their definition, and how well a learner does with them."""

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_nag
from sklearn_nag import NAGRegressor, ScaleInvariantRegressor, merge
from sklearn_nag.kernels._backend import is_compiled
from sklearn_nag.preprocessing import OnlineProducts, make_online_pipeline
from sklearn_nag.preprocessing._base import merged
from sklearn_nag.preprocessing._products import NARROW

from ..kernels.helpers import KERNELS
from .helpers import of_parameters

EXTREMES = [-1.7976931348623157e308, -1e160, -5e-324, 0.0, 1e-200, 1.0, 1e160, 1.7976931348623157e308, np.nan]
TABLES = arrays.arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.integers(1, 4)),
    elements=st.one_of(st.sampled_from(EXTREMES), st.floats(allow_infinity=False)),
)


def rows_with_gaps(rng, n=60, d=4):
    X = 100.0 + rng.normal(size=(n, d))
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X


@pytest.mark.filterwarnings("ignore:columns='auto'")
@of_parameters(
    parametrize_with_checks([OnlineProducts(), OnlineProducts(products=False), OnlineProducts(bounded=True)])
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bounded", [False, True])
def test_rows_deviate_from_the_means_up_to_them(kernel, bounded, rng):
    X, expected, sizes, units = rows_with_gaps(rng), [], [[], [], [], []], [0.0] * 4
    for t, row in enumerate(X):
        means = [sum(known) / max(len(known), 1) for known in ([v for v in x if v == v] for x in X[: t + 1].T)]
        whole = [mean if x != x else x for x, mean in zip(row, means)]
        gone = [x - mean for x, mean in zip(whole, means)]
        for own, x, size in zip(sizes, row, gone):
            own += [] if x != x else [abs(size)]
        if bounded:
            spreads = [sum(own) / max(len(own), 1) for own in sizes]
            gone = [size / (spread**2 + size**2) ** 0.5 if size else 0.0 for size, spread in zip(gone, spreads)]
        else:
            units = [
                unit or (size and 2.0 ** (64 * round(math.log2(abs(size)) / 64))) for unit, size in zip(units, gone)
            ]
            gone = [size / unit if size else 0.0 for size, unit in zip(gone, units)]
        expected.append(whole + gone * bounded + [gone[i] * gone[j] for i in range(4) for j in range(i, 4)])
    with sklearn_nag.config_context(kernel=kernel):
        transformer = OnlineProducts(bounded=bounded)
        np.testing.assert_allclose(transformer.learn_transform(X), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(transformer.transform(X[-1:]), expected[-1:], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(transformer.means_, np.nanmean(X, axis=0))
        np.testing.assert_allclose(transformer.spreads_, [np.mean(own) for own in sizes])
        filled = OnlineProducts(products=False).learn_transform(X)
        assert filled.tobytes() == np.ascontiguousarray(OnlineProducts().learn_transform(X)[:, :4]).tobytes()


def test_a_column_that_deviates_later_than_others_gets_its_unit_then(rng):
    X = rng.normal(size=(8, 2))
    X[:4, 1], X[4:, 1] = 0.0, 1e60 * X[4:, 1]
    products = OnlineProducts().partial_fit(X[:4])
    assert products._state.unit.tolist() == [1.0, 0.0]
    products.partial_fit(X[4:])
    assert products._state.unit.tolist() == [1.0, 2.0**192]
    assert np.array_equal(products.transform(X), OnlineProducts().fit(X).transform(X))


def test_names_are_those_of_the_products():
    X = np.arange(12.0).reshape(4, 3)
    ours, theirs = OnlineProducts().fit(X), PolynomialFeatures(2, include_bias=False).fit(X)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(ours.transform(X)[:, 3:], theirs.transform(X - X.mean(axis=0))[:, 3:])
    some = OnlineProducts([0, 2]).fit(X)
    assert some.get_feature_names_out().tolist() == ["x0", "x1", "x2", "x0^2", "x0 x2", "x2^2"]
    assert OnlineProducts(products=False).fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x2"]
    names = OnlineProducts([2], bounded=True).fit(X).get_feature_names_out().tolist()
    assert names == ["x0", "x1", "x2", "bounded(x2)", "bounded(x2)^2"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bounded", [False, True])
def test_equal_values_do_not_deviate(kernel, bounded):
    varying, constant = np.linspace(0.0, 1.0, 200), np.full(200, 0.1)
    with sklearn_nag.config_context(kernel=kernel):
        shards = [OnlineProducts(bounded=bounded).fit(np.column_stack([varying, one])) for one in (constant, varying)]
        out = shards[0].transform(np.column_stack([varying, constant]))[:, 2:]
        of_first = [0, 2] if bounded else [0]  # outputs of the varying column alone
        assert out[:, of_first].any(axis=0).all()
        assert not np.delete(out, of_first, axis=1).any()
        assert merge(shards).means_[1] == pytest.approx(0.3)


@pytest.mark.parametrize("cut", [1, 7, 33])
def test_cuts_and_pickles_change_no_bit(cut, rng):
    X = rows_with_gaps(rng)
    whole, cut_up, parts = OnlineProducts(bounded=True), OnlineProducts(bounded=True), []
    expected = whole.learn_transform(X)
    for start in range(0, len(X), cut):
        parts.append(cut_up.learn_transform(X[start : start + cut]))
        cut_up = pickle.loads(pickle.dumps(cut_up))
    assert np.vstack(parts).tobytes() == expected.tobytes()
    assert OnlineProducts(bounded=True).partial_fit(X).transform(X).tobytes() == cut_up.transform(X).tobytes()


@settings(deadline=None, max_examples=60)
@given(TABLES)
def test_all_finite_numbers_have_finite_products_of_the_same_bits_in_both_kernels(X):
    found = []
    for kernel in ("numpy", "numba" if is_compiled() else "numpy"):
        with sklearn_nag.config_context(kernel=kernel):
            found.append(np.hstack([OnlineProducts(bounded=b).learn_transform(X) for b in (False, True)]))
            assert np.isfinite(OnlineProducts(bounded=True).fit(X).transform(X)).all()
            assert np.abs(OnlineProducts(bounded=True).fit(X).transform(X)[:, X.shape[1] :]).max() <= 1.0
    assert np.isfinite(found[0]).all()
    assert all(out.tobytes() == found[0].tobytes() for out in found)


@pytest.mark.parametrize("n_words", [3, NARROW])
def test_of_sparse_rows_numbers_alone_are_multiplied(n_words, rng):
    X = rows_with_gaps(rng)
    words = np.eye(n_words)[np.arange(60) % 3]
    rows = sparse.csr_array(np.hstack([words, X]))
    told = range(n_words, n_words + 4)
    out = OnlineProducts().set_numeric_columns(told).learn_transform(rows)
    assert sparse.issparse(out) == (n_words == NARROW)
    out = out.toarray() if sparse.issparse(out) else out
    expected = np.hstack([words, OnlineProducts().learn_transform(X)])
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(OnlineProducts(list(told)).learn_transform(rows.toarray()), expected)
    with pytest.warns(UserWarning, match="columns='auto' of OnlineProducts takes no columns of sparse rows"):
        assert OnlineProducts().fit_transform(sparse.csr_array(words)).shape == words.shape
    transformer = OnlineProducts().set_numeric_columns(told).partial_fit(rows)
    with pytest.raises(ValueError, match="were multiplied when this OnlineProducts was new"):
        transformer.set_numeric_columns([0]).partial_fit(rows)


def test_what_comes_out_is_what_came_out_before(rng):
    X = rng.normal(size=(20, 3))
    transformer = OnlineProducts().fit(X)
    expected = transformer.transform(X)
    transformer.set_params(products=False, bounded=True)
    assert transformer.transform(X).tobytes() == expected.tobytes()
    assert len(transformer.get_feature_names_out()) == 9
    with pytest.raises(ValueError, match="products was True when this OnlineProducts was new"):
        transformer.partial_fit(X)


def test_shards_are_merged_by_the_means_that_learners_have_learnt_with(rng):
    X = rows_with_gaps(rng)
    parts = X[:9], X[9:20], X[20:]
    apart = merged([OnlineProducts().partial_fit(part) for part in parts])
    np.testing.assert_allclose(apart.means_, np.nanmean(X, axis=0))
    np.testing.assert_allclose(merged([apart]).means_, apart.means_)
    base = OnlineProducts().partial_fit(parts[0])
    shards = [pickle.loads(pickle.dumps(base)).partial_fit(part) for part in parts[1:]]
    whole, weights = merged(shards, base), [(~np.isnan(part)).sum(axis=0) for part in parts[1:]]
    for what in ("means_", "spreads_"):
        expected = np.average([getattr(shard, what) for shard in shards], axis=0, weights=weights)
        np.testing.assert_allclose(getattr(whole, what), expected)
    np.testing.assert_array_equal(whole._state.known.n_values, (~np.isnan(X)).sum(axis=0))
    for alone in ([shards[0], base], [base, base]):
        assert merged(alone, base).transform(X).tobytes() == alone[0].transform(X).tobytes()
    assert merged([OnlineProducts().partial_fit(X * size) for size in (1.0, 100.0)])._state.unit.tolist() == [1.0] * 4
    with pytest.raises(ValueError, match="models with other units of products cannot be merged"):
        merged([OnlineProducts().partial_fit(X * size) for size in (1.0, 1e30)])
    assert merged([OnlineProducts(bounded=True).partial_fit(X * size) for size in (1.0, 1e30)]).means_.shape == (4,)


def test_shards_of_a_base_with_other_means_are_merged_to_what_they_have_learnt(rng):
    X = rng.normal(size=(3000, 3))
    X[:400] += 3.0
    y = X[:, 0] * X[:, 1]
    base = make_online_pipeline(OnlineProducts(), NAGRegressor()).partial_fit(X[:400], y[:400])
    shards = [pickle.loads(pickle.dumps(base)).partial_fit(X[i::4], y[i::4]) for i in range(400, 404)]
    assert merge(shards, base).score(X[400:], y[400:]) > shards[0].score(X[400:], y[400:]) > 0.9


def test_neither_units_nor_origins_matter_to_what_is_learnt(rng):
    X = rng.normal(size=(400, 3))
    y = X[:, 0] * X[:, 1] + X[:, 2] ** 2
    learners = NAGRegressor(), ScaleInvariantRegressor(invariance="full")
    for learner, bounded in itertools.product(learners, (True, False)):
        one, other = (
            make_online_pipeline(OnlineProducts(bounded=bounded), clone(learner)).partial_fit(rows, y).predict(rows)
            for rows in (X, X * [1e-3, 1.0, 60.0] + [5.0, -70.0, 2000.0])
        )
        np.testing.assert_allclose(other, one, rtol=1e-6, atol=1e-6)
    assert np.corrcoef(one, y)[0, 1] > 0.99
    plain = make_online_pipeline(OnlineProducts(products=False), clone(learner)).partial_fit(X, y)
    assert plain.score(X, y) < 0.2


def test_what_is_no_transformer_is_refused(rng):
    good = OnlineProducts([0, 1]).partial_fit(rng.normal(size=(5, 3))).__getstate__()
    state = good["_state"]
    for wrong in (
        state._replace(columns=np.array([0, 3])),
        state._replace(columns=np.array([1, 0])),
        state._replace(columns=np.array([0.0, 1.0])),
        state._replace(known=state.known._replace(total=np.zeros(3))),
        state._replace(known=state.known._replace(huge=np.full(2, np.nan))),
        state._replace(known=None),
        state._replace(unit=np.full(2, np.nan)),
        state._replace(spread=state.spread._replace(n_values=np.zeros(3, int))),
        (1, 2),
    ):
        with pytest.raises(ValueError, match="damaged"):
            object.__new__(OnlineProducts).__setstate__({**good, "_state": wrong})
    with pytest.raises(ValueError, match="no parameters that it was begun with"):
        object.__new__(OnlineProducts).__setstate__({**good, "_begun_with": {"columns": [0, 1]}})
    with pytest.raises(ValueError, match="'columns' parameter of OnlineProducts must be a list of places"):
        OnlineProducts("all").fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="'products' parameter of OnlineProducts must be"):
        OnlineProducts(products=2).fit(np.ones((3, 2)))
