"""Recorded runs and adversaries."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import SGDClassifier

from sklearn_nag import NAGClassifier, NAGRegressor, ScaleInvariantClassifier, ScaleInvariantRegressor
from sklearn_nag.regret import (
    entropy_bound,
    expert_game,
    full_bound,
    full_lower_bound,
    least_squares_bound,
    margin_bound,
    margin_data,
    ogd_bound,
    perceptron_bound,
    potential_bound,
    record,
    scaling_adversary,
    scinol1_bound,
    unlearnable,
)


@pytest.mark.parametrize("learner", [NAGClassifier(), ScaleInvariantClassifier(loss="hinge")])
def test_losses_are_those_the_learner_counts(learner):
    X, y = load_breast_cancer(return_X_y=True)
    run = record(learner, X, y)
    learner.set_params(average=False).partial_fit(X, y, classes=[0, 1])
    assert run.losses.mean() == pytest.approx(learner.progressive_loss_, rel=1e-9)
    assert run.X.shape == (len(y), X.shape[1] + 1)
    np.testing.assert_array_equal(run.y, 2.0 * y - 1)
    np.testing.assert_allclose(run.regret(np.zeros(31))[-1], (run.losses - run.loss.value(0.0, run.y)).sum())


def test_regressors():
    X, y = load_diabetes(return_X_y=True)
    run = record(NAGRegressor(fit_intercept=False, target_normalization=None, clip=None, eta0=10.0), X, y)
    assert run.X.shape == X.shape
    np.testing.assert_array_equal(run.y, y)
    u = np.full(10, 3.0)
    np.testing.assert_allclose(run.loss_of(u), 0.5 * (X @ u - y) ** 2)
    assert not run.mistakes.all()


@pytest.mark.parametrize("clip", ["targets", (0.0, 1100.0)])
@pytest.mark.parametrize(
    "learner",
    [
        NAGRegressor(average=False),
        ScaleInvariantRegressor("squared_error", average=False),
        NAGRegressor(average=False, half_life=100.0),
        NAGRegressor("poisson", average=False),
    ],
    ids=lambda learner: type(learner).__name__ + str(learner.get_params()["half_life"]) + learner.loss,
)
def test_nothing_is_predicted_of_the_first_row_where_targets_have_a_unit(learner, clip):
    X, y = load_diabetes(return_X_y=True)
    y[0] = 500.0
    if learner.loss == "poisson":
        y[:3] = -1000.0
        clip = clip if clip == "targets" else (1.0, 1100.0)
    learner = clone(learner).set_params(clip=clip)
    run = record(learner, X, y + 1000.0)
    assert run.losses[0] == 0.0
    assert run.losses.mean() == pytest.approx(learner.partial_fit(X, y + 1000.0).progressive_loss_, rel=1e-9)


@pytest.mark.parametrize("clip", ["targets", (10.0, 100.0)])
def test_without_an_intercept_0_is_predicted_of_the_first_row(clip):
    X, y = load_diabetes(return_X_y=True)
    learner = NAGRegressor(average=False, fit_intercept=False, clip=clip)
    run = record(learner, X, y)
    assert run.predictions[0] == (0.0 if clip == "targets" else 10.0)
    assert run.losses.mean() == pytest.approx(learner.partial_fit(X, y).progressive_loss_, rel=1e-9)


def test_without_an_intercept_rates_are_predicted_of_the_first_row():
    X, y = load_diabetes(return_X_y=True)
    learner = NAGRegressor("poisson", average=False, fit_intercept=False)
    y[:2] = 0.0
    run = record(learner, X, y / 100.0)
    assert run.predictions[0] == 0.0
    assert run.losses.mean() == pytest.approx(learner.partial_fit(X, y / 100.0).progressive_loss_, rel=1e-9)


def test_what_cannot_be_recorded():
    with pytest.raises(ValueError, match="the epsilon of loss='huber' is in standard deviations"):
        record(ScaleInvariantRegressor(), *load_diabetes(return_X_y=True))
    with pytest.raises(ValueError, match="two classes"):
        record(NAGClassifier(), *load_iris(return_X_y=True))
    with pytest.raises(TypeError, match="SGDClassifier"):
        record(SGDClassifier(), *load_breast_cancer(return_X_y=True))
    with pytest.raises(ValueError, match="y has labels of a different type from its first one, 'a'"):
        record(NAGClassifier(), np.eye(3), np.array(["a", "b", None], dtype=object))


def test_following_the_leader_loses_every_row():
    losses = expert_game("leader", 30, 3)
    before = np.cumsum(losses, axis=0) - losses
    assert (losses[1:][np.arange(29), before[1:].argmin(axis=1)] == 1.0).all()
    assert (losses.sum(axis=0) <= 11).all()


def test_switching_experts():
    losses = expert_game("switch", 100, 5, random_state=0)
    assert (losses[:50].sum(axis=0) == 0).sum() == (losses[50:].sum(axis=0) == 0).sum() == 1
    assert losses[:50].sum(axis=0).argmin() != losses[50:].sum(axis=0).argmin()
    assert set(np.unique(losses)) == {0.0, 1.0}


@pytest.mark.parametrize("n_features", [1, 2, 30])
def test_margins(n_features):
    for seed in range(20):
        X, y, u = margin_data(50, n_features, margin=0.1, random_state=seed)
        assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-12
        assert (y * (X @ u)).min() >= 0.1
        assert np.linalg.norm(u) == pytest.approx(1.0)


@pytest.mark.parametrize(("margin", "seed"), [(0.01, 24), (1e-6, 3), (0.9999, 0)])
def test_margins_in_a_plane_of_rows_that_are_nearly_its_normal(margin, seed):
    X, y, u = margin_data(100_000, 2, margin=margin, random_state=seed)
    assert np.linalg.norm(X, axis=1).max() <= 1 + 1e-15
    assert (y * (X @ u)).min() >= margin


def test_units():
    X = np.random.default_rng(0).normal(size=(20, 50))
    scaled = scaling_adversary(X, orders=4, random_state=0)
    units = scaled / X
    np.testing.assert_allclose(units, np.tile(units[0], (20, 1)), rtol=1e-12)
    assert 0.01 <= units.min() < 0.1 < 10 < units.max() <= 100


def test_bad_arguments():
    with pytest.raises(ValueError, match="'kind' parameter must be one of"):
        expert_game("chess", 3, 2)
    with pytest.raises(ValueError, match="margin"):
        margin_data(3, 2, margin=1.0)
    for n_rows in (27, 2.5, 0):
        with pytest.raises(ValueError, match="'n_rows' parameter must be an int"):
            unlearnable(n_rows, lambda x: 1.0)
    for label in (0.5, 0, None, np.nan):
        with pytest.raises(ValueError, match=f"label must return -1 or 1; got {label}"):
            unlearnable(3, lambda x, label=label: label)
    for kind in ("coins", "leader", "switch"):
        for n_experts in (1, -1, 2.5):
            with pytest.raises(ValueError, match="'n_experts' parameter must be an int"):
                expert_game(kind, 3, n_experts)
        for n_rows in (-1, 0, 2.5):
            with pytest.raises(ValueError, match="'n_rows' parameter must be an int"):
                expert_game(kind, n_rows, 2)
    for n_rows, n_features in ((2.5, 2), (2, 2.5), (-1, 2), (2, 0)):
        with pytest.raises(ValueError, match="'n_(rows|features)' parameter must be an int"):
            margin_data(n_rows, n_features, margin=0.1)


def test_units_are_within_the_range():
    ones = np.ones((2, 50))
    with pytest.raises(ValueError, match=r"'orders' parameter must be a float in the range \[0, 600\]"):
        scaling_adversary(ones, orders=700)
    scaled = scaling_adversary(ones, orders=600, random_state=0)
    assert ((scaled > 0) & np.isfinite(scaled)).all()
    with pytest.raises(ValueError, match="X in its new units contains infinity in row 0"):
        scaling_adversary(1e300 * ones, random_state=0, orders=100)


def test_weights_of_another_length_are_refused():
    run = record(NAGRegressor(), np.arange(12.0).reshape(6, 2), np.arange(6.0))
    with pytest.raises(ValueError, match=r"^u must have one weight for each of 3 columns.*; it has shape \(2,\)\.$"):
        run.regret([1.0, 2.0])
    assert run.regret(np.zeros((4, 3))).shape == (4, 6)
    for bound, *more in (
        (ogd_bound, 0.1),
        (entropy_bound, 0.1),
        (perceptron_bound,),
        (margin_bound,),
        (potential_bound,),
        (full_bound,),
        (full_lower_bound,),
        (scinol1_bound,),
        (least_squares_bound, 1.0),
    ):
        assert bound(run, np.ones(3), *more).shape == (6,)
        with pytest.raises(ValueError, match="^u must have one weight for each of 3 columns"):
            bound(run, [0.5, 0.5], *more)
