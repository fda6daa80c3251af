"""What the estimators must work with."""

from functools import partial

import joblib
import numpy as np
import pytest
import sklearn
from scipy import sparse
from scipy.stats import loguniform
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.inspection import permutation_importance
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    LearningCurveDisplay,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
)

QUICK = {"max_iter": 5, "tol": None, "random_state": 0}
CANCER = load_breast_cancer(return_X_y=True)
WINE = load_wine(return_X_y=True)


@pytest.fixture
def table(rng):
    pd = pytest.importorskip("pandas")
    n = 400
    frame = pd.DataFrame(
        {
            "income": rng.lognormal(10, 1, n),
            "rate": rng.normal(size=n) * 1e-5,
            "town": rng.choice(["Bath", "Leeds", "York"], n),
        }
    )
    y = np.where(frame["rate"] * 1e5 + (frame["town"] == "York") > 0.3, "yes", "no")
    return frame, y


def test_columns_and_categories_in_a_pipeline(table):
    frame, y = table
    columns = make_column_transformer(
        (OneHotEncoder(), make_column_selector(dtype_exclude="number")), remainder="passthrough"
    )
    pipeline = make_pipeline(columns, NAGClassifier(**QUICK)).fit(frame, y)
    assert pipeline.score(frame, y) > 0.9
    assert set(pipeline.predict(frame)) == {"yes", "no"}


def test_products_of_features():
    X, y = CANCER
    pipeline = make_pipeline(PolynomialFeatures(2, include_bias=False), NAGClassifier(**QUICK))
    assert cross_val_score(pipeline, X[:, :8], y, cv=3).mean() > 0.88


def test_hashed_text_in_batches():
    texts = ["good fine great film", "bad awful dull film", "great good story", "awful bad story"] * 30
    y = [1, 0, 1, 0] * 30
    vectorizer = HashingVectorizer(n_features=2**20)
    clf = NAGClassifier()
    for i in range(0, 120, 7):
        clf.partial_fit(vectorizer.transform(texts[i : i + 7]), y[i : i + 7], classes=[0, 1])
    assert clf.score(vectorizer.transform(texts), y) == 1.0
    assert clf.coef_.shape == (1, 2**20)


GRID = {"eta0": [0.01, 0.1, 1.0], "normalization": ["max", "auto"]}  # code for these is compiled anyway


@pytest.mark.parametrize(
    "search",
    [
        GridSearchCV(NAGClassifier(**QUICK), GRID, cv=3),
        RandomizedSearchCV(
            NAGClassifier(**QUICK),
            {"eta0": loguniform(1e-3, 10), "normalization": ["max", "auto"]},
            n_iter=6,
            cv=3,
            random_state=0,
        ),
        HalvingGridSearchCV(NAGClassifier(**QUICK), GRID, cv=3, random_state=0),
    ],
    ids=lambda search: type(search).__name__,
)
def test_searches(search):
    search.fit(*CANCER)
    assert search.best_score_ > 0.85
    assert set(search.best_params_) == {"eta0", "normalization"}
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_the_same_search_in_processes_and_threads():
    results = []
    for backend in ("loky", "threading", "sequential"):
        with joblib.parallel_config(backend=backend):
            search = GridSearchCV(NAGClassifier(**QUICK), GRID, n_jobs=None if backend == "sequential" else 2, cv=3)
            results.append(search.fit(*CANCER).cv_results_["mean_test_score"])
    assert np.array_equal(results[0], results[1])
    assert np.array_equal(results[0], results[2])


def test_cross_validated_predictions():
    X, y = WINE
    probability = cross_val_predict(NAGClassifier(**QUICK), X, y, method="predict_proba")
    assert (probability.argmax(axis=1) == y).mean() > 0.8


