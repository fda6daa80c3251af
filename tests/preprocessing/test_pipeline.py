"""Pipelines that learn from streams."""

import copy
import itertools
import pickle
import threading

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import has_fit_parameter

import sklearn_nag
from sklearn_nag import FTRLRegressor, HedgeClassifier, NAGCellsRegressor, NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import (
    ProgressiveSearch,
    ProgressiveSplit,
    eta_sweep,
    progressive_score,
    progressive_validation,
)
from sklearn_nag.preprocessing import (
    OnlineColumnTransformer,
    OnlineCurves,
    OnlineImputer,
    OnlineOneHotEncoder,
    OnlinePipeline,
    OnlineTfidf,
    make_online_pipeline,
    prepare,
)
from sklearn_nag.streams import fit_stream

from ..checks import run_check
from .helpers import Centred

pd = pytest.importorskip("pandas")

CLASSES = [0, 1]


@pytest.fixture
def rows(rng):
    X = rng.normal(3.0, size=(60, 3))
    return X, (X[:, 0] > 3.0).astype(int)


def bits(pipeline, X):
    """Return the decision values of a pipeline as bytes."""
    return pipeline.decision_function(X).tobytes()


@parametrize_with_checks(
    [
        make_online_pipeline(Centred(), FTRLRegressor(random_state=0)),
        make_online_pipeline(Centred(), NAGClassifier(random_state=0)),
    ]
)
def test_scikit_learns_checks(estimator, check):
    names = ("check_dont_overwrite_parameters", "check_estimators_overwrite_params")
    run_check(check, estimator, dict.fromkeys(names, "a Pipeline fits its steps, not clones of them"))


def test_each_step_sees_what_the_one_before_has_made_of_the_rows_so_far(rows):
    X, y = rows
    pipeline = make_online_pipeline(Centred(), Centred(2.0), NAGClassifier())
    pipeline.partial_fit(X, y, classes=CLASSES)
    seen = np.array([X[t] - X[: t + 1].mean(axis=0) for t in range(len(X))])
    seen = np.array([2.0 * (seen[t] - seen[: t + 1].mean(axis=0)) for t in range(len(X))])
    alone = NAGClassifier().partial_fit(seen, y, classes=CLASSES)
    np.testing.assert_allclose(pipeline[-1].coef_, alone.coef_, rtol=1e-9)


@pytest.mark.parametrize("method", ["partial_fit", "fit_stream", "progressive_validation", "pickle", "deepcopy"])
def test_cuts_and_copies_change_no_bit(rows, method, tmp_path):
    X, y = rows
    new = make_online_pipeline(Centred(), Centred(0.5), NAGClassifier())
    expected = clone(new).partial_fit(X, y, classes=CLASSES)
    parts = [(X[:1], y[:1]), (X[1:17], y[1:17]), (X[17:], y[17:])]
    if method == "fit_stream":
        cut = fit_stream(new, parts, classes=CLASSES, checkpoint=tmp_path / "run", progress=False)
        with pytest.raises(ValueError, match="another run"):
            fit_stream(
                make_online_pipeline(Centred(), NAGClassifier()), parts, classes=CLASSES, checkpoint=tmp_path / "run"
            )
    elif method == "progressive_validation":
        cut = progressive_validation(new, iter(parts), classes=CLASSES).estimator
    else:
        copied = {"pickle": lambda model: pickle.loads(pickle.dumps(model)), "deepcopy": copy.deepcopy}
        cut = clone(new)
        for X_part, y_part in parts:
            cut.partial_fit(X_part, y_part, classes=CLASSES)
            cut = copied[method](cut) if method in copied else cut
    assert isinstance(cut, OnlinePipeline)
    assert bits(cut, X) == bits(expected, X)


def test_others_learn_a_batch_before_they_transform_it(rows):
    X, y = rows
    pipeline = make_online_pipeline(StandardScaler(), NAGClassifier())
    scaler, learner = StandardScaler(), NAGClassifier()
    for part in (slice(0, 20), slice(20, 60)):
        pipeline.partial_fit(X[part], y[part], classes=CLASSES)
        learner.partial_fit(scaler.partial_fit(X[part]).transform(X[part]), y[part], classes=CLASSES)
    assert bits(pipeline, X) == learner.decision_function(scaler.transform(X)).tobytes()


