"""What a sweep of learning rates reports, compared with progressive validation and a Pipeline for each rate."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from sklearn_nag import NAGClassifier, NAGRegressor, report_progress
from sklearn_nag.model_selection import eta_sweep, progressive_validation

from .helpers import CANCER, DIABETES, ETA0S, WINE


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


@pytest.mark.parametrize("data", [CANCER, WINE])
def test_a_column_of_labels_is_a_flat_array(data):
    X, y = data
    expected = eta_sweep(NAGClassifier(), X, y, ETA0S)
    for rows, targets, options in (X, y[:, None], {}), ([(X, y[:, None])], None, {"classes": np.unique(y)}):
        with pytest.warns(DataConversionWarning):
            found = eta_sweep(NAGClassifier(), rows, targets, ETA0S, **options)
        np.testing.assert_array_equal(found.errors, expected.errors)
        np.testing.assert_array_equal(found.losses, expected.losses)


def test_a_sweep_in_a_pipeline():
    X, y = CANCER
    sweep = eta_sweep(make_pipeline(MaxAbsScaler(), NAGClassifier()), X, y, ETA0S, batch_size=len(y))
    rows = MaxAbsScaler().fit_transform(X)
    alone = NAGClassifier(eta0=ETA0S[1]).partial_fit(rows, y, classes=[0, 1])
    assert np.array_equal(sweep.estimators[1].predict(X), alone.predict(rows))
    assert sweep.losses[1] == alone.progressive_loss_


@pytest.mark.parametrize("batch_size", [1, 20])
def test_steps_that_learn_by_batches_see_no_row_beyond_theirs(rng, batch_size):
    X = rng.normal(size=(100, 3))
    X[50:] *= 50
    y = (X.sum(axis=1) > 0).astype(int)
    learner = make_pipeline(MaxAbsScaler(), NAGClassifier(normalization=None))
    sweep = eta_sweep(learner, X, y, ETA0S, batch_size=batch_size)
    alone = [
        progressive_validation(clone(learner).set_params(nagclassifier__eta0=eta0), X, y, batch_size=batch_size)
        for eta0 in ETA0S
    ]
    assert list(sweep.losses) == [result.loss for result in alone]
    assert list(sweep.errors) == pytest.approx([1 - result.score for result in alone], abs=1e-12)
    assert sweep.losses[1] != eta_sweep(learner, X, y, ETA0S, batch_size=len(y)).losses[1]


@pytest.mark.parametrize("power", [-600, 600])
def test_the_best_rate_does_not_depend_on_the_unit_of_the_target(power):
    X, y = DIABETES
    here, there = (eta_sweep(NAGRegressor(), X, np.ldexp(y, k), ETA0S) for k in (0, power))
    assert here.best_index > 0
    assert here.best_index == there.best_index


@pytest.mark.parametrize("every", [None, 64, 1])
def test_the_loss_reported_is_that_of_one_rate_however_often_it_is(rng, every):
    X, reports = rng.normal(size=(256, 3)), []
    y = X.sum(axis=1) * np.where(np.arange(256) < 64, 1.0, -1.0)  # at first one rate is the best, later another one
    with report_progress(reports.append, every=every):
        of_two = eta_sweep(NAGRegressor(), X, y, ETA0S[:2])
        of_all = eta_sweep(NAGRegressor(), X, y, ETA0S)
    ends = [now.loss for now in reports if now.rows == 256]
    assert ends == pytest.approx([min(of_two.losses), min(of_all.losses)], rel=1e-9)
