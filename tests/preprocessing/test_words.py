"""Words as columns of ones and zeros."""

import copy
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

from sklearn_nag import NAGClassifier
from sklearn_nag.preprocessing import (
    HashingEncoder,
    OnlineOneHotEncoder,
    OnlineOrdinalEncoder,
    make_online_pipeline,
)
from sklearn_nag.preprocessing._base import merged

from ..checks import run_check
from .helpers import of_parameters

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

WORDS = st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", "d", "e", None])] * 2), min_size=1, max_size=15)


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else rows


@of_parameters(
    parametrize_with_checks(
        [
            OnlineOneHotEncoder(5),
            OnlineOneHotEncoder(5, sparse_output=False),
            OnlineOrdinalEncoder(5),
            HashingEncoder(16),
        ]
    )
)
def test_scikit_learns_checks(estimator, check):
    run_check(check, estimator, {"check_dtype_object": "the error is there, in other words"})


@given(WORDS, st.integers(2, 7))
def test_a_word_takes_the_next_free_column_when_it_comes(rows, width):
    got = OnlineOneHotEncoder(width, sparse_output=False).learn_transform(np.array(rows, dtype=object))
    expected = np.zeros((len(rows), 2 * width))
    for i in range(2):
        vocabulary = []
        for t, row in enumerate(rows):
            if row[i] not in vocabulary and len(vocabulary) < width - 1:
                vocabulary.append(row[i])
            place = vocabulary.index(row[i]) if row[i] in vocabulary else width - 1
            expected[t, i * width + place] = 1.0
    np.testing.assert_array_equal(got, expected)
    numbers = OnlineOrdinalEncoder(width).learn_transform(np.array(rows, dtype=object))
    np.testing.assert_array_equal(numbers, expected.reshape(-1, 2, width).argmax(axis=2))


@given(WORDS, st.integers(2, 7))
def test_a_word_has_the_number_before_it_is_learnt_that_it_gets_then(rows, width):
    first, *others = np.array(rows, dtype=object)[:, None]
    encoder = OnlineOrdinalEncoder(width).fit(first)
    for row in others:
        before = encoder.transform(row)
        np.testing.assert_array_equal(encoder.learn_transform(row), before)


def test_numbers_of_words_that_have_not_been_learnt():
    encoder = OnlineOrdinalEncoder(2**14).fit([["a"], ["b"], ["a"]])
    assert encoder.transform([["new"], ["b"], ["newer"], [None]]).tolist() == [[2.0], [1.0], [2.0], [2.0]]
    assert encoder.partial_fit([["new"]]).transform([["new"], ["newer"]]).tolist() == [[2.0], [3.0]]


@pytest.mark.parametrize(
    "new",
    [
        OnlineOneHotEncoder(4),
        OnlineOrdinalEncoder(4),
        HashingEncoder(16, max_names=2),
        HashingEncoder(16, max_names=0),
    ],
)
@given(WORDS, st.integers(0, 15))
@settings(max_examples=40)
def test_cuts_and_copies_change_no_bit(new, rows, at):
    X = np.array(rows, dtype=object)
    whole, cut = copy.deepcopy(new), copy.deepcopy(new)
    expected, parts = whole.learn_transform(X), []
    for part in (X[:at], X[at:]):
        if len(part):
            parts.append(cut.learn_transform(part))
            cut = copy.deepcopy(pickle.loads(pickle.dumps(cut)))
    assert np.concatenate([dense(part) for part in parts]).tobytes() == dense(expected).tobytes()
    assert list(cut.get_feature_names_out()) == list(whole.get_feature_names_out())
    assert cut._state == whole._state


def test_as_scikit_learns_one_hot():
    X = np.array([["b", "x"], ["a", "y"], ["b", "y"]], dtype=object)
    ours = OnlineOneHotEncoder(10).fit(X)
    theirs = OneHotEncoder(categories=[["b", "a"], ["x", "y"]], sparse_output=False).fit_transform(X)
    np.testing.assert_array_equal(ours.transform(X).toarray()[:, [0, 1, 10, 11]], theirs)
    assert [list(words) for words in ours.categories_] == [["b", "a"], ["x", "y"]]
    np.testing.assert_array_equal(ours.transform([["new", None]]).indices, [9, 19])


