"""Transformers of selected columns, and later tables with other columns."""

import copy
import datetime
import functools
import pickle
import re
import threading
import warnings

import numpy as np
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import AdaBoostRegressor, BaggingRegressor
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import sklearn_nag
from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.preprocessing import (
    DateEncoder,
    HashingEncoder,
    NumberReader,
    OnlineColumnTransformer,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlineOrdinalEncoder,
    OnlineTfidf,
    make_online_pipeline,
    prepare,
)
from sklearn_nag.preprocessing._column_transformer import stacked

from ..checks import run_check
from ..kernels.helpers import KERNELS
from .helpers import Centred, of_parameters

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")


class Kept(FunctionTransformer):
    """A transformer that remembers the rows it was given."""

    def transform(self, X):
        if len(X) > 1:
            type(self).given = X
        return np.zeros((len(X), 1))


@pytest.fixture
def frame(rng):
    n = 30
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n),
            "town": rng.choice(["Rome", "Oslo"], n),
            "price": rng.normal(size=n),
            "note": rng.choice(["good one", "bad one"], n),
        }
    )


def numbers():
    return [("age", Centred(), ["age"]), ("both", Centred(2.0), ["price", "age"])]


@of_parameters(
    parametrize_with_checks(
        [
            OnlineColumnTransformer([("first", Centred(), [0])], remainder=Centred()),
            OnlineColumnTransformer([("first", Centred(), slice(0, 1))]),
        ]
    )
)
def test_scikit_learns_checks(estimator, check):
    expected = {"check_dtype_object": "the error is there, in other words"}
    if estimator.remainder == "drop":
        expected["check_estimators_nan_inf"] = "columns left out may hold NaN"
    run_check(check, estimator, expected)


def test_as_scikit_learns(frame):
    columns = [("n", StandardScaler(), ["price", "age"]), ("w", OneHotEncoder(sparse_output=False), ["town"])]
    ours = OnlineColumnTransformer([*columns, ("out", "drop", ["note"])]).fit(frame)
    theirs = ColumnTransformer(columns).fit(frame)
    np.testing.assert_allclose(ours.transform(frame), theirs.transform(frame), rtol=1e-13)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    assert ours.named_transformers_.n.n_samples_seen_ == len(frame)
    by_kind = OnlineColumnTransformer([("n", StandardScaler(), make_column_selector(dtype_include="number"))])
    expected = StandardScaler().fit_transform(frame[["age", "price"]])
    np.testing.assert_allclose(by_kind.fit_transform(frame), expected, rtol=1e-13)


def test_each_group_learns_row_by_row(frame):
    whole = OnlineColumnTransformer(numbers())
    expected = whole.learn_transform(frame)
    assert expected[:, 0].tobytes() == Centred().learn_transform(frame[["age"]].to_numpy(float))[:, 0].tobytes()
    cut = OnlineColumnTransformer(numbers())
    parts = []
    for start, stop in ((0, 1), (1, 8), (8, 30)):
        parts.append(cut.learn_transform(frame[start:stop]))
        cut = copy.deepcopy(pickle.loads(pickle.dumps(cut)))
    assert np.vstack(parts).tobytes() == expected.tobytes()
    assert cut.transform(frame).tobytes() == whole.transform(frame).tobytes()


@pytest.mark.parametrize("make", [pl.from_pandas, lambda frame: pl.from_pandas(frame).to_arrow(), lambda frame: frame])
def test_tables_of_all_libraries(frame, make):
    pytest.importorskip("pyarrow", exc_type=ImportError)
    transformers = [*numbers(), ("text", HashingVectorizer(n_features=16), "note")]
    ours = OnlineColumnTransformer(transformers)
    got = ours.learn_transform(make(frame))
    assert isinstance(got, sparse.csr_array)
    expected = OnlineColumnTransformer(transformers).learn_transform(frame)
    np.testing.assert_array_equal(got.toarray(), expected.toarray())
    np.testing.assert_array_equal(
        got[:, 3:].toarray(), HashingVectorizer(n_features=16).transform(frame["note"]).toarray()
    )


def test_what_transformers_are_given(frame):
    def given(*columns, single=False):
        OnlineColumnTransformer([("kept", Kept(), columns[0] if single else list(columns))]).learn_transform(frame)
        return Kept.given

    frame.loc[3, "town"] = None
    frame["day"] = pd.Timestamp("2024-02-29", tz="Asia/Tokyo")
    assert given("age", "price").dtype == np.float64
    assert given("town").dtype == object
    assert given("town")[3, 0] is None
    assert given("day").dtype == "datetime64[us]"
    assert given("day")[0, 0] == np.datetime64("2024-02-29")
    assert given("age", "town").dtype == object
    assert given("note", single=True).shape == (30,)


# -- columns other than those of the first table


def test_the_order_of_columns_does_not_matter(frame):
    columns = OnlineColumnTransformer(numbers()).fit(frame)
    turned = frame[["note", "price", "age", "town"]]
    assert columns.transform(turned).tobytes() == columns.transform(frame).tobytes()
    one, other = clone(columns).partial_fit(frame), clone(columns).partial_fit(frame)
    assert one.learn_transform(frame).tobytes() == other.learn_transform(turned).tobytes()
    pipeline = make_online_pipeline(clone(columns), NAGClassifier()).partial_fit(
        frame, frame["age"] > 40, classes=[0, 1]
    )
    assert pipeline.decision_function(turned).tobytes() == pipeline.decision_function(frame).tobytes()


def other_columns(frame):
    return {
        "X has no column 'price'": frame.drop(columns="price"),
        "X has the column 'new', which the first table did not have": frame.assign(new=1),
        "column 'age' holds words in this table, and held numbers": frame.assign(age=["40", "young"] * 15),
        "column 'age' holds dates in this table, and held numbers": frame.assign(age=pd.Timestamp("2024-01-01")),
    }


@pytest.mark.parametrize("problem", range(4))
@pytest.mark.parametrize("method", ["transform", "partial_fit", "learn_transform"])
def test_other_columns_are_refused(frame, problem, method):
    message, other = list(other_columns(frame).items())[problem]
    columns = OnlineColumnTransformer(numbers()).fit(frame)
    before = columns.transform(frame).tobytes()
    with pytest.raises(ValueError, match=message):
        getattr(columns, method)(other)
    assert columns.transform(frame).tobytes() == before


def test_an_error_on_other_columns_says_where_to_allow_them(frame):
    model, rows = prepare(frame, NAGRegressor()).fit(frame, np.arange(len(frame))), frame.drop(columns="price")
    for fitted, method in ((model, "predict"), (model[0], "transform")):
        with pytest.raises(ValueError, match="'price'.*only be a warning") as error:
            getattr(fitted, method)(rows)
        (of_transformer, name), (of_pipeline, made_by) = re.findall(
            r"set_params\((\w+)='fill'\) of (a pipeline made by prepare|\w+)", str(error.value)
        )
        assert (name, made_by) == (type(model[0]).__name__, "a pipeline made by prepare")
        chosen = of_pipeline if fitted is model else of_transformer
        with pytest.warns(UserWarning, match="'price'"):
            getattr(copy.deepcopy(fitted).set_params(**{chosen: "fill"}), method)(rows)


