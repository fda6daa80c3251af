"""Standard errors and intervals of least squares, against the textbook's formulas."""

import numpy as np
import pytest
from scipy.stats import t

from sklearn_nag import ScaleInvariantRegressor, config_context

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


def test_units_change_nothing():
    here, there = model(X, Y), model(X * 2.0**-200, Y * 2.0**300)
    widths = [np.diff(m.predict_interval(x, method="gaussian")) for m, x in ((here, X), (there, X * 2.0**-200))]
    np.testing.assert_allclose(widths[1], 2.0**300 * widths[0])


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
