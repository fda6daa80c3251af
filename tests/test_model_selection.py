"""Progressive validation, sweeps of learning rates, and searches, against doing the same one by one."""

import itertools
import pickle
import warnings

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier, SGDRegressor
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, Normalizer, PolynomialFeatures, StandardScaler

from sklearn_nag import NAGClassifier, NAGRegressor
from sklearn_nag.model_selection import (
    NAGClassifierCV,
    NAGRegressorCV,
    ProgressiveSplit,
    eta_sweep,
    progressive_score,
    progressive_validation,
)

ETA0S = [0.03, 0.3, 3.0]


def shuffled(X, y):
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], y[order]


CANCER = shuffled(*load_breast_cancer(return_X_y=True))
WINE = shuffled(*load_wine(return_X_y=True))
DIABETES = shuffled(*load_diabetes(return_X_y=True, scaled=False))
# Where scales, means and averages do not come in, predicting and learning in turn is what the kernel does.
PLAIN = {"normalization": None, "centering": False, "average": False}


def cut(X, y, *sizes, weight=None):
    stops = np.cumsum([0, *sizes, len(y) - sum(sizes)])
    for i, j in itertools.pairwise(stops):
        yield (X[i:j], y[i:j]) if weight is None else (X[i:j], y[i:j], weight[i:j])


def in_turn(estimator, X, y, method="predict", batch_size=1, delay=0, weight=None, **options):
    """Predictions of the rows after those that were there before anything was learnt, in plain Python."""
    estimator, played, learnt = clone(estimator), [], 0
    for start in range(0, len(y), batch_size):
        stop = min(start + batch_size, len(y))
        if learnt:
            played.append(getattr(estimator, method)(X[start:stop]))
        until = max(stop - delay, learnt)
        if until > learnt:
            extra = {} if weight is None else {"sample_weight": weight[learnt:until]}
            estimator.partial_fit(X[learnt:until], y[learnt:until], **(options if learnt == 0 else {}), **extra)
            learnt = until
    return np.concatenate(played)


# -- progressive validation


@pytest.mark.parametrize(("batch_size", "delay"), [(1, 0), (10, 0), (1, 7), (10, 7), (10, 25)])
def test_of_any_learner_is_predicting_and_learning_in_turn(batch_size, delay):
    X, y = CANCER[0][:200] / CANCER[0].max(axis=0), CANCER[1][:200]
    sgd = SGDClassifier(loss="log_loss", shuffle=False)
    scoring = ["accuracy", "neg_log_loss", "roc_auc"]
    result = progressive_validation(sgd, X, y, batch_size=batch_size, delay=delay, scoring=scoring)
    turns = {"batch_size": batch_size, "delay": delay, "classes": [0, 1]}
    predicted = in_turn(sgd, X, y, **turns)
    probability = in_turn(sgd, X, y, "predict_proba", **turns)
    seen = y[len(y) - len(predicted) :]
    assert result.n_scored == len(predicted)
    assert result.score["accuracy"] == accuracy_score(seen, predicted)
    assert result.score["neg_log_loss"] == pytest.approx(-log_loss(seen, probability))
    assert result.score["roc_auc"] == pytest.approx(
        roc_auc_score(seen, in_turn(sgd, X, y, "decision_function", **turns))
    )
    assert result.n_rows == len(y)
    assert result.loss is None
    assert result.fit_time > 0
    assert result.estimator.t_ == len(y) + 1  # the rows still waiting for their labels at the end are learnt, too
    assert not hasattr(sgd, "coef_")