@pytest.mark.parametrize("problem", range(4))
def test_other_columns_are_filled_with_a_warning(frame, problem):
    message, other = list(other_columns(frame).items())[problem]
    columns = OnlineColumnTransformer([("same", "passthrough", ["age", "price"])], mismatch="fill").fit(frame)
    with pytest.warns(UserWarning, match=message):
        got = columns.transform(other)
    expected = frame[["age", "price"]].to_numpy(float, copy=True)
    if problem == 0:
        expected[:, 1] = np.nan
    elif problem == 2:
        expected[:, 0] = [40.0, np.nan] * 15
    elif problem == 3:
        expected[:, 0] = np.nan
    np.testing.assert_array_equal(got, expected)


def test_columns_that_nobody_takes_may_come_and_go(frame):
    columns = OnlineColumnTransformer([*numbers(), ("out", "drop", ["note"])]).fit(frame)
    assert columns.transform(frame.drop(columns=["note", "town"])).tobytes() == columns.transform(frame).tobytes()
    columns.transform(frame.assign(note=1, town=pd.Timestamp(0)))


def test_a_column_without_values_may_turn_out_to_hold_anything(frame):
    columns = OnlineColumnTransformer([("same", "passthrough", ["age", "town"])])
    empty = frame.assign(town=None, age=None)
    columns.partial_fit(empty).partial_fit(frame).partial_fit(empty)
    with pytest.raises(ValueError, match="column 'town' holds numbers in this table, and held words"):
        columns.transform(frame.assign(town=1))
    got = columns.transform(empty)
    assert got.dtype == object
    assert got[0, 1] is None
    assert np.isnan(got[0, 0])


def test_two_columns_of_one_name(frame):
    twice = pd.concat([frame, frame[["price"]]], axis=1)
    with pytest.raises(ValueError, match="X has 2 columns 'price'; names must differ"):
        OnlineColumnTransformer(numbers()).fit(twice)
    columns = OnlineColumnTransformer(numbers()).fit(frame)
    with pytest.raises(ValueError, match="X has 2 columns 'price'; names must differ"):
        columns.transform(twice)
    OnlineColumnTransformer([("town", "passthrough", ["town"])]).fit(twice)


def test_arrays_are_taken_by_place(frame, rng):
    X = rng.normal(size=(9, 3))
    columns = OnlineColumnTransformer([("a", Centred(), [2, 0]), ("b", "passthrough", slice(1, 2))])
    got = columns.learn_transform(X)
    np.testing.assert_array_equal(got, np.column_stack([Centred().learn_transform(X[:, [2, 0]]), X[:, 1]]))
    masked = OnlineColumnTransformer([("a", Centred(), [True, False, True])]).learn_transform(X)
    np.testing.assert_array_equal(masked, Centred().learn_transform(X[:, [0, 2]]))
    with pytest.raises(ValueError, match="X has 2 features, but OnlineColumnTransformer is expecting 3"):
        columns.transform(X[:, :2])
    named = OnlineColumnTransformer(numbers()).fit(frame[["age", "price"]])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        named.transform(X[:, :2])
    same = OnlineColumnTransformer([("a", "passthrough", [0, 2])]).learn_transform(sparse.csr_array(X))
    np.testing.assert_array_equal(same.toarray(), X[:, [0, 2]])


# -- failures, and parameters


class Failing(Centred):
    def learn_transform(self, X, y=None):
        raise RuntimeError("no")

    partial_fit = fit = learn_transform


@pytest.mark.parametrize("method", ["fit", "partial_fit", "learn_transform"])
def test_a_call_that_fails_leaves_no_transformer_changed(frame, method):
    nested = make_online_pipeline(Centred(), StandardScaler())
    others = [("scaled", StandardScaler(), ["age"]), ("nested", nested, ["age"])]
    columns = OnlineColumnTransformer([*numbers(), *others]).partial_fit(frame)
    before = columns.transform(frame).tobytes()
    failing = ("failing", Failing(), ["age"])
    columns.set_params(transformers=[*columns.transformers, failing])
    columns._fitted.append(("failing", Failing(), (0,), False))
    with pytest.raises(RuntimeError, match="no") as error:
        getattr(columns, method)(frame)
    assert error.value.__notes__ == ["Raised by 'failing', one of transformers."]
    columns._fitted.pop()
    assert columns.transform(frame).tobytes() == before


class Doubled(Centred):
    def transform(self, X):
        return 2.0 * super().transform(X)


class Named(Centred):
    def learn_transform(self, X):
        self.learns_ = True
        return super().learn_transform(X)


def test_transformers_with_methods_of_their_own_are_called_by_these(frame):
    columns = OnlineColumnTransformer([("doubled", Doubled(), ["age"]), ("named", Named(), ["age"])])
    alone, ages = Centred(), frame[["age"]].to_numpy(dtype=float)
    rows = alone.learn_transform(ages)
    np.testing.assert_array_equal(columns.learn_transform(frame), np.hstack([2.0 * rows, rows]))
    rows = alone.transform(ages)
    np.testing.assert_array_equal(columns.transform(frame), np.hstack([2.0 * rows, rows]))
    assert columns.named_transformers_["named"].learns_


def test_a_transformer_that_needs_all_rows_is_named(frame):
    columns = OnlineColumnTransformer([("words", OneHotEncoder(), ["town"])])
    with pytest.raises(TypeError, match="the step 'words', OneHotEncoder, has to see all rows"):
        columns.partial_fit(frame)
    assert not hasattr(columns, "_state")
    columns.fit(frame).partial_fit(frame)
    frozen = FrozenEstimator(OneHotEncoder().fit(frame[["town"]].to_numpy()))
    OnlineColumnTransformer([("words", frozen, ["town"])]).partial_fit(frame)


def test_parameters_of_transformers(frame):
    columns = OnlineColumnTransformer(numbers()).set_params(both__factor=5.0, mismatch="fill")
    assert columns.get_params()["both__factor"] == 5.0
    assert clone(columns).get_params()["both__factor"] == 5.0
    assert columns.set_params(age="drop").fit(frame).transform(frame).shape == (30, 2)
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        columns.set_params(nothing=1)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (OnlineColumnTransformer([]), "'transformers' parameter of OnlineColumnTransformer must be a list of tuples"),
        (OnlineColumnTransformer([("a", Centred())]), "must be a list of tuples"),
        (OnlineColumnTransformer([("a", 3, ["age"])]), "'drop', 'passthrough' or a transformer for each name"),
        (OnlineColumnTransformer(numbers(), mismatch="no"), "'mismatch' parameter .* one of 'raise', 'fill'"),
        (OnlineColumnTransformer(numbers() * 2), "names in transformers .* got 'age' among"),
        (OnlineColumnTransformer([("a__b", Centred(), ["age"])]), "strings without '__' .* got 'a__b' among"),
        (OnlineColumnTransformer([("a", Centred(), ["size"])]), "X has no column 'size', which 'a' of transformers"),
        (OnlineColumnTransformer([("a", Centred(), [True])]), "a mask of 1 entries; X has 4 columns"),
        (OnlineColumnTransformer([("a", Centred(), ["town"])]), "could not convert string to float"),
    ],
)
def test_wrong_parameters(frame, columns, message):
    with pytest.raises(ValueError, match=message):
        columns.fit(frame)
    assert not hasattr(columns, "_state")


def test_weights_that_are_requested_are_refused(frame):
    """Weights that a transformer requests are refused, because they would otherwise be dropped silently."""
    with sklearn.config_context(enable_metadata_routing=True):
        for asks in (StandardScaler().set_fit_request(sample_weight=True), StandardScaler()):
            model = OnlineColumnTransformer([("scaled", asks, [0])])
            if asks.get_metadata_routing().consumes("fit", ["sample_weight"]):
                with pytest.raises(ValueError, match="'scaled', one of transformers, requests sample_weight"):
                    model.fit(np.ones((3, 1)))
            else:
                model.fit(np.ones((3, 1)))


