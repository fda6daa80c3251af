"""Experts of a mixture."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import SGDRegressor
from sklearn.preprocessing import MaxAbsScaler

from sklearn_nag import (
    HedgeClassifier,
    HedgeRegressor,
    NAGCellsClassifier,
    NAGCellsRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantRegressor,
)
from sklearn_nag.ensemble import _mixture
from sklearn_nag.ensemble._experts import Expert
from sklearn_nag.estimators import _online
from sklearn_nag.preprocessing import _base, make_online_pipeline


class Stopped(Exception):
    pass


def bits(model):
    return pickle.dumps(vars(copy.deepcopy(model)))


def state(n_features, n_classes):
    y = np.arange(2 * n_classes) % n_classes
    return NAGClassifier().partial_fit(np.ones((len(y), n_features)), y, classes=range(n_classes))._state


def test_cells_are_undone(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), rng.integers(2, size=300)
    model = NAGCellsClassifier(n_trees=20, depth=4, first_rows=50, focus_rows=120, random_state=0)
    model.partial_fit(X[:100], y[:100], classes=[0, 1])
    before, play, calls = bits(model), Expert.play, []

    def stops(expert, *args):
        calls.append(expert.name)
        if len(calls) == 6:  # the second generation has joined
            raise Stopped
        return play(expert, *args)

    monkeypatch.setattr(Expert, "play", stops)
    with pytest.raises(Stopped):
        model.partial_fit(X[100:], y[100:])
    assert "focused" in calls
    assert bits(model) == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda experts: experts[1].estimator._begun_with.update(loss=None), "begun with the loss None"),
        (lambda experts: setattr(experts[0].learner, "classes_", np.array([1, 2])), "'nag' has learnt other classes"),
        (lambda experts: experts[2].estimator.steps.pop(), "ends with a MaxAbsScaler, which cannot predict"),
        (lambda experts: setattr(experts[0], "more", 1), "an expert has other attributes than experts have"),
        (lambda experts: setattr(experts[0], "name", 5), "an expert has other attributes than experts have"),
        (lambda experts: setattr(experts[0], "averages", 1), "averages of 'nag' is 1; it must be True or False"),
        (lambda experts: setattr(experts[0], "n_rows", -1), "n_rows of 'nag'"),
        (lambda experts: setattr(experts[0], "snapshot", state(3, 2)), "'nag' has a snapshot of another model"),
        (lambda experts: setattr(experts[0], "snapshot", state(20, 3)), "'nag' has a snapshot of a model of other tar"),
    ],
)
def test_damaged_experts_are_refused(change, message):
    scaled = make_online_pipeline(MaxAbsScaler(), NAGClassifier())
    experts = [("nag", NAGClassifier()), ("mixed", HedgeClassifier()), ("scaled", scaled)]
    model = HedgeClassifier(experts).partial_fit(np.eye(20), np.arange(20) % 2, classes=[0, 1])
    change(model._experts)
    with pytest.raises(ValueError, match=message):
        pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("apart", [True, False])
def test_exact_least_squares_forecast_what_they_predict(apart):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 6)), rng.normal(size=30)
    X[:10, 1] = X[:10, 0]
    expert = Expert("exact", ScaleInvariantRegressor(invariance="full", update="least_squares"), apart)
    for i in range(30):
        expected = expert.learner.predict(X[i : i + 1]) if i > 0 else None
        responses = expert.play("predict", X[i : i + 1], y[i : i + 1], None, None)
        if i > 10:  # earlier rows have new directions
            np.testing.assert_allclose(responses, [expected], rtol=1e-10)


@pytest.mark.parametrize(("average", "weighted"), [(False, False), (True, False), (True, True)])
def test_calibrated_experts_are_judged_by_what_they_predict_before_a_row(average, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    alone = NAGClassifier(calibration="progressive", average=average)
    expert, weight = Expert("a", clone(alone)), rng.exponential(3.0, size=120) if weighted else None
    forecasts = [
        expert.play("predict_proba", X[rows], y[rows], weight[rows] if weighted else None, [0, 1])
        for rows in (slice(0, 50), slice(50, 120))
    ]
    own = []
    for i in range(120):
        rows, before = [i], getattr(alone, "_evidence", None)
        c = weight[rows] if weighted else None
        played = alone._play(X[rows], y[rows], sample_weight=c, classes=[0, 1])
        own.append(alone._responded("predict_proba", played, y[rows], c, before))
    assert [len(forecast) for forecast in forecasts] == [1, 1]
    np.testing.assert_array_equal(np.concatenate([forecast[0] for forecast in forecasts]), np.concatenate(own))
    np.testing.assert_allclose(expert.forecast(0, "predict_proba", X), alone.predict_proba(X), rtol=1e-9)


def test_learners_of_others_forecast_what_they_predict_before_a_batch(rng):
    X, y, weight = rng.normal(size=(30, 3)), rng.normal(size=30), rng.exponential(size=30)
    alone = SGDRegressor(random_state=0)
    expert, weights = Expert("sgd", alone), [weight] * 4 + [None]
    for number, (rows, c) in enumerate(zip(np.split(np.arange(30), [1, 2, 9, 20]), weights, strict=True)):
        judged = number != 2
        expected = alone.predict(X[rows]) if number > 0 and judged else None
        responses = expert.play("predict", X[rows], y[rows], None if c is None else c[rows], None, judged)
        alone.partial_fit(X[rows], y[rows], sample_weight=None if c is None else c[rows])
        assert expert.n_rows == rows[-1] + 1
        if expected is None:
            assert responses is None
        else:
            np.testing.assert_array_equal(responses, [expected])
        np.testing.assert_array_equal(expert.learner.coef_, alone.coef_)


def test_after_rows_that_are_not_judged_the_average_is_that_of_all(rng):
    """After rows that are not judged, as in later passes, the rows that come next are new."""
    X, y = rng.normal(size=(101, 3)), rng.normal(size=101)
    expert = Expert("nag", NAGRegressor())
    assert len(expert.play("predict", X[:40], y[:40], None, None)) == 2
    assert expert.play("predict", X[40:100], y[40:100], None, None, False) is None
    alone = NAGRegressor().partial_fit(X[:100], y[:100])
    latest, average = expert.play("predict", X[100:], y[100:], None, None)
    assert average == alone.predict(X[100:]) != latest


@pytest.mark.parametrize("parameters", [{"n_knots": 1}, {"n_trees": 20, "max_columns": 7}])
def test_steps_are_checked_before_rows_that_count(parameters):
    model = NAGCellsRegressor(**parameters)
    with pytest.raises(ValueError, match=f"The {[*parameters][-1]!r} parameter of Online(Curves|Cells) "):
        model.partial_fit(np.eye(3), [1.0, 2.0, 3.0], sample_weight=np.zeros(3))


def test_learners_are_checked_before_rows_that_count():
    with pytest.raises(ValueError, match=r"'eta0' parameter of NAGRegressor \('a', one of estimators\) must be"):
        HedgeRegressor([("a", NAGRegressor(eta0=-1.0))]).partial_fit(np.eye(3), np.ones(3), sample_weight=np.zeros(3))


def learnt(Mixture, **options):
    """A mixture that has learnt rows, and some more rows."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(130, 3)), rng.integers(2, size=130)
    model = Mixture(**options)
    model.partial_fit(X[:100], y[:100], **({"classes": [0, 1]} if hasattr(model, "predict_proba") else {}))
    return model, X[100:], y[100:]


