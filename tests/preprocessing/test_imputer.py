"""Missing values are filled from the rows up to them."""

import copy
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_nag
from sklearn_nag import NAGRegressor
from sklearn_nag.preprocessing import OnlineImputer, make_online_pipeline
from sklearn_nag.preprocessing._base import merged
from sklearn_nag.preprocessing._imputer import Means

from ..checks import run_check
from ..kernels.helpers import KERNELS
from .helpers import of_parameters

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

NAN = np.nan
NUMBERS = st.lists(
    st.tuples(*[st.one_of(st.just(NAN), st.floats(allow_nan=False, allow_infinity=False))] * 2), min_size=1, max_size=12
)


@of_parameters(
    parametrize_with_checks(
        [
            OnlineImputer(),
            OnlineImputer("most_frequent", add_indicator=True),
            OnlineImputer("constant", fill_value=3.0, add_indicator=True),
        ]
    )
)
def test_scikit_learns_checks(estimator, check):
    words = {"check_dtype_object": "the error is there, in other words"}
    run_check(check, estimator, {} if estimator.strategy == "mean" else words)


def exact_means(rows):
    """Return the mean of the known values of each column up to each row, from fractions; 0 if there are none."""
    means = []
    for t in range(len(rows)):
        columns = [[Fraction(row[i]) for row in rows[: t + 1] if row[i] == row[i]] for i in range(2)]
        means.append([float(sum(column) / len(column)) if column else 0.0 for column in columns])
    return np.array(means)


@settings(max_examples=50, deadline=None)
@given(NUMBERS)
def test_means_of_the_rows_so_far(rows):
    X = np.array(rows)
    got = OnlineImputer().learn_transform(X)
    expected = np.where(np.isnan(X), exact_means(rows), X)
    size = np.nan_to_num(np.abs(X)).max(axis=0)
    assert np.isfinite(got).all()
    assert (np.abs(got / 4 - expected / 4) <= 1e-14 * size).all()


CONSTANTS = np.array([0.1, -1e300 / 3, 1.7e308, 1e-310 / 7])


@pytest.mark.parametrize("kernel", KERNELS)
def test_equal_values_have_no_other_mean(kernel):
    """The mean of equal values is exactly that value. Otherwise a scale-free learner would use rounding errors."""
    X = np.tile(CONSTANTS, (400, 1))
    X[5::10] = NAN
    with sklearn_nag.config_context(kernel=kernel):
        parts = [OnlineImputer().partial_fit(rows) for rows in (X[:5], X[5:40], X[40:])]
        at_once, together = OnlineImputer().fit(X), merged([*parts, copy.deepcopy(parts[0])])
        further = merged([copy.deepcopy(at_once).partial_fit(X), copy.deepcopy(at_once)], at_once)
    for imputer in (at_once, together, further):
        np.testing.assert_array_equal(imputer.statistics_, CONSTANTS)
        np.testing.assert_array_equal(imputer.transform(X), np.tile(CONSTANTS, (400, 1)))


def test_merged_means_of_far_values():
    """Merged means are right even if distances between values, or sums of distances, are beyond float64."""
    ends = [-1.7e308, 1.7e308, 1.0, 1.6e308]
    shards = [OnlineImputer().fit(np.array([[one], [other]])) for one in ends for other in ends]
    expected = float(sum(map(Fraction, ends)) / 4)
    for order in (shards, shards[::-1]):
        np.testing.assert_allclose(merged(order).statistics_, [expected], rtol=1e-14)


def test_means_of_merged_models_keep_their_digits_where_one_has_no_value():
    far = [OnlineImputer().fit([[2.0**52 + i, 1.0]]) for i in (0, 1, 1)]
    none = OnlineImputer().fit([[NAN, 1.0]])
    with pytest.warns(UserWarning, match="have seen no value of column"):
        found = merged([*far, none])
    assert found._state.known.origin.tolist() == [2.0**52, 1.0]
    assert found._state.known.total.tolist() == [2.0, 0.0]


def test_a_mean_between_others_is_by_what_each_has_seen_since(rng):
    base = OnlineImputer().fit([[1.0, 3.0], [5.0, 5.0]])
    parts = [np.c_[rng.normal(size=n), np.full(n, NAN)] for n in (3, 9)]
    models = [copy.deepcopy(base).partial_fit(rows) for rows in parts]
    means = Means.between([model._state.known for model in models], base._state.known)
    expected = 0.25 * models[0].statistics_[0] + 0.75 * models[1].statistics_[0]
    np.testing.assert_allclose(means.values(), [expected, 4.0])
    assert means.n_values.tolist() == [14, 2]


