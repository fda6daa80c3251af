"""Progressive validation, compared with predicting and learning in turn."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    mean_absolute_error,
    mean_poisson_deviance,
    r2_score,
    roc_auc_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from sklearn_nag import HedgeRegressor, NAGClassifier, NAGRegressor, OnlineBootstrap
from sklearn_nag.model_selection import LossAlarm, ProgressiveSearch, progressive_validation
from sklearn_nag.preprocessing import OnlineImputer, make_online_pipeline

from .helpers import CANCER, DIABETES, PLAIN, WINE, cut, in_turn


@pytest.mark.parametrize("delay", [0, 25])
@pytest.mark.parametrize(
    "learner", [NAGRegressor(), OnlineBootstrap(NAGRegressor(), n_models=2, random_state=0)], ids=str
)
def test_batches_may_be_read_into_the_same_memory(learner, delay):
    """Batches may share memory, as with ``readinto``, because what is learnt or scored later is copied."""
    X, y = DIABETES[0][:100], DIABETES[1][:100]

    def reused():
        rows, targets, weight = np.empty((10, X.shape[1])), np.empty(10), np.empty(10)
        for i in range(0, 100, 10):
            rows[:], targets[:], weight[:] = X[i : i + 10], y[i : i + 10], 1.0 + y[i : i + 10]
            yield rows, targets, weight

    fresh = [tuple(values.copy() for values in batch) for batch in reused()]
    seen, expected = (progressive_validation(learner, b, batch_size=10, delay=delay) for b in (reused(), fresh))
    assert seen.score == expected.score
    assert np.array_equal(seen.predictions["y"], expected.predictions["y"])
    assert np.array_equal(seen.estimator.predict(X), expected.estimator.predict(X))


@pytest.mark.parametrize(("batch_size", "delay"), [(1, 0), (10, 0), (1, 7), (10, 7), (10, 25)])
def test_of_any_learner_is_predicting_and_learning_in_turn(batch_size, delay):
    X, y = CANCER[0][:80] / CANCER[0].max(axis=0), CANCER[1][:80]
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


@pytest.mark.parametrize("batch_size", [1, 10])
def test_of_any_learner_rows_count_by_their_weights(batch_size):
    """Rows of weight 0 teach nothing. A row that follows only such rows is not scored."""
    X, y, weight = CANCER[0][:80] / CANCER[0].max(axis=0), CANCER[1][:80], np.linspace(0.5, 4.0, 80)
    weight[:20] = 0.0
    sgd = SGDClassifier(shuffle=False)
    result = progressive_validation(sgd, X, y, sample_weight=weight, batch_size=batch_size)
    predicted = in_turn(sgd, X[20:], y[20:], batch_size=batch_size, weight=weight[20:], classes=[0, 1])
    assert result.n_scored == len(predicted) == 60 - batch_size
    right = predicted == y[-len(predicted) :]
    assert result.score == pytest.approx(np.average(right, weights=weight[-len(predicted) :]))
    assert result.score != pytest.approx(right.mean())


@pytest.mark.parametrize("kind", ["two classes", "softmax", "ovr", "regression", "two outputs"])
def test_of_our_learners_is_the_same_by_kernel_and_in_turn(kind):
    """Both ways agree if `predict` knows what the kernel knows: without scales, means and averages."""
    X, y = {"two classes": CANCER, "softmax": WINE, "ovr": WINE}.get(kind, DIABETES)
    X, y, classes = X[:100] / X.max(axis=0), y[:100], {}
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
    # The path for unknown classes of learners gives the same results.
    other = progressive_validation(Stranger(learner), X, y, scoring=scoring)
    assert other.score == pytest.approx(result.score, rel=1e-9)
    assert other.n_scored == result.n_scored


class Stranger:
    """Passes everything on to a learner of this package, but is not one itself."""

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
    first = np.log(2.0)  # the first row is in the loss, but not in the score
    assert -result.score * result.n_scored + first == pytest.approx(result.loss * result.n_rows)
    late = progressive_validation(NAGClassifier(), X, y, scoring="neg_log_loss", delay=30, curve_at=[100])
    assert late.loss is None
    assert "loss" not in late.curve


def test_callback_sees_progress_and_ends_the_stream():
    X, y = CANCER
    seen = []

    def callback(n_rows, estimator):
        seen.append(n_rows)
        return estimator.t_ >= 200

    result = progressive_validation(NAGClassifier(), cut(X, y, 100, 100, 100), classes=[0, 1], callback=callback)
    assert seen == [100, 200]
    assert result.n_rows == result.estimator.t_ == 200


def test_callback_ends_rows_of_arrays_at_a_batch():
    seen = []
    progressive_validation(NAGRegressor(), *DIABETES, batch_size=10, callback=lambda n, _: seen.append(n) or n >= 50)
    assert seen == [10, 20, 30, 40, 50]


@pytest.mark.parametrize("estimator", [NAGClassifier(), SGDClassifier(random_state=0)])
def test_batches_with_weights_and_without(estimator):
    X, y = CANCER
    ones = np.ones(200)
    rest = (X[200:], y[200:], np.full(len(y) - 200, 2.0))
    results = [
        progressive_validation(estimator, iter([batch, rest]), classes=[0, 1], batch_size=200)
        for batch in ((X[:200], y[:200]), (X[:200], y[:200], None), (X[:200], y[:200], ones))
    ]
    assert results[0].score == results[1].score == pytest.approx(results[2].score)


@pytest.mark.parametrize(
    "estimator",
    [NAGClassifier(), NAGClassifier(calibration="progressive"), SGDClassifier(learning_rate="constant", eta0=1e-9)],
)
@pytest.mark.parametrize("delay", [0, 5])
def test_a_column_of_targets_is_a_flat_array(estimator, delay):
    X, y = CANCER[0][:120], (np.arange(120) >= 60).astype(int)
    coverage = 0.9 if estimator.get_params().get("calibration") and not delay else None
    options = {"delay": delay, "coverage": coverage, "false_alarm_rate": 1e-3}
    expected = progressive_validation(estimator, X, y, **options)
    with pytest.warns(DataConversionWarning):
        found = progressive_validation(estimator, X, y[:, None], **options)
    assert found.score == expected.score
    assert found.coverage == expected.coverage
    np.testing.assert_array_equal(found.alarms, expected.alarms)
    assert len(found.alarms) > 0


def test_alarms_are_told_by_rows_of_the_stream():
    """Rows before the first one that is scored are counted, too."""
    X, y = CANCER[0][:120], (np.arange(120) >= 60).astype(int)
    sgd = SGDClassifier(learning_rate="constant", eta0=1e-9, random_state=0)
    result = progressive_validation(sgd, X, y, batch_size=20, false_alarm_rate=1e-3)
    assert result.n_scored == 100
    wrong = result.predictions["predict"] != y[20:]
    np.testing.assert_array_equal(result.alarms, 20 + LossAlarm(1e-3).update(wrong))
    assert len(result.alarms) > 0


def test_alarms_of_several_labels():
    X, y = CANCER
    labels = np.column_stack([y, y])
    labels[400:] = 1 - labels[400:]
    rates = {"false_alarm_rate": 1e-3}
    result = progressive_validation(NAGClassifier(), X, labels, **rates)
    np.testing.assert_array_equal(
        result.alarms, progressive_validation(NAGClassifier(), X, labels[:, 0], **rates).alarms
    )
    assert len(result.alarms) > 0


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


@pytest.mark.parametrize(
    ("estimator", "options", "error", "match"),
    [
        (LogisticRegression(), {}, TypeError, "LogisticRegression cannot learn from a stream: it has no partial_fit"),
        (FrozenEstimator(NAGClassifier()), {}, TypeError, "FrozenEstimator cannot learn from a stream"),
        (make_pipeline(PolynomialFeatures(), NAGClassifier()), {}, TypeError, "'polynomialfeatures'.*FrozenEstimator"),
        (NAGClassifier(), {"batch_size": 0}, ValueError, "batch_size"),
        (NAGClassifier(), {"delay": -1}, ValueError, "delay"),
        (SGDClassifier(), {"delay": 569, "batch_size": 50}, ValueError, "nothing to score: all 569 rows"),
        (NAGClassifier(), {"curve_at": [3, 2]}, ValueError, "curve_at must hold increasing whole numbers of rows"),
        (NAGClassifier(), {"curve_at": [0.5]}, ValueError, "curve_at"),
        (NAGClassifier(), {"sample_weight": [1.0]}, ValueError, "inconsistent numbers of samples"),
    ],
)
def test_errors(estimator, options, error, match):
    with pytest.raises(error, match=match):
        progressive_validation(estimator, *CANCER, **options)


def test_river():
    """A learner of another package is used through its own wrapper."""
    pytest.importorskip("river")
    from river import compat, linear_model, preprocessing

    X, y = CANCER[0] / CANCER[0].max(axis=0), CANCER[1]
    river = compat.convert_river_to_sklearn(linear_model.LogisticRegression())
    result = progressive_validation(river, X[:100], y[:100], scoring=["accuracy", "neg_log_loss"])
    turns = {"classes": [0, 1]}
    assert result.score["accuracy"] == accuracy_score(y[1:100], in_turn(river, X[:100], y[:100], **turns))
    probability = in_turn(river, X[:100], y[:100], "predict_proba", **turns)
    assert result.score["neg_log_loss"] == pytest.approx(-log_loss(y[1:100], probability))
    scaled = compat.convert_river_to_sklearn(preprocessing.StandardScaler() | linear_model.LogisticRegression())
    assert progressive_validation(scaled, X[:100], y[:100]).score > result.score["accuracy"]


@pytest.mark.parametrize(
    "made_of",
    [
        lambda learner: HedgeRegressor([("a", learner), ("b", NAGRegressor("poisson", eta0=0.1))]),
        lambda learner: OnlineBootstrap(learner, n_models=2),
        lambda learner: ProgressiveSearch(learner, {"eta0": [0.1, 1.0]}),
        lambda learner: make_online_pipeline(OnlineImputer(), learner),
    ],
)
def test_what_is_made_of_learners_of_counts_is_scored_as_these(rng, made_of):
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 3.0
    y[:15] = 0.0
    learner = NAGRegressor("poisson")
    scoring = "neg_mean_poisson_deviance"
    expected, found = (
        progressive_validation(model, X, y, scoring=scoring, batch_size=5) for model in (learner, made_of(learner))
    )
    assert found.n_scored <= expected.n_scored == 60 - 17  # those predicted after the first count above 0
    assert found.score == pytest.approx(expected.score, rel=0.5)


@pytest.mark.parametrize("delay", [0, 7])
def test_counts_are_scored_from_the_first_one_above_0_on(rng, delay):
    X = rng.normal(size=(200, 3))
    y = rng.poisson(np.exp(0.5 * X[:, 0] - 0.5)).astype(float)
    y[:20], y[20] = 0.0, 2.0
    found = progressive_validation(
        NAGRegressor("poisson"), X, y, scoring="neg_mean_poisson_deviance", delay=delay, batch_size=10
    )
    model = NAGRegressor("poisson").partial_fit(X[:20], y[:20])
    predicted = [
        model.partial_fit(X[[i - 1 - delay]], y[[i - 1 - delay]]).predict(X[[i]]) for i in range(21 + delay, 200)
    ]
    assert found.score == pytest.approx(-mean_poisson_deviance(y[21 + delay :], np.concatenate(predicted)), rel=0.1)


@pytest.mark.parametrize("batch_size", [1, 20])
def test_steps_that_learn_by_batches_see_no_row_beyond_theirs(rng, batch_size):
    X, starts = rng.normal(size=(100, 3)), range(0, 100, batch_size)
    X[50:] *= 50
    y = (X.sum(axis=1) > 0).astype(int)
    scaler, clf, losses = StandardScaler(), NAGClassifier(normalization=None), []
    for i in starts:
        batch = slice(i, min(i + batch_size, 100))
        rows = scaler.partial_fit(X[batch]).transform(X[batch])
        for k in range(len(rows)):
            clf.partial_fit(rows[k : k + 1], y[i + k : i + k + 1], [0, 1])
            losses.append(clf.progressive_loss_)
    learner, options = make_pipeline(StandardScaler(), NAGClassifier(normalization=None)), {"batch_size": batch_size}
    parts = [(X[i : i + batch_size], y[i : i + batch_size]) for i in starts]
    found = [
        progressive_validation(learner, X, y, **options),
        progressive_validation(learner, X, y, callback=lambda n, estimator: False, **options),
        progressive_validation(learner, X, y, curve_at=[7, 60, 75], **options),
        progressive_validation(learner, parts, classes=[0, 1], curve_at=[75], **options),
    ]
    for result in found:
        assert result.loss == losses[-1]
        np.testing.assert_array_equal(result.predictions["predict"], found[0].predictions["predict"])
        np.testing.assert_array_equal(result.estimator[-1].coef_, clf.coef_)
        np.testing.assert_array_equal(result.curve["loss"], [losses[n - 1] for n in result.curve["n_rows"]])


@pytest.mark.parametrize("delay", [0, 1])
def test_counts_too_small_for_float64_are_scored_however_batches_are_cut(rng, delay):
    X = rng.normal(size=(200, 2))
    X[50::50] *= 1e6
    y = rng.poisson(np.exp(X[:, 0].clip(-2, 2))).astype(float)
    y[:3] = 0.0  # nothing is predicted for these yet
    reg, options = NAGRegressor("poisson", normalization=None, clip=None), {"scoring": "neg_median_absolute_error"}
    whole, parts = (
        progressive_validation(reg, b, curve_at=[120], false_alarm_rate=0.1, delay=delay, **options)
        for b in ([(X, y)], cut(X, y, *[1] * 199))
    )
    n_silent = np.flatnonzero(y)[0] + 1 + delay
    assert parts.n_scored == whole.n_scored == 200 - n_silent
    assert not whole.predictions["predict"].all()
    assert parts.score == whole.score
    assert parts.curve["score"] == whole.curve["score"]
    np.testing.assert_array_equal(parts.alarms, whole.alarms)
