"""Products of columns, compared with loops in plain Python and with scikit-learn's polynomials."""

import itertools
import pickle
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_nag
from sklearn_nag.kernels._backend import is_compiled
from sklearn_nag.preprocessing import Interactions
from sklearn_nag.preprocessing._base import merged
from sklearn_nag.preprocessing._interactions import MOST, Run

from .helpers import of_parameters

pd = pytest.importorskip("pandas")

KERNELS = pytest.mark.parametrize("kernel", ["numpy", "auto"])
BETWEEN = [
    "all",
    [(0, 1)],
    [([0, 3], [1, 4])],
    [([0, 3], [1, 4], [2])],
    [([0, 2, 3], [0, 2, 3])],
    [([0, 2, 3], [0, 2, 3], [1, 4])],
    [([1, 4], [0, 2, 3], [0, 2, 3])],
    [([0, 2, 3], [1, 4], [0, 2, 3])],
    [([0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3])],
    [(0, 4), ([1, 2], 3), ([0, 1, 2], [0, 1, 2])],
]


def factors(between, degree, interaction_only, n_columns=5):
    """Return the columns of each product, in order, from nested loops."""
    ways = combinations if interaction_only else combinations_with_replacement
    if between == "all":
        return [found for times in range(2, degree + 1) for found in ways(range(n_columns), times)]
    found = []
    for term in between:
        groups = [tuple(group) if isinstance(group, list) else (group,) for group in term]
        different = list(dict.fromkeys(groups))
        found += [sum(parts, ()) for parts in product(*(ways(group, groups.count(group)) for group in different))]
    return found


