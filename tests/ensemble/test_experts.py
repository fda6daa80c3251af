"""Experts of a mixture."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler

from sklearn_nag import HedgeClassifier, NAGCellsClassifier, NAGCellsRegressor, NAGClassifier, ScaleInvariantRegressor
from sklearn_nag.ensemble._experts import Expert
from sklearn_nag.preprocessing import make_online_pipeline


class Stopped(Exception):
    pass


def bits(model):
    return pickle.dumps(vars(copy.deepcopy(model)))


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
        if i > 10:  # rows before have new directions
            np.testing.assert_allclose(responses, [expected], rtol=1e-10)


@pytest.mark.parametrize("average", [False, True])
def test_calibrated_experts_are_judged_by_what_they_predict_before_a_row(average):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int)
    alone = NAGClassifier(calibration="progressive", average=average)
    expert = Expert("a", clone(alone))
    forecasts = [expert.play("predict_proba", *rows, None, [0, 1]) for rows in ((X[:50], y[:50]), (X[50:], y[50:]))]
    own = []
    for i in range(120):
        row, before = (X[i : i + 1], y[i : i + 1]), getattr(alone, "_evidence", None)
        own.append(alone._responded("predict_proba", alone._play(*row, classes=[0, 1]), row[1], None, before))
    assert [len(forecast) for forecast in forecasts] == [1, 1]
    np.testing.assert_array_equal(np.concatenate([forecast[0] for forecast in forecasts]), np.concatenate(own))
    np.testing.assert_allclose(expert.forecast(0, "predict_proba", X), alone.predict_proba(X), rtol=1e-9)


@pytest.mark.parametrize("parameters", [{"n_knots": 1}, {"n_trees": 20, "max_columns": 7}])
def test_steps_are_checked_before_rows_that_count(parameters):
    model = NAGCellsRegressor(**parameters)
    with pytest.raises(ValueError, match=f"The {[*parameters][-1]!r} parameter of Online(Curves|Cells) "):
        model.partial_fit(np.eye(3), [1.0, 2.0, 3.0], sample_weight=np.zeros(3))
