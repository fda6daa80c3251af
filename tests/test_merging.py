"""Several pipelines that each learnt their own rows are merged into one."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from sklearn_nag import (
    FTRLRegressor,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    OnlineBootstrap,
    ScaleInvariantRegressor,
    merge,
)
from sklearn_nag.preprocessing import (
    HashingEncoder,
    OnlineColumnTransformer,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlineOrdinalEncoder,
    OnlinePipeline,
    OnlineTfidf,
    make_online_pipeline,
    prepare,
)

pd = pytest.importorskip("pandas")

TOWNS = np.array(["Rome", "Oslo", "Lima", "Bonn"])


@pytest.fixture
def frame(rng):
    n = 400
    frame = pd.DataFrame(
        {"age": rng.normal(40.0, 9.0, n), "town": rng.choice(TOWNS, n), "sex": rng.choice(["f", "m"], n)}
    )
    frame.loc[rng.random(n) < 0.1, "age"] = np.nan
    return frame


@pytest.fixture
def target(frame, rng):
    effect = {"Rome": 3.0, "Oslo": -2.0, "Lima": 0.5, "Bonn": 9.0}
    return frame["town"].map(effect).to_numpy() + 0.1 * frame["age"].fillna(40).to_numpy() + rng.normal(size=len(frame))


def columns(width=8):
    words = OnlineOneHotEncoder(width)
    return OnlineColumnTransformer([("words", words, ["town", "sex"]), ("numbers", OnlineImputer(), ["age"])])


def aligned(learner, names):
    """The learner's unit-free weights by column name, because shards learn different scales."""
    return dict(zip(names, np.ravel(learner.coef_) * learner.scale_))


@pytest.mark.parametrize("learner", [NAGRegressor(), NAGRegressor(penalty="l2", alpha=1e-3), ScaleInvariantRegressor()])
def test_words_keep_their_weights_where_shards_met_them_in_another_order(frame, target, learner):
    halves = [np.arange(0, 400, 2), np.arange(1, 400, 2)[::-1]]
    new = make_online_pipeline(columns(), learner)
    models = [clone(new).partial_fit(frame.iloc[rows], target[rows]) for rows in halves]
    words = [model[0].named_transformers_["words"].categories_ for model in models]
    assert list(words[0][0]) != list(words[1][0])
    both = merge(models)
    names = both[:-1].get_feature_names_out()
    weights = aligned(both[-1], names)
    parts = [aligned(model[-1], model[:-1].get_feature_names_out()) for model in models]
    for town in TOWNS:
        name = f"words__town={town}"
        own = [part[name] for part in parts]
        assert min(own) - 1e-9 <= weights[name] <= max(own) + 1e-9
    assert both[-1].t_ == 400
    assert both.score(frame, target) > np.mean([model.score(frame, target) for model in models])
    more = both.partial_fit(frame, target)
    assert more[-1].t_ == 800


