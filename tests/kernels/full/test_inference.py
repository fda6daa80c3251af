"""Standard errors and intervals of least squares, against textbook formulas."""

import copy
import pickle

import numpy as np
import pytest
from scipy.stats import t

from sklearn_nag import ScaleInvariantRegressor, config_context, merge, report_progress

from ..helpers import KERNELS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [1.0, 100.0, 0.01, 5.0] + [3.0, 1e3, 0.0, 0.0]
Y = X @ [1.0, 0.01, 100.0, 0.0] + RNG.normal(size=60) + 7.0


def model(X, y, **options):
    with config_context(kernel="numpy"):
        return ScaleInvariantRegressor(invariance="full", clip=None, **options).partial_fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_against_the_formulas(fit_intercept):
    reg = model(X, np.column_stack([Y, -3.0 * Y]), fit_intercept=fit_intercept)
    A, new = (np.column_stack([x, np.ones(len(x))]) if fit_intercept else x for x in (X, 2.0 * X[:5]))
    weights, *_ = np.linalg.lstsq(A, Y, rcond=None)
    freedom, inverse = len(A) - A.shape[1], np.linalg.inv(A.T @ A)
    sigma = np.sqrt(((Y - A @ weights) ** 2).sum() / freedom)
    errors = sigma * np.sqrt(np.diag(inverse))[:4]
    table = reg.coefficients(as_frame=False)
    np.testing.assert_allclose(table.standard_error, np.append(errors, 3.0 * errors), rtol=1e-8)
    width = t.ppf(0.95, freedom) * sigma * np.sqrt(1.0 + np.einsum("ij,jk,ik->i", new, inverse, new))
    interval = reg.predict_interval(2.0 * X[:5], 0.9, method="gaussian")
    np.testing.assert_allclose(np.diff(interval, axis=2)[:, :, 0], np.outer(width, [2.0, 6.0]), rtol=1e-8)
    np.testing.assert_allclose(interval.mean(axis=2), reg.predict(2.0 * X[:5]))


def errors_and_widths(reg):
    width = np.diff(reg.predict_interval(X[:5], method="gaussian"))[:, 0]
    return np.append(reg.coefficients(as_frame=False).standard_error, width)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("size", [1.0, 1e8, 1e11])
def test_errors_that_are_far_smaller_than_targets(kernel, size):
    rows, noise = np.round(X, 2), np.round(Y - X @ [1.0, 0.01, 100.0, 0.0], 2)
    y = size * (rows[:, 0] - 3.0 * rows[:, 3]) + noise

    def learnt(y, some=slice(None), start=None):
        new = ScaleInvariantRegressor(invariance="full")
        return (copy.deepcopy(start) if start else new).partial_fit(rows[some], y[some])

    with config_context(kernel=kernel):
        expected = errors_and_widths(learnt(noise))
        start, whole = learnt(y, slice(12)), learnt(y)
        tail = [learnt(y, slice(i, i + 24), start) for i in (12, 36)]
        apart = [learnt(y, slice(i, i + 20)) for i in (0, 20, 40)]
        for reg in (whole, pickle.loads(pickle.dumps(whole)), merge(apart), merge(tail, start)):
            np.testing.assert_allclose(errors_and_widths(reg), expected, rtol=1e-13 * max(size, 1e4))


@pytest.mark.parametrize("kernel", KERNELS)
def test_of_a_call_that_fails_nothing_is_left(kernel):
    def stop(now):
        raise KeyboardInterrupt

    with config_context(kernel=kernel):
        reg = ScaleInvariantRegressor(invariance="full").partial_fit(X, Y)
        before = errors_and_widths(reg)
        with pytest.raises(KeyboardInterrupt), report_progress(stop, every=20):
            reg.partial_fit(X[::-1], 1e100 * Y)
    assert np.array_equal(errors_and_widths(reg), before)


def test_models_saved_before_it_was_kept_go_on():
    reg = ScaleInvariantRegressor(invariance="full").partial_fit(X[:40], np.column_stack([Y, 9.0 - Y])[:40])
    state = vars(reg._state).copy()
    Gamma, residual = state.pop("of_heads")
    reg._state.__setstate__({**state, "Gamma": Gamma})
    np.testing.assert_allclose(reg._state.residual, residual)


def test_a_residual_below_0_is_refused():
    reg = ScaleInvariantRegressor(invariance="full").partial_fit(np.eye(3), [1.0, 2.0, 3.0])
    reg._state.residual[:] = -1.0
    with pytest.raises(ValueError, match="residual has negative entries"):
        pickle.loads(pickle.dumps(reg)).predict(np.eye(3))


def test_units_change_nothing():
    here, there = model(X, Y), model(X * 2.0**-200, Y * 2.0**300)
    widths = [np.diff(m.predict_interval(x, method="gaussian")) for m, x in ((here, X), (there, X * 2.0**-200))]
    np.testing.assert_allclose(widths[1], 2.0**300 * widths[0])
    for unit in (2.0**-900, 2.0**900):
        merged = merge([model(X[some], unit * Y[some]) for some in (slice(30), slice(30, None))])
        np.testing.assert_allclose(errors_and_widths(merged), unit * errors_and_widths(here))


@pytest.mark.parametrize("kernel", KERNELS)
def test_intervals_lie_about_what_is_not_clipped(kernel):
    with config_context(kernel=kernel):
        free, held, within = (
            ScaleInvariantRegressor(invariance="full", clip=clip).partial_fit(X, Y)
            for clip in (None, "targets", (-50.0, 50.0))
        )
        new = np.concatenate([X, 100.0 * X])
        expected = free.predict_interval(new, [0.5, 0.9], method="gaussian")
        assert not np.allclose(held.predict(new), free.predict(new))
        np.testing.assert_allclose(held.predict_interval(new, [0.5, 0.9], method="gaussian"), expected)
        cut = within.predict_interval(new, [0.5, 0.9], method="gaussian")
        np.testing.assert_allclose(cut, np.clip(expected, -50.0, 50.0))


def test_dependent_columns_and_few_rows():
    reg = model(np.column_stack([X, X[:, 0] - X[:, 3]]), Y)
    errors = reg.coefficients(as_frame=False).standard_error
    assert np.isnan(errors).tolist() == [False, False, False, False, True]
    beyond = np.column_stack([X[:2], X[:2, 0] - X[:2, 3] + [0.0, 1.0]])
    width = np.diff(reg.predict_interval(beyond, method="gaussian"))[:, 0]
    assert np.isfinite(width).tolist() == [True, False]
    few = model(X[:5], Y[:5])
    assert np.isinf(few.coefficients(as_frame=False).standard_error).all()
    assert np.isinf(few.predict_interval(X[:5], method="gaussian")).all()


def test_other_models_have_none():
    reg = model(X, Y, target_normalization=None)
    assert "standard_error" not in reg.coefficients(as_frame=False)
    for other in (reg, model(X, Y, half_life=50)):
        with pytest.raises(ValueError, match="method='gaussian' is for update='least_squares'.*without half_life"):
            other.predict_interval(X, method="gaussian")