def hashed(number, n_columns):
    """Return the column of a product: the final steps of MurmurHash3, and the high part scaled to `n_columns`."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        number = (number ^ number >> 33) * factor % 2**64
    return (number >> 32) * n_columns >> 32


def sparse_rows(rng, shape=(30, 5)):
    return rng.normal(size=shape) * (rng.uniform(size=shape) < 0.6)


def bits(rows):
    return rows.shape, rows.data.tobytes(), rows.indices.tobytes(), rows.indptr.tobytes()


@of_parameters(parametrize_with_checks([Interactions(), Interactions(degree=3, max_columns=4)]))
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@KERNELS
@pytest.mark.parametrize("between", BETWEEN, ids=str)
def test_products_are_those_of_nested_loops(between, kernel, rng):
    X = sparse_rows(rng)
    for degree, interaction_only in itertools.product([2, 3], [True, False]):
        expected, case = factors(between, degree, interaction_only), f"{degree=}, {interaction_only=}"
        crosses = Interactions(between, degree=degree, interaction_only=interaction_only)
        with sklearn_nag.config_context(kernel=kernel):
            dense, out = crosses.fit_transform(X), crosses.fit_transform(sparse.csr_array(X))
        values = np.stack([X[:, list(columns)].prod(axis=1) for columns in expected], axis=1)
        np.testing.assert_allclose(dense, np.hstack([X, values]), rtol=1e-15, err_msg=case)
        np.testing.assert_array_equal(out.toarray(), dense, err_msg=case)
        assert out.has_canonical_format, case
        assert out.nnz == np.count_nonzero(dense), case
        assert out.indices.dtype == np.int32, case
        powers = [{j: columns.count(j) for j in columns} for columns in expected]
        names = [" ".join(f"x{j}" if n == 1 else f"x{j}^{n}" for j, n in of.items()) for of in powers]
        assert list(crosses.get_feature_names_out()[5:]) == names, case


@KERNELS
@pytest.mark.parametrize("between", [b for b in BETWEEN if len(factors(b, 3, False)) > 1], ids=str)
def test_hashed_products_are_added_up_where_they_meet(between, kernel, rng):
    X = sparse_rows(rng)
    found = factors(between, 3, False)
    for n_columns in (n for n in (1, 3, 9) if n < len(found)):  # products are hashed only if they outnumber columns
        expected = np.zeros((30, n_columns))
        for number, columns in enumerate(found):
            expected[:, hashed(number, n_columns)] += X[:, list(columns)].prod(axis=1)
        crosses = Interactions(between, degree=3, interaction_only=False, max_columns=n_columns)
        with sklearn_nag.config_context(kernel=kernel):
            out = crosses.fit_transform(sparse.csr_array(X))
            from_dense = crosses.fit_transform(X)
        case = f"{n_columns=}"
        np.testing.assert_allclose(out[:, 5:].toarray(), expected, rtol=1e-13, atol=1e-14, err_msg=case)
        assert out.has_canonical_format, case
        assert bits(out) == bits(from_dense), case
        assert list(crosses.get_feature_names_out()[5:]) == [f"product{i}" for i in range(n_columns)]


def test_the_hash_spreads_products():
    X = sparse.csr_array(np.ones((1, 300)))
    counts = Interactions(max_columns=4096).fit_transform(X)[:, 300:].toarray()
    expected = 300 * 299 / 2 / 4096
    assert counts.sum() == 300 * 299 / 2
    assert (counts - expected).var() < 1.2 * expected  # as for balls in bins
    assert counts.max() < 4 * expected


def test_pairs_are_those_of_scikit_learn(rng):
    X = rng.normal(size=(10, 6))
    for degree in (2, 3):
        for interaction_only in (True, False):
            theirs = PolynomialFeatures(degree, interaction_only=interaction_only, include_bias=False).fit(X)
            ours = Interactions(degree=degree, interaction_only=interaction_only).fit(X)
            np.testing.assert_allclose(ours.transform(X), theirs.transform(X), rtol=1e-14)
            assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())


VALUES = st.one_of(
    st.sampled_from([0.0, -0.0, 1e308, -1e308, 5e-324, -1e-200]), st.floats(allow_nan=False, allow_infinity=False)
)
TABLES = arrays.arrays(np.float64, st.tuples(st.integers(1, 6), st.just(5)), elements=VALUES)


@pytest.mark.skipif(not is_compiled(), reason="Numba is not what runs")
@given(TABLES, st.sampled_from(BETWEEN), st.integers(1, 60), st.booleans())
@settings(max_examples=60, deadline=None)
def test_numba_gives_the_bits_of_numpy_for_any_finite_doubles(X, between, max_columns, interaction_only):
    out = []
    for kernel in ("numpy", "numba"):
        with sklearn_nag.config_context(kernel=kernel):
            crosses = Interactions(between, degree=3, interaction_only=interaction_only, max_columns=max_columns)
            rows = crosses.fit_transform(sparse.csr_array(X))
            dense = crosses.transform(X)
            dense = dense.toarray() if sparse.issparse(dense) else dense
            out.append((bits(rows), dense.tobytes()))
    assert out[0] == out[1]
    assert np.isfinite(rows.data).all()
    np.testing.assert_array_equal(dense, rows.toarray())


def test_names_and_patterns(rng):
    X = pd.DataFrame(rng.normal(size=(3, 4)), columns=["age", "user_a", "user_b", "item"])
    crosses = Interactions([("user_*", "item")]).set_output(transform="pandas").fit(X)
    out = crosses.transform(X)
    assert list(out.columns) == ["age", "user_a", "user_b", "item", "user_a item", "user_b item"]
    np.testing.assert_array_equal(out["user_b item"], X["user_b"] * X["item"])


def test_unclear_terms_are_refused():
    X = np.ones((2, 3))
    for between, message in (
        ("pairs", "The 'between' parameter of Interactions must be 'all' or a list of tuples of groups"),
        ([(0,)], "must be 'all' or a list of tuples of two or three groups. Got \\(0,\\)"),
        ([[0, 1]], "tuples of two or three groups"),
        ([(0, 1.5)], "The 'between' parameter of Interactions must be a list of places"),
        ([(0, 3)], "between has 3, which is not a column of X: positions go from 0 to 2"),
        ([(0, "y")], "between has 'y', which is not a column of X"),
        ([([0, 1], [1, 2])], "two different groups with the column 'x1'"),
        ([(1, 1)], "a term without products: 'x1' alone is multiplied with itself"),
    ):
        with pytest.raises(ValueError, match=message):
            Interactions(between).fit(X)
    with pytest.raises(
        ValueError, match="The 'degree' parameter of Interactions must be an int in the range \\[2, 3\\]"
    ):
        Interactions(degree=4).fit(X)
    with pytest.raises(ValueError, match="more than can be numbered"):
        Interactions(degree=3).fit(sparse.csr_array((1, 2**22)))


def test_missing_values_are_refused_by_row_and_column():
    X = pd.DataFrame({"a": [1.0, 2.0], "b": [1.0, np.nan]})
    with pytest.raises(ValueError, match=r"Input X contains NaN in row 1, column 1 \('b'\)"):
        Interactions().fit(X)
    with pytest.raises(ValueError, match="Input X contains infinity in column 'b'; numbers must be finite\\.$"):
        Interactions().fit(X.replace(np.nan, np.inf))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("times", [1, 2, 3])
@pytest.mark.parametrize("n", [1, 2, 3, 9])
def test_products_are_numbered_in_the_order_of_their_columns(n, times, strict):
    run = Run(np.arange(n), times, strict)
    parts = run.parts()
    numbers = [sum(int(part[column]) for part, column in zip(parts, columns)) for columns in run.ways()]
    assert numbers == list(range(run.size()))


def test_the_last_products_that_have_numbers():
    n = 3_024_617
    run = Run(np.arange(n), 3, True)
    assert run.size() < MOST <= Run(np.arange(n + 1), 3, True).size()
    assert sum(int(part[place]) for part, place in zip(run.parts(), (n - 3, n - 2, n - 1))) == run.size() - 1


def test_it_learns_nothing(rng):
    X = rng.normal(size=(6, 3))
    crosses = Interactions().fit(X)
    before = pickle.dumps(crosses)
    np.testing.assert_array_equal(crosses.learn_transform(100 * X), crosses.transform(100 * X))
    assert pickle.dumps(crosses) == before
    np.testing.assert_array_equal(merged([crosses, Interactions().fit(X)]).transform(X), crosses.transform(X))


def test_a_group_of_no_columns_is_refused():
    with pytest.raises(ValueError, match="a group of no columns"):
        Interactions([([], "a")]).fit(pd.DataFrame({"a": [1.0, 2.0], "b": [2.0, 3.0]}))


@KERNELS
def test_products_of_three_stay_in_the_range_on_the_way(kernel, rng):
    largest, least = np.finfo(np.float64).max, np.finfo(np.float64).tiny
    X = np.ldexp(rng.uniform(0.5, 1.0, (2000, 3)), rng.integers(-1021, 1025, (2000, 3))) * rng.choice(
        [-1, 1], (2000, 3)
    )
    X = np.vstack(
        [X, [[1e200, 1e200, 1e-200], [1e-200, 1e-200, 1e200], [largest, largest, least], [0, largest, largest]]]
    )
    exact = [Fraction(x) * Fraction(y) * Fraction(z) for x, y, z in X.tolist()]
    expected = [float(min(max(value, Fraction(-largest)), Fraction(largest))) for value in exact]
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        for rows in (X[:, order], sparse.csr_array(X[:, order])):
            with sklearn_nag.config_context(kernel=kernel):
                out = Interactions([(0, 1, 2)]).fit_transform(rows)
            found = (out.toarray() if sparse.issparse(out) else out)[:, 3]
            np.testing.assert_allclose(found, expected, rtol=4e-16, atol=1e-323)