def test_steps_that_learn_nothing_or_are_fitted_only_transform(rows):
    X, y = rows
    fitted = StandardScaler().fit(X[:10])
    mean = fitted.mean_.copy()
    pipeline = make_online_pipeline(FunctionTransformer(np.negative), None, FrozenEstimator(fitted), SGDClassifier())
    pipeline.partial_fit(X, y, classes=CLASSES)
    assert fitted.mean_.tobytes() == mean.tobytes()
    words = make_online_pipeline(OneHotEncoder(handle_unknown="ignore").fit([["a"], ["b"]]), NAGClassifier())
    words.partial_fit([["a"], ["b"], ["c"]], [0, 1, 1], classes=CLASSES)
    text = make_online_pipeline(HashingVectorizer(n_features=64), NAGClassifier())
    assert text.partial_fit(["good", "bad"] * 20, [0, 1] * 20, classes=CLASSES).predict(["bad"]) == [1]


def test_a_step_that_needs_all_rows_is_named():
    pipeline = OnlinePipeline([("centre", Centred()), ("words", OneHotEncoder()), ("learn", NAGClassifier())])
    with pytest.raises(TypeError, match="the step 'words', OneHotEncoder, has to see all rows"):
        pipeline.partial_fit([[1.0], [2.0]], [0, 1], classes=CLASSES)
    with pytest.raises(NotFittedError):
        pipeline["centre"].transform([[1.0]])


def test_only_what_can_learn_from_a_stream_has_partial_fit():
    from sklearn.linear_model import LogisticRegression

    assert not hasattr(make_online_pipeline(Centred(), LogisticRegression()), "partial_fit")
    assert not hasattr(make_online_pipeline(Centred(), NAGRegressor()), "learn_transform")
    with pytest.raises(ValueError, match="must be a list of tuples .* at least one. Got \\[\\] instead"):
        OnlinePipeline([]).partial_fit([[1.0]])
    with pytest.raises(ValueError, match="must be a list of tuples .* at least one. Got None instead"):
        OnlinePipeline(None).learn_transform([[1.0]])


class Failing(NAGClassifier):
    def partial_fit(self, X, y, classes=None, sample_weight=None):
        raise RuntimeError("no")

    def fit(self, X, y):
        raise RuntimeError("no")


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_call_that_fails_leaves_no_step_changed(rows, method):
    X, y = rows
    inner = make_online_pipeline(Centred(), StandardScaler())
    pipeline = make_online_pipeline(inner, StandardScaler(), NAGClassifier())
    pipeline.partial_fit(X[:20], y[:20], classes=CLASSES)
    expected = copy.deepcopy(pipeline)
    learner = pipeline.steps[-1]
    pipeline.steps[-1] = ("nagclassifier", Failing())
    with pytest.raises(RuntimeError, match="no"):
        getattr(pipeline, method)(X[20:], y[20:])
    pipeline.steps[-1] = learner
    assert bits(pipeline, X) == bits(expected, X)
    for each in (pipeline, expected):
        each.partial_fit(X[20:], y[20:])
    assert bits(pipeline, X) == bits(expected, X)
    with pytest.raises(ValueError, match="NaN"):
        pipeline.partial_fit(np.full((2, 3), np.nan), [0, 1])
    assert bits(pipeline, X) == bits(expected, X)


class Locked:
    """A function of rows that cannot be copied."""

    def __init__(self):
        self.lock = threading.Lock()

    def __call__(self, X):
        return X + 0.0


class Grown(StandardScaler):
    """A scaler that changes its learnt state in place, and may hold an attribute that cannot be copied."""

    def fit(self, X, y=None):
        if hasattr(self, "seen_"):
            self.seen_ += 1
        return super().fit(X)