@pytest.mark.parametrize(
    ("wrapped", "data"),
    [
        (CalibratedClassifierCV(NAGClassifier("hinge", **QUICK), cv=3), CANCER),
        (OneVsOneClassifier(NAGClassifier(**QUICK)), WINE),
        (OneVsRestClassifier(NAGClassifier(**QUICK)), WINE),
        (StackingClassifier([("a", NAGClassifier(**QUICK)), ("b", GaussianNB())], cv=3), WINE),
        (VotingClassifier([("a", NAGClassifier(**QUICK)), ("b", NAGClassifier(eta0=1.0, **QUICK))]), WINE),
        (BaggingClassifier(NAGClassifier(**QUICK), n_estimators=3, random_state=0), WINE),
        (make_pipeline(SelectFromModel(NAGClassifier(penalty="l1", **QUICK)), NAGClassifier(**QUICK)), CANCER),
        (make_pipeline(RFE(NAGClassifier(**QUICK), n_features_to_select=10), NAGClassifier(**QUICK)), CANCER),
    ],
    ids=lambda value: type(value).__name__,
)
def test_meta_estimators(wrapped, data):
    X, y = data
    assert wrapped.fit(X, y).score(X, y) > 0.75


@pytest.mark.parametrize(
    "make",
    [NAGClassifier, NAGRegressor, FTRLClassifier, FTRLRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor],
)
def test_features_are_selected_in_any_units(make):
    Z, learner = np.random.default_rng(0).normal(size=(600, 6)), make(**QUICK)
    X, y = Z * [1e6, 1e-6, 1.0, 1.0, 1.0, 1e-9], Z[:, 0] - Z[:, 1]
    y = y > 0 if is_classifier(learner) else y
    for select in (partial(SelectFromModel, threshold="mean"), partial(RFE, n_features_to_select=2)):
        selector = clone(select(learner, importance_getter="feature_importances_")).fit(X, y)
        assert list(selector.get_support(indices=True)) == [0, 1]
        by_default = select(learner).fit(X, y)  # this goes by coef_, and so by units
        assert not by_default.get_support()[0]


def test_one_by_one_classifiers_go_on():
    X, y = load_digits(return_X_y=True)
    clf = OneVsOneClassifier(NAGClassifier())
    for rows in np.array_split(np.arange(len(y)), 4):
        clf.partial_fit(X[rows], y[rows], classes=range(10))
    assert clf.score(X, y) > 0.9


def test_multi_output_wrappers():
    X, y = load_diabetes(return_X_y=True)
    Y = np.column_stack([y, -y])
    reg = MultiOutputRegressor(NAGRegressor(eta0=20.0, **QUICK)).fit(X, Y)
    np.testing.assert_allclose(reg.predict(X), NAGRegressor(eta0=20.0, **QUICK).fit(X, Y).predict(X), rtol=1e-12)
    labels = Y > np.median(Y, axis=0)
    assert MultiOutputClassifier(NAGClassifier(**QUICK)).fit(X, labels).score(X, labels) > 0.6


def test_curves():
    pytest.importorskip("matplotlib").use("Agg")
    X, y = CANCER
    sizes, train, test = learning_curve(
        NAGClassifier(**QUICK), X, y, cv=3, exploit_incremental_learning=True, shuffle=True
    )
    assert train.shape == test.shape == (len(sizes), 3)
    _, test = validation_curve(NAGClassifier(**QUICK), X, y, param_name="eta0", param_range=[0.1, 1.0], cv=3)
    assert test.shape == (2, 3)
    LearningCurveDisplay.from_estimator(NAGClassifier(**QUICK), X, y, cv=3, shuffle=True, random_state=0)
    assert permutation_importance(NAGClassifier(**QUICK).fit(X, y), X, y, n_repeats=2).importances.shape == (30, 2)


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.usefixtures("routing")
def test_routing_of_sample_weight():
    X, y = CANCER
    weight = np.random.default_rng(0).random(len(y))
    clf = NAGClassifier(**QUICK).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
    routed = make_pipeline(clf).fit(X, y, sample_weight=weight)
    direct = NAGClassifier(**QUICK).fit(X, y, sample_weight=weight)
    assert np.array_equal(routed[-1].coef_, direct.coef_)
    search = GridSearchCV(clf, {"eta0": [0.1, 1.0]}, cv=3).fit(X, y, sample_weight=weight)
    assert np.array_equal(
        clone(search.best_estimator_).fit(X, y, sample_weight=weight).coef_, search.best_estimator_.coef_
    )