@pytest.mark.parametrize("kind", ["two classes", "softmax", "ovr", "regression", "two outputs"])
def test_of_our_learners_is_the_same_by_kernel_and_in_turn(kind):
    """Where `predict` knows what the kernel knows: no scale, no mean and no average."""
    X, y = {"two classes": CANCER, "softmax": WINE, "ovr": WINE}.get(kind, DIABETES)
    X = X / X.max(axis=0)
    classes = {}
    if "classes" in kind or kind in ("softmax", "ovr"):
        learner = NAGClassifier(multi_class="ovr" if kind == "ovr" else "multinomial", eta0=0.3, **PLAIN)
        classes = {"classes": np.unique(y)}
        scoring = ["accuracy", "neg_log_loss"]
    else:
        y = y / 300
        y = np.column_stack([y, -y]) if kind == "two outputs" else y
        learner = NAGRegressor(target_normalization=None, eta0=0.3, **PLAIN)
        scoring = ["r2", "neg_mean_absolute_error"]
    result = progressive_validation(learner, X, y, scoring=scoring)
    predicted = in_turn(learner, X, y, **classes)
    if classes:
        assert result.score["accuracy"] == accuracy_score(y[1:], predicted)
        probability = in_turn(learner, X, y, "predict_proba", **classes)
        assert result.score["neg_log_loss"] == pytest.approx(-log_loss(y[1:], probability), rel=1e-9)
    else:
        assert result.score["r2"] == pytest.approx(r2_score(y[1:], predicted), rel=1e-9)
        assert result.score["neg_mean_absolute_error"] == pytest.approx(-mean_absolute_error(y[1:], predicted))
    alone = clone(learner).partial_fit(X, y, **classes)
    assert result.loss == alone.progressive_loss_
    assert np.array_equal(result.estimator.coef_, alone.coef_)
    # and through the path that knows nothing of them: an unknown class of learner
    other = progressive_validation(Stranger(learner), X, y, scoring=scoring)
    assert other.score == pytest.approx(result.score, rel=1e-9)
    assert other.n_scored == result.n_scored


class Stranger:
    """Passes everything on to a learner of this package, and is none."""

    def __init__(self, learner):
        self.learner = learner

    def get_params(self, deep=True):
        return {"learner": self.learner}

    def __sklearn_tags__(self):
        return self.learner.__sklearn_tags__()

    def __sklearn_clone__(self):
        return Stranger(clone(self.learner))

    def __getattr__(self, name):
        if name.startswith("__") or name == "learner":
            raise AttributeError(name)
        return getattr(self.learner, name)


def test_log_loss_of_our_learners_is_their_progressive_loss():
    X, y = CANCER
    result = progressive_validation(NAGClassifier(), X, y, scoring="neg_log_loss")
    first = np.log(2.0)  # is in the loss, not in the score
    assert -result.score * result.n_scored + first == pytest.approx(result.loss * result.n_rows)


def test_batches_from_a_stream_make_no_difference(rng):
    X, y = WINE
    weight = rng.integers(0, 3, len(y)) * rng.random(len(y))
    options = {"scoring": ["accuracy", "neg_log_loss"], "curve_at": [50, 100]}
    for learner in (NAGClassifier(), make_pipeline(StandardScaler(), SGDClassifier(loss="log_loss", random_state=0))):
        whole = progressive_validation(learner, X, y, sample_weight=weight, **options)
        stream = cut(X, y, 1, 30, 0, 69, 3, weight=weight)
        parts = progressive_validation(learner, stream, classes=[0, 1, 2], **options)
        assert parts.score == whole.score
        assert (parts.n_rows, parts.n_scored) == (whole.n_rows, whole.n_scored)
        for name, values in whole.curve.items():
            assert np.array_equal(parts.curve[name], values)
    assert np.array_equal(whole.curve["n_rows"], [50, 100])


def test_weights_count_in_scores(rng):
    X, y = CANCER
    weight = rng.integers(0, 3, len(y)) * rng.random(len(y))
    weight[:3] = 0
    result = progressive_validation(NAGClassifier(**PLAIN), X / X.max(axis=0), y, sample_weight=weight)
    assert result.n_scored == len(y) - 1 - np.flatnonzero(weight)[0]
    predicted = []
    clf = NAGClassifier(**PLAIN)
    for i in range(len(y)):
        if i >= len(y) - result.n_scored:
            predicted.append(clf.predict(X[i : i + 1] / X.max(axis=0))[0])
        clf.partial_fit(X[i : i + 1] / X.max(axis=0), y[i : i + 1], [0, 1], sample_weight=weight[i : i + 1])
    kept = slice(len(y) - result.n_scored, None)
    assert result.score == pytest.approx(accuracy_score(y[kept], predicted, sample_weight=weight[kept]))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.coo_matrix, "pandas", "polars"])