def test_names(frame):
    columns = OnlineColumnTransformer(numbers(), remainder="passthrough").fit(frame)
    expected = ["age__age", "both__price", "both__age", "remainder__town", "remainder__note"]
    assert list(columns.get_feature_names_out()) == expected
    plain = OnlineColumnTransformer(numbers(), verbose_feature_names_out=False).fit(frame)
    assert list(plain.get_feature_names_out()) == ["age__age", "price", "both__age"]
    table = OnlineColumnTransformer(numbers()).set_output(transform="pandas").learn_transform(frame)
    assert list(table.columns) == expected[:3]
    unnamed = OnlineColumnTransformer([("text", HashingVectorizer(n_features=4), "note")]).fit(frame)
    with pytest.raises(AttributeError, match="'text', HashingVectorizer, has no names"):
        unnamed.get_feature_names_out()


def test_blocks_side_by_side(rng):
    dense = rng.integers(-1, 2, (7, 3)).astype(float)
    one = sparse.random(7, 4, density=0.5, random_state=0, format="csc")
    other = sparse.csr_matrix((7, 2))
    even = sparse.csr_array((np.ones(14), np.resize([0, 2], 14), np.arange(0, 15, 2)), shape=(7, 3))
    for blocks in ([dense, one, other, dense[:, 0]], [one], [other, dense], [dense, dense], [even, dense, even, one]):
        got = stacked(blocks, 7)
        shown = [block.toarray() if sparse.issparse(block) else block.reshape(7, -1) for block in blocks]
        assert sparse.issparse(got) == any(map(sparse.issparse, blocks))
        np.testing.assert_array_equal(got.toarray() if sparse.issparse(got) else got, np.hstack(shown))
        if sparse.issparse(got):
            assert (got.data != 0).all()


def test_infinity_is_refused_by_the_name_of_its_column(frame):
    columns = OnlineColumnTransformer(numbers()).partial_fit(frame)
    with pytest.raises(ValueError, match=r"infinity in column 'age'"):
        columns.partial_fit(frame.assign(age=np.inf))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_infinity_is_taken_as_missing_where_columns_are_filled(frame, make):
    if make is pl.DataFrame:  # polars converts pandas frames with pyarrow
        pytest.importorskip("pyarrow", exc_type=ImportError)
    columns = OnlineColumnTransformer([("same", "passthrough", ["age", "price"])], mismatch="fill")
    columns.partial_fit(frame)
    odd = frame.assign(age=np.inf, price=frame["price"].where(frame.index != 3, -np.inf))
    before = odd.copy()
    with pytest.warns(UserWarning, match="infinity in column 'age', 'price'; it is taken as missing"):
        found = columns.transform(make(odd))
    expected = np.column_stack([np.full(30, np.nan), frame["price"].where(frame.index != 3)])
    np.testing.assert_array_equal(found, expected)
    pd.testing.assert_frame_equal(odd, before)
    with pytest.warns(UserWarning, match="taken as missing"):
        np.testing.assert_array_equal(columns.transform(make(odd.astype({"age": object}))), expected)


def test_empty_batches_are_refused(frame):
    columns = OnlineColumnTransformer(numbers())
    with pytest.raises(ValueError, match="0 sample"):
        columns.partial_fit(frame[:0])
    columns.partial_fit(frame)
    with warnings.catch_warnings(), pytest.raises(ValueError, match="0 sample"):
        columns.transform(frame[:0])


def test_words_that_become_numbers_and_the_other_way_round():
    words, others = pd.DataFrame({"a": ["$1", "2"]}), pd.DataFrame({"a": [3.5, 4.0]})
    bad = pd.DataFrame({"a": ["7", "abc"]})
    for first, second in ((words, others), (others, words)):
        columns = OnlineColumnTransformer([("read", NumberReader(), ["a"])]).fit(first)
        assert columns.transform(second).tolist() == NumberReader().fit_transform(second).tolist()
        with pytest.raises(ValueError, match="column 'a' must hold numbers; it has 'abc'"):
            columns.transform(bad)
    filling = OnlineColumnTransformer([("read", NumberReader(), ["a"])], mismatch="fill").fit(others)
    with pytest.warns(UserWarning, match="holds words in this table"):
        np.testing.assert_array_equal(filling.transform(bad), [[7.0], [np.nan]])
    lenient = OnlineColumnTransformer([("read", NumberReader(errors="missing"), ["a"])], mismatch="fill").fit(others)
    np.testing.assert_array_equal(lenient.transform(bad.replace("7", "$7")), [[7.0], [np.nan]])


@pytest.mark.parametrize("words", [["40", "?", " n/a", "-1.5e3"], ["7"], ["-", None]])
@pytest.mark.parametrize("mismatch", ["raise", "fill"])
@pytest.mark.parametrize("library", [pd, pl])
def test_words_that_are_numbers_or_missing_are_read_where_numbers_were(words, mismatch, library):
    """Words that are numbers or missing are read as in files that Arrow reads, and as in a first frame of them."""
    first, later = library.DataFrame({"a": [1.0, np.nan, 3.0]}), library.DataFrame({"a": words})
    columns = OnlineColumnTransformer([("same", "passthrough", ["a"])], mismatch=mismatch).fit(first)
    expected = [[{"40": 40.0, "-1.5e3": -1500.0, "7": 7.0}.get(word, np.nan)] for word in words]
    np.testing.assert_array_equal(columns.transform(later), expected)
    np.testing.assert_array_equal(columns.partial_fit(later).transform(later), expected)
    assert columns.kinds_ == ("numbers",)
    alike = prepare(library.DataFrame({"a": ["1", "?", "3"]})).fit(later)
    np.testing.assert_array_equal(alike.transform(later)[:, 0] == 40.0, np.ravel(expected) == 40.0)


