"""What curves and cells share: knots fixed by the first rows, and the original columns in front of the new ones."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_nag
from sklearn_nag.kernels._backend import is_compiled
from sklearn_nag.preprocessing import OnlineCells, OnlineCurves
from sklearn_nag.preprocessing._base import merged

pd = pytest.importorskip("pandas")

SMALL = [OnlineCurves(n_knots=5, first_rows=30), OnlineCells(n_trees=8, depth=3, first_rows=30, random_state=0)]
KINDS = pytest.mark.parametrize("kind", [OnlineCurves, OnlineCells])
EDGES = [0.0, -0.0, 1.0, np.nextafter(1.0, 2.0), -1.0, 5e-324, -5e-324, 1.7976931348623157e308, -1.7976931348623157e308]
VALUES = st.one_of(st.sampled_from([*EDGES, np.nan]), st.floats(allow_infinity=False))
TABLES = arrays.arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 4)), elements=VALUES)


def small(kind, **options):
    if kind is OnlineCells:
        options = {"n_trees": 8, "depth": 3, "random_state": 0, **options}
    return kind(**options)


def bits(rows):
    return rows.shape, rows.data.tobytes(), rows.indices.tobytes(), rows.indptr.tobytes()


def rows_with_gaps(rng, n=80):
    X = np.round(rng.normal(size=(n, 4)), 1)
    X[rng.uniform(size=X.shape) < 0.1] = np.nan
    return X


@pytest.mark.filterwarnings("ignore:columns='auto'")
@parametrize_with_checks(SMALL)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@KINDS
def test_row_t_is_transformed_by_the_rows_up_to_it(kind, rng):
    X = rows_with_gaps(rng)
    out = small(kind, first_rows=20).learn_transform(X)
    for t in (0, 5, 18, 19, 20, 79):
        after = small(kind, first_rows=20).partial_fit(X[: t + 1])
        assert bits(out[[t]]) == bits(after.transform(X[[t]]))
    assert out[:19, 4:].nnz == 0
    assert (np.diff(out[19:, 4:].indptr) > 0).all()


@KINDS
@pytest.mark.parametrize("cut", [1, 7, 19, 20, 33])
def test_cuts_and_pickles_change_no_bit(kind, cut, rng):
    X = rows_with_gaps(rng)
    whole, parts, cut_up = small(kind, first_rows=20), [], small(kind, first_rows=20)
    expected = whole.learn_transform(X)
    for start in range(0, len(X), cut):
        parts.append(cut_up.learn_transform(X[start : start + cut]))
        cut_up = pickle.loads(pickle.dumps(cut_up))
    assert bits(sparse.vstack(parts, format="csr")) == bits(expected)
    assert bits(cut_up.transform(X)) == bits(whole.transform(X))


@KINDS
def test_knots_stay_where_they_are(kind, rng):
    X = rng.normal(size=(50, 2))
    transformer = small(kind, first_rows=20).partial_fit(X[:20])
    knots, out = transformer.knots_, transformer.transform(X)
    transformer.partial_fit(100 * X)
    assert all(np.array_equal(a, b) for a, b in zip(knots, transformer.knots_))
    assert bits(transformer.transform(X)) == bits(out)


def test_quantiles_are_values_of_the_first_rows():
    X = np.array([[3.0, np.nan], [1.0, np.nan], [7.0, np.nan], [5.0, np.nan], [9.0, np.nan], [100.0, 1.0]])
    transformer = OnlineCurves(first_rows=5, n_quantiles=3)
    assert transformer.knots_ is transformer.partial_fit(X[:4]).knots_ is None
    first, second = transformer.partial_fit(X[4:]).knots_
    np.testing.assert_array_equal(first, [1.0, 5.0, 9.0])
    assert len(second) == 0


@KINDS
def test_fit_fixes_knots_where_rows_are_few(kind, rng):
    X = rng.normal(size=(9, 2))
    assert small(kind).partial_fit(X).knots_ is None
    fitted = small(kind).fit(X)
    np.testing.assert_array_equal(fitted.knots_[0], np.sort(X[:, 0]))
    assert fitted.transform(X)[:, 2:].nnz > 0
    assert bits(small(kind).fit_transform(X)) == bits(fitted.transform(X))


@KINDS
def test_medians_stand_for_missing_values_beside(kind):
    X = np.array([[np.nan], [4.0], [np.nan], [2.0], [np.nan], [np.nan]])
    out = small(kind, first_rows=5).learn_transform(X)
    np.testing.assert_array_equal(out[:, [0]].toarray().ravel(), [0.0, 4.0, 4.0, 2.0, 2.0, 2.0])
    only = small(kind, columns=[1]).fit(np.column_stack([X, X]))
    np.testing.assert_array_equal(only.transform([[np.nan, np.nan]])[:, :2].toarray(), [[np.nan, 2.0]])


@KINDS
def test_sparse_rows_are_the_dense_ones(kind, rng):
    X = rows_with_gaps(rng) * (rng.uniform(size=(80, 4)) < 0.6)
    dense, from_sparse = (small(kind, columns=[0, 2], first_rows=20) for _ in range(2))
    expected = dense.learn_transform(X)
    unordered = sparse.csr_array(X)[:, [3, 1, 0, 2]][:, [2, 1, 3, 0]].astype(np.float64)
    unordered.indices = unordered.indices.astype(np.int64)
    for rows in (sparse.csr_array(X), sparse.csc_array(X), sparse.csr_matrix(X)):
        out = small(kind, columns=[0, 2], first_rows=20).learn_transform(rows)
        np.testing.assert_array_equal(out.toarray(), expected.toarray())
    out = from_sparse.learn_transform(unordered)
    np.testing.assert_array_equal(out.toarray(), expected.toarray())
    assert out.indices.dtype == out.indptr.dtype == np.int32
    assert out.has_canonical_format


@KINDS
def test_entries_of_one_place_add_up(kind):
    twice = sparse.csr_array((np.array([1.0, 2.0]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    assert small(kind, columns=[0]).fit(twice).transform(twice)[0, 0] == 3.0
    huge = sparse.csr_array((np.array([1e308, 1e308]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
    with pytest.raises(ValueError, match="whose sum is infinite"):
        small(kind, columns=[0]).fit(huge)


@KINDS
def test_sparse_columns_go_through_untouched_unless_they_are_named(kind, rng):
    X = sparse.csr_array(rng.poisson(0.3, size=(40, 5)).astype(float))
    with pytest.warns(UserWarning, match=f"columns='auto' of {kind.__name__} takes no columns of sparse rows"):
        assert bits(small(kind, first_rows=20).learn_transform(X)) == bits(X)
    untouched = small(kind, columns=[]).fit(X)
    assert list(untouched.get_feature_names_out()) == ["x0", "x1", "x2", "x3", "x4"]


@KINDS
def test_columns_that_are_said_to_be_numbers_are_those_of_auto(kind, rng):
    X = sparse.csr_array(rng.poisson(1.0, size=(40, 5)).astype(float))
    told = small(kind, first_rows=20).set_numeric_columns([3, 1]).partial_fit(X[:30])
    told = pickle.loads(pickle.dumps(told)).partial_fit(X[30:])
    named = small(kind, first_rows=20, columns=[1, 3]).partial_fit(X)
    assert bits(told.transform(X)) == bits(named.transform(X))
    assert bits(clone(told).set_numeric_columns([]).fit_transform(X)) == bits(X)
    assert bits(named.set_numeric_columns([0]).transform(X)) == bits(told.transform(X))  # only columns="auto" heeds it
    named.partial_fit(X)
    with pytest.raises(ValueError, match=r"named \[0\], and columns \[1, 3\] had knots when this"):
        told.set_numeric_columns([0]).partial_fit(X)
    with pytest.raises(ValueError, match="set_numeric_columns has 5, which is not a column of X"):
        small(kind).set_numeric_columns([5]).fit(X)


@KINDS
def test_columns_are_places_names_patterns_or_flags(kind, rng):
    X = pd.DataFrame(rng.normal(size=(40, 3)), columns=["age", "size_a", "size_b"])
    expected = bits(small(kind, columns=[1, 2]).fit_transform(X))
    for columns in (["size_b", "size_a"], ["size_*"], [False, True, True], (2, 1, 1)):
        assert bits(small(kind, columns=columns).fit_transform(X)) == expected
    for columns, message in (
        (["weight"], "columns has 'weight', which is not a column of X; the first is 'age'"),
        ([3], "columns has 3, which is not a column of X: positions go from 0 to 2"),
        ([-1], "columns has -1, which is not a column"),
        ([True], "columns has 1 flags; X has 3 columns"),
        ("age", "The 'columns' parameter of .* must be a list of places, of names"),
        ([1, "age"], "The 'columns' parameter of"),
        (7, "The 'columns' parameter of"),
    ):
        with pytest.raises(ValueError, match=message):
            small(kind, columns=columns).fit(X)


@KINDS
def test_names_and_frames(kind, rng):
    X = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"])
    transformer = small(kind).fit(X)
    names = transformer.get_feature_names_out()
    assert len(names) == len(set(names)) == transformer.transform(X).shape[1]
    assert list(names[:2]) == ["a", "b"]
    with pytest.raises(ValueError, match="sparse"):
        transformer.set_output(transform="pandas").transform(X)


@KINDS
def test_parameters_are_checked(kind):
    for name, value in (("first_rows", 0), ("n_quantiles", 1), ("first_rows", 1.5), ("n_quantiles", 2**15 + 1)):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of {kind.__name__} must be an int"):
            kind(**{name: value}).fit([[1.0]])


@KINDS
def test_a_failed_call_leaves_no_trace(kind, rng):
    X = rng.normal(size=(40, 2))
    transformer = small(kind, first_rows=30).partial_fit(X[:20])
    before = pickle.dumps(transformer)
    bad = X.copy()
    bad[15, 1] = np.inf
    for method in ("fit", "partial_fit", "learn_transform"):
        with pytest.raises(ValueError, match="contains infinity in column 'x1'"):
            getattr(transformer, method)(bad)
        assert pickle.dumps(transformer) == before


@KINDS
def test_merging(kind, rng):
    X = rng.normal(size=(60, 2))
    begun = small(kind, first_rows=20).partial_fit(X[:20])
    shards = [pickle.loads(pickle.dumps(begun)).partial_fit(X[a : a + 20]) for a in (20, 40)]
    late = small(kind, first_rows=20).partial_fit(X[:5])
    for models in ([*shards, late], [late, shards[0]]):
        assert bits(merged(models).transform(X)) == bits(begun.transform(X))
    early = [small(kind, first_rows=20).partial_fit(X[a : a + 8]) for a in (0, 8, 16)]
    assert merged(early[:2]).knots_ is None
    of_all = small(kind, first_rows=24).fit(X[:24]).transform(X)  # whatever the order of the models
    assert bits(merged(early).transform(X)) == bits(merged(early[::-1]).transform(X)) == bits(of_all)
    few = small(kind, first_rows=20, n_quantiles=6)
    base = clone(few).partial_fit(X[:4])
    went_on = [pickle.loads(pickle.dumps(base)).partial_fit(X[a : a + 8]) for a in (4, 12)]
    assert bits(merged(went_on, base).transform(X)) == bits(few.partial_fit(X[:20]).transform(X))
    with pytest.raises(ValueError, match="models with other knots cannot be merged"):
        merged([begun, small(kind, first_rows=20).fit(X[20:])])


@KINDS
def test_what_are_no_knots_is_refused(kind, rng):
    """Damaged knots are refused, because compiled loops look up ranks among them without checking array bounds."""
    begun = small(kind, columns=[0, 1], first_rows=20).partial_fit(rng.normal(size=(5, 3)))
    good = small(kind, columns=[0, 1], first_rows=20).partial_fit(rng.normal(size=(30, 3))).__getstate__()
    state, knots, first = good["_state"], good["_state"].knots, begun._state.first
    parts = [
        {"starts": knots.starts[:-1]},
        {"starts": knots.starts.astype(np.int32)},
        *({"starts": knots.starts + np.array(by)} for by in ([1, 0, 0], [0, 0, -1], [0, 0, 1])),
        {"starts": np.array([0, 99, len(knots.values)]), "values": np.arange(1.0 * len(knots.values))},
        *({"values": values} for values in (knots.values[::-1], np.nan * knots.values, knots.values[:, None])),
        *({"middles": middles} for middles in (knots.middles[:1], np.full(2, np.inf))),
    ]
    damaged = [state._replace(knots=knots._replace(**part)) for part in parts]
    damaged += [state._replace(knots=None, made=state.made or 1), begun._state._replace(seed=-1)]
    damaged += [begun._state._replace(first=rows) for rows in (first[:, :1], np.inf * first, first.astype(np.float32))]
    for wrong in damaged:
        with pytest.raises(ValueError, match="damaged"):
            object.__new__(kind).__setstate__({**good, "_state": wrong})


def test_models_of_no_columns_are_merged(rng):
    X = rng.normal(size=(20, 3))
    parts = [OnlineCurves([], first_rows=15).partial_fit(X[i : i + 10]) for i in (0, 10)]
    assert merged(parts).transform(X).shape == (20, 3)


def test_cells_of_other_seeds_are_not_merged():
    with pytest.raises(ValueError, match="give all one random_state"):
        merged([small(OnlineCells, random_state=None).fit([[1.0], [2.0]]) for _ in range(2)])


@KINDS
@pytest.mark.parametrize("power", [np.cbrt, np.exp, np.arctan, lambda x: x**3, lambda x: 1e300 * x])
def test_increasing_maps_of_a_column(kind, power, rng):
    """Cells, and hats at the quantiles, stay the same bit for bit. Other hats change by less than a gap's length."""
    X = rng.normal(size=(400, 3))
    plain, mapped = (small(kind, n_quantiles=50).fit(Z) for Z in (X, power(X)))
    rows, others = plain.transform(X)[:, 3:].toarray(), mapped.transform(power(X))[:, 3:].toarray()
    if kind is OnlineCells:
        np.testing.assert_array_equal(others, rows)
    else:
        assert np.abs(others - rows).max() <= 16 / 49 + 1e-12
        at = np.stack(plain.knots_, axis=1)
        expected = plain.transform(at)[:, 3:].toarray()
        np.testing.assert_array_equal(mapped.transform(power(at))[:, 3:].toarray(), expected)


@pytest.mark.skipif(not is_compiled(), reason="Numba is not what runs")
@KINDS
@given(TABLES, st.integers(1, 30), st.integers(2, 9))
@settings(max_examples=60, deadline=None)
def test_numba_gives_the_bits_of_numpy(kind, X, first_rows, n_quantiles):
    options = {"first_rows": first_rows, "n_quantiles": n_quantiles}
    options |= {} if kind is OnlineCells else {"n_knots": 4}
    out = []
    for kernel in ("numpy", "numba"):
        with sklearn_nag.config_context(kernel=kernel):
            transformer = small(kind, **options)
            out.append((bits(transformer.learn_transform(X)), bits(transformer.fit(X).transform(X[::-1]))))
    assert out[0] == out[1]


@KINDS
@given(TABLES)
@settings(max_examples=50, deadline=None)
def test_any_finite_doubles_are_legal(kind, X):
    transformer = small(kind, first_rows=10)
    out = transformer.learn_transform(X)
    assert np.isfinite(out.data).all()
    assert out.has_canonical_format
    assert out.shape == (len(X), len(transformer.get_feature_names_out()))
    added = out[:, X.shape[1] :].data
    assert ((added > 0) & (added <= 1)).all()