def test_kinds_of_rows(container):
    X, y = CANCER
    learner = NAGClassifier(centering=False)
    expected = progressive_validation(learner, X, y)
    rows = pytest.importorskip(container).DataFrame(X) if isinstance(container, str) else container(X)
    result = progressive_validation(learner, rows, y)
    assert result.score == pytest.approx(expected.score, abs=0.004)
    by_row = make_pipeline(MaxAbsScaler(), SGDClassifier(random_state=0))
    assert progressive_validation(by_row, rows, y, batch_size=40).score == pytest.approx(
        progressive_validation(by_row, X, y, batch_size=40).score,
        abs=0.02,  # on sparse rows SGDClassifier moves its intercept more slowly
    )


def test_steps_learn_before_they_transform_and_not_from_targets():
    X, y = CANCER
    pipeline = make_pipeline(StandardScaler(), Normalizer(), SGDClassifier(random_state=0))
    result = progressive_validation(pipeline, X, y, batch_size=20)
    scaler, sgd, predicted = StandardScaler(), SGDClassifier(random_state=0), []
    for i in range(0, len(y), 20):
        rows = Normalizer().transform(scaler.partial_fit(X[i : i + 20]).transform(X[i : i + 20]))
        if i:
            predicted.append(sgd.predict(rows))
        sgd.partial_fit(rows, y[i : i + 20], classes=[0, 1])
    assert result.score == accuracy_score(y[20:], np.concatenate(predicted))
    assert np.array_equal(result.estimator[-1].coef_, sgd.coef_)
    assert np.array_equal(result.estimator[0].mean_, scaler.mean_)
    # the same for our learners, whose rows are predicted one by one all the same
    ours = make_pipeline(FunctionTransformer(np.log1p), "passthrough", NAGClassifier())
    direct = progressive_validation(NAGClassifier(), np.log1p(X), y)
    assert progressive_validation(ours, X, y).score == direct.score


def test_steps_that_were_fitted_before():
    X, y = CANCER
    pipeline = make_pipeline(FrozenEstimator(PolynomialFeatures(2).fit(X[:1, :5])), NAGClassifier())
    rows = PolynomialFeatures(2).fit_transform(X[:, :5])
    assert progressive_validation(pipeline, X[:, :5], y).score == progressive_validation(NAGClassifier(), rows, y).score
    text = ["good film", "bad film", "fine film", "poor film"] * 20
    pipeline = make_pipeline(HashingVectorizer(n_features=2**12), NAGClassifier())
    result = progressive_validation(pipeline, text, ["yes", "no"] * 40, scoring="f1_macro")
    assert 0.8 < result.score < 1


def test_callback_sees_progress_and_ends_the_stream():
    X, y = CANCER
    seen = []

    def callback(n_rows, estimator):
        seen.append(n_rows)
        return estimator.t_ >= 200

    result = progressive_validation(NAGClassifier(), cut(X, y, 100, 100, 100), classes=[0, 1], callback=callback)
    assert seen == [100, 200]
    assert result.n_rows == result.estimator.t_ == 200


def test_curve():
    X, y = CANCER
    result = progressive_validation(NAGClassifier(), X, y, curve_at=[1, 30, 200, 569, 1000], scoring="roc_auc")
    assert np.array_equal(result.curve["n_rows"], [1, 30, 200, 569])
    assert np.isnan(result.curve["score"][0])
    assert result.curve["score"][-1] == result.score
    for i, n in enumerate([1, 30, 200]):
        assert result.curve["loss"][i] == NAGClassifier().partial_fit(X[:n], y[:n], [0, 1]).progressive_loss_
        if i:
            assert (
                result.curve["score"][i]
                == progressive_validation(NAGClassifier(), X[:n], y[:n], scoring="roc_auc").score
            )


def test_scorers_of_all_kinds():
    X, y = CANCER
    X = X / X.max(axis=0)

    def brier(estimator, X, y):
        return -brier_score_loss(y, estimator.predict_proba(X)[:, 1]) + 0 * estimator.predict(X)[0]

    scoring = {"a": "accuracy", "b": brier}
    learner = NAGClassifier(**PLAIN)
    result = progressive_validation(learner, X, y, scoring=scoring)
    probability = in_turn(learner, X, y, "predict_proba", classes=[0, 1])[:, 1]
    assert result.score["b"] == pytest.approx(-brier_score_loss(y[1:], probability))
    assert result.score["a"] == progressive_validation(learner, X, y).score
    with pytest.raises(ValueError, match="roc_auc|predict"):
        progressive_validation(NAGRegressor(), *DIABETES, scoring="not_a_score_roc_auc")