@pytest.mark.parametrize("word", ["young", "1_000", "$5", "inf", "True", "2024-01-01"])
def test_no_other_word_becomes_a_number(word):
    columns = OnlineColumnTransformer([("same", "passthrough", ["a"])]).fit(pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(ValueError, match=f"holds words in this table.*: '{re.escape(word)}'; with mismatch"):
        columns.transform(pd.DataFrame({"a": ["?", "1", word]}))
    for nominal in (pd.Categorical(["1", "2"]), pd.Categorical([1, 2])):
        with pytest.raises(ValueError, match="holds words in this table"):
            columns.transform(pd.DataFrame({"a": nominal}))


def test_dates_that_come_as_words_are_read():
    frame = pd.DataFrame({"d": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    days = DateEncoder(("days",))
    columns = OnlineColumnTransformer([("days", days, ["d"])]).fit(frame)
    assert columns.transform(frame.astype(str)).tolist() == columns.transform(frame).tolist()
    filling = OnlineColumnTransformer([("days", days, ["d"])], mismatch="fill").fit(frame)
    with pytest.warns(UserWarning, match="holds words"):
        later = filling.transform(pd.DataFrame({"d": ["2024-01-02", "soon"]}))
    np.testing.assert_array_equal(later, [[19724.0], [np.nan]])


ISO = ["2024-05-01", "2024-05-03", "2024-06-01"]
FIRST_DATES = {
    "words": pd.DataFrame({"d": ISO}),
    "objects": pd.DataFrame({"d": pd.Series(ISO, dtype=object)}),
    "categories": pd.DataFrame({"d": pd.Categorical(ISO)}),
    "dates": pd.DataFrame({"d": pd.to_datetime(ISO)}),
    "array": np.array(ISO, dtype=object)[:, None],
}
DIGITS = [20240501, 20240503]
LATER_NUMBERS = {
    "whole": pd.DataFrame({"d": DIGITS}),
    "objects": pd.DataFrame({"d": pd.Series(DIGITS, dtype=object)}),
    "beside words": pd.DataFrame({"d": pd.Series([*DIGITS, "NaN"], dtype=object)}),
    "beside dates": pd.DataFrame({"d": pd.Series([*DIGITS, datetime.date(2024, 6, 1)], dtype=object)}),
    "categories": pd.DataFrame({"d": pd.Categorical(DIGITS)}),
    "array": np.array(DIGITS)[:, None],
    "sparse": sparse.csr_array(np.array(DIGITS)[:, None]),
}


@pytest.mark.parametrize("first", FIRST_DATES.values(), ids=FIRST_DATES)
@pytest.mark.parametrize("later", LATER_NUMBERS.values(), ids=LATER_NUMBERS)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_numbers_in_a_column_of_dates_are_no_days(first, later):
    columns = OnlineColumnTransformer([("days", DateEncoder(("days",), errors="raise"), [0])]).fit(first)
    given = copy.deepcopy(columns)
    for call in (columns.transform, columns.partial_fit):
        with pytest.raises(ValueError, match="column .* holds numbers (in this table|beside words or dates)"):
            call(later)
    assert pickle.dumps(columns) == pickle.dumps(given)
    for filling in (columns, prepare(first, kinds={"d": "dates"} if hasattr(first, "columns") else {0: "dates"})):
        filling = clone(filling).set_params(**{
            name: "fill" for name in filling.get_params() if name.endswith("mismatch")
        }).fit(first)  # fmt: skip
        with pytest.warns(UserWarning, match="holds numbers .*; what cannot be read is taken as missing"):
            found = filling.transform(later)
        found = found.toarray() if sparse.issparse(found) else found
        np.testing.assert_array_equal(found[:2, 0], [19844.0, 19846.0])


@pytest.mark.parametrize("values", [["NaN", 1, "-"], [1.5, "2024-05-01"], ["2024-05-01", 20240503, None, True, np.inf]])
@pytest.mark.parametrize("first", [FIRST_DATES["words"], FIRST_DATES["dates"], None])
@pytest.mark.parametrize("form", [None, "%Y-%m-%d"])
def test_numbers_beside_words_are_the_same_dates_however_rows_are_cut(values, first, form):
    """They are no days in the first table either, unless all words there mean "missing"."""
    rows = pd.DataFrame({"d": pd.Series(values, dtype=object)})
    encoder = DateEncoder(("days", "weekday"), format=form, errors="missing")
    columns = OnlineColumnTransformer([("days", encoder, ["d"])], mismatch="fill")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        columns.fit(rows if first is None else first)
        whole = columns.transform(rows)
        np.testing.assert_array_equal(whole, np.vstack([columns.transform(rows[i : i + 1]) for i in range(len(rows))]))
    known = {"2024-05-01": 19844.0, 20240503: 19846.0, 1: 1.0 if first is None and "-" in values else np.nan}
    np.testing.assert_array_equal(whole[:, 0], [known.get(value, np.nan) for value in values])


def test_numbers_that_a_format_reads_stay_dates_beside_words():
    for form, number in (("%d%m%Y", 1052024), ("days", 19844), (["%Y-%m-%d", "seconds"], 19844 * 86400)):
        columns = OnlineColumnTransformer([("days", DateEncoder(("days",), format=form), ["d"])])
        mixed = pd.DataFrame({"d": pd.Series([number, "?", datetime.date(2024, 5, 1)], dtype=object)})
        for rows in (mixed, mixed[:1]):
            found = columns.fit(mixed).transform(rows)
            np.testing.assert_array_equal(found.ravel(), [19844.0, np.nan, 19844.0][: len(rows)])


@pytest.mark.parametrize("first", ["words", "dates"])
@pytest.mark.parametrize(("form", "number"), [("%d%m%Y", 1052024), ("seconds", 19844 * 86400)])
def test_numbers_are_read_by_a_format_whether_words_or_dates_came_first(first, form, number):
    columns = OnlineColumnTransformer([("days", DateEncoder(("days",), format=form, errors="missing"), ["d"])])
    columns.fit(FIRST_DATES[first])
    values = pd.DataFrame({"d": pd.Series([number, "?", datetime.date(2024, 5, 1)], dtype=object)})
    for rows, expected in ((values, [19844.0, np.nan, 19844.0]), (values[:1], [19844.0])):
        np.testing.assert_array_equal(columns.transform(rows).ravel(), expected)
    whole = pd.DataFrame({"d": [number]})
    with pytest.raises(ValueError, match=f"column 'd' holds numbers in this table, and held {first} in the first one"):
        columns.transform(whole)
    with pytest.warns(UserWarning, match="what cannot be read is taken as missing"):
        assert columns.set_params(mismatch="fill").transform(whole) == 19844.0


def test_days_beside_marks_of_missing_values_are_days():
    days = pd.DataFrame({"d": pd.Series([19844, "?", None], dtype=object)})
    columns = OnlineColumnTransformer([("days", DateEncoder(("days",)), ["d"])]).fit(days)
    assert columns.kinds_ == ("numbers",)
    np.testing.assert_array_equal(columns.transform(days), [[19844.0], [np.nan], [np.nan]])
    np.testing.assert_array_equal(columns.transform(pd.DataFrame({"d": [19845]})), [[19845.0]])


@pytest.mark.parametrize("first", [pd.Categorical([19844, 19845]), [19844, 19845]])
def test_days_may_be_categories(first):
    pa = pytest.importorskip("pyarrow", exc_type=ImportError)
    categories = pd.DataFrame({"d": pd.Categorical([19844, None, 19845])})
    dictionary = pa.table({"d": pa.array([19844, None, 19845]).dictionary_encode()})
    columns = OnlineColumnTransformer([("days", DateEncoder(("days",)), ["d"])]).fit(pd.DataFrame({"d": first}))
    assert columns.kinds_ == ("numbers",)
    for table in (categories, dictionary):
        np.testing.assert_array_equal(columns.partial_fit(table).transform(table), [[19844.0], [np.nan], [19845.0]])


def test_numbers_beside_dates_that_were_prepared_are_read_or_missing():
    """The pipeline was made for a table with some of them, and takes them without a word, however rows are cut."""
    values = [*pd.date_range("2023-01-01", periods=400).astype(str), 20240501, 7]
    frame = pd.DataFrame({"d": pd.Series(values, dtype=object)})
    columns = prepare(frame)[0].fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        whole = columns.transform(frame).toarray()
        parts = [columns.transform(frame[i : i + 1]).toarray() for i in range(len(frame))]
    np.testing.assert_array_equal(np.vstack(parts), whole)
    assert whole[-2, 0] == 19844.0
    assert not whole[-1, 1:].any()


def test_columns_of_words_and_of_dates_side_by_side_are_read_as_by_themselves():
    frame = pd.DataFrame({"w": ["01.05.2024", "03.05.2024"], "d": pd.to_datetime(ISO[:2])})
    later = pd.DataFrame({"w": pd.Series(["01.05.2024", datetime.date(2024, 5, 3)], dtype=object), "d": frame["d"]})
    encoder = DateEncoder(("days",), format="%d.%m.%Y")
    columns = OnlineColumnTransformer([("days", encoder, ["w", "d"])]).fit(frame)
    np.testing.assert_array_equal(columns.transform(later), columns.transform(frame))
    np.testing.assert_array_equal(columns.transform(frame), [[19844.0, 19844.0], [19846.0, 19846.0]])


def test_names_that_are_known_and_not_used(frame):
    columns = OnlineColumnTransformer(numbers(), unused=["sold"]).fit(frame)
    assert columns.transform(frame.assign(sold=1)).tobytes() == columns.transform(frame).tobytes()
    with pytest.raises(ValueError, match="X has the column 'other', which"):
        columns.transform(frame.assign(sold=1, other=2))
    with pytest.raises(ValueError, match="unused"):
        OnlineColumnTransformer(numbers(), unused="sold").fit(frame)


STR = "str" if isinstance(pd.array([None], dtype="str")[0], float) else "string"  # "str" once made "None" of it


@pytest.mark.parametrize("missing", [np.nan, None, pd.NaT, pd.array([None], dtype=STR), pd.Categorical([None])])
@pytest.mark.parametrize("column", ["number", "word", "date", "text"])
def test_a_table_without_a_value_of_a_column_says_nothing_of_what_it_holds(column, missing):
    """A column without values may have any type: readers of files with few rows choose the type that they like best."""
    frame, y, prepared, model = four_columns()
    first = frame[:1].assign(**{column: missing})
    plain, expected = learnt_without(column)
    assert model.predict(first) == model.predict(plain)
    parts = clone(prepared).partial_fit(first, y[:1]).partial_fit(frame[1:], y[1:])
    assert np.array_equal(parts.predict(frame), expected)


@functools.cache
def four_columns():
    """Return a table, targets, an unfitted pipeline for them, and the same pipeline after learning them."""
    rng = np.random.default_rng(20130711)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=60),
            "word": np.tile(["u", "v", None], 20),
            "date": pd.date_range("2024", periods=60),
            "text": [" ".join(rng.choice(list("abcdefgh"), 5)) for _ in range(60)],
        }
    )
    y = rng.normal(size=60)
    prepared = prepare(frame, NAGRegressor(), kinds={"text": "text"})
    return frame, y, prepared, clone(prepared).partial_fit(frame, y)