@settings(max_examples=50, deadline=None)
@given(NUMBERS, st.integers(0, 12), st.sampled_from(["mean", "most_frequent", "constant"]))
def test_cuts_and_copies_change_no_bit(rows, at, strategy):
    X = np.array(rows)
    whole, cut = OnlineImputer(strategy, add_indicator=True), OnlineImputer(strategy, add_indicator=True)
    expected, parts = whole.learn_transform(X), []
    for part in (X[:at], X[at:]):
        if len(part):
            parts.append(cut.learn_transform(part))
            cut = copy.deepcopy(pickle.loads(pickle.dumps(cut)))
    assert np.vstack(parts).tobytes() == expected.tobytes()
    assert cut.transform(X).tobytes() == whole.transform(X).tobytes()


def test_after_all_rows_as_scikit_learns(rng):
    X = rng.normal(size=(50, 4))
    X[rng.random(X.shape) < 0.3] = NAN
    np.testing.assert_allclose(OnlineImputer().fit_transform(X), SimpleImputer().fit_transform(X), rtol=1e-13)
    X = np.where(np.isnan(X), NAN, np.round(X))
    ours, theirs = (
        OnlineImputer("most_frequent", add_indicator=True).fit(X),
        SimpleImputer(strategy="most_frequent").fit(X),
    )
    for i in range(4):
        _, counts = np.unique(X[~np.isnan(X[:, i]), i], return_counts=True)
        if (counts == counts.max()).sum() == 1:
            assert ours.statistics_[i] == theirs.statistics_[i]
    np.testing.assert_array_equal(ours.transform(X)[:, 4:], np.isnan(X))


def test_the_most_frequent_word_so_far():
    words = ["b", None, "a", "a", None, "b", None, "b", None]
    frame = pd.DataFrame({"word": words, "age": [1, None] * 4 + [1]})
    for table in (frame, pl.DataFrame({"word": words, "age": [1, None] * 4 + [1]}), frame.to_numpy(dtype=object)):
        imputer = OnlineImputer("most_frequent")
        rows = imputer.learn_transform(table)
        assert list(rows[:, 0]) == ["b", "b", "a", "a", "a", "b", "a", "b", "b"]
        assert list(rows[:, 1]) == ["1"] * 9
        assert list(imputer.statistics_) == ["b", "1"]
        assert list(imputer.transform(table)[:, 0][:2]) == ["b", "b"]
    assert OnlineImputer("constant").fit_transform(frame)[1, 0] == "missing_value"
    assert OnlineImputer("constant", fill_value=7).fit_transform(frame)[1, 0] == "7"
    assert OnlineImputer("most_frequent").learn_transform([[None], ["a"]])[0, 0] == "missing_value"


def test_values_beyond_the_limit_are_not_counted(monkeypatch):
    monkeypatch.setattr("sklearn_nag.preprocessing._imputer._MOST_VALUES", 2)
    imputer = OnlineImputer("most_frequent").fit([["a"], ["b"], ["c"], ["c"], ["b"]])
    assert imputer._state.known.counts == ({"a": 1, "b": 2},)
    assert list(imputer.statistics_) == ["b"]


def test_columns_without_values():
    X = [[NAN, 1.0], [NAN, NAN]]
    imputer = OnlineImputer(add_indicator=True)
    np.testing.assert_array_equal(imputer.learn_transform(X), [[0, 1, 1, 0], [0, 1, 1, 1]])
    np.testing.assert_array_equal(imputer.learn_transform([[5.0, NAN], [NAN, NAN]]), [[5, 1, 0, 1], [5, 1, 1, 1]])


def test_names():
    frame = pd.DataFrame({"a": [1.0, NAN], "b": [NAN, 2.0]})
    imputer = OnlineImputer(add_indicator=True).fit(frame)
    names = ["a", "b", "missingindicator_a", "missingindicator_b"]
    assert list(imputer.get_feature_names_out()) == names
    assert list(imputer.set_output(transform="pandas").learn_transform(frame).columns) == names


