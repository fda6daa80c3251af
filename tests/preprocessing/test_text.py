"""Texts in a stream."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline

from sklearn_nag import NAGClassifier, merge
from sklearn_nag.preprocessing import OnlineColumnTransformer, OnlineTfidf, make_online_pipeline
from sklearn_nag.preprocessing._base import merged

pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

TEXTS = st.lists(st.lists(st.sampled_from(["aa", "bb", "cc"]), max_size=5).map(" ".join), min_size=1, max_size=10)


@settings(max_examples=40, deadline=None)
@given(TEXTS)
def test_each_text_is_weighed_by_the_texts_up_to_it(texts):
    tfidf = OnlineTfidf(64, ngram_range=(1, 1), norm=None)
    rows = tfidf.learn_transform(texts).toarray()
    place = {word: tfidf.transform([word]).indices[0] for word in ("aa", "bb", "cc")}
    assert len(set(place.values())) == 3
    for t, text in enumerate(texts):
        for word, j in place.items():
            df = sum(word in other.split() for other in texts[: t + 1])
            expected = text.split().count(word) * (math.log((2 + t) / (1 + df)) + 1)
            assert rows[t, j] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize(
    "options", [{}, {"sublinear_tf": True, "norm": "l1"}, {"analyzer": "char", "ngram_range": (2, 3)}]
)
def test_after_all_texts_as_scikit_learns(options):
    texts = ["the good one", "a good bad one", "", "one one one ONE"]
    hashing = {name: value for name, value in options.items() if name not in ("sublinear_tf", "norm")}
    weighing = {name: value for name, value in options.items() if name in ("sublinear_tf", "norm")}
    theirs = make_pipeline(
        HashingVectorizer(n_features=2**10, alternate_sign=False, norm=None, **{"ngram_range": (1, 2), **hashing}),
        TfidfTransformer(**weighing),
    ).fit(texts)
    ours = OnlineTfidf(2**10, **options).fit(texts)
    for some in (texts, ["a new one"]):
        np.testing.assert_allclose(ours.transform(some).toarray(), theirs.transform(some).toarray(), rtol=1e-14)
    np.testing.assert_allclose(ours.idf_, theirs[-1].idf_)
    assert ours.n_documents_ == 4
    assert ours.document_counts_.sum() == theirs[0].transform(texts).nnz


@given(TEXTS, st.integers(0, 10))
@settings(max_examples=50)
def test_cuts_and_copies_change_no_bit(texts, at):
    whole, cut = OnlineTfidf(64), OnlineTfidf(64)
    expected, parts = whole.learn_transform(texts), []
    for part in (texts[:at], texts[at:]):
        if part:
            parts.append(cut.learn_transform(part))
            cut = copy.deepcopy(pickle.loads(pickle.dumps(cut)))
    for name in ("data", "indices"):
        assert np.concatenate([getattr(p, name) for p in parts]).tobytes() == getattr(expected, name).tobytes()
    assert cut.transform(texts).data.tobytes() == whole.transform(texts).data.tobytes()
    assert cut.partial_fit(texts)._state.n == whole.partial_fit(texts)._state.n


def test_texts_of_all_kinds():
    try:
        import pyarrow as pa
    except ImportError:
        pa = None
    texts = ["good one", None, "bad one"]
    expected = OnlineTfidf(64).learn_transform(["good one", "", "bad one"]).toarray()
    for X in (
        texts,
        np.array(texts, dtype=object),
        pd.Series(texts),
        pl.Series(texts),
        pd.DataFrame({"note": texts}),
        pl.DataFrame({"note": texts}),
        np.array(texts, dtype=object)[:, None],
        *([] if pa is None else [pa.array(texts), pa.chunked_array([texts]), pa.table({"note": texts})]),
    ):
        np.testing.assert_array_equal(OnlineTfidf(64).learn_transform(X).toarray(), expected)
    for columns in ("note", ["note"]):
        transformer = OnlineColumnTransformer([("text", OnlineTfidf(64), columns)])
        np.testing.assert_array_equal(transformer.learn_transform(pd.DataFrame({"note": texts})).toarray(), expected)
        assert transformer.get_feature_names_out()[3] == "text__note=bad"


def test_halves_of_characters_as_names_of_files_have_them():
    rows = OnlineTfidf(2**20, ngram_range=(1, 2), analyzer="char").learn_transform(["caf\udce9", "caf\udce8"])
    assert (rows[[0]] != rows[[1]]).nnz > 0


def test_what_is_no_list_of_texts():
    with pytest.raises(ValueError, match="string object received"):
        OnlineTfidf().fit("text")
    with pytest.raises(ValueError, match="X has 2 columns; texts are one column"):
        OnlineTfidf().fit(pd.DataFrame({"a": ["x"], "b": ["y"]}))
    with pytest.raises(ValueError, match="X has 2 columns; texts are one column"):
        OnlineTfidf().fit([["x", "y"]])
    with pytest.raises(ValueError, match="0 sample"):
        OnlineTfidf().fit([])


def test_a_call_that_fails_leaves_no_trace():
    tfidf = OnlineTfidf(16).fit(["a text"])
    counts = tfidf.document_counts_
    with pytest.raises(ValueError, match="stop_words"):
        tfidf.set_params(stop_words="klingon").fit(["other"])
    assert (tfidf.document_counts_ == counts).all()


def test_merging():
    texts = ["a good one", "a bad one", "one more", "good"]
    both = merged([OnlineTfidf(64).fit(texts[:1]), OnlineTfidf(64).fit(texts[1:])])
    whole = OnlineTfidf(64).fit(texts)
    assert both.n_documents_ == 4
    np.testing.assert_array_equal(both.document_counts_, whole.document_counts_)


def test_before_a_learner(rng):
    texts = [" ".join(rng.choice(["good" if good else "bad", "one", "film", "much"], 6)) for good in (0, 1) * 100]
    y = [0, 1] * 100
    pipeline = make_online_pipeline(OnlineTfidf(2**12), NAGClassifier()).partial_fit(texts, y, classes=[0, 1])
    assert pipeline.score(texts, y) > 0.8
    cut = make_online_pipeline(OnlineTfidf(2**12), NAGClassifier())
    for start in range(0, 200, 37):
        cut.partial_fit(texts[start : start + 37], y[start : start + 37], classes=[0, 1])
    assert cut.decision_function(texts).tobytes() == pipeline.decision_function(texts).tobytes()


@pytest.mark.parametrize(
    ("tfidf", "message"),
    [
        (OnlineTfidf(0), "'n_features' parameter of OnlineTfidf must be an int in the range"),
        (OnlineTfidf(sublinear_tf=2), "'sublinear_tf' parameter of OnlineTfidf must be True or False"),
        (OnlineTfidf(norm="max"), "'norm' parameter of OnlineTfidf must be one of 'l1', 'l2', None"),
    ],
)
def test_wrong_parameters(tfidf, message):
    with pytest.raises(ValueError, match=message):
        tfidf.fit(["a text"])


def test_the_words_seen_most_name_their_columns():
    tfidf = OnlineTfidf(2**10, ngram_range=(1, 2)).fit(["good film", "bad film", "good"])
    names = tfidf.get_feature_names_out(["review"])
    places = tfidf.transform(["film"]).indices
    assert names[places] == ["review=film"]
    assert {"review=good", "review=bad", "review=good film", "review=bad film"} < set(names)
    assert sum("_hashed" in name for name in names) >= 2**10 - 5
    assert not any("=" in name for name in OnlineTfidf(2**10, max_names=0).fit(["good"]).get_feature_names_out())


def test_words_are_remembered_whatever_the_cuts():
    rng = np.random.default_rng(0)
    texts = [" ".join(f"w{k}" for k in rng.zipf(1.5, 9) % 300) for _ in range(200)]
    whole = OnlineTfidf(2**10, max_names=20).partial_fit(texts)
    parts = OnlineTfidf(2**10, max_names=20)
    for start in range(0, 200, 7):
        parts.partial_fit(texts[start : start + 7])
    assert list(whole._state.words.items()) == list(parts._state.words.items())
    assert 20 <= len(whole._state.words) <= 40
    assert "w1" in whole._state.words
    halves = [OnlineTfidf(2**10, max_names=20).partial_fit(texts[i::2]) for i in range(2)]
    counts = merge(halves)._state.words
    assert counts["w1"] == sum(half._state.words["w1"] for half in halves)
    assert len(counts) <= 40


def test_models_of_before_names_were_remembered_go_on():
    saved = OnlineTfidf(2**10).fit(["good film"])
    vars(saved).pop("max_names")
    saved._begun_with.pop("max_names")
    saved._state = type(saved._state)(saved._state.n, saved._state.counts)
    read = pickle.loads(pickle.dumps(saved))
    assert read.max_names == 1000
    assert "x0=bad" in read.partial_fit(["bad film"]).get_feature_names_out()


def test_bytes_are_texts_in_utf_8():
    docs = ["first line\nsecond\ttab", "café"]
    expected = OnlineTfidf(2**10).fit(docs)
    encoded = [doc.encode() for doc in docs]
    column = pd.Series(encoded, name="t")
    for X in (encoded, np.array(encoded), np.array(encoded, dtype=object)[:, None], column, pl.Series(encoded)):
        tfidf = OnlineTfidf(2**10).fit(X)
        assert tfidf._state.words == expected._state.words
        np.testing.assert_array_equal(tfidf.transform(X).toarray(), expected.transform(docs).toarray())
    assert OnlineTfidf(2**10).fit(column.to_frame())._state.words == expected._state.words
    for transformer in (OnlineTfidf(), HashingVectorizer()):
        with pytest.raises(UnicodeDecodeError, match="'utf-8' codec can't decode byte 0xe9"):
            transformer.fit_transform(["café".encode("latin-1")])


@pytest.mark.parametrize("found", [5, [5]])
def test_an_analyzer_that_makes_no_words_is_named(found):
    with pytest.raises(TypeError, match="analyzer must return a list of str for a text"):
        OnlineTfidf(ngram_range=(1, 1), analyzer=lambda text: found).fit(["a"])


@pytest.mark.parametrize("changed", [{"n_features": 128}, {"n_features": 32}, {"analyzer": "char"}])
def test_texts_are_not_weighed_by_counts_of_other_columns(changed):
    tfidf = OnlineTfidf(64).fit(["good bad"]).set_params(max_names=2)
    assert tfidf.transform(["good"]).nnz == 1
    [(name, value)] = changed.items()
    tfidf.set_params(**changed)
    with pytest.raises(ValueError, match=f"{name} was .* when this OnlineTfidf was new and is {value!r} now"):
        tfidf.transform(["good bad zoo y q r s"])


def test_it_knows_the_name_of_its_column():
    encoder = OnlineTfidf(16).fit(pd.DataFrame({"note": ["hello"]}))
    assert encoder.feature_names_in_.tolist() == ["note"]
    assert encoder.get_feature_names_out()[0].startswith("note")
    with pytest.raises(ValueError, match="feature names should match"):
        encoder.transform(pd.DataFrame({"other": ["hello"]}))
    encoder.fit(["hello"])  # from scratch
    assert not hasattr(encoder, "feature_names_in_")
    assert encoder.get_feature_names_out()[0].startswith("x0")


@pytest.mark.parametrize("texts", [{"a"}, (text for text in "ab"), sparse.csr_array([[1.0]])])
def test_what_is_no_sequence_of_texts(texts):
    with pytest.raises(TypeError, match="X is a|passed for X"):
        OnlineTfidf().fit(texts)


def test_a_masked_text_is_none():
    with pytest.raises(ValueError, match="X has a masked entry in row 1"):
        OnlineTfidf().fit(np.ma.array(["a", "b"], mask=[False, True]))