def test_hashing_is_scikit_learns():
    X = [["a", "1"], ["b", None]]
    got = HashingEncoder(64).learn_transform(pd.DataFrame(X, columns=["letter", "number"]))
    hasher = FeatureHasher(64, input_type="string", alternate_sign=False)
    np.testing.assert_array_equal(
        got.toarray(), hasher.transform([["letter=a", "number=1"], ["letter=b", "number"]]).toarray()
    )
    crowded = HashingEncoder(1).learn_transform(X)
    assert crowded.toarray().tolist() == [[2.0], [2.0]]
    assert crowded.nnz == 2


def test_tables_of_all_kinds():
    frame = pd.DataFrame({"word": ["a", None, "a"], "flag": [True, False, True], "n": [1, 2, 1]})
    categories = frame.assign(word=frame["word"].astype("category"))
    of_polars = pl.DataFrame({"word": ["a", None, "a"], "flag": [True, False, True], "n": [1.0, 2.0, 1.0]})
    for new in (OnlineOneHotEncoder(3), HashingEncoder(32)):
        rows = [
            copy.deepcopy(new).learn_transform(table).toarray()
            for table in (frame, categories, of_polars, of_polars.with_columns(pl.col("word").cast(pl.Categorical)))
        ]
        for other in rows[1:]:
            np.testing.assert_array_equal(rows[0], other)
    encoder = OnlineOneHotEncoder(4).fit(frame)
    names = ["word=a", "word=(missing)", "word=(free 2)", "word=(other)", "flag=True", "flag=False"]
    assert list(encoder.get_feature_names_out())[:6] == names


def test_names_of_polars_frames_are_known_again():
    frame = pl.DataFrame({"a": ["x"], "b": ["y"]})
    for encoder in (OnlineOneHotEncoder(3).fit(frame), HashingEncoder(8).fit(frame)):
        assert list(encoder.feature_names_in_) == ["a", "b"]
        with pytest.raises(ValueError, match="feature names should match those that were passed during fit"):
            encoder.transform(frame[["b", "a"]])
        with pytest.raises(ValueError, match="X has 1 features, but .* is expecting 2 features"):
            encoder.partial_fit(frame[["a"]])


def test_a_category_that_no_row_has_takes_no_column():
    column = pd.Categorical(["b"], categories=["a", "b"])
    assert list(OnlineOneHotEncoder(3).fit(pd.DataFrame({"x": column})).categories_[0]) == ["b"]


@given(WORDS)
def test_the_words_seen_most_are_remembered(rows):
    X = np.array([["-" if word is None else word for word in row] for row in rows], dtype=object)
    counts = {}
    for row in X:
        for key in enumerate(row):
            counts[key] = counts.get(key, 0) + 1
            if len(counts) > 4:
                order = sorted(counts, key=lambda key: (-counts[key], *key))
                counts = {key: counts[key] for key in order[:2]}

    def flat(of_columns):
        return {(i, word): n for i, of_column in enumerate(of_columns) for word, n in of_column.items()}

    assert flat(HashingEncoder(8, max_names=2).fit(X)._state.counts) == counts
    assert flat(HashingEncoder(8).fit(X)._state.counts) == Counter(key for row in X for key in enumerate(row))


def test_names_of_hashed_words():
    encoder = HashingEncoder(2**10).fit([["a"], ["b"], [None]])
    names = encoder.get_feature_names_out(["letter"])
    for word, name in (("a", "letter=a"), ("b", "letter=b"), (None, "letter=(missing)")):
        assert names[encoder.transform([[word]]).indices[0]] == name
    assert HashingEncoder(1).fit([["a"], ["b"], ["b"]]).get_feature_names_out() == ["x0=b or x0=a"]
    assert HashingEncoder(1, max_names=0).fit([["a"]]).get_feature_names_out() == ["hashed0"]


def test_halves_of_characters_as_names_of_files_have_them():
    rows = np.array([["caf\udce9"], ["caf\udce8"], ["caf\udce9"]], dtype=object)
    for encoder in (HashingEncoder(2**20), OnlineOneHotEncoder()):
        out = encoder.learn_transform(rows).toarray()
        assert np.array_equal(out[0], out[2])
        assert not np.array_equal(out[0], out[1])