def test_parameters_of_steps_are_not_copied(rows):
    X, y = rows
    union = FeatureUnion([("grown", Grown()), ("same", "passthrough")])
    pipeline = make_online_pipeline(FunctionTransformer(Locked()), union, NAGClassifier(random_state=0)).fit(X, y)
    expected, grown = bits(pipeline, X), union.transformer_list[0][1]
    grown.seen_, learner = np.zeros(1), pipeline.steps[-1]
    pipeline.steps[-1] = ("nagclassifier", Failing())
    for kept in (None, threading.Lock()):
        grown.kept = kept
        with pytest.raises(RuntimeError, match="no"):
            pipeline.fit(X * 2.0, y)
        assert union.transformer_list[0][1] is grown
        assert grown.seen_[0] == (kept is not None)  # no copy could be made
    pipeline.steps[-1] = learner
    assert bits(pipeline, X) == expected


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_a_last_step_of_others_that_fails_stays_as_it_was(method):
    pipeline = make_online_pipeline(StandardScaler(), MultinomialNB())
    with pytest.raises(ValueError, match="Negative values"):
        getattr(pipeline, method)([[1.0], [2.0]], [0, 1], **({} if method == "fit" else {"classes": CLASSES}))
    assert vars(pipeline[-1]) == vars(MultinomialNB())


def test_what_is_frozen_is_not_told_anything():
    frozen = Told(shuffle=False).fit([[1.0], [2.0]], [1.0, 2.0])
    frozen.told_ = "before"
    with pytest.raises(ValueError, match="features"):
        OnlinePipeline([*prepare(MIXED).steps, ("learn", FrozenEstimator(frozen))]).fit(MIXED, TARGET).predict(MIXED)
    assert frozen.told_ == "before"


def test_a_new_pipeline_that_fails_stays_new(rows):
    X, y = rows
    pipeline = make_online_pipeline(Centred(), StandardScaler(), NAGClassifier())
    with pytest.raises(ValueError, match="2 is not one of|contains 2"):
        pipeline.partial_fit(X, y + 1, classes=CLASSES)
    assert not hasattr(pipeline[0], "_state")
    assert not hasattr(pipeline[1], "mean_")


def test_fit_is_that_of_a_pipeline(rows):
    X, y = rows
    learner = NAGClassifier(random_state=0)
    ours = make_online_pipeline(Centred(), clone(learner)).partial_fit(X[:9], y[:9], classes=CLASSES).fit(X, y)
    assert bits(ours, X) == bits(make_pipeline(Centred(), learner).fit(X, y), X)
    assert ours[-1].n_iter_ > 1
    search = GridSearchCV(ours, {"centred__factor": [1.0, 2.0]}, cv=3, scoring="accuracy").fit(X, y)
    assert search.best_score_ > 0.8
    assert isinstance(search.best_estimator_, OnlinePipeline)


def test_as_a_transformer_inside_another(rows):
    X, y = rows
    inner = make_online_pipeline(Centred(), Centred(3.0))
    pipeline = make_online_pipeline(inner, NAGClassifier()).partial_fit(X, y, classes=CLASSES)
    flat = make_online_pipeline(Centred(), Centred(3.0), NAGClassifier()).partial_fit(X, y, classes=CLASSES)
    assert bits(pipeline, X) == bits(flat, X)
    new = make_online_pipeline(Centred(), Centred(3.0))
    np.testing.assert_array_equal(new.learn_transform(X)[:5], clone(new).learn_transform(X[:5]))
    np.testing.assert_array_equal(clone(new).fit_transform(X), clone(new).fit(X).transform(X))
    np.testing.assert_array_equal(clone(new).partial_fit(X).transform(X), new.transform(X))


def test_weights_go_to_the_learner(rows):
    X, y = rows
    weight = np.arange(60.0)
    pipeline = make_online_pipeline(Centred(), NAGClassifier(random_state=0))
    pipeline.partial_fit(X, y, classes=CLASSES, sample_weight=weight)
    assert pipeline[-1].t_ == weight.sum()
    by_step = clone(pipeline).partial_fit(X, y, classes=CLASSES, nagclassifier__sample_weight=weight)
    assert bits(by_step, X) == bits(pipeline, X)
    with pytest.raises(ValueError, match="does not accept the parameter 'weight'.*'centred', 'nagclassifier'"):
        pipeline.partial_fit(X, y, weight=weight)
    fitted = clone(pipeline).fit(X, y, sample_weight=weight)
    assert bits(fitted, X) == bits(clone(pipeline).fit(X, y, nagclassifier__sample_weight=weight), X)
    assert bits(fitted, X) != bits(clone(pipeline).fit(X, y), X)
    with pytest.raises(ValueError, match="sample_weight and nagclassifier__sample_weight are the same"):
        pipeline.fit(X, y, sample_weight=weight, nagclassifier__sample_weight=weight)
    assert not has_fit_parameter(pipeline, "sample_weight")  # it is not known whether the last step takes it
    for method in ("fit", "partial_fit"):
        with pytest.raises(TypeError, match="the last step, 'end', passes rows on unchanged: it takes no"):
            getattr(OnlinePipeline([("a", Centred()), ("end", None)]), method)(X, sample_weight=weight)
    by_name, by_step = (
        cross_val_score(pipeline, X, y, params={name: weight}, error_score="raise", scoring="neg_log_loss")
        for name in ("sample_weight", "nagclassifier__sample_weight")
    )
    np.testing.assert_array_equal(by_name, by_step)