CELLS = {"n_trees": 8, "depth": 3, "first_rows": 30, "focus_rows": 60, "random_state": 0}


@pytest.mark.parametrize(
    ("Mixture", "options"),
    [(HedgeClassifier, {}), (HedgeRegressor, {}), (NAGCellsClassifier, CELLS), (NAGCellsRegressor, CELLS)],
)
def test_rows_are_checked_once(Mixture, options, monkeypatch):
    model, X, y = learnt(Mixture, **options)
    expected = copy.deepcopy(model)
    played = []
    for i in range(len(y)):
        played.append(expected.predict(as_lists(X[i : i + 1])))
        expected.partial_fit(as_lists(X[i : i + 1]), y[i : i + 1].tolist())

    def fails(*args, **options):
        raise AssertionError("plain rows are converted or checked again")

    for module in (_mixture, _online, _base):
        monkeypatch.setattr(module, "converted", fails)
    for module in (_online, _base):
        monkeypatch.setattr(module, "check_sparse", fails)
    for i in range(len(y)):
        np.testing.assert_array_equal(model.predict(X[i : i + 1]), played[i])
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    monkeypatch.undo()
    assert bits(model) == bits(expected)


@pytest.mark.parametrize(
    ("Mixture", "options"), [(HedgeClassifier, {}), (NAGCellsClassifier, CELLS), (NAGCellsRegressor, CELLS)]
)
@pytest.mark.parametrize("n", [2, 300])
def test_rows_of_another_width_are_refused_by_steps_and_learners(Mixture, options, n):
    """Rows that a mixture has checked would pass if somebody had changed the number of columns of the mixture."""
    model, X, y = learnt(Mixture, **options)
    before = bits(model)
    model.n_features_in_, rows = n, np.ones((3, n))
    for call in (lambda: model.predict(rows), lambda: model.partial_fit(rows, y[:3])):
        with pytest.raises(ValueError, match=f"X has {n} features, but .* is expecting {X.shape[1]} features"):
            call()
    model.n_features_in_ = X.shape[1]
    assert bits(model) == before


def as_lists(X):
    """Rows in a form that has to be converted."""
    return X.tolist()


class Reversed(NAGClassifier):
    def predict_proba(self, X):
        return super().predict_proba(X)[:, ::-1]


def test_learners_of_others_are_asked_by_their_own_methods():
    model, X, _ = learnt(HedgeClassifier, estimators=[("own", Reversed(average=False))])
    plain, _, _ = learnt(HedgeClassifier, estimators=[("own", NAGClassifier(average=False))])
    np.testing.assert_allclose(model.predict_proba(X), plain.predict_proba(X)[:, ::-1])


@pytest.mark.parametrize("Mixture", [NAGCellsClassifier, NAGCellsRegressor])
def test_changed_steps_are_refused(Mixture):
    model, X, y = learnt(Mixture, **CELLS)
    before = bits(model)
    step = model.named_estimators_["curves"][0].set_params(n_knots=5)
    for call in (lambda: model.partial_fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match="'curves', one of estimators: n_knots was 21 when this OnlineCurves was"):
            call()
    with pytest.raises(ValueError, match="'n_knots' parameter of OnlineCurves .'curves', one of estimators. must be"):
        step.set_params(n_knots=-1) and model.partial_fit(X, y)
    step.set_params(n_knots=21)
    assert bits(model) == before


@pytest.mark.parametrize("Mixture", [NAGCellsClassifier, NAGCellsRegressor])
def test_gaps_in_other_columns_are_refused_as_by_learners(Mixture):
    model, X, y = learnt(Mixture, columns=[0, 1], **CELLS)
    before = bits(model)
    X[4, 2] = np.nan
    for call in (lambda: model.partial_fit(X, y), lambda: model.predict(X)):
        with pytest.raises(ValueError, match="'lines', one of estimators: Input X contains NaN"):
            call()
    assert bits(model) == before