@pytest.mark.parametrize(
    ("estimator", "options", "error", "match"),
    [
        (LogisticRegression(), {}, TypeError, "LogisticRegression cannot learn from a stream: it has no partial_fit"),
        (make_pipeline(PolynomialFeatures(), NAGClassifier()), {}, TypeError, "'polynomialfeatures'.*FrozenEstimator"),
        (NAGClassifier(), {"batch_size": 0}, ValueError, "batch_size"),
        (NAGClassifier(), {"delay": -1}, ValueError, "delay"),
        (SGDClassifier(), {"delay": 569}, ValueError, "nothing to score: all 569 rows"),
        (NAGClassifier(), {"curve_at": [3, 2]}, ValueError, "curve_at must hold whole numbers of rows, increasing"),
        (NAGClassifier(), {"curve_at": [0.5]}, ValueError, "curve_at"),
        (NAGClassifier(class_weight="balanced"), {}, ValueError, "class_weight"),
        (NAGClassifier(), {"sample_weight": [1.0]}, ValueError, "inconsistent numbers of samples"),
    ],
)
def test_errors(estimator, options, error, match):
    with pytest.raises(error, match=match):
        progressive_validation(estimator, *CANCER, **options)


@pytest.mark.parametrize("run", [progressive_validation, eta_sweep])
def test_errors_of_streams(run):
    X, y = CANCER
    with pytest.raises(ValueError, match="y is missing"):
        run(NAGClassifier(), X)
    with pytest.raises(ValueError, match="classes must be given for an iterable"):
        run(NAGClassifier(), cut(X, y))
    with pytest.raises(ValueError, match=r"tuples \(X, y\) or \(X, y, sample_weight\); it yields ndarray"):
        run(NAGClassifier(), [X], classes=[0, 1])
    with pytest.raises(ValueError, match="sample_weight goes with arrays"):
        run(NAGClassifier(), cut(X, y), classes=[0, 1], sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="no rows|0 rows"):
        run(NAGClassifier(), [], classes=[0, 1])