def test_weights_are_routed(rows):
    X, y = rows
    weight = np.arange(60.0)
    plain = make_online_pipeline(StandardScaler(), NAGClassifier(random_state=0))
    plain.partial_fit(X, y, classes=CLASSES, sample_weight=weight)
    assert not hasattr(plain, "set_fit_request")  # only steps have these
    assert not hasattr(plain, "set_partial_fit_request")
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError):
            clone(plain).partial_fit(X, y, classes=CLASSES, sample_weight=weight)
        learner = NAGClassifier(random_state=0).set_partial_fit_request(sample_weight=True)
        scaler = StandardScaler().set_partial_fit_request(sample_weight=False)
        routed = make_online_pipeline(scaler, learner)
        routed.partial_fit(X, y, classes=CLASSES, sample_weight=weight)
        assert bits(routed, X) == bits(plain, X)
        scaler = StandardScaler().set_partial_fit_request(sample_weight=True)
        both = make_online_pipeline(scaler, learner).partial_fit(X, y, classes=CLASSES, sample_weight=weight)
        np.testing.assert_allclose(both[0].mean_, np.average(X, axis=0, weights=weight))
        scaler = StandardScaler().set_fit_request(sample_weight=True)
        both = make_online_pipeline(scaler, learner.set_fit_request(sample_weight=True)).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(both[0].mean_, np.average(X, axis=0, weights=weight))
        assert bits(both, X) == bits(clone(both).fit(X, y, sample_weight=weight), X)
        scaler = StandardScaler().set_partial_fit_request(sample_weight=True)
        passing = OnlinePipeline([("scaler", scaler), ("end", "passthrough")]).partial_fit(X, sample_weight=weight)
        np.testing.assert_allclose(passing[0].mean_, np.average(X, axis=0, weights=weight))


@pytest.mark.parametrize(
    "learnt",
    [
        lambda each, X, y, weight: progressive_validation(each, X, y, sample_weight=weight).estimator,
        lambda each, X, y, weight: progressive_validation(each, X, y, sample_weight=weight, delay=2).estimator,
        lambda each, X, y, weight: ProgressiveSearch(each).fit(X, y, sample_weight=weight).best_estimator_,
        lambda each, X, y, weight: (
            HedgeClassifier([("a", each)], shuffle=False).fit(X, y, sample_weight=weight).estimators_[0]
        ),
        lambda each, X, y, weight: eta_sweep(each, X, y, [1.0], sample_weight=weight).estimators[0],
        lambda each, X, y, weight: fit_stream(each, [(X, y, weight)] * 2, classes=CLASSES),
    ],
    ids=["validation", "delayed", "search", "mixture", "sweep", "stream"],
)
def test_weights_are_routed_where_pipelines_are_taken_apart(rows, learnt):
    X, y = rows
    weight = np.arange(1.0, 61.0)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_partial_fit_request(sample_weight=True)
        pipeline = learnt(make_online_pipeline(scaler, NAGClassifier()), X, y, weight)
        np.testing.assert_allclose(pipeline[0].mean_, np.average(X, axis=0, weights=weight))
        with pytest.raises(UnsetMetadataPassedError, match=r"sample_weight.* StandardScaler\.partial_fit"):
            learnt(make_online_pipeline(StandardScaler(), NAGClassifier()), X, y, weight)