def test_integers_beyond_the_range_infinity_and_sparse_rows_are_refused():
    with pytest.raises(ValueError, match="infinity in column 'a'"):
        OnlineImputer().fit(pd.DataFrame({"a": [1.0, np.inf]}))
    with pytest.raises(TypeError, match="Sparse data was passed"):
        OnlineImputer().fit(sparse.csr_array(np.eye(2)))
    with pytest.raises(TypeError, match="Sparse data was passed"):
        OnlineImputer("constant").fit(sparse.csr_array(np.eye(2)))
    with pytest.raises(ValueError, match="could not convert string to float: 'old'"):
        OnlineImputer().fit(pd.DataFrame({"a": [1.0, "old"]}, dtype=object))
    with pytest.raises(ValueError, match="fill_value is the word 'x', but the columns hold numbers"):
        OnlineImputer("constant", fill_value="x").fit([[1.0]])


@pytest.mark.parametrize(
    ("imputer", "message"),
    [
        (
            OnlineImputer("median"),
            "'strategy' parameter of OnlineImputer must be one of 'mean', 'most_frequent', 'constant'",
        ),
        (OnlineImputer(fill_value=NAN), "'fill_value' parameter of OnlineImputer must be a finite number"),
        (OnlineImputer(add_indicator=1), "'add_indicator' parameter of OnlineImputer must be True or False"),
    ],
)
def test_wrong_parameters(imputer, message):
    with pytest.raises(ValueError, match=message):
        imputer.fit([[1.0]])


@pytest.mark.parametrize("strategy", ["mean", "most_frequent", "constant"])
def test_merging(rng, strategy):
    X = np.round(rng.normal(size=(40, 3)))
    X[rng.random(X.shape) < 0.3] = NAN
    whole = OnlineImputer(strategy).fit(X)
    both = merged([OnlineImputer(strategy).fit(X[:7]), OnlineImputer(strategy).fit(X[7:])])
    np.testing.assert_allclose(both.statistics_, whole.statistics_, rtol=1e-14)
    if strategy == "most_frequent":
        assert both._state.known.counts == whole._state.known.counts
        words = OnlineImputer(strategy).fit([["a"], [None], ["b"]])
        with pytest.raises(ValueError, match="some of these imputers fill words and others numbers"):
            merged([words, OnlineImputer(strategy).fit([[1.0]])])


def test_the_order_of_merged_models_does_not_matter():
    for a, b in (([3.0], [7.0]), (["b"], ["a"])):
        models = [OnlineImputer("most_frequent").fit([value, value]) for value in (a, b)]
        statistics = [merged(pair).statistics_.tolist() for pair in (models, models[::-1])]
        assert statistics == [[min(a[0], b[0])]] * 2


def test_merging_tells_of_columns_that_some_have_seen_no_value_of():
    models = [OnlineImputer().fit(rows) for rows in ([[1.0, NAN]], [[2.0, 50.0]], [[3.0, 51.0]])]
    with pytest.warns(UserWarning, match="some of the models have seen no value of column 'x1': they have learnt 0"):
        merged(models)
    merged(models[1:])


def test_na_among_objects_is_a_missing_value():
    frame = pd.DataFrame({"a": [1.0, pd.NA, 4.0], "b": [1, 2, 3]})
    expected = [[1.0, 1.0], [1.0, 2.0], [4.0, 3.0]]
    for X in (frame, frame.to_numpy(), frame.to_numpy().tolist()):
        np.testing.assert_array_equal(OnlineImputer().learn_transform(X), expected)
    with pytest.raises(ValueError, match=r"Input X contains NaN in row 1, column 0 \('a'\)"):
        NAGRegressor().partial_fit(frame, [1.0, 2.0, 3.0])


def test_before_a_learner(rng):
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, -2.0, 0.5]
    X[rng.random(X.shape) < 0.1] = NAN
    pipeline = make_online_pipeline(OnlineImputer(add_indicator=True), NAGRegressor()).partial_fit(X, y)
    assert pipeline.score(X, y) > 0.7
    cut = make_online_pipeline(OnlineImputer(add_indicator=True), NAGRegressor())
    for part in np.array_split(np.arange(200), 9):
        cut.partial_fit(X[part], y[part])
    assert cut.predict(X).tobytes() == pipeline.predict(X).tobytes()


