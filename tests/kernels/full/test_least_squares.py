"""Least squares in one pass, against batch solvers, its own formula and its regret bound."""

import itertools
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from sklearn_nag import ScaleInvariantClassifier, ScaleInvariantRegressor, config_context, losses
from sklearn_nag.kernels import full, learn, new_state, predict

from ..helpers import KERNELS
from ..helpers import flat as flat_columns


def make_state(d, n_targets=1, **options):
    options = {"alpha": 1.5, "intercept": True, "averaged": False, "target_unit": True, **options}
    options.setdefault("centred", options["intercept"])
    return new_state(full.Rule("least_squares", n_targets=n_targets, degree=2, coupled=False, **options), d)


def progressive(state, X, y, weights=None, latest=True):
    """Return the forecaster's predictions before each row or, without ``latest``, those of `predict`."""
    y = y[:, None] if y.ndim == 1 else y
    out = np.full((len(X), y.shape[1]), np.nan)
    learn(state, losses.SquaredError(), X, y, weights, predictions=out, latest=latest)
    return out


def flat(state):
    return np.concatenate([flat_columns(state), np.ravel(state.factor), state.residual])


def make_rows(rng, n=80, d=4):
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-4, 5, d) + 10.0 ** rng.integers(-2, 3, d)
    X[: n // 4, 1] = 2.0 * X[: n // 4, 0] - 1.0  # dependent at first
    return X, X @ (rng.normal(size=d) / X.std(axis=0)) + rng.normal(size=n) + 7.0


def forecasts(X, y, weights, clip):
    """Forecast by definition: least norm in units of each column, with the mean as the row's own target."""
    out = np.zeros(len(X))
    for t in range(1, len(X)):
        rows = X[: t + 1] - X[0]
        rows = np.column_stack([rows / np.maximum(np.abs(rows).max(axis=0), 1e-300), np.ones(t + 1)])
        mean = np.average(y[:t], weights=weights[:t])
        root = np.sqrt(weights[: t + 1])
        guess = np.append(y[:t] - mean, 0.0)
        solution = np.linalg.lstsq(rows * root[:, None], guess * root, rcond=1e-12)[0]
        low, high = y[:t].min(), y[:t].max()
        out[t] = np.clip(mean + rows[t] @ solution, *((2 * low - high, 2 * high - low) if clip else (-np.inf, np.inf)))
    return out


@pytest.mark.parametrize("kernel", KERNELS)
def test_predictions_before_each_row_are_the_forecasters(rng, kernel):
    X, y = make_rows(rng)
    weights = rng.random(80) + 0.1
    with config_context(kernel=kernel):
        played = progressive(make_state(4), X, y, weights)[:, 0]
    np.testing.assert_allclose(played, forecasts(X, y, weights, clip=True), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("half_life", [np.inf, 10.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_what_is_played_is_what_predict_has(rng, kernel, half_life):
    X, y = make_rows(rng)
    y = np.column_stack([y, -1e6 * y + X[:, 0]])
    weights = rng.random(80) + 0.1
    with config_context(kernel=kernel):
        state, n_known = make_state(4, n_targets=2, half_life=half_life), 0
        for t in range(80):
            expected = predict(state, X[t : t + 1])
            before = state.copy()
            played = progressive(state, X[t : t + 1], y[t : t + 1], weights[t : t + 1], latest=False)
            progressive(before, X[t : t + 1], y[t : t + 1], weights[t : t + 1])
            assert np.array_equal(before.columns.table, state.columns.table)  # learning does not depend on ``latest``
            assert np.array_equal(before.factor, state.factor)
            size, known = np.abs(y).max(axis=0), np.count_nonzero(np.diag(state.factor))
            if known == n_known:  # else the row has a new direction, for which `predict` depends on linear maps
                np.testing.assert_allclose(played / size, expected / size, rtol=1e-7, atol=1e-7)
            n_known = known
    assert n_known == 5


@pytest.mark.parametrize("kernel", KERNELS)
def test_so_it_is_when_directions_come_back_after_a_hundred_half_lives(rng, kernel):
    X = rng.normal(size=(321, 4))
    X[20:320, 1:] = 0.0
    y = X @ [1.0, 2.0, 3.0, 4.0]
    with config_context(kernel=kernel):
        state = make_state(4, half_life=3.0)
        progressive(state, X[:320], y[:320])
        expected = predict(state, X[320:])
        np.testing.assert_allclose(expected[:, 0], y[320:], rtol=1e-4)
        np.testing.assert_allclose(progressive(state, X[320:], y[320:], latest=False), expected, rtol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS)
def test_as_printed_without_intercept_and_unit_of_targets(rng, kernel):
    """Without them, predictions are those of Vovk's forecaster, ``x^T S_t^+ b_{t-1}``."""
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    with config_context(kernel=kernel):
        played = progressive(make_state(3, intercept=False, target_unit=False), X, y)[:, 0]
    expected = [x @ np.linalg.pinv(X[: t + 1].T @ X[: t + 1]) @ (X[:t].T @ y[:t]) for t, x in enumerate(X)]
    np.testing.assert_allclose(played, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n", [1, 2, 3, 6, 21, 80])
def test_after_any_rows_it_is_the_solution(rng, n, kernel):
    X, y = make_rows(rng)
    y = np.column_stack([y, -1e6 * y + X[:, 0]])
    weights = rng.integers(1, 4, 80)
    with config_context(kernel=kernel):
        state = make_state(4, n_targets=2)
        progressive(state, X[:n], y[:n], weights[:n].astype(float))
        repeated = make_state(4, n_targets=2)
        often = np.repeat(np.arange(n), weights[:n])
        progressive(repeated, X[often], y[often])
    rows = np.column_stack([(X - X[0]) / np.abs(X - X[0])[:80].max(axis=0), np.ones(80)])
    root = np.sqrt(weights[:n])[:, None]
    solution = np.linalg.lstsq(rows[:n] * root, y[:n] * root, rcond=1e-12)[0]
    np.testing.assert_allclose(predict(state, X[:n]), rows[:n] @ solution, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(predict(repeated, X[:n]), predict(state, X[:n]), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_ill_conditioned_rows(kernel):
    """With condition 1e10 in any units of the columns, the result matches the normal equations in 60 digits."""
    rng = np.random.default_rng(3)
    n, d = 200, 4
    left, right = np.linalg.qr(rng.normal(size=(n, d)))[0], np.linalg.qr(rng.normal(size=(d, d)))[0]
    X = left @ np.diag(np.geomspace(1, 1e-10, d)) @ right * np.sqrt(n)
    w = rng.normal(size=d)
    for noise in (0.0, 1e-3):
        y = X @ w + noise * rng.normal(size=n)
        with mpmath.workdps(60):
            A = mpmath.matrix(np.column_stack([X, np.ones(n)]).tolist())
            b = mpmath.matrix(y.tolist())
            solution = mpmath.lu_solve(A.T * A, A.T * b)
            expected = np.array([float(v) for v in A * solution])
        with config_context(kernel=kernel):
            state = make_state(d)
            progressive(state, X, y)
        assert np.count_nonzero(np.diag(state.factor)) == d + 1
        np.testing.assert_allclose(predict(state, X)[:, 0], expected, rtol=0, atol=1e-8 * np.std(y))


@settings(max_examples=12, deadline=None)
@given(cuts=st.lists(st.integers(0, 80), max_size=4))
def test_cuts_and_pickles_change_no_bit(cuts):
    rng = np.random.default_rng(2)
    X, y = make_rows(rng)
    weights = rng.integers(0, 3, 80) * rng.random(80)
    whole = make_state(4)
    played = progressive(whole, X, y, weights)
    state, parts = make_state(4), []
    for start, stop in itertools.pairwise([0, *sorted(cuts), 80]):
        state = pickle.loads(pickle.dumps(state))
        parts.append(progressive(state, X[start:stop], y[start:stop], weights[start:stop]))
    assert np.array_equal(np.concatenate(parts), played)
    assert np.array_equal(flat(state), flat(whole))


@settings(max_examples=10, deadline=None)
@given(
    exponents=st.lists(st.integers(-900, 900), min_size=4, max_size=4),
    a=st.floats(1e-100, 1e100),
    c=st.floats(-1e3, 1e3),
)
def test_units_and_origins_do_not_matter(exponents, a, c):
    X, y = make_rows(np.random.default_rng(1))
    plain = progressive(make_state(4), X, y)[:, 0]
    assert np.array_equal(progressive(make_state(4), X * np.ldexp(1.0, exponents), y)[:, 0], plain)
    other = progressive(make_state(4), X, a * y + a * c)[:, 0]
    np.testing.assert_allclose((other[1:] - a * c) / a, plain[1:], rtol=1e-7, atol=1e-8 * (1 + abs(c)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_any_double_will_do(rng, kernel):
    for unit in (1e-200, 1e200):
        X = rng.normal(size=(40, 3)) * [1e-300, 1e300, 1.0]
        with config_context(kernel=kernel):
            state = make_state(3)
            played = progressive(state, X, unit * rng.normal(size=40))
        assert np.isfinite(played).all()
        assert np.isfinite(flat(state)).all()


def test_regret_is_logarithmic(rng):
    """By Gaillard et al. (2019), the regret is at most ``d B^2 log T`` plus a term that does not grow with ``T``."""
    for _ in range(10):
        d = int(rng.integers(1, 5))
        X = rng.normal(size=(400, d))
        y = np.clip(X @ rng.normal(size=d) + rng.normal(size=400), -3, 3)
        scales = 10.0 ** rng.integers(-5, 6, d)
        played = progressive(make_state(d, intercept=False, target_unit=False), X * scales, y)[:, 0]
        regret = {}
        for t in (100, 400):
            best = np.linalg.lstsq(X[:t], y[:t], rcond=None)[0]
            regret[t] = ((played[:t] - y[:t]) ** 2).sum() - ((X[:t] @ best - y[:t]) ** 2).sum()
        assert regret[400] - regret[100] <= d * 3.0**2 * (np.log(4.0) + 1.0)


# -- the estimator


def test_the_regressor_solves_least_squares_in_one_pass():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    reg = ScaleInvariantRegressor(invariance="full").fit(X, y)
    expected = LinearRegression().fit(X, y)
    assert reg.n_iter_ == 1
    np.testing.assert_allclose(reg.predict(X), expected.predict(X), rtol=1e-8)
    np.testing.assert_allclose(reg.coef_, expected.coef_, rtol=1e-8)
    np.testing.assert_allclose(reg.intercept_, expected.intercept_, rtol=1e-8)
    more = reg.partial_fit(X[:100], y[:100], sample_weight=np.full(100, 3.0))
    weights = np.append(np.full(100, 4.0), np.ones(len(y) - 100))
    np.testing.assert_allclose(more.coef_, LinearRegression().fit(X, y, weights).coef_, rtol=1e-8)
    plain = ScaleInvariantRegressor(invariance="full", target_normalization=None, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(plain.coef_, LinearRegression(fit_intercept=False).fit(X, y).coef_, rtol=1e-8)


def test_which_update_the_parameters_stand_for():
    X, y = (some[:50] for some in load_diabetes(return_X_y=True))
    for options, update, loss in [
        ({"invariance": "full"}, "least_squares", "squared_error"),
        ({"invariance": "full", "loss": "huber"}, "potential", "huber"),
        ({"invariance": "full", "loss": "squared_error", "update": "potential"}, "potential", "squared_error"),
        ({"invariance": "full", "update": "potential"}, "potential", "huber"),
        ({}, "scinol2", "huber"),
    ]:
        reg = ScaleInvariantRegressor(**options).partial_fit(X, y)
        assert (reg._state.rule.update, reg._loss().name) == (update, loss)
    for options in ({}, {"invariance": "full", "loss": "huber"}):
        with pytest.raises(ValueError, match="'least_squares' needs invariance='full' and loss='squared_error'"):
            ScaleInvariantRegressor(update="least_squares", **options).fit(X, y)
    with pytest.raises(
        ValueError,
        match="'update' parameter of ScaleInvariantClassifier must be one of 'auto', 'potential', 'scinol1', 'scinol2'",
    ):
        ScaleInvariantClassifier(update="least_squares", invariance="full").fit(X, y > 100)
    with pytest.raises(
        ValueError, match="'loss' parameter of ScaleInvariantRegressor must be one of 'auto', 'squared_error'"
    ):
        ScaleInvariantRegressor(loss="squared").fit(X, y)