def test_in_mixtures_searches_and_sweeps(rows):
    X, y = rows
    pipeline = make_online_pipeline(Centred(), NAGClassifier(eta0=0.3))
    mixture = HedgeClassifier([("a", pipeline), ("b", NAGClassifier())]).partial_fit(X, y, classes=CLASSES)
    cut = HedgeClassifier([("a", pipeline), ("b", NAGClassifier())])
    for part in np.array_split(np.arange(60), 7):
        cut.partial_fit(X[part], y[part], classes=CLASSES)
    assert bits_of_probabilities(mixture, X) == bits_of_probabilities(cut, X)
    sweep = eta_sweep(pipeline, X, y, eta0s=[0.1, 1.0])
    expected = clone(pipeline).set_params(nagclassifier__eta0=1.0).partial_fit(X, y, classes=CLASSES)
    assert isinstance(sweep.estimators[1], OnlinePipeline)
    assert bits(sweep.estimators[1], X) == bits(expected, X)
    one_pass = make_online_pipeline(Centred(), NAGClassifier(max_iter=1, shuffle=False))
    search = GridSearchCV(
        one_pass, {"nagclassifier__eta0": [1e-4, 1.0]}, scoring=progressive_score, cv=ProgressiveSplit()
    )
    assert search.fit(X, y).best_params_ == {"nagclassifier__eta0": 1.0}


def bits_of_probabilities(classifier, X):
    return classifier.predict_proba(X).tobytes()