def test_a_constant_among_words_is_the_word_that_the_column_has():
    """A constant becomes a word among words; indicators stay the integers 1 and 0."""
    frame = pd.DataFrame({"w": ["a", None, "b"], "n": [1.0, np.nan, 2.0]})
    rows = OnlineImputer("constant", fill_value=1.0, add_indicator=True).fit_transform(frame)
    assert rows.tolist() == [["a", "1", 0, 0], ["1", "1", 1, 1], ["b", "2", 0, 0]]
    assert type(rows[0, 2]) is int


@pytest.mark.parametrize("strategy", ["most_frequent", "constant"])
@pytest.mark.parametrize("values", [["u", "v", "u"], [1.0, 2.0, 1.0]])
@pytest.mark.parametrize("kind", [object, "float64", "str"])
def test_a_first_batch_without_a_value_does_not_tell_what_a_column_holds(kind, values, strategy):
    first = pd.DataFrame({"a": pd.Series([None, None], dtype=kind)})
    later = pd.DataFrame({"a": pd.Series([*values, None], dtype=object)})
    whole, parts = OnlineImputer(strategy), OnlineImputer(strategy)
    expected = whole.learn_transform(later).tolist()
    assert parts.learn_transform(first).shape == (2, 1)
    parts = pickle.loads(pickle.dumps(parts))
    assert parts.statistics_.shape == (1,)
    assert parts.learn_transform(later).tolist() == expected
    assert parts.transform(later).tolist() == whole.transform(later).tolist()
    assert merged([OnlineImputer(strategy).partial_fit(first), whole]).transform(later).tolist() == expected


def test_a_number_fills_columns_without_a_value_as_a_number():
    imputer = OnlineImputer("constant", fill_value=3.0).fit([[NAN]])
    assert imputer.transform([[NAN]]).tolist() == imputer.learn_transform([[NAN]]).tolist() == [[3.0]]
    assert imputer.statistics_.tolist() == [3.0]


def test_words_fill_batches_without_words():
    imputer = OnlineImputer("most_frequent").fit([["a"], ["a"], ["b"]])
    assert imputer.transform([[NAN]]).tolist() == [["a"]]
    assert imputer.transform([[3.0]]).tolist() == [["3"]]
    assert imputer.learn_transform([[3.0], [NAN]]).tolist() == [["3"], ["a"]]


def test_no_more_values_are_counted_of_merged_models(monkeypatch):
    monkeypatch.setattr("sklearn_nag.preprocessing._imputer._MOST_VALUES", 3)
    parts = [OnlineImputer("most_frequent").fit(rows) for rows in ([["a"], ["b"], ["b"]], [["c"], ["d"], ["d"]])]
    assert merged(parts)._state.known.counts == ({"b": 2, "d": 2, "a": 1},)


def test_merged_columns_without_values_are_filled_as_before():
    for row, by in (([1.0, NAN], 0.0), (["x", None], "missing_value")):
        imputers = [OnlineImputer("most_frequent").fit([row]) for _ in range(2)]
        assert sklearn_nag.merge(imputers).statistics_.tolist() == [row[0], by]


def test_a_word_fills_what_may_turn_out_to_be_words():
    imputer = OnlineImputer("constant", fill_value="none")
    first, later = (pd.DataFrame({"a": pd.Series(values, dtype=object)}) for values in ([None], ["u", None]))
    assert imputer.learn_transform(first).tolist() == [["none"]]
    assert imputer.statistics_.tolist() == ["none"]
    assert imputer.learn_transform(later).tolist() == [["u"], ["none"]]
    with pytest.raises(ValueError, match="fill_value is the word 'none', but the columns hold numbers"):
        OnlineImputer("constant", fill_value="none").partial_fit(first).partial_fit(first.assign(a=1.0))


@pytest.mark.parametrize("strategy", ["mean", "most_frequent"])
def test_sparse_columns_of_pandas_whatever_they_leave_out(strategy):
    columns = {"a": [1.0, 1.0, np.nan], "b": [0.0, 2.0, 1.0]}
    expected = OnlineImputer(strategy).fit_transform(pd.DataFrame(columns))
    for fills in ((np.nan, np.nan), (np.nan, 0.0), (0.0, 0.0), (1.0, 2.0)):
        sparse_columns = {n: pd.arrays.SparseArray(v, fill_value=f) for (n, v), f in zip(columns.items(), fills)}
        np.testing.assert_array_equal(OnlineImputer(strategy).fit_transform(pd.DataFrame(sparse_columns)), expected)