def test_river():
    """A learner of another package, through its own wrapper."""
    pytest.importorskip("river")
    from river import compat, linear_model, preprocessing

    X, y = CANCER[0] / CANCER[0].max(axis=0), CANCER[1]
    river = compat.convert_river_to_sklearn(linear_model.LogisticRegression())
    result = progressive_validation(river, X[:200], y[:200], scoring=["accuracy", "neg_log_loss"])
    turns = {"classes": [0, 1]}
    assert result.score["accuracy"] == accuracy_score(y[1:200], in_turn(river, X[:200], y[:200], **turns))
    probability = in_turn(river, X[:200], y[:200], "predict_proba", **turns)
    assert result.score["neg_log_loss"] == pytest.approx(-log_loss(y[1:200], probability))
    scaled = compat.convert_river_to_sklearn(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    assert progressive_validation(scaled, X[:200], y[:200]).score > result.score["accuracy"]


# -- progressive loss in searches


def test_searches_by_progressive_loss():
    X, y = CANCER
    one_pass = NAGClassifier(max_iter=1, shuffle=False)
    grid = {"eta0": [0.1, 1.0, 10.0], "normalization": ["max", "rms"]}
    search = GridSearchCV(one_pass, grid, cv=ProgressiveSplit(), scoring=progressive_score).fit(X, y)
    losses = [
        NAGClassifier(**params).partial_fit(X, y, classes=[0, 1]).progressive_loss_
        for params in search.cv_results_["params"]
    ]
    assert np.array_equal(-search.cv_results_["mean_test_score"], losses)
    assert search.n_splits_ == 1
    assert search.best_estimator_.progressive_loss_ == min(losses)
    pipeline = make_pipeline(FunctionTransformer(np.log1p), one_pass)
    inside = GridSearchCV(pipeline, {"nagclassifier__eta0": [1.0]}, cv=ProgressiveSplit(), scoring=progressive_score)
    expected = NAGClassifier().partial_fit(np.log1p(X), y, classes=[0, 1]).progressive_loss_
    assert -inside.fit(X, y).best_score_ == expected
    weight = np.random.default_rng(0).random(len(y))
    weighted = clone(search).fit(X, y, sample_weight=weight)
    expected = NAGClassifier(**weighted.best_params_).partial_fit(X, y, [0, 1], sample_weight=weight).progressive_loss_
    assert -weighted.best_score_ == expected


def test_errors_of_progressive_score():
    X, y = CANCER
    with pytest.raises(TypeError, match="SGDClassifier has no progressive_loss_"):
        progressive_score(make_pipeline(SGDClassifier().fit(X, y)), X, y)
    with pytest.raises(TypeError, match="NAGClassifier has no progressive_loss_"):
        progressive_score(NAGClassifier(), X, y)
    with pytest.raises(ValueError, match=r"single pass, max_iter=1; this NAGClassifier made 2"):
        progressive_score(NAGClassifier(max_iter=2, tol=None).fit(X, y), X, y)


# -- sweeps

SWEPT = {
    "defaults": (NAGClassifier(), CANCER),
    "softmax": (NAGClassifier(), WINE),
    "ovr": (NAGClassifier(multi_class="ovr", normalization="max", centering=False), WINE),
    "hinge, as printed": (
        NAGClassifier(loss="hinge", normalization="max", centering=False, importance_aware=False, average=False),
        WINE,
    ),
    "penalty": (NAGClassifier(penalty="elasticnet", alpha=0.01, class_weight={0: 2.0}), CANCER),
    "sNG": (NAGClassifier(adaptive=False, loss="modified_huber", learning_rate="invscaling"), WINE),
    "AdaGrad": (NAGClassifier(normalization=None, average=50), CANCER),
    "regression": (NAGRegressor(), DIABETES),
    "quantile": (NAGRegressor(loss="quantile", penalty="l1", fit_intercept=False), DIABETES),
    "two outputs": (NAGRegressor(loss="huber"), (DIABETES[0], np.column_stack([DIABETES[1], DIABETES[0][:, 3]]))),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("case", SWEPT)
def test_a_sweep_gives_what_learning_one_by_one_gives(rng, case, container, weighted):
    learner, (X, y) = SWEPT[case]
    n = len(y)
    weight = rng.integers(0, 3, n) * rng.random(n) if weighted else None
    X = container(X)
    classes = {"classes": np.unique(y)} if isinstance(learner, NAGClassifier) else {}
    swept = eta_sweep(learner, X, y, ETA0S, sample_weight=weight)
    in_batches = eta_sweep(learner, cut(X, y, 1, 50, weight=weight), None, ETA0S, **classes)
    for i, eta0 in enumerate(ETA0S):
        alone = clone(learner).set_params(eta0=eta0)
        batches = clone(alone)
        alone.partial_fit(X, y, sample_weight=weight, **classes)
        for part in cut(X, y, 1, 50, weight=weight):
            options = {} if weight is None else {"sample_weight": part[2]}
            batches.partial_fit(*part[:2], **classes, **options)
        for sweep, expected in [(swept, alone), (in_batches, batches)]:
            found = sweep.estimators[i]
            assert np.array_equal(found.coef_, expected.coef_)
            assert np.array_equal(found.intercept_, expected.intercept_)
            assert sweep.losses[i] == found.progressive_loss_ == expected.progressive_loss_
            assert found.get_params() == expected.get_params()
            assert pickle.dumps(found._state) == pickle.dumps(expected._state)
            assert vars(found).keys() - {"_checked", "_made"} == vars(expected).keys() - {"_checked", "_made"}
        if weight is None:
            passed = clone(learner).set_params(eta0=eta0, max_iter=1, shuffle=False, tol=None).fit(X, y)
            assert np.array_equal(passed.coef_, swept.estimators[i].coef_)
            assert passed.progressive_loss_ == swept.losses[i]
        going_on = swept.estimators[i].partial_fit(X[:30], y[:30])
        assert np.array_equal(going_on.coef_, alone.partial_fit(X[:30], y[:30]).coef_)
    assert swept.best_index == np.argmin(swept.losses)
    assert swept.best_eta0 == ETA0S[swept.best_index]
    assert swept.n_rows == n


@pytest.mark.parametrize("data", [CANCER, WINE])
def test_errors_of_a_sweep_are_those_of_progressive_validation(rng, data):
    X, y = data
    names = np.array(["no", "yes", "maybe"])[y]
    weight = rng.integers(0, 3, len(y)) * rng.random(len(y))
    for options in ({}, {"sample_weight": weight}):
        sweep = eta_sweep(NAGClassifier(), X, names, ETA0S, **options)
        for eta0, error in zip(ETA0S, sweep.errors, strict=True):
            result = progressive_validation(NAGClassifier(eta0=eta0), X, names, **options)
            assert 1 - result.score == pytest.approx(error, abs=1e-12)
    assert eta_sweep(NAGRegressor(), *DIABETES, ETA0S).errors is None


def test_a_rate_that_diverges_spoils_no_other():
    X, y = DIABETES
    learner = NAGRegressor(normalization=None, adaptive=False, target_normalization=None, centering=False,
                           importance_aware=False, average=False)  # fmt: skip
    eta0s = [1e-9, 1.0, 1e-7, 1e-8, 10.0]
    for stream in (lambda: cut(X, y), lambda: cut(X, y, 2, 100, 100)):
        sweep = eta_sweep(learner, stream(), None, eta0s)
        assert [one is None for one in sweep.estimators] == [False, True, False, False, True]
        assert np.array_equal(np.isinf(sweep.losses), [False, True, False, False, True])
        for i in (0, 2, 3):
            alone = clone(learner).set_params(eta0=eta0s[i]).partial_fit(X, y)
            assert np.array_equal(alone.coef_, sweep.estimators[i].coef_)
            assert alone.progressive_loss_ == sweep.losses[i]
    assert sweep.best_index in (0, 2, 3)
    with pytest.raises(ValueError, match="every one of eta0s made the model leave the range"):
        eta_sweep(learner, X, y, [1.0, 10.0])
    with pytest.raises(ValueError, match="NaN"):
        eta_sweep(learner, np.where(X == X[5, 5], np.nan, X), y, eta0s)


def test_a_sweep_in_a_pipeline():
    X, y = CANCER
    sweep = eta_sweep(make_pipeline(MaxAbsScaler(), NAGClassifier()), X, y, ETA0S)
    rows = MaxAbsScaler().fit_transform(X)
    alone = NAGClassifier(eta0=ETA0S[1]).partial_fit(rows, y, classes=[0, 1])
    assert np.array_equal(sweep.estimators[1].predict(X), alone.predict(rows))
    assert sweep.losses[1] == alone.progressive_loss_


@pytest.mark.parametrize(
    ("estimator", "eta0s", "error", "match"),
    [
        (SGDClassifier(), [1.0], TypeError, "a sweep needs NAGClassifier or NAGRegressor.*got SGDClassifier"),
        (NAGClassifier(eta0="auto"), [1.0], ValueError, 'eta0="auto" learns with several by itself'),
        (NAGClassifier(), [], ValueError, "eta0s must hold at least one"),
        (NAGClassifier(), [1.0, -1.0], ValueError, "eta0s == -1.0, must be > 0"),
        (NAGClassifier(), [1.0, np.inf], ValueError, "eta0s must be finite"),
        (NAGClassifier(), ["auto"], TypeError, "eta0s"),
        (NAGClassifier(loss="none"), [1.0], ValueError, "loss"),
    ],
)
def test_errors_of_sweeps(estimator, eta0s, error, match):
    with pytest.raises(error, match=match):
        eta_sweep(estimator, *CANCER, eta0s)


# -- searches

SEARCHED = {
    "passes until they settle": (NAGClassifierCV, NAGClassifier(random_state=0, max_iter=30), CANCER, {}),
    "a number of passes": (NAGClassifierCV, NAGClassifier(random_state=0, max_iter=3, tol=None), WINE, {}),
    "in order": (NAGClassifierCV, NAGClassifier(shuffle=False, loss="hinge", penalty="l1", max_iter=20), WINE, {}),
    "early stopping": (NAGClassifierCV, NAGClassifier(random_state=0, early_stopping=True, max_iter=20), CANCER, {}),
    "balanced": (NAGClassifierCV, NAGClassifier(random_state=0, class_weight="balanced", max_iter=9), WINE, {}),
    "another score": (NAGClassifierCV, NAGClassifier(random_state=0, max_iter=5), CANCER, {"scoring": "neg_log_loss"}),
    "random state object": (
        NAGRegressorCV,
        NAGRegressor(random_state=np.random.RandomState(1), max_iter=15),
        DIABETES,
        {},
    ),
    "folds": (
        NAGRegressorCV,
        NAGRegressor(random_state=0, max_iter=15),
        DIABETES,
        {"cv": KFold(4, shuffle=True, random_state=1)},
    ),
    "outputs": (NAGRegressorCV, NAGRegressor(random_state=0, max_iter=9), SWEPT["two outputs"][1], {}),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("case", "container"),
    [
        *((case, np.asarray) for case in SEARCHED),
        ("a number of passes", sparse.csr_array),
        ("outputs", sparse.csr_array),
    ],
)
def test_a_search_finds_what_grid_search_finds(case, container):
    search, learner, (X, y), options = SEARCHED[case]
    X, y, options = container(X[::4]), y[::4], {"cv": 3, **options}
    eta0s = [0.003, 0.1, 1.0, 30.0]
    ours = search(learner, eta0s, **options).fit(X, y)
    grid = GridSearchCV(learner, {"eta0": eta0s}, **options).fit(X, y)
    assert ours.cv_results_.keys() == grid.cv_results_.keys()
    for name, values in grid.cv_results_.items():
        if "time" not in name:
            assert np.array_equal(ours.cv_results_[name], values), name
    for name in ("best_params_", "best_score_", "best_index_", "n_splits_"):
        assert getattr(ours, name) == getattr(grid, name)
    assert ours.eta0_ == ours.best_estimator_.eta0 == grid.best_params_["eta0"]
    assert np.array_equal(ours.best_estimator_.coef_, grid.best_estimator_.coef_)
    assert np.array_equal(ours.predict(X), grid.predict(X))
    assert ours.score(X, y) == grid.score(X, y)
    assert ours.refit_time_ > 0
    if hasattr(grid, "predict_proba"):
        assert np.array_equal(ours.predict_proba(X), grid.predict_proba(X))
        assert np.array_equal(ours.decision_function(X), grid.decision_function(X))
        assert np.array_equal(ours.predict_log_proba(X), grid.predict_log_proba(X))
        assert np.array_equal(ours.classes_, grid.classes_)
    else:
        assert not hasattr(ours, "predict_proba")


def test_a_search_with_weights_and_workers(rng):
    X, y = CANCER
    weight = rng.random(len(y))
    learner = NAGClassifier(random_state=0, max_iter=3, tol=None)
    with joblib.parallel_config(backend="threading"):
        ours = NAGClassifierCV(learner, ETA0S, cv=3, n_jobs=2).fit(X, y, sample_weight=weight)
    for i, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for j, eta0 in enumerate(ETA0S):
            alone = clone(learner).set_params(eta0=eta0).fit(X[train], y[train], sample_weight=weight[train])
            score = alone.score(X[test], y[test], sample_weight=weight[test])
            assert ours.cv_results_[f"split{i}_test_score"][j] == score


def test_a_search_in_which_rates_diverge():
    X, y = DIABETES
    learner = NAGRegressor(normalization=None, adaptive=False, target_normalization=None, centering=False, tol=None,
                           importance_aware=False, average=False, max_iter=2, random_state=0)  # fmt: skip
    eta0s = [1e-9, 10.0, 1e-8]
    with pytest.warns(FitFailedWarning, match=r"with eta0 in \(10\) the model left the range"):
        ours = NAGRegressorCV(learner, eta0s, cv=3).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grid = GridSearchCV(learner, {"eta0": eta0s}, cv=3).fit(X, y)
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split2_test_score"):
        assert np.array_equal(ours.cv_results_[name], grid.cv_results_[name], equal_nan=True), name
    assert ours.best_params_ == grid.best_params_
    with pytest.raises(ValueError, match="in every fold"):
        NAGRegressorCV(learner, [10.0, 20.0], cv=3).fit(X, y)


def test_errors_of_searches():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(TypeError, match="NAGClassifierCV searches the eta0 of NAGClassifier; got SGDRegressor"):
        NAGClassifierCV(SGDRegressor()).fit(X, y)
    with pytest.raises(ValueError, match='eta0="auto"'):
        NAGClassifierCV(NAGClassifier(eta0="auto")).fit(X, y)
    with pytest.raises(ValueError, match="zero for all rows"):
        NAGClassifierCV(cv=2).fit(X, y, sample_weight=np.zeros(len(y)))
    search = NAGClassifierCV(NAGClassifier(loss="hinge", max_iter=2), [1.0], cv=2)
    assert not hasattr(search, "predict_proba")
    assert not hasattr(search.fit(X, y), "predict_proba")