def test_moving_all_features_is_learning_them_there(rng):
    X, y = rng.normal(size=(50, 4)) * (rng.random((50, 4)) < 0.5), rng.normal(size=50)
    places = np.array([2, 0, 3, 1])
    for learner in (NAGRegressor(), ScaleInvariantRegressor(), NAGRegressor(normalization="rms", eta0="auto")):
        model = type(learner)(**learner.get_params()).partial_fit(X, y)
        there = np.empty_like(X)
        there[:, places] = X
        expected = type(learner)(**learner.get_params()).partial_fit(there, y)
        moved = model._state.moved(places)
        np.testing.assert_allclose(moved.linear()[0], expected._state.linear()[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(moved.columns.largest, expected._state.columns.largest)


def test_words_without_a_place_share_the_last_column():
    models = []
    for words in (["a", "b"], ["c", "b"]):
        X = pd.DataFrame({"w": words * 50})
        models.append(make_online_pipeline(OnlineOneHotEncoder(3), NAGRegressor()).partial_fit(X, [1.0, -1.0] * 50))
    both = merge(models)
    assert list(both[0].categories_[0]) == ["a", "b"]
    predicted = both.predict(pd.DataFrame({"w": ["b", "c", "new"]}))
    assert predicted[0] < -0.5
    assert predicted[1] == predicted[2]


def test_transformers():
    texts = ["a good one", "a bad one", "one more"]
    both = merge([OnlineTfidf(64).fit(texts[:1]), OnlineTfidf(64).fit(texts[1:])])
    assert both.n_documents_ == 3
    pipes = [make_online_pipeline(OnlineImputer(), OnlineImputer()).partial_fit(X) for X in ([[1.0]], [[3.0]])]
    assert merge(pipes)[0].statistics_ == [2.0]
    assert isinstance(merge(pipes), OnlinePipeline)


def test_text_and_hashed_words(frame, target):
    y = target > np.median(target)
    steps = [("words", HashingEncoder(64), ["town"]), ("text", HashingVectorizer(n_features=64), "sex")]
    new = [make_online_pipeline(OnlineColumnTransformer(steps), NAGClassifier()) for _ in range(2)]
    models = [model.partial_fit(frame[i::2], y[i::2], classes=[0, 1]) for i, model in enumerate(new)]
    assert merge(models).score(frame, y) > 0.9


def test_what_cannot_be_merged_says_so(frame, target):
    ages = frame[["age"]].fillna(0.0)

    def fitted(*steps, X=ages, y=target):
        return make_online_pipeline(*steps).partial_fit(X, y)

    with pytest.raises(TypeError, match="the step 'standardscaler' is a StandardScaler, which cannot be merged"):
        merge([fitted(StandardScaler(), NAGRegressor()) for _ in range(2)])
    with pytest.raises(ValueError, match="the steps 'functiontransformer' of these models differ"):
        merge([fitted(FunctionTransformer(f), NAGRegressor()) for f in (np.abs, np.negative)])
    with pytest.raises(TypeError, match=r"models\[1\] is a NAGRegressor, models\[0\] a OnlinePipeline"):
        merge([fitted(OnlineImputer(), NAGRegressor()), NAGRegressor()])
    with pytest.raises(ValueError, match=r"models\[1\] does not fit models\[0\]: its steps are"):
        merge([fitted(OnlineImputer(), NAGRegressor()), fitted(NAGRegressor())])
    one = fitted(OnlineImputer(), NAGRegressor())
    with pytest.raises(TypeError, match="base is a NAGRegressor, models"):
        merge([one, one], base=NAGRegressor())
    with pytest.raises(ValueError, match="did not go on from base"):
        merge([one, fitted(OnlineImputer(), NAGRegressor())], base=clone(one).partial_fit(ages * 9 + 9, target))
    dense = OnlineOneHotEncoder(4, sparse_output=False)
    shards = []
    for X in ([["a"], ["b"]], [["b"], ["a"]]):
        shards.append(fitted(clone(dense), OnlineImputer(), NAGRegressor(), X=X, y=[1.0, 2.0]))
    with pytest.raises(TypeError, match="'onlineonehotencoder' moves columns when it is merged, and 'onlineimputer'"):
        merge(shards)
    full = []
    for X in ([["a"], ["b"]], [["b"], ["a"]]):
        learner = ScaleInvariantRegressor(invariance="full")
        full.append(fitted(clone(dense), learner, X=X, y=[1.0, 2.0]))
    with pytest.raises(
        ValueError, match="cannot be merged if the same words have different columns: what they keep is of all"
    ):
        merge(full)
    ftrl = [
        make_online_pipeline(OnlineImputer(), FTRLRegressor()).partial_fit([[1.0], [2.0]], [0, 1]) for _ in range(2)
    ]
    with pytest.raises(
        ValueError, match="FTRLRegressor models like these cannot be merged: let one model learn all rows, or"
    ):
        merge(ftrl)


def test_columns_that_are_assigned_otherwise_are_not_merged(frame):
    def fitted(*entries, **options):
        return OnlineColumnTransformer(list(entries), **options).fit(frame)

    words = OnlineOneHotEncoder(8)
    one = fitted(("p", words, ["town"]), ("q", words, ["sex"]))
    others = [
        ("transformers", fitted(("p", words, ["sex"]), ("q", words, ["town"]))),
        ("transformers", fitted(("q", words, ["town"]), ("p", words, ["sex"]))),
        ("transformers", fitted(("p", words, ["town"]), ("q", "drop", ["sex"]))),
        ("transformers", fitted(("p", words, ["town"]), ("q", words, ["sex"]), remainder="passthrough")),
        ("mismatch", fitted(("p", words, ["town"]), ("q", words, ["sex"]), mismatch="fill")),
        (
            "verbose_feature_names_out",
            fitted(("p", words, ["town"]), ("q", words, ["sex"]), verbose_feature_names_out=False),
        ),
    ]
    for what, other in others:
        for models in ([one, other], [other, one]):
            with pytest.raises(ValueError, match=rf"models\[1\] does not fit models\[0\]: {what} is"):
                merge(models)
        with pytest.raises(ValueError, match=rf"base does not fit models\[0\]: {what} is"):
            merge([one, one], other)
    named = [OnlineColumnTransformer([("p", words, [0])]).fit(frame[list(names)].set_axis([3, 0], axis=1))
             for names in (["age", "town"], ["age", "sex"])]  # fmt: skip
    named[1]._state = named[1]._state._replace(names=(4, 0))
    with pytest.raises(ValueError, match=r"columns is \[0, 4\], there \[0, 3\]"):
        merge(named)


def test_what_a_base_knows_is_counted_once(frame, target):
    frame["note"] = np.where(target > 2, "good film", "bad")
    steps = [
        ("words", OnlineOneHotEncoder(8), ["town"]), ("hashed", HashingEncoder(32), ["sex"]),
        ("numbers", OnlineImputer(), ["age"]), ("text", OnlineTfidf(64), "note"),
        ("frequent", OnlineImputer("most_frequent"), ["sex"]),
    ]  # fmt: skip
    new = make_online_pipeline(OnlineColumnTransformer(steps[:-1]), NAGRegressor())
    known = frame["town"].isin(["Rome", "Lima"])  # each shard meets the other towns in another order
    first, rest = np.flatnonzero(known)[:60], np.setdiff1d(np.arange(400), np.flatnonzero(known)[:60])
    base = clone(new).partial_fit(frame.iloc[first], target[first])
    shards = [pickle.loads(pickle.dumps(base)) for _ in range(3)]
    for i, shard in enumerate(shards):
        rows = rest[i::3][:: 1 if i else -1]
        shard.partial_fit(frame.iloc[rows], target[rows])
    together = merge(shards, base)
    whole = clone(new).partial_fit(frame, target)
    assert together[-1].t_ == 400
    own, expected = ({name: step for name, step, _ in model[0].transformers_} for model in (together, whole))
    np.testing.assert_allclose(own["numbers"].statistics_, expected["numbers"].statistics_)
    assert own["text"].n_documents_ == 400
    np.testing.assert_array_equal(own["text"].document_counts_, expected["text"].document_counts_)
    assert own["text"]._state.words == expected["text"]._state.words
    assert own["hashed"]._state.counts == expected["hashed"]._state.counts
    assert set(own["words"].categories_[0]) == set(TOWNS)
    assert own["words"].categories_[0][:2].tolist() == base[0].transformers_[0][1].categories_[0].tolist()
    assert together.score(frame, target) > 0.9
    imputers = [clone(steps[-1][1]).partial_fit(np.array([["a"], ["b"], ["b"]], dtype=object))]
    imputers += [pickle.loads(pickle.dumps(imputers[0])).partial_fit(np.array([["a"]], dtype=object)) for _ in range(3)]
    merged_one = merge(imputers[1:], imputers[0])
    assert merged_one._state.known.counts == ({"a": 4, "b": 2},)
    assert merged_one.statistics_.tolist() == ["a"]


def test_pipelines_of_what_is_made_of_several_learners():
    X, y = np.random.default_rng(0).normal(size=(60, 3)), np.arange(60.0)
    shards = [
        make_online_pipeline(OnlineImputer(), OnlineBootstrap(NAGRegressor(), 3, shard=i)).partial_fit(X[i::2], y[i::2])
        for i in range(2)
    ]
    whole, alone = merge(shards), merge([shard[-1] for shard in shards])
    np.testing.assert_array_equal(whole.predict(X), alone.predict(X))
    new = make_online_pipeline(OnlineOneHotEncoder(), OnlineBootstrap(NAGRegressor(), 3))
    words = [
        clone(new).set_params(onlinebootstrap__shard=i).partial_fit([[w]] * 3, [0, 1, 2]) for i, w in enumerate("ab")
    ]
    with pytest.raises(
        ValueError, match="OnlineBootstrap models cannot be merged if the same words have different columns"
    ):
        merge(words)


@pytest.mark.parametrize("kind", ["cells", "bootstrap"])
def test_models_of_several_learners_are_merged_where_all_words_were_seen_first(kind):
    rng = np.random.default_rng(0)
    n = 1200
    frame = pd.DataFrame({"a": rng.normal(size=n), "w": rng.choice(["u", "v", "x"], n)})
    y = frame["a"].to_numpy() + 2.0 * (frame["w"] == "v").to_numpy() + 0.1 * rng.normal(size=n)
    small = {"n_trees": 10, "depth": 4, "first_rows": 50, "focus_rows": 100, "random_state": 0}
    learner = NAGCellsRegressor(**small) if kind == "cells" else OnlineBootstrap(NAGRegressor(), 3, random_state=0)
    base = prepare(frame, learner).partial_fit(frame[:600], y[:600])
    shards = [copy.deepcopy(base).partial_fit(frame[i:1000:2], y[i:1000:2]) for i in (600, 601)]
    if kind == "bootstrap":
        for i, shard in enumerate(shards):
            shard[-1].set_params(shard=i)
    whole = copy.deepcopy(base).partial_fit(frame[600:1000], y[600:1000])
    merged, alone = merge(shards, base), merge(shards[:1])
    assert merged.score(frame[1000:], y[1000:]) > whole.score(frame[1000:], y[1000:]) - 0.005 > 0.95
    assert alone.predict(frame).tobytes() == shards[0].predict(frame).tobytes()
    others = [
        copy.deepcopy(base).partial_fit(frame[600:700].assign(w=words * 50), y[600:700])
        for words in (["new", "newer"], ["newest", "newer"])
    ]
    with pytest.raises(ValueError, match=r"cannot be merged(| if the same words have different columns): let one"):
        merge(others, base)


def test_words_by_number_are_merged_where_all_have_the_same():
    rows = np.array(["cold", "hot"] * 20)[:, None]
    y = (rows[:, 0] == "hot").astype(float)
    base = make_online_pipeline(OnlineOrdinalEncoder(), NAGRegressor()).partial_fit(rows, y)
    shards = [copy.deepcopy(base).partial_fit(rows[::step], y[::step]) for step in (1, -1)]
    np.testing.assert_allclose(merge(shards, base).predict([["hot"], ["cold"]]), [1.0, 0.0], atol=0.1)
    other = make_online_pipeline(OnlineOrdinalEncoder(), NAGRegressor()).partial_fit(rows[::-1], y[::-1])
    with pytest.raises(ValueError, match="a word has different codes cannot be merged: let one model see the words"):
        merge([base, other])


@pytest.mark.parametrize("with_base", [False, True])
def test_columns_come_in_any_order(frame, target, with_base):
    whole = OnlinePipeline([("columns", columns()), ("learner", NAGRegressor())])
    frame = frame.assign(unused=1.0, other=2.0)
    orders = list(frame.columns), list(frame.columns)[::-1]

    def merged(orders):
        base = clone(whole).partial_fit(frame[:9][orders[-1]], target[:9])
        models = [
            (copy.deepcopy(base) if with_base else clone(whole)).partial_fit(frame[i::2][list(names)], target[i::2])
            for i, names in enumerate(orders)
        ]
        model = merge(models, base if with_base else None)
        assert list(model.feature_names_in_) == orders[-1 if with_base else 0]
        return model

    expected, model = merged([orders[0]] * 2), merged(orders)
    kinds, known = ({*zip(own[0].feature_names_in_, own[0].kinds_)} for own in (model, expected))
    assert kinds == known
    assert np.array_equal(model.predict(frame), expected.predict(frame))
    assert np.array_equal(model.partial_fit(frame, target).predict(frame), model.predict(frame[orders[1]]))
    first = OnlineColumnTransformer([("i", OnlineImputer(), slice(0, 1))])
    models = [clone(first).fit(frame[names]) for names in (["age", "other"], ["other", "age"])]
    with pytest.raises(ValueError, match=r"transformers is \[\('i', .*\['other'\], False\), .*there .*\['age'\]"):
        merge(models)


def test_columns_without_values_are_warned_of_by_name():
    frame = pd.DataFrame({"a": [1.0, 3.0], "b": ["$5", "$2"], "c": [5.0, 2.5]})
    prepared = prepare(frame, NAGRegressor())
    for name in ("b", "c"):
        models = [clone(prepared).partial_fit(table, [1.0, 2.0]) for table in (frame.assign(**{name: None}), frame)]
        with pytest.warns(UserWarning, match=f"no value of column '{name}'"):
            merge(models)