@functools.cache
def learnt_without(column):
    """Return the first row, with None in `column`, and predictions of a pipeline that learnt it before the others."""
    frame, y, prepared, _ = four_columns()
    plain = frame[:1].assign(**{column: pd.Series([None], dtype=object)})
    return plain, clone(prepared).partial_fit(plain, y[:1]).partial_fit(frame[1:], y[1:]).predict(frame)


def test_rows_of_a_mixed_column_may_be_numbers():
    frame = pd.DataFrame({"a": pd.Series([1, "x", 2.5, None, True] * 4, dtype=object)})
    columns = OnlineColumnTransformer([("words", OnlineOneHotEncoder(5), ["a"])]).partial_fit(frame)
    whole = columns.transform(frame).toarray()
    assert np.array_equal(np.vstack([columns.transform(frame[i : i + 1]).toarray() for i in range(20)]), whole)
    np.testing.assert_array_equal(columns.transform(pd.DataFrame({"a": [1.0]})).toarray(), whole[:1])


@pytest.mark.parametrize(
    ("encoder", "words", "values"),
    [
        (DateEncoder(("hour",), one_hot=False, format="%H%M"), ["0130", "1400"], [130, 1400]),
        (NumberReader(",", thousands="."), ["1.000,5", "2"], [1.234, 12.345]),
        (DateEncoder(("days",), format="%d.%m.%Y"), ["01.02.2023"], list(pd.to_datetime(["2023-02-01", "2023-02-03"]))),
    ],
)
def test_readers_that_learnt_words_take_values_of_any_type_as_they_are(encoder, words, values):
    exact = encoder.fit_transform(pd.DataFrame({"a": values}))
    columns = OnlineColumnTransformer([("read", encoder, ["a"])], mismatch="fill").fit(pd.DataFrame({"a": words}))
    for dtype in (object, None):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = columns.transform(pd.DataFrame({"a": pd.Series(values, dtype=dtype)}))
        np.testing.assert_array_equal(found, exact)


TRUTHS = [True, False, True, True]
ALIKE = {
    "numbers": [["1", "2", "1", "x"], [1, 2, 1, "x"], ["1", "2", "1", "1"], [1, 2, 1, 1], [1.0, 2.0, 1.0, 1.0]],
    "booleans": [["True", "False", "True", "x"], [*TRUTHS[:3], "x"], list(map(str, TRUTHS)), TRUTHS],
}


@pytest.mark.parametrize("columns", ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize("table", [pd.DataFrame, lambda given: np.array(given["a"])[:, None]])
@pytest.mark.parametrize(
    "encoder",
    [
        OnlineOneHotEncoder(5, sparse_output=False),
        make_online_pipeline(OnlineOrdinalEncoder(5)),
        HashingEncoder(16),
        OnlineTfidf(16, analyzer="char"),
    ],
)
def test_encoders_of_words_read_numbers_and_booleans_as_words_whichever_come_first(columns, table, encoder):
    tables = [table({"a": values}) for values in columns]
    place = [0] if isinstance(tables[0], np.ndarray) else ["a"]
    made = [OnlineColumnTransformer([("words", encoder, place)]).fit(first) for first in tables]
    for one in made:
        assert one.kinds_ == ("words",)
        rows = [stacked([one.transform(later), sparse.csr_array((4, 0))], 4).toarray()[:3] for later in tables]
        for later in rows:
            np.testing.assert_array_equal(later, rows[0])
        assert one.partial_fit(tables[0]).kinds_ == ("words",)
    if not isinstance(encoder, OnlineTfidf):
        sklearn_nag.merge([made[0], made[-1]])


def test_declared_words_stay_words_where_digits_come_first():
    digits, words = pd.DataFrame({"zip": [10115, 20095] * 20}), pd.DataFrame({"zip": ["10115", "EC1A"] * 20})
    y = np.tile([0.0, 1.0], 20)
    model = prepare(digits, NAGRegressor(), kinds={"zip": "words"}).partial_fit(digits, y).partial_fit(words, y)
    assert {"zip=10115", "zip=EC1A"} <= {*model[:-1].get_feature_names_out()}
    assert model.predict(digits[:1]) == model.predict(words[:1])
    undeclared = prepare(digits, NAGRegressor(), kinds={"zip": "numbers"}).partial_fit(digits, y)
    with pytest.raises(ValueError, match="column 'zip' holds words in this table, and held numbers.*'EC1A'"):
        undeclared.predict(words)


def test_dates_that_cannot_be_read_are_named_by_their_column(rng):
    frame = pd.DataFrame({"x": rng.normal(size=40), "day": 20240101 + np.arange(40) % 28, "time": 17e8 + np.arange(40)})
    kinds = {"day": "dates", "time": "dates"}
    model = prepare(frame, NAGRegressor(), kinds=kinds).partial_fit(frame, frame.x)
    with pytest.raises(ValueError, match="column 'day' must hold dates"):
        model.predict(frame[:1].assign(day=0))
    with pytest.raises(ValueError, match="column 'time' has numbers, which are seconds since 1970 here"):
        model.predict(frame[:1].assign(time=17e15))
    model = prepare(frame, NAGRegressor(), kinds=kinds, mismatch="fill").partial_fit(frame, frame.x)
    assert model.predict(frame[:1].assign(time=17e15)) == model.predict(frame[:1].assign(time=np.nan))


def test_names_that_are_booleans_are_no_mask():
    counts = pd.crosstab(np.arange(9), np.arange(9) > 4)
    for columns in ([False, True], [True, False]):
        got = OnlineColumnTransformer([("same", "passthrough", columns)]).fit_transform(counts)
        np.testing.assert_array_equal(got, np.column_stack([counts[name] for name in columns]))
    np.testing.assert_array_equal(prepare(counts).fit_transform(counts), counts)
    mask = np.array([False, True])
    got = OnlineColumnTransformer([("same", "passthrough", mask)]).fit_transform(counts)
    np.testing.assert_array_equal(got, counts.iloc[:, 1:])
    other = counts.set_axis([False, "other"], axis=1)
    got = OnlineColumnTransformer([("same", "passthrough", [True, False])]).fit_transform(other)
    np.testing.assert_array_equal(got, counts.iloc[:, :1])


@pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame, lambda columns: np.column_stack([*columns.values()])])
@pytest.mark.parametrize("first", [2**53, 2**60, -(2**62)])
def test_whole_numbers_that_floats_do_not_tell_apart_are_words_of_their_own(table, first):
    ids = [first + i for i in range(5)]
    rows = table({"id": ids, "size": [1, 2, 1, 2, 1]})
    places = [0, 1] if isinstance(rows, np.ndarray) else ["id", "size"]
    for encoder in (OnlineOneHotEncoder(9), make_online_pipeline(OnlineOneHotEncoder(9))):
        columns = OnlineColumnTransformer([("words", encoder, places)]).fit(rows)
        fitted = columns.named_transformers_["words"]
        known = (fitted[0] if hasattr(fitted, "steps") else fitted).categories_
        assert [list(words) for words in known] == [list(map(str, ids)), ["1", "2"]]


