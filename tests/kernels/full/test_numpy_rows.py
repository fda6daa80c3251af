"""The update of full invariance: the paper in 40 digits, its invariance, and what it takes for rounding."""

import functools

import numpy as np
import pytest

from sklearn_nag import ScaleInvariantClassifier, ScaleInvariantRegressor, config_context

from .. import invariant_reference as reference
from ..bounded_helpers import LOSSES, make_state, progressive, with_constant
from ..helpers import KERNELS


@functools.cache
def full_reference(X, y, d, loss):
    """Run `reference.full` once for both kernels."""
    return reference.full(np.frombuffer(X).reshape(-1, d), np.frombuffer(y), loss, 1.5)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("d", "n", "loss"), [(1, 60, "log_loss"), (3, 60, "hinge"), (4, 60, "absolute_error"), (9, 12, "log_loss")]
)
def test_full_agrees_with_the_paper_in_forty_digits(rng, d, n, loss, kernel):
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d)
    X[: n // 3, : d // 2] = 0.0  # these start late
    if d > 2:
        X[:, 2] = 3 * X[:, 0]  # always dependent
    y = np.where(X.sum(axis=1) + rng.normal(size=n) > 0, 1.0, -1.0) * (rng.exponential(size=n) if "abs" in loss else 1)
    expected, surprise, average = full_reference(with_constant(X).tobytes(), y.tobytes(), d + 1, loss)
    with config_context(kernel=kernel):
        state, latest = make_state(d), make_state(d, averaged=False)
        progressive(state, X, y, loss=loss)
        played = progressive(latest, X, y, loss=loss)[:, 0]
    np.testing.assert_allclose(played, expected, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(state.Gamma[0], surprise, rtol=1e-8)
    coef, intercept, _ = state.linear()
    averaged = with_constant(X) @ average
    np.testing.assert_allclose(X @ coef[0] + intercept[0], averaged, rtol=0, atol=1e-8 * np.abs(averaged).max())


@pytest.mark.parametrize("condition", [1.0, 1e3, 1e6])
@pytest.mark.parametrize("loss", ["log_loss", "huber"])
def test_linear_maps_and_moves_change_nothing(rng, loss, condition):
    n, d = 150, 5
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    X[:50, 1] = X[:50, 2]  # dependent for a while, up to rounding once mapped or moved
    y = X @ rng.normal(size=d) + y
    y = np.sign(y) if loss == "log_loss" else y
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    map_ = left @ np.diag(np.geomspace(1, condition, d)) @ right
    options = {} if loss == "log_loss" else {"epsilon": 1.0}

    def play(rows, y=y):
        state = make_state(d, target_unit=loss == "huber", loss=LOSSES[loss])
        return progressive(state, rows, y, loss=loss, **options)

    mapped, move = X @ map_, 100 * rng.normal(size=d)
    pairs = [(X, mapped), (X, X + move), (X[50:], mapped[50:] + mapped.std(axis=0) * move)]
    for rows, others in pairs:
        one, two = play(rows, y[-len(rows) :]), play(others, y[-len(rows) :])
        np.testing.assert_allclose(two, one, rtol=1e-6, atol=1e-6 * np.abs(one).mean())


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("distance", [0.0, 1e3, 1e6])
def test_dependence_is_told_from_rounding(rng, distance, kernel):
    """A small difference of large columns and a sum of distant ones are not new directions."""
    a = 1e3 * rng.normal(size=200)
    b = a + rng.normal(size=200)
    X = np.column_stack([a, b, b - a, a + distance, a + b + 2 * distance, rng.normal(size=200)])
    y = b - a + 0.1 * rng.normal(size=200)
    with config_context(kernel=kernel):
        reg = ScaleInvariantRegressor(invariance="full").partial_fit(X, y)
    assert np.count_nonzero(np.diag(reg._state.factor)) == 4  # a, b, the last column and the constant
    disturbed = X + np.array([0, 0, 0.01, 0.01, 0.01, 0]) * rng.normal(size=(200, 1))
    assert reg.score(disturbed, y) > 0.8


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_light_first_row_far_away(rng, kernel):
    X = rng.normal(size=(300, 3))
    y = X @ [1.0, 2.0, 3.0]
    X[1:] += 1e9
    weights = np.ones(300)
    weights[0] = 1e-20
    with config_context(kernel=kernel):
        reg = ScaleInvariantRegressor(invariance="full").partial_fit(X, y, weights)
    np.testing.assert_allclose(reg.scale_, 1.0, rtol=0.2)
    assert reg.score(X[1:], y[1:]) > 0.9


@pytest.mark.filterwarnings("ignore:some rows did not count")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("independent", [False, True])
def test_a_row_that_outweighs_all_before_by_more_than_doubles_hold(kernel, independent):
    X, weight = np.array([[0.0, 0.0], [1.0, 0.0], [-1e308, 0.0]]), np.array([1.0, 1.0, 1e58])
    if independent:
        X[2, 1] = 1e308
    reg = ScaleInvariantRegressor(invariance="full", loss="absolute_error")
    with config_context(kernel=kernel):
        reg.partial_fit(X, [1.0, 2.0, 3.0], sample_weight=weight)
        assert np.isfinite(reg.predict(X)).all()
        assert np.isfinite(reg.partial_fit(X, [1.0, 2.0, 3.0], sample_weight=weight).predict(X)).all()


@pytest.mark.filterwarnings("ignore:some rows did not count")
@pytest.mark.parametrize("kernel", KERNELS)
def test_an_average_is_finite_whatever_columns_and_weights_grow_by(kernel):
    X, weight = np.array([[-1e80], [1e160], [0.0], [-1e207]]), np.array([1e98, 1e-89, 1e72, 1e90])
    with config_context(kernel=kernel):
        clf = ScaleInvariantClassifier(invariance="full").partial_fit(X, [0, 1, 1, 0], [0, 1], sample_weight=weight)
        clf.partial_fit(X, [0, 1, 1, 0], sample_weight=weight)
        assert np.isfinite(clf.decision_function(X)).all()


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_light_row_far_beyond_all_before_is_learnt(kernel):
    """The average's prediction for the row is cut to the largest double, before division by the root of its weight."""
    X, weight = np.array([[1e-92], [0.0], [-1e245]]), np.array([1.0, 1.0, 0.1])
    with config_context(kernel=kernel):
        clf = ScaleInvariantClassifier(invariance="full")
        played = clf._play(X, [1, 0, 1], sample_weight=weight, classes=[0, 1])
    assert played[2, 0] == -np.finfo(float).max
    assert np.isfinite(clf.decision_function(X)).all()
