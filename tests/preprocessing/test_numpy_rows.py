"""The compiled loops over rows give the same bits as their twins in NumPy."""

import datetime

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag.kernels._backend import is_compiled
from sklearn_nag.preprocessing import _numpy_rows
from sklearn_nag.preprocessing._cells import grow, lengths
from sklearn_nag.preprocessing._knots import Knots
from sklearn_nag.preprocessing._numpy_rows import DAY, DAY_OF_MONTH, HOUR, HOUR_OF_DAY, MONTH, WEEKDAY

PARTS, WIDTHS = np.arange(5), np.array([1, 12, 31, 7, 24])


@pytest.fixture(params=["numpy", "numba"])
def rows(request):
    """The module with the loops of a kernel."""
    if request.param == "numpy":
        return _numpy_rows
    if not is_compiled():
        pytest.skip("Numba is not installed")
    from sklearn_nag.preprocessing import _numba_rows

    return _numba_rows


def assert_same(found, expected):
    assert len(found) == len(expected)
    for own, other in zip(found, expected):
        assert own.dtype == other.dtype
        assert own.shape == other.shape
        assert own.tobytes() == other.tobytes()


def block(rng, n_rows, n_columns, form):
    """Return rows with zeros and NaN: dense, in an order or a dtype, or CSR with spare room at the end of arrays."""
    X = np.where(rng.random((n_rows, n_columns)) < 0.4, 0.0, rng.normal(size=(n_rows, n_columns)))
    X[rng.random(X.shape) < 0.1] = np.nan
    if form == "integers":
        return np.nan_to_num(10.0 * X).astype(np.int64)
    if form in ("C", "F"):
        return np.asarray(X, order=form)
    rows = sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(form), rows.indptr.astype(form)
    rows.data, rows.indices = np.append(rows.data, 7.0), np.append(rows.indices, rows.indices[:1])
    return rows


@pytest.mark.parametrize("n_rows", [1, 5, 700])
def test_blocks_are_joined(rows, n_rows, rng):
    forms = ["C", "integers", np.int32, "F", np.int64, np.int32]
    blocks = [block(rng, n_rows, n, form) for n, form in zip([3, 1, 4, 2, 5, 1], forms)]
    found = rows.joined(blocks)
    assert_same(found, _numpy_rows.joined(blocks))
    assert found[1].dtype == found[2].dtype == np.int32
    dense = [part.toarray() if sparse.issparse(part) else part for part in blocks]
    joined = sparse.csr_array(found, shape=(n_rows, 16))
    np.testing.assert_array_equal(joined.toarray(), np.hstack(dense))
    assert joined.has_canonical_format


@pytest.mark.parametrize(("n_rows", "n_early"), [(1, 0), (1, 1), (5, 2), (200, 0), (200, 150)])
@pytest.mark.parametrize("form", ["C", "F", np.int32, np.int64])
def test_hats_and_cells_come_beside_rows(rows, form, n_rows, n_early, rng):
    X = rng.normal(size=(300, 3))
    X[:, 2] = X[:, 2] > 0  # too few values for hats
    knots = Knots.of(X, 20)
    trees = grow(np.diff(knots.starts), lengths(X, knots), 4, 3, np.random.RandomState(0))
    left, some = block(rng, n_rows, 4, form), X[n_early:n_rows].copy()
    some[rng.random(some.shape) < 0.2] = np.nan
    data, indices, indptr = _numpy_rows.hats(some, knots, 5)
    hats = sparse.csr_array((data, indices, np.append(np.zeros(n_early, np.int32), indptr)), shape=(n_rows, 18))
    assert_same(rows.hats_beside(left, some, knots, 5), _numpy_rows.joined([left, hats]))
    places = _numpy_rows.cells(some, knots, trees, 15)
    ends = np.maximum(np.arange(n_rows + 1) - n_early, 0) * 4
    cells = sparse.csr_array((np.ones(places.size), places.ravel(), ends), shape=(n_rows, 60))
    assert_same(rows.cells_beside(left, some, knots, trees, 15), _numpy_rows.joined([left, cells]))