def test_large_numbers_are_words_of_their_own_beside_a_transformer_that_takes_them_as_numbers():
    frame = pd.DataFrame({"id": [2**53, 2**53 + 1, 2**53 + 2]})
    parts = [("means", OnlineImputer(), ["id"]), ("words", OnlineOneHotEncoder(9), ["id"])]
    columns = OnlineColumnTransformer(parts).fit(frame)
    assert list(columns.named_transformers_["words"].categories_[0]) == list(map(str, frame["id"]))


def test_words_of_small_numbers_and_booleans_stay_beside_large_numbers():
    frame = pd.DataFrame({"id": [2**60, 2**60 + 1], "flag": [True, False], "size": [1.0, 0.5], "town": ["Rome", None]})
    for names in (["id", "flag", "size", "town"], ["flag", "size"]):
        columns = OnlineColumnTransformer([("words", OnlineOneHotEncoder(9), names)]).fit(frame)
        known = dict(zip(names, map(list, columns.named_transformers_["words"].categories_)))
        assert (known["flag"], known["size"]) == (["True", "False"], ["1", "0.5"])
    columns = OnlineColumnTransformer([("words", OnlineOneHotEncoder(9), ["id"])])
    with pytest.raises(ValueError, match="infinity in column 'id'"):
        columns.fit(frame.assign(id=[2.0**60, np.inf]))
    with pytest.warns(UserWarning, match="infinity in column 'id'; it is taken as missing"):
        columns.set_params(mismatch="fill").fit(frame.assign(id=[2.0**60, np.inf]))
    assert list(columns.named_transformers_["words"].categories_[0]) == [str(2**60), None]


def test_an_array_of_numbers_has_no_dates():
    rows = np.array([[np.datetime64("2024-01-01"), 1.0]], dtype=object)
    columns = OnlineColumnTransformer([("days", DateEncoder(("days",)), [0]), ("same", "passthrough", [1])]).fit(rows)
    for later in ([[3.0, 4.0]], sparse.csr_array([[3.0, 4.0]])):
        for call in (columns.transform, columns.partial_fit):
            with pytest.raises(ValueError, match="column 0 holds numbers in this table, and held dates in the first"):
                call(later)
    columns.set_params(mismatch="fill")
    with pytest.warns(UserWarning, match="column 0 holds numbers"):
        np.testing.assert_array_equal(columns.transform([[3.0, 4.0]]), [[np.nan, 4.0]])
    columns.fit([[3.0, 4.0]])  # a new fit reads numbers as days


@pytest.mark.parametrize("as_rows", [np.array, sparse.csr_array])
@pytest.mark.parametrize("infinite", [np.inf, -np.inf])
def test_infinity_in_arrays_is_refused(as_rows, infinite):
    rows = as_rows([[1.0, infinite, 2.0], [1.0, np.nan, np.nan]])
    with pytest.raises(ValueError, match="infinity in column 1"):
        OnlineColumnTransformer([("same", "passthrough", [2, 1])]).fit(rows)
    got = OnlineColumnTransformer([("same", "passthrough", [2, 0])]).fit_transform(rows)
    np.testing.assert_array_equal(got.toarray() if sparse.issparse(got) else got, [[2.0, 1.0], [np.nan, 1.0]])
    columns = OnlineColumnTransformer([("same", "passthrough", [2, 1])], mismatch="fill").fit(
        as_rows([[1.0, 2.0, 3.0]])
    )
    with pytest.warns(UserWarning, match="infinity in column 1; it is taken as missing"):
        got = columns.transform(rows)
    np.testing.assert_array_equal(got.toarray() if sparse.issparse(got) else got, [[2.0, np.nan], [np.nan, np.nan]])
    assert np.isinf(rows.data if sparse.issparse(rows) else rows).any()  # the input is unchanged


@pytest.mark.parametrize("other", [[1], datetime.timedelta(1), 1j, {"a": 1}])
def test_what_holds_neither_numbers_words_nor_dates_now_is_filled(other):
    columns = OnlineColumnTransformer([("same", "passthrough", ["a", "b"])], mismatch="fill")
    columns.fit(pd.DataFrame({"a": [1.0], "b": [1.0]}))
    later = pd.DataFrame({"a": [other], "b": [2.0]})
    with pytest.warns(UserWarning, match="column 'a' holds [^;]+; its values are taken as missing"):
        np.testing.assert_array_equal(columns.transform(later), [[np.nan, 2.0]])
    with pytest.raises(ValueError, match="column 'a' holds .*: columns hold numbers, words or dates"):
        columns.set_params(mismatch="raise").transform(later)


@pytest.mark.parametrize(
    "changed", [{"age__factor": 2.0}, {"age": "drop"}, {"transformers": [("new", Centred(), [0])]}]
)
def test_transformers_stay_what_they_were_when_the_first_row_came(frame, changed):
    columns = OnlineColumnTransformer(numbers()).fit(frame)
    columns.set_params(remainder="drop").partial_fit(frame)
    before = columns.get_params(deep=False)
    columns.set_params(**changed)
    for call in (columns.partial_fit, columns.learn_transform):
        with pytest.raises(ValueError, match="age.* was .* when this model was new"):
            call(frame)
    columns.fit(frame).transform(frame)
    columns.set_params(**before).fit(frame).transform(frame)


def test_what_a_clone_copies_is_what_it_was(frame):
    class Words:
        def same(self, X):
            return X

    steps = [
        ("same", FunctionTransformer(Words().same), ["age"]),
        ("ages", OneHotEncoder(categories=[np.array([1.0, 2.0, np.nan])], handle_unknown="ignore"), ["age"]),
        ("as_is", FunctionTransformer(kw_args={"x": pd.Series([1, None], dtype="Int64")}), ["age"]),
    ]
    steps[2][1].set_params(func=lambda X, x: X)
    columns = OnlineColumnTransformer(steps).fit(frame)
    columns.partial_fit(frame).transform(frame)