def test_merging():
    one = OnlineOneHotEncoder(4).fit([["Rome", "a"], ["Oslo", "b"]])
    other = OnlineOneHotEncoder(4).fit([["Lima", "b"], ["Oslo", "a"], ["Bonn", "a"]])
    both = merged([one, other])
    assert [list(words) for words in both.categories_] == [["Rome", "Oslo", "Lima"], ["a", "b"]]
    assert one._places_in(both) is None  # its words keep their places, and free places are taken
    assert merged([both, other])._places_in(both) is None
    assert other._places_in(both).tolist() == [2, 1, -1, 3, 5, 4, -1, 7]
    full = OnlineOneHotEncoder(3).fit([["a"], ["b"]]), OnlineOneHotEncoder(3).fit([["a"], ["c"]])
    assert [encoder._places_in(merged(full)) is None for encoder in full] == [True, False]  # no room for c
    one, other = HashingEncoder(8).fit([["a"], ["b"]]), HashingEncoder(8).fit([["b"]])
    assert merged([one, other])._state.counts == ({"a": 1, "b": 2},)
    some = [HashingEncoder(64, max_names=1).partial_fit(words) for words in ([["a"], ["b"]], [["b"], ["c"]])]
    assert merged(some)._state.counts == ({"b": 2},)  # there are more than twice as many words as names
    some = [HashingEncoder(64, max_names=1).partial_fit(words) for words in ([["a"]], [["b"]])]
    assert merged(some)._state.counts == ({"a": 1, "b": 1},)


def test_words_stay_in_the_columns_of_the_parameters_that_they_were_learnt_by():
    rows = [[f"w{i}", "z"] for i in range(40)]
    encoder = OnlineOneHotEncoder(50).fit(rows).set_params(sparse_output=False)
    assert encoder.transform(rows[-1:]).nonzero()[1].tolist() == [39, 50]
    encoder.set_params(max_categories=3)
    with pytest.raises(ValueError, match="max_categories was 50 when this OnlineOneHotEncoder was new and is 3 now"):
        encoder.transform(rows[-1:])


def test_bytes_are_words_in_utf_8():
    encoded, words = [["café".encode(), b"y"], [b"b", b"x"]], [["café", "y"], ["b", "x"]]
    for kind in (OnlineOneHotEncoder, OnlineOrdinalEncoder, HashingEncoder):
        encoder = kind(16).fit(words)
        assert kind(16).fit(encoded)._state == encoder._state
        for X in (encoded, np.array(encoded), np.array(encoded, dtype=object)):
            assert (encoder.transform(X) != encoder.transform(words)).sum() == 0


def test_coefficients_have_the_names_of_words(rng):
    X = pd.DataFrame({"town": rng.choice(["Rome", "Oslo", "Lima"], 300)})
    y = (X["town"] == "Oslo").to_numpy()
    for encoder in (OnlineOneHotEncoder(), HashingEncoder(2**12)):
        pipeline = make_online_pipeline(encoder, NAGClassifier()).partial_fit(X, y, classes=[False, True])
        table = pipeline[-1].coefficients(pipeline[:-1].get_feature_names_out(), as_frame=False)
        assert table.feature[np.argmax(table.weight)] == "town=Oslo"


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (OnlineOneHotEncoder(1), "'max_categories' parameter of OnlineOneHotEncoder must be an int in the range"),
        (OnlineOneHotEncoder(sparse_output="yes"), "'sparse_output' parameter of OnlineOneHotEncoder must be True or"),
        (HashingEncoder(0), "'n_features' parameter of HashingEncoder must be an int in the range"),
        (HashingEncoder(max_names=-1), "'max_names' parameter of HashingEncoder must be an int in the range"),
    ],
)
def test_wrong_parameters(encoder, message):
    with pytest.raises(ValueError, match=message):
        encoder.fit([["a"]])


def test_columns_are_no_more_than_indices_reach():
    with pytest.raises(ValueError, match="'max_categories' parameter .* below 2147483648, times the number of columns"):
        OnlineOneHotEncoder(2**30).fit([["a", "b"]])
    assert OnlineOneHotEncoder(2**30).fit_transform([["a"]]).indices.tolist() == [0]
    for encoder in (OnlineOneHotEncoder(2**31), OnlineOrdinalEncoder(2**31)):
        with pytest.raises(ValueError, match=r"'max_categories' parameter .* in the range \[2, 2147483647\]"):
            encoder.fit([["a"]])
    assert OnlineOrdinalEncoder(2**31 - 1).fit_transform([["a", "b"]]).tolist() == [[0.0, 0.0]]


def test_words_that_read_as_the_names_of_other_columns():
    encoder = OnlineOneHotEncoder(6).fit([["(missing)"], [None], ["(other)"], ["(free 3)"]])
    names = encoder.get_feature_names_out(["a"]).tolist()
    assert names == ["a='(missing)'", "a=(missing)", "a='(other)'", "a='(free 3)'", "a=(free 4)", "a=(other)"]