def test_frames_between_steps(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    pipeline = make_online_pipeline(Centred(), NAGClassifier()).set_output(transform="pandas")
    pipeline.partial_fit(frame, y, classes=CLASSES)
    assert list(pipeline[-1].feature_names_in_) == ["a", "b", "c"]
    assert list(pipeline[:-1].get_feature_names_out()) == ["a", "b", "c"]
    assert isinstance(pipeline[:-1], OnlinePipeline)
    with pytest.raises(ValueError, match="feature names should match|must be in the same order"):
        pipeline.predict(frame[["c", "a", "b"]])


def test_a_pipeline_that_tells_steps_fits_them_by_its_own_parameters(rows, capsys):
    pipeline = OnlinePipeline(
        [("scale", StandardScaler()), ("last", Ahead())], verbose=True, transform_input=["others"]
    )
    fits = pipeline._telling([])
    assert fits.transform_input == ["others"]
    pipeline.set_params(transform_input=None).fit(rows[0] if isinstance(rows, tuple) else rows)
    assert "Processing last" in capsys.readouterr().out


def test_is_a_pipeline():
    assert issubclass(OnlinePipeline, Pipeline)
    pipeline = make_online_pipeline(Centred(), Centred())
    assert list(pipeline.named_steps) == ["centred-1", "centred-2"]


@pytest.mark.filterwarnings("ignore:This Pipeline instance is not fitted:FutureWarning")  # scikit-learn before 1.8
@pytest.mark.parametrize("name", ["predict", "predict_proba", "predict_log_proba", "decision_function"])
def test_predictions_are_those_of_a_pipeline(rows, name):
    X, y = rows
    steps = [("centred", Centred()), ("nothing", None), ("same", "passthrough"), ("learn", NAGClassifier())]
    pipeline, plain = OnlinePipeline(steps), Pipeline(steps)
    for each in (plain, pipeline):
        with pytest.raises(NotFittedError, match="fitted"):
            getattr(each, name)(X)
    pipeline.partial_fit(X, y, classes=CLASSES)
    for routes in (False, True):
        with sklearn.config_context(enable_metadata_routing=routes):
            np.testing.assert_array_equal(getattr(pipeline, name)(X), getattr(plain, name)(X))
    with pytest.raises(TypeError):
        getattr(pipeline, name)(X, unknown=1)
    assert getattr(OnlinePipeline, name).__doc__ == getattr(Pipeline, name).__doc__
    pipeline.set_params(centred="drop")
    with pytest.raises(AttributeError, match="no attribute 'transform'"):
        getattr(pipeline, name)(X)
    regressor = make_online_pipeline(Centred(), NAGRegressor())
    assert hasattr(regressor, name) == hasattr(Pipeline(regressor.steps), name)


class Told(FTRLRegressor):
    """A learner that wants to know which columns hold numbers."""

    def set_numeric_columns(self, positions):
        self.told_ = positions


class Ahead(MaxAbsScaler):
    """A transformer that wants to know which columns hold numbers."""

    def set_numeric_columns(self, positions):
        self.told_ = positions


MIXED = pd.DataFrame({
    "age": [20.0, 31.0, np.nan, 54.0], "town": ["Rome", "Oslo", "Rome", "Lima"],
    "sold": pd.to_datetime(["2024-01-01", "2024-02-03", "2024-03-07", "2024-01-09"]), "height": [1.5, 1.8, 1.6, 1.7],
    "seen": ["$1", "$2", "?", "$4"],
})  # fmt: skip
TARGET = [1.0, 2.0, 3.0, 4.0]


def numeric_names(pipeline, positions):
    return pipeline[0].get_feature_names_out()[positions].tolist()


@pytest.mark.parametrize("way", ["fit", "partial_fit", "fit_stream", "progressive_validation"])
def test_steps_that_want_to_know_it_are_told_which_columns_hold_numbers(way):
    pipeline = OnlinePipeline([*prepare(MIXED).steps, ("ahead", Ahead()), ("learn", Told(max_iter=1))])
    if way == "fit_stream":
        pipeline = fit_stream(pipeline, [(MIXED, TARGET)])
    elif way == "progressive_validation":
        pipeline = progressive_validation(pipeline, MIXED, TARGET).estimator
    else:
        getattr(pipeline, way)(MIXED, TARGET)
    known = ["age", "height", "seen", "sold_days"]
    assert sorted(numeric_names(pipeline, pipeline["ahead"].told_)) == known
    assert pipeline["learn"].told_.tolist() == pipeline["ahead"].told_.tolist()  # a scaler keeps positions
    assert pipeline[0].get_feature_names_out().size > len(known)


def test_curves_that_learn_a_stream_are_told_which_columns_hold_numbers():
    pipeline = OnlinePipeline([*prepare(MIXED).steps, ("curves", OnlineCurves(n_knots=2, first_rows=2))])
    pipeline.learn_transform(MIXED)
    assert len(pipeline["curves"].knots_) == len(pipeline[0].numeric_outputs_) > 0


def test_positions_count_through_passed_and_foreign_columns():
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"], "c": [3.0, 5.0], "d": [1, 2], "e": ["u", "v"]})
    columns = OnlineColumnTransformer(
        [
            ("words", OneHotEncoder(handle_unknown="ignore"), ["b"]), ("scaled", StandardScaler(), ["c"]),
            ("made", FunctionTransformer(lambda X: np.hstack([X, X])), ["a"]), ("same", "passthrough", ["d", "e"]),
        ]
    )  # fmt: skip
    columns.fit(frame)
    assert columns.numeric_outputs_.tolist() == [2, 3, 4, 5]
    pipeline = make_online_pipeline(columns, "passthrough", StandardScaler(with_mean=False))
    assert pipeline.fit(frame[["a", "b", "c", "d"]].assign(e=["1", "2"])).numeric_outputs_.tolist() == [2, 3, 4, 5]


@pytest.mark.parametrize("by_user", [None, (0, 2)])
@pytest.mark.parametrize(
    "step",
    [OnlineCurves(n_knots=3, first_rows=5), NAGCellsRegressor(n_trees=2, first_rows=5, max_iter=2, random_state=0)],
)
def test_what_a_pipeline_has_told_is_for_one_model_alone(step, by_user, rows):
    def told(estimator):
        return estimator if by_user is None else estimator.set_numeric_columns(by_user)

    X, _ = rows
    y, frame = X[:, 0], pd.DataFrame(X, columns=["a", "b", "c"]).assign(w=np.where(X[:, 1] > 0, "u", "v"))
    prep = OnlineColumnTransformer([("w", OnlineOneHotEncoder(3), ["w"]), ("n", "passthrough", ["a"])])
    pipeline = OnlinePipeline([("prep", prep), ("step", told(clone(step)))]).fit(frame, y)
    assert pipeline["step"]._numeric == (3,)
    alone = pickle.loads(pickle.dumps(pipeline["step"]))
    alone.partial_fit(prep.transform(frame), y)  # it continues with the columns it began with
    pipeline.set_params(prep=StandardScaler()).fit(X, y)
    for again, Z in ((alone.fit(X, y), X), (pipeline["step"], pipeline["prep"].transform(X))):
        fresh = told(clone(step)).fit(Z, y)
        method = "predict" if hasattr(fresh, "predict") else "transform"
        made, expected = (getattr(one, method)(Z) for one in (again, fresh))
        assert again._numeric == by_user
        assert np.array_equal(made, expected) if method == "predict" else (made != expected).nnz == 0


def test_a_pipeline_that_fails_has_told_nothing(rows):
    X, _ = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    prep = OnlineColumnTransformer([("n", "passthrough", ["a"])])
    pipeline = OnlinePipeline([("prep", prep), ("step", NAGCellsRegressor(n_trees=2, first_rows=5, random_state=0))])
    for learn in (pipeline.fit, pipeline.partial_fit):
        with pytest.raises(ValueError, match="NaN"):
            learn(frame, np.full(len(X), np.nan))
        assert pipeline["step"]._told is None


def test_nobody_is_told_anew_but_by_fit_and_a_failed_call_takes_it_back():
    pipeline = OnlinePipeline([*prepare(MIXED).steps, ("learn", Told(max_iter=1))])
    with pytest.raises(ValueError, match="NaN"):
        pipeline.partial_fit(MIXED, [np.nan, 1.0, 2.0, 3.0])
    assert not hasattr(pipeline["learn"], "told_")
    pipeline.partial_fit(MIXED, TARGET)
    first = pipeline["learn"].told_
    assert pipeline.partial_fit(MIXED, TARGET)["learn"].told_ is first
    with pytest.raises(ValueError, match="NaN"):
        pipeline.fit(MIXED, [np.nan, 1.0, 2.0, 3.0])
    assert pipeline["learn"].told_ is first
    assert pipeline.fit(MIXED, TARGET)["learn"].told_ is not first


def test_coefficients_have_the_names_that_the_steps_give():
    pipeline = prepare(MIXED, FTRLRegressor()).partial_fit(MIXED, TARGET)
    table = pipeline.coefficients(as_frame=False)
    assert {"age", "town=Rome", "sold_days", "height", "seen"} < set(table.feature)
    np.testing.assert_array_equal(table.weight, pipeline[-1].coef_)
    plain = make_online_pipeline(FTRLRegressor()).partial_fit([[1.0, 2.0]], [1.0])
    assert plain.coefficients(as_frame=False).feature.tolist() == ["x0", "x1"]
    assert plain.coefficients(["a", "b"], as_frame=False).feature.tolist() == ["a", "b"]
    curves = OnlineCurves(n_knots=2), FTRLRegressor()
    flat = make_online_pipeline(OnlineImputer(), *curves).partial_fit([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0])
    nested = make_online_pipeline(OnlineImputer(), make_online_pipeline(*curves))
    table = nested.partial_fit([[1.0, 2.0], [2.0, 4.0]], [1.0, 2.0]).coefficients(as_frame=False)
    assert table.feature.tolist() == flat.coefficients(as_frame=False).feature.tolist()
    assert not hasattr(prepare(MIXED), "coefficients")


def test_intervals_and_sets_of_what_the_steps_make():
    X = np.linspace(0.0, 1.0, 40)[:, None]
    pipeline = make_online_pipeline(Centred(), NAGRegressor()).partial_fit(X, X[:, 0])
    expected = pipeline[-1].predict_interval(pipeline[0].transform(X), [0.5, 0.8])
    np.testing.assert_array_equal(pipeline.predict_interval(X, [0.5, 0.8]), expected)
    with pytest.raises(ValueError, match="gaussian"):
        pipeline.predict_interval(X, method="gaussian")
    assert not hasattr(pipeline, "predict_set")
    pipeline = make_online_pipeline(Centred(), "passthrough", NAGClassifier(calibration="progressive")).partial_fit(
        X, X[:, 0] > 0.5, classes=[0, 1]
    )
    expected = pipeline[-1].predict_set(pipeline[0].transform(X), 0.8)
    np.testing.assert_array_equal(pipeline.predict_set(X, 0.8), expected)
    assert not hasattr(pipeline, "predict_interval")


CUT = prepare(MIXED.assign(note=["a b", "c", "a b c", "d"]), FTRLRegressor(), kinds={"note": "text"}, n_hashed=64)
CUT[0].set_params(
    **{name: OnlineTfidf(64, max_names=3) for name, _, _ in CUT[0].transformers if name.startswith("text")}
)


@settings(max_examples=6, deadline=None)
@given(st.data())
@sklearn_nag.config_context(kernel="numpy")
def test_no_cut_of_a_stream_changes_a_bit_of_what_a_pipeline_learns(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    rows = MIXED.assign(note=["a b", "c", "a b c", "d"]).iloc[rng.integers(0, 4, 12)].reset_index(drop=True)
    rows["town"] = rng.choice(["Rome", "Oslo", None], 12)
    rows["seen"] = rng.choice(["$1", "?", None, "$7.5"], 12)
    y = rng.normal(size=12)
    whole = clone(CUT).partial_fit(rows, y)
    cuts = sorted(data.draw(st.sets(st.integers(1, 11), max_size=3)))
    parts = clone(CUT)
    for start, stop in itertools.pairwise([0, *cuts, 12]):
        parts.partial_fit(rows[start:stop], y[start:stop])
    assert parts[-1].coef_.tobytes() == whole[-1].coef_.tobytes()
    assert parts.predict(rows).tobytes() == whole.predict(rows).tobytes()
    assert parts[0].get_feature_names_out().tolist() == whole[0].get_feature_names_out().tolist()


@pytest.mark.parametrize("step", [OnlineImputer(), StandardScaler(), FunctionTransformer(), "passthrough"])
def test_parameters_that_no_step_takes_are_refused(rows, step):
    X, y = rows
    pipeline = OnlinePipeline([("first", step), ("learner", NAGClassifier())])
    with pytest.raises(TypeError, match="nope|takes no parameters"):
        pipeline.partial_fit(X, y, classes=[0, 1], first__nope=1)
    weight = np.ones(len(y))
    with pytest.raises(ValueError, match="sample_weight and learner__sample_weight are the same"):
        pipeline.partial_fit(X, y, classes=[0, 1], sample_weight=weight, learner__sample_weight=weight)


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
@pytest.mark.parametrize(
    ("steps", "why"),
    [
        ([("a", OnlineImputer()), ("a", NAGClassifier())], "names in steps must be different .* got 'a' among"),
        ([("a__b", OnlineImputer()), ("c", NAGClassifier())], "names in steps .* got 'a__b' among"),
        ([("steps", OnlineImputer()), ("c", NAGClassifier())], "names in steps .* got 'steps' among"),
        ([("a", "StandardScaler"), ("c", NAGClassifier())], "step 'a' is 'StandardScaler'; it must be a transformer"),
        ([("a", "drop"), ("c", NAGClassifier())], "step 'a' is 'drop'; it must be a transformer"),
        ([("a", OnlineImputer()), ("c", "foo")], "step 'c' is 'foo'; it must be an estimator"),
        ([("a", StandardScaler), ("c", NAGClassifier())], r"the class StandardScaler; it must .* StandardScaler\(\)"),
        ([("a", NAGClassifier()), ("c", NAGClassifier())], "step 'a' is a NAGClassifier, which has no transform"),
        ([], r"'steps' .* must be a list of tuples \(name, estimator\), at least one"),
        (OnlineImputer(), r"'steps' .* must be a list of tuples \(name, estimator\), at least one"),
        ([OnlineImputer(), NAGClassifier()], r"'steps' .* must be a list of tuples \(name, estimator\), at least one"),
    ],
)
def test_what_is_no_step_is_refused_before_rows_are_learnt(rows, method, steps, why):
    X, y = rows
    options = {"classes": [0, 1]} if method == "partial_fit" else {}
    with pytest.raises((TypeError, ValueError), match=why):
        getattr(OnlinePipeline(steps), method)(X, y, **options)
    for _, step in steps if isinstance(steps, list) and all(isinstance(pair, tuple) for pair in steps) else ():
        assert not hasattr(step, "n_features_in_")


def test_steps_that_are_none_stop_a_stream(rows):
    X, y = rows
    learner = OnlinePipeline([("a", OnlineImputer()), ("c", NAGClassifier())]).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(TypeError, match="the step 'a' is 'none'; it must be a transformer"):
        learner.set_params(a="none").partial_fit(X, y)
    of_lists = OnlinePipeline([["a", OnlineImputer()], ["c", NAGClassifier()]])  # scikit-learn accepts lists, too
    assert of_lists.partial_fit(X, y, classes=[0, 1]).fit(X, y).score(X, y) > 0.5
    with pytest.raises(TypeError, match="the step 'c' is 3; it must be an estimator"):
        OnlinePipeline([("a", OnlineImputer()), ("c", 3)]).fit(X, y)
    wrong = Pipeline([("a", "StandardScaler"), ("c", NAGClassifier())])
    with pytest.raises(TypeError, match="the step 'a' is 'StandardScaler'; it must be a transformer"):
        progressive_validation(wrong, X, y)