def test_a_mask_that_repeats_names_is_a_mask():
    frame = pd.DataFrame([[1.0, 2.0]], columns=["a", True])
    both = OnlineColumnTransformer([("p", "passthrough", [True, True])]).fit_transform(frame)
    np.testing.assert_array_equal(both, [[1.0, 2.0]])


def test_what_may_change_of_a_fitted_transformer_may_change_within():
    columns = OnlineColumnTransformer([("days", DateEncoder(("days",)), ["d"])])
    columns.fit(pd.DataFrame({"d": ["2024-01-01"]})).named_transformers_["days"].set_params(errors="missing")
    assert np.isnan(columns.transform(pd.DataFrame({"d": ["soon"]}))).all()
    del columns._made  # as in models saved by earlier versions
    columns.set_params(days__errors="missing").transform(pd.DataFrame({"d": ["2024-01-01"]}))


@pytest.mark.parametrize(
    "change",
    [
        {"same__strategy": "constant", "same__fill_value": -1.0},
        {"same": OnlineImputer("constant", fill_value=9)},
        {"transformers": [("same", "drop", ["a"])]},
        {"remainder": "passthrough"},
    ],
)
def test_a_transformer_that_has_changed_since_does_not_transform(change):
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [1.0, 2.0]})
    columns = OnlineColumnTransformer([("same", OnlineImputer(), ["a"])]).fit(frame)
    columns.set_params(same=OnlineImputer(), mismatch="fill").transform(frame)
    columns.set_params(**change)
    for method in (columns.transform, columns.partial_fit, lambda frame: columns.get_feature_names_out()):
        with pytest.raises(ValueError, match="when this model was new"):
            method(frame)
    columns.fit(frame).transform(frame)


def test_a_pipeline_of_changed_columns_does_not_predict():
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0]})
    model = prepare(frame, NAGRegressor()).partial_fit(frame, [1.0, 2.0, 3.0])
    model.set_params(columns__numbers0__add_indicator=False)
    with pytest.raises(ValueError, match="numbers0__add_indicator was True"):
        model.predict(frame)


@pytest.mark.parametrize("mismatch", ["raise", "fill"])
@pytest.mark.parametrize("library", [pd, pl])
def test_words_are_read_in_the_first_table_as_in_others(library, mismatch):
    numbers = pd.DataFrame({"b": np.arange(100.0) % 7, "o": np.linspace(0, 1, 100) ** 2})
    known = numbers.assign(b=numbers.b.where(numbers.b > 0))
    words = numbers.assign(b=numbers.b.astype(str).where(numbers.b > 0, "?"))
    prepared = prepare(numbers, NAGRegressor(), mismatch=mismatch)
    expected = clone(prepared).partial_fit(known, known.o).partial_fit(numbers, numbers.o)
    model = clone(prepared).partial_fit(library.DataFrame(words.to_dict("list")), words.o)
    model.partial_fit(numbers, numbers.o)
    assert np.array_equal(model.predict(known), expected.predict(known))
    assert model[0].kinds_ == ("numbers", "numbers")
    for first in (known.assign(b=np.nan), known.assign(b="?")):
        later = clone(prepared).partial_fit(first, known.o).partial_fit(words, words.o)
        assert later[0].kinds_ == ("numbers", "numbers")


@pytest.mark.parametrize(
    ("values", "kind", "shown"), [(["1", "no"], "words", ": 'no'"), (["True", "False"], "words", ": 'True'"),
                                  (pd.to_datetime(["2024-01-01", "2024-01-02"]), "dates", "")],
)  # fmt: skip
def test_what_is_no_number_in_the_first_table_is_named_or_missing(values, kind, shown):
    frame = pd.DataFrame({"o": [0.5, 2.0], "b": [True, False]})
    other = frame.assign(b=values)
    found = f"column 'b' holds {kind} in this table, and its transformer takes numbers"
    with pytest.raises(ValueError, match=f"{found}{shown}; with mismatch='fill' this would"):
        prepare(frame).fit(other)
    with pytest.warns(UserWarning, match=f"{found}; what cannot be read"):
        rows = prepare(frame, mismatch="fill").fit(other).transform(frame)
    np.testing.assert_array_equal(rows, frame)


def test_categories_of_numbers_stay_what_they_are():
    frame = pd.DataFrame({"a": pd.Categorical([1, 2, 2])})
    columns = OnlineColumnTransformer([("same", OnlineImputer(), ["a"])]).fit(frame)
    np.testing.assert_array_equal(columns.partial_fit(frame).transform(frame), [[1.0], [2.0], [2.0]])


def test_booleans_beside_a_word_are_read():
    frame = pd.DataFrame({"a": [True, False, True]})
    later = pd.DataFrame({"a": [True, "no", False]})
    with pytest.raises(ValueError, match="held numbers in the first one: 'no'"):
        prepare(frame).fit(frame).transform(later)
    filling = OnlineColumnTransformer([("same", "passthrough", ["a"])], mismatch="fill").fit(frame)
    with pytest.warns(UserWarning, match="holds words"):
        np.testing.assert_array_equal(filling.transform(later), [[1.0], [np.nan], [0.0]])


def test_names_that_are_alike_become_distinct():
    frame = pd.DataFrame({"c": ["x=y", "z"] * 20, "c=x": ["y", "z"] * 20, "c=z": np.arange(40.0) ** 2})
    model = prepare(frame, NAGRegressor()).fit(frame, frame["c=z"])
    names = list(model[:-1].get_feature_names_out())
    assert len({*names}) == len(names)
    assert {"c=x=y", "c=x=y_2"} <= {name.removeprefix("words0__") for name in names}
    assert {"words0__c=z", "numbers1__c=z", "c=x=z"} <= {*names}
    marked = pd.DataFrame({"a": [1.0, np.nan], "missingindicator_a": [np.nan, 2.0]})
    columns = OnlineColumnTransformer([("i", OnlineImputer(add_indicator=True), ["a", "missingindicator_a"])])
    for output in ("pandas", "polars"):
        plain = clone(columns).set_params(verbose_feature_names_out=False).set_output(transform=output)
        own = list(plain.fit_transform(marked).columns)
        assert own == ["a", *(f"i__missingindicator_a{n}" for n in ("", "_2")), "missingindicator_missingindicator_a"]


def test_places_from_the_end_are_taken_once(rng):
    X = rng.normal(size=(5, 3))
    columns = OnlineColumnTransformer([("last", "passthrough", [-1])], remainder="passthrough").fit(X)
    assert columns.transformers_ == [("last", "passthrough", [2]), ("remainder", "passthrough", [0, 1])]
    np.testing.assert_array_equal(columns.transform(X), X[:, [2, 0, 1]])


def test_slices_of_names():
    frame = pd.DataFrame(np.arange(8.0).reshape(2, 4), columns=list("abcd"))
    for columns, expected in (
        (slice("b", "c"), "bc"), (slice("b", None), "bcd"), (slice(None, "b"), "ab"), (slice("a", "d", 2), "ac"),
    ):  # fmt: skip
        ours = OnlineColumnTransformer([("same", "passthrough", columns)]).fit_transform(frame)
        np.testing.assert_array_equal(ours, frame[list(expected)])
    for table, known in ((frame, "its columns are"), (frame.to_numpy(), "its 4 columns have no names")):
        with pytest.raises(ValueError, match=f"X has no column 'z', which 'same' of transformers is to take; {known}"):
            OnlineColumnTransformer([("same", "passthrough", slice("z", None))]).fit(table)


