"""What regressors share: the unit and the origin of the target, several outputs, and quantiles."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.metrics import d2_tweedie_score, mean_pinball_loss, r2_score

from sklearn_nag import FTRLRegressor, NAGRegressor, ScaleInvariantRegressor, config_context, losses

from ..kernels.helpers import KERNELS, needs_numba
from .helpers import REGRESSION

# -- the unit of the target


@pytest.mark.parametrize("loss", REGRESSION)
@settings(max_examples=15, deadline=None)
@given(exponent=st.floats(-100, 100), offset=st.floats(-1e3, 1e3), negative=st.booleans())
def test_the_target_may_come_in_any_unit(loss, exponent, offset, negative):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, y = X[:150], y[:150]
    quantile = 0.3
    a = -(10.0**exponent) if negative else 10.0**exponent
    c = offset * abs(a)
    here = NAGRegressor(loss, quantile=quantile).partial_fit(X, y)
    there = NAGRegressor(loss, quantile=1 - quantile if negative else quantile).partial_fit(X, a * y + c)
    np.testing.assert_allclose((there.predict(X) - c) / a, here.predict(X), rtol=1e-6, atol=1e-5)
    degree = losses.REGRESSION[loss].degree
    if abs(exponent) < 100 / degree:
        assert there.progressive_loss_ == pytest.approx(abs(a) ** degree * here.progressive_loss_, rel=1e-6)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("make", [NAGRegressor, FTRLRegressor, ScaleInvariantRegressor])
def test_powers_of_two_of_the_target_change_no_bit(make, kernel):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    with config_context(kernel=kernel):
        here = make().partial_fit(X, y)
        for power in (-800, -500, 252, 260, 300, 900):  # beyond 2^256 targets are lifted, to about 2^-500
            there = make().partial_fit(X, np.ldexp(y, power))
            assert np.array_equal(np.ldexp(there.coef_, -power), here.coef_), power


ROBUST = ["absolute_error", "huber", "epsilon_insensitive", "quantile"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("loss", ROBUST)
@pytest.mark.parametrize("make", [NAGRegressor, FTRLRegressor, ScaleInvariantRegressor])
def test_no_single_target_does_harm_where_slopes_are_bounded(make, loss, kernel, rng):
    if kernel == "numpy" and loss != "huber":
        pytest.skip("the losses share all of this")
    X = rng.normal(size=(3000, 3))
    truth = 2.0 + X @ [1.0, -1.0, 0.5]
    y = truth + 0.3 * rng.normal(size=3000)
    y[[800, 1500]] = 1e5, -1e8
    with config_context(kernel=kernel):
        reg = make(loss).partial_fit(X[:1501], y[:1501])
        assert r2_score(truth, reg.predict(X)) > 0.8
        assert r2_score(truth, reg.partial_fit(X[1501:], y[1501:]).predict(X)) > 0.97


STUCK = [("absolute_error", 1), ("huber", 5), ("absolute_error", 4)]
MANY = [(0.1, 100.0), (0.05, 30.0), (0.03, 10.0)]


@pytest.mark.parametrize(
    ("share", "size", "kernel"),
    [(*MANY[-1], "numpy"), *(pytest.param(*case, "numba", marks=needs_numba) for case in MANY)],
)
def test_what_comes_in_many_rows_is_no_outlier(share, size, kernel, rng):
    """In many rows a column is 1, and their targets are tens or hundreds of times the others."""
    X = np.column_stack([rng.normal(size=(8000, 2)), rng.random(8000) < share])
    y = 0.3 * rng.normal(size=8000) + size * X[:, 2]
    with config_context(kernel=kernel):
        reg = NAGRegressor("absolute_error").partial_fit(X, y)
    np.testing.assert_allclose(reg.predict([[0, 0, 1], [0, 0, 0]]), [size, 0], atol=1)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("make", "share"),
    [
        (NAGRegressor("absolute_error"), 0.02),
        (NAGRegressor("huber"), 0.02),
        (NAGRegressor("epsilon_insensitive"), 0.01),
        (NAGRegressor("quantile"), 0.02),
        (ScaleInvariantRegressor(), 0.02),
    ],
    ids=str,
)
def test_outliers_in_some_rows_of_a_hundred_do_no_harm(make, share, kernel, rng):
    X = rng.normal(size=(1000, 3))
    truth = 2.0 + X @ [1.0, -1.0, 0.5]
    y = truth + rng.normal(size=1000)
    clean = y.copy()
    far = np.flatnonzero(rng.random(1000) < share)
    far = far[far > 100]  # their unit is known by then
    y[far] = 1e4 * rng.choice([-1, 1], len(far))
    with config_context(kernel=kernel):
        expected, found = (
            np.abs(clone(make).partial_fit(X, targets).predict(X) - truth).mean() for targets in (clean, y)
        )
        assert found < expected + 0.1


@pytest.mark.parametrize(
    ("loss", "half_life", "kernel"),
    [
        *((loss, half_life, "numpy") for loss, half_life in STUCK[1:]),
        *(pytest.param(*case, "numba", marks=needs_numba) for case in STUCK),
    ],
)
def test_a_target_that_was_stuck_is_learnt_again_by_robust_losses_that_forget(loss, half_life, kernel, rng):
    """The unit of a stuck target had faded below the rounding of its mean, so all others were outliers for ever."""
    stuck = 20 + (150 * half_life if half_life > 1 else 1500)  # until the unit is 2^-53 of the mean, or 0
    X = rng.normal(size=(stuck + 20 * half_life + 150, 2))
    y = X @ [3.0, -2.0] + 0.1 * rng.normal(size=len(X))
    y[0], y[20:stuck] = 0.0, 100.0
    with config_context(kernel=kernel):
        reg = NAGRegressor(loss, half_life=half_life).partial_fit(X[:stuck], y[:stuck])
        reg = pickle.loads(pickle.dumps(reg)).partial_fit(X[stuck:], y[stuck:])
    assert reg.score(X[-100:], y[-100:]) > (0.98 if half_life > 1 else 0.7)


def test_targets_that_grow_by_far_are_followed(rng):
    X = rng.normal(size=(2000, 2))
    y = (X @ [1.0, 2.0] + 0.1 * rng.normal(size=2000)) * np.where(np.arange(2000) < 300, 1e-6, 1.0)
    reg = NAGRegressor("huber").partial_fit(X, y)
    assert reg.score(X[1000:], y[1000:]) > 0.95


@pytest.mark.parametrize("kernel", KERNELS)
def test_outliers_by_any_cut(kernel, rng):
    X, y = rng.normal(size=(400, 3)), rng.standard_cauchy(size=(400, 2)) ** 3
    with config_context(kernel=kernel):
        whole, parts = NAGRegressor("huber").partial_fit(X, y), NAGRegressor("huber")
        for part in np.split(np.arange(400), np.sort(rng.choice(400, 30))):
            parts.partial_fit(X[part], y[part])
        one = NAGRegressor("huber").partial_fit(X, y[:, 1])
    assert np.array_equal(parts.coef_, whole.coef_)
    assert np.array_equal(one.coef_, whole.coef_[1])


def test_equal_targets_at_first_harm_nothing(rng):
    X = rng.normal(size=(3000, 4))
    y = X @ [1.0, 2.0, 3.0, 4.0]
    y[:200] = 7.0
    reg = NAGRegressor().partial_fit(X, y)
    assert reg.score(X[200:], y[200:]) > 0.95


@pytest.mark.parametrize("options", [{}, {"adaptive": False}, {"loss": "absolute_error"}, {"fit_intercept": False}])
def test_the_old_meaning_is_one_setting_away(options, rng):
    X, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    y += 2 * X[:, 0]
    reg = NAGRegressor(target_normalization=None, clip=None, eta0=0.1, **options).partial_fit(X, y)
    other = NAGRegressor(target_normalization=None, clip=None, eta0=0.1, **options).partial_fit(X, 3 * y + 1)
    assert not np.allclose(3 * reg.predict(X) + 1, other.predict(X))
    with pytest.raises(
        ValueError, match="'target_normalization' parameter of NAGRegressor must be one of 'standard', None"
    ):
        NAGRegressor(target_normalization="max").fit(X, y)


def test_without_an_intercept_the_origin_of_the_target_stays(rng):
    X = rng.normal(size=(1000, 3))
    y = 1e6 * (X @ [1.0, 2.0, 3.0])
    reg = NAGRegressor(fit_intercept=False).partial_fit(X, y)
    assert reg.intercept_ == [0.0]
    assert reg.predict(np.zeros((1, 3))) == [0.0]
    assert reg.score(X, y) > 0.95


@pytest.mark.parametrize("eta0", [1.0, 64.0, "auto"])
@pytest.mark.parametrize("normalization", ["max", "rms"])
def test_predictions_made_while_learning_stay_near_the_targets_seen(normalization, eta0, rng):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X[rng.integers(0, len(X), 5)] *= 100.0
    estimator = NAGRegressor("absolute_error", normalization=normalization, eta0=eta0)
    distance = np.abs(estimator._play(X, y)[1:, 0] - y[1:])
    low, high = np.minimum.accumulate(y)[:-1], np.maximum.accumulate(y)[:-1]
    farthest = np.maximum(np.abs(2 * high - low - y[1:]), np.abs(2 * low - high - y[1:]))
    assert (distance <= farthest + 1e-9).all()


# -- several outputs


def test_outputs_have_units_of_their_own():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    several = NAGRegressor().partial_fit(X, np.column_stack([y, 1e50 * y - 1e52, np.ones(len(y))]))
    alone = NAGRegressor().partial_fit(X, y)
    assert np.array_equal(several.coef_[0], alone.coef_)
    np.testing.assert_allclose(several.coef_[1], 1e50 * alone.coef_, rtol=1e-6)
    assert np.array_equal(several.predict(X)[:, 2], np.ones(len(y)))  # a constant output


def test_several_outputs_are_what_each_is_alone(rng):
    X = rng.normal(size=(200, 4))
    Y = X @ rng.normal(size=(4, 3)) + rng.normal(size=3)
    together = NAGRegressor(max_iter=3, tol=None, random_state=0).fit(X, Y)
    assert together.coef_.shape == (3, 4)
    assert together.intercept_.shape == (3,)
    for k in range(3):
        alone = NAGRegressor(max_iter=3, tol=None, random_state=0).fit(X, Y[:, k])
        assert alone.coef_.shape == (4,)
        assert np.array_equal(alone.coef_, together.coef_[k])
        np.testing.assert_allclose(alone.predict(X), together.predict(X)[:, k], rtol=1e-12)


# -- quantiles


@pytest.mark.usefixtures("in_numpy")
def test_counts_are_scored_by_weights_and_predicted_within_clip(rng):
    X = rng.normal(size=(200, 2))
    y, weight = rng.poisson(np.exp(X[:, 0])).astype(float), rng.uniform(0, 9, 200)
    reg = NAGRegressor("poisson", clip=(0.1, 3.0)).partial_fit(X, y)
    p = reg.predict(X)
    assert p.min() >= 0.1
    assert 3.0 - 1e-15 <= p.max() <= 3.0  # although the exponential of its logarithm may be above
    assert reg.score(X, y, weight) == pytest.approx(d2_tweedie_score(y, p, sample_weight=weight, power=1))


def test_quantiles_are_quantiles(rng):
    y = rng.exponential(size=5000)
    for quantile in (0.1, 0.5, 0.9):
        reg = NAGRegressor("quantile", quantile=quantile, max_iter=5, average=True, random_state=0)
        assert np.mean(y < reg.fit(np.ones((5000, 1)), y).predict([[1.0]])) == pytest.approx(quantile, abs=0.02)


@pytest.mark.parametrize("quantile", [0.05, 0.95])
def test_rare_sides_of_a_quantile_do_not_make_long_steps(quantile):
    """Such steps were 4.4 times those of the median, so one pass over a skewed target was worse than a constant."""
    gain = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8000, 6))
        y = np.exp(X[:, 0] + rng.normal(size=8000))
        reg = NAGRegressor("quantile", quantile=quantile).partial_fit(X[:4000], y[:4000])
        constant = np.full(4000, np.quantile(y[:4000], quantile))
        losses = (mean_pinball_loss(y[4000:], p, alpha=quantile) for p in (reg.predict(X[4000:]), constant))
        gain.append(1.0 - next(losses) / next(losses))
    assert np.mean(gain) > (0.01 if quantile < 0.5 else 0.2)  # it was below 0 for the low one


@pytest.mark.parametrize("kernel", KERNELS)
def test_learning_rates_are_mixed_for_the_least_targets_there_are(kernel):
    """The inverse of the smallest targets' unit is infinite."""
    with config_context(kernel=kernel):
        reg = NAGRegressor(eta0="auto").partial_fit(np.zeros((3, 1)), [-1e-310, 0.0, 0.0])
        assert reg.predict([[0.0]]) == pytest.approx(-1e-310 / 3.0, rel=1e-9)


# -- what predictions mean


@pytest.mark.parametrize("make", [NAGRegressor, FTRLRegressor, ScaleInvariantRegressor])
@pytest.mark.parametrize(("loss", "other"), [("squared_error", "poisson"), ("gamma", "huber")])
def test_a_loss_set_later_does_not_change_what_was_learnt(make, loss, other, rng):
    """Predictions of some losses are logarithms. A model keeps the meaning of the loss that it has learnt with."""
    X = rng.normal(size=(300, 3))
    y = np.exp(0.2 * X[:, 0] + 2.0)
    reg = make(loss, clip=None).partial_fit(X, y)

    def read():
        exported = reg.to_sklearn(linear=True).predict(X)
        return reg.predict(X), reg.predict_interval(X), exported, reg.progressive_loss_

    before = read()
    reg.set_params(loss=other)
    for told, expected in zip(read(), before):
        np.testing.assert_array_equal(told, expected)
    assert reg.score(X, y) == r2_score(y, before[0])
    with pytest.raises(ValueError, match="loss"):
        reg.partial_fit(X, y)