def test_columns_from_two_to_the_31_on(rows):
    last = np.int32(2**31 - 2)
    wide = sparse.csr_array((np.ones(2), np.full(2, last), np.arange(3, dtype=np.int32)), (2, 2**31 - 1))
    _, columns, _ = rows.joined([wide, np.eye(2)])
    assert columns.tolist() == [last, 2**31 - 1, last, 2**31]


def test_zeros_that_a_sparse_block_holds_stay(rows):
    holds = sparse.csr_array((np.array([0.0, 2.0]), np.array([1, 0]), np.array([0, 1, 2])), shape=(2, 2))
    data, indices, indptr = rows.joined([np.array([[0.0], [1.0]]), holds])
    assert (data.tolist(), indices.tolist(), indptr.tolist()) == ([0.0, 1.0, 2.0], [2, 0, 1], [0, 1, 3])


def test_objects_become_numbers(rows):
    objects = np.array([[1, "2"], [0.0, "0"]], dtype=object)
    data, indices, indptr = rows.joined([objects, sparse.csr_array(np.eye(2))])
    assert (data.tolist(), indices.tolist(), indptr.tolist()) == ([1.0, 2.0, 1.0, 1.0], [0, 1, 2, 3], [0, 3, 4])


@pytest.mark.parametrize("marked", [False, True])
def test_means_fill_gaps(rows, marked, rng):
    X = rng.normal(size=(700, 5)) * 10.0 ** rng.integers(-300, 300, (700, 5))
    X[:, 1] = np.abs(X[:, 1])
    X[rng.random(X.shape) < 0.05] = np.finfo(float).max
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 4] = np.nan
    known = np.zeros(5, np.int64), *np.zeros((3, 5))
    found = rows.filled_by_means(X, *known, marked)
    assert_same(found, _numpy_rows.filled_by_means(X, *known, marked))
    assert not any(part.any() for part in known)
    filled = found[0][:, :5]
    assert np.isfinite(filled).all()
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])
    assert not filled[:, 4].any()
    if marked:
        np.testing.assert_array_equal(found[0][:, 5:], np.isnan(X))
    first = rows.filled_by_means(X[:300], *known, marked)
    second = rows.filled_by_means(X[300:], *first[1:], marked)
    assert_same([np.vstack([first[0], second[0]]), *second[1:]], found)


def test_parts_of_all_dates_there_are(rows, rng):
    times = rng.integers(-(2**63), 2**63 - 1, (700, 2))
    times[:2] = [[-(2**63), 2**63 - 1], [1 - 2**63, -1]]  # the smallest integer is a missing date
    assert_same(rows.parts_of_dates(times, PARTS, WIDTHS), _numpy_rows.parts_of_dates(times, PARTS, WIDTHS))
    parts = np.array([HOUR_OF_DAY, DAY_OF_MONTH])
    for order in "CF":
        found = rows.parts_of_dates(np.asarray(times, order=order), parts, WIDTHS[parts])
        assert_same(found, _numpy_rows.parts_of_dates(times, parts, WIDTHS[parts]))


def test_parts_of_dates_are_those_of_the_calendar(rows):
    days = np.arange(-719_162, 2_932_896, 137)  # from the year 1 to 9999
    days = np.concatenate([days, [0, 59, 60, 11_015, 11_016, 11_017]])  # ends of February, one in a leap year
    columns, values = rows.parts_of_dates((days * DAY + 5 * HOUR)[:, None], PARTS, WIDTHS)
    dates = [datetime.date(1970, 1, 1) + datetime.timedelta(days=int(day)) for day in days]
    np.testing.assert_array_equal(values[:, 0], days + 5 / 24)
    starts = np.cumsum(WIDTHS) - WIDTHS
    found = columns - starts
    assert found[:, MONTH].tolist() == [date.month - 1 for date in dates]
    assert found[:, DAY_OF_MONTH].tolist() == [date.day - 1 for date in dates]
    assert found[:, WEEKDAY].tolist() == [date.weekday() for date in dates]
    assert (found[:, HOUR_OF_DAY] == 5).all()