@pytest.mark.parametrize("ensemble", [BaggingRegressor(n_estimators=2), AdaBoostRegressor(n_estimators=2)])
def test_columns_come_before_what_makes_an_array_of_a_table(frame, ensemble):
    rows, y = frame[["age", "price"]].fillna(0.0), np.arange(len(frame))
    within = clone(ensemble).set_params(estimator=prepare(rows, NAGRegressor()))
    with pytest.raises(ValueError, match=r"no column 'age', .* 2 columns have no names: give a table or, .* before"):
        within.fit(rows, y)
    behind = make_pipeline(prepare(frame), clone(ensemble).set_params(estimator=NAGRegressor()))
    assert behind.fit(frame, y).predict(frame).shape == (len(frame),)


class Waiting(OnlineImputer):
    """An imputer that lets another thread run in the middle of a batch."""

    entered, may_end = threading.Event(), threading.Event()

    def learn_transform(self, X):
        self.entered.set()
        self.may_end.wait(0.2)
        return super().learn_transform(X)


def test_a_reader_in_another_thread_sees_one_state_of_all_transformers():
    columns = OnlineColumnTransformer([("a", OnlineImputer(), [0]), ("b", Waiting(), [1])])
    columns.fit(np.ones((1, 2)))
    learning = threading.Thread(target=columns.partial_fit, args=[np.full((1, 2), 3.0)])
    learning.start()
    assert Waiting.entered.wait(10)
    seen = columns.transform(np.full((1, 2), np.nan))[0]
    learning.join()
    assert seen.tolist() in ([1.0, 1.0], [2.0, 2.0])


@pytest.mark.parametrize("kernel", KERNELS)
def test_more_columns_than_32_bits_number(kernel):
    steps = [("h", HashingEncoder(2**31 - 1, max_names=0), ["a"]), ("o", OnlineOneHotEncoder(10), ["b"])]
    with sklearn_nag.config_context(kernel=kernel):
        out = OnlineColumnTransformer(steps).fit_transform(pd.DataFrame({"a": ["x", "y"], "b": ["u", "v"]}))
    assert out.shape == (2, 2**31 + 9)
    assert out.indices[1::2].tolist() == [2**31 - 1, 2**31]


@pytest.mark.parametrize("values", [[True, False], [2**60, 2**60 + 300], [15.0, 20.0]])
def test_a_single_column_of_arrays_is_text_as_several_are(values):
    rows = np.array(values)[:, None]
    single, listed = (
        OnlineColumnTransformer([("text", OnlineTfidf(64), places)]).fit_transform(rows).toarray()
        for places in (0, [0])
    )
    np.testing.assert_array_equal(single, listed)
    assert single.any(axis=1).all()
    assert len(np.unique(single, axis=0)) == 2


def test_all_columns_of_words_with_infinite_numbers_are_named():
    table = np.array([[np.inf, 1.0, -np.inf], [2.0, 3.0, 4.0]])
    transformer = OnlineColumnTransformer([("words", HashingEncoder(16), [0, 1, 2])])
    with pytest.raises(ValueError, match="infinity in column 0, 2"):
        transformer.fit(table)


@pytest.mark.parametrize("last", [np.inf, -np.inf])
@pytest.mark.parametrize("encoder", [OnlineOneHotEncoder(9, sparse_output=False), OnlineOrdinalEncoder(9)])
def test_infinity_changes_no_word_of_other_rows(last, encoder):
    words = pd.DataFrame({"c": ["True", "k", str(2**60), str(2**60 + 1)]})
    columns = OnlineColumnTransformer([("words", encoder, ["c"])], mismatch="fill").fit(words)
    whole = pd.DataFrame({"c": pd.Series([True, 2**60, 2**60 + 1, last], dtype=object)})
    with pytest.warns(UserWarning, match="infinity in column 'c'; it is taken as missing"):
        found = columns.transform(whole)
    np.testing.assert_array_equal(found[:3], columns.transform(words)[[0, 2, 3]])
    np.testing.assert_array_equal(found[:3], columns.transform(whole[:3]))
    np.testing.assert_array_equal(found[3:], columns.transform(pd.DataFrame({"c": [None]})))


READ_ALIKE = {
    "money": (NumberReader(thousands=","), ["$1,200", "$950", "$30", "$2,000"], [1200.0, 950.0, 30.0, 20.0]),
    "dates": (DateEncoder(("days",)), [*ISO, "2024-06-02"], pd.to_datetime([*ISO, "2024-06-03"])),
}


@pytest.mark.parametrize(("encoder", "first", "second"), READ_ALIKE.values(), ids=READ_ALIKE)
def test_shards_may_hold_what_their_transformers_read_alike(encoder, first, second):
    imputing = make_online_pipeline(clone(encoder), OnlineImputer())
    columns = OnlineColumnTransformer([("read", imputing, ["p"]), ("again", encoder, ["p"])])
    tables = pd.DataFrame({"p": first}), pd.DataFrame({"p": second})
    one_stream = clone(columns).partial_fit(tables[0]).partial_fit(tables[1])
    for sign in (1, -1):
        models = [clone(columns).partial_fit(table) for table in tables[::sign]]
        merged = sklearn_nag.merge(models)
        assert merged.kinds_ == models[0].kinds_
        for table in tables:
            np.testing.assert_allclose(merged.transform(table), one_stream.transform(table), rtol=1e-12)
    learners = [
        make_online_pipeline(clone(columns), NAGRegressor()).partial_fit(table, np.arange(4.0)) for table in tables
    ]
    assert sklearn_nag.merge(learners)[-1].t_ == 8


@pytest.mark.parametrize(
    ("transformer", "others"),
    [(DateEncoder(("days",)), [1, 2]), ("passthrough", pd.to_datetime(ISO[:2])), ("passthrough", [1, 2])],
)
def test_shards_that_no_stream_takes_are_refused(transformer, others):
    columns = OnlineColumnTransformer([("read", transformer, ["p"])])
    models = [clone(columns).fit(pd.DataFrame({"p": values})) for values in (ISO[:2], others)]
    with pytest.raises(ValueError, match="column 'p' holds words in models.0., and (numbers|dates) in another"):
        sklearn_nag.merge(models)


@pytest.mark.parametrize("values", [["a", pd.Timestamp("2024-05-01")], [datetime.date(2024, 5, 1), "a", 2, True, None]])
@pytest.mark.parametrize("mismatch", ["raise", "fill"])
@pytest.mark.parametrize(
    "encoder",
    [OnlineOneHotEncoder(9, sparse_output=False), make_online_pipeline(OnlineOrdinalEncoder(9))],
)
def test_objects_are_words_beside_others_and_alone(values, mismatch, encoder):
    rows = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    columns = OnlineColumnTransformer([("words", encoder, ["a"])], mismatch=mismatch)
    whole, parts = clone(columns).partial_fit(rows), clone(columns)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i in range(len(rows)):
            parts.partial_fit(rows[i : i + 1])
        assert parts.kinds_ == whole.kinds_ == ("words",)
        one_by_one = [parts.transform(rows[i : i + 1]) for i in range(len(rows))]
    np.testing.assert_array_equal(np.vstack(one_by_one), whole.transform(rows))


def test_columns_whose_type_says_that_they_hold_dates_are_no_words():
    columns = OnlineColumnTransformer([("words", OnlineOneHotEncoder(9), ["a"])]).fit(pd.DataFrame({"a": ["x"]}))
    with pytest.raises(ValueError, match="column 'a' holds dates in this table, and held words in the first one"):
        columns.transform(pd.DataFrame({"a": pd.to_datetime(["2024-05-01"])}))