@pytest.mark.usefixtures("routing")
def test_routing_of_classes():
    X, y = load_digits(return_X_y=True)
    clf = OneVsOneClassifier(NAGClassifier().set_partial_fit_request(classes=False, sample_weight=False))
    assert clf.partial_fit(X, y, classes=range(10)).score(X, y) > 0.9
    requests = NAGClassifier().set_partial_fit_request(classes=True, sample_weight=True).get_metadata_routing()
    assert requests.partial_fit.requests == {"classes": True, "sample_weight": True}


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    library = pytest.importorskip(library)
    X, y = WINE
    names = [f"column {i}" for i in range(13)]
    data = library.DataFrame({name: X[:, i] for i, name in enumerate(names)})
    labels = library.Series(["white" if v else "red" for v in y])
    clf = NAGClassifier(**QUICK).fit(data, labels)
    seen = hasattr(SGDClassifier().fit(data, labels), "feature_names_in_")  # scikit-learn 1.6 does not in polars 2
    assert list(getattr(clf, "feature_names_in_", ())) == (names if seen else [])
    assert set(clf.predict(data)) == {"red", "white"}
    assert np.array_equal(clf.coef_, NAGClassifier(**QUICK).fit(X, y > 0).coef_)
    clf.partial_fit(data[:5], labels[:5])
    reg = NAGRegressor(**QUICK).fit(data, library.Series(y.astype(float)))
    assert reg.predict(data).shape == (178,)


def test_frames_of_other_dtypes():
    pd = pytest.importorskip("pandas")
    X, y = WINE
    frame = pd.DataFrame(X).astype({0: "float32", 1: "Int64", 2: "Float64"}, errors="ignore")
    frame.columns = [str(c) for c in frame.columns]
    assert NAGClassifier(**QUICK).fit(frame, pd.Categorical(y.astype(str))).score(frame, y.astype(str)) > 0.8
    wide = pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X))
    wide.columns = [str(c) for c in wide.columns]
    assert NAGClassifier(**QUICK).fit(wide, y).n_features_in_ == 13


def test_progress_callbacks(capsys):
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has no callbacks before 1.9")

    class Recorder:
        def __init__(self):
            self.passes, self.scores = [], []

        def setup(self, estimator, context):
            self.expected = context.max_subtasks

        def on_fit_task_begin(self, estimator, context):
            pass

        def on_fit_task_end(self, estimator, context, *, X, y, fitted_estimator):
            if context.task_name == "pass":
                self.passes.append(context.task_id)
                self.scores.append(fitted_estimator.score(X, y))
                return len(self.passes) == 4

        def teardown(self, estimator, context):
            self.passes.append("end")

    recorder = Recorder()
    X, y = WINE
    clf = NAGClassifier(max_iter=10, tol=None, random_state=0).set_callbacks(recorder).fit(X, y)
    assert recorder.passes == [0, 1, 2, 3, "end"]
    assert recorder.expected == 10
    assert clf.n_iter_ == 4
    assert recorder.scores[-1] == clf.score(X, y)
    monitor = callback.ScoringMonitor(scoring="accuracy")
    NAGClassifier(max_iter=4, tol=None, random_state=0).set_callbacks(monitor).fit(X, y)
    assert [row["accuracy"] for row in monitor.get_logs().data if row["task_name"] == "pass"] == recorder.scores
    before = clf.coef_
    recorder.passes.clear()
    with pytest.raises(ValueError, match="eta0"):
        clf.set_params(eta0=-1.0).fit(X, y)
    assert clf.coef_ is before

    pytest.importorskip("rich")
    NAGClassifier(**QUICK).set_callbacks(callback.ProgressBar()).fit(X, y)
    GridSearchCV(NAGClassifier(**QUICK), {"eta0": [0.1]}, cv=2).set_callbacks(callback.ProgressBar()).fit(X, y)
    assert "100%" in capsys.readouterr().out
