"""The theorem on the regret of full invariance, and rows that count half as much after a half-life."""

import numpy as np
import pytest

from sklearn_nag import ScaleInvariantRegressor, config_context

from ..bounded_helpers import BOUNDED, KINDS
from ..helpers import KERNELS
from ..regret import SEQUENCES, regrets

HALF_LIFE = 25.0


@pytest.mark.parametrize("loss", BOUNDED)
@pytest.mark.parametrize("rows", SEQUENCES, ids=lambda rows: rows.__name__)
def test_regret_of_full_invariance_is_within_theorem_9(rng, rows, loss):
    X, y = rows(rng)
    alpha = 1.5
    for u, regret, _, state in regrets(X, y, loss, KINDS[0], rng, alpha):
        size = np.linalg.norm(X @ u)
        inner = alpha * size**2 * np.exp(state.Gamma[0] / alpha)
        assert regret <= size * np.sqrt(alpha * np.log1p(inner)) + 1


# -- forgetting


@pytest.fixture(params=KERNELS)
def kernel(request):
    with config_context(kernel=request.param):
        yield request.param


def made(n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 100.0, 0.01, 1.0] + [0.0, 5.0, 1.0, -3.0]
    sign = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    return X, sign * (X @ [1.0, 0.02, 50.0, -1.0]) + rng.normal(size=n), rng.integers(1, 4, n) * 0.5


def counts(weight):
    """Return how much each row counts after the last one; rows fade in steps of a quarter of a half-life."""
    steps = np.floor(4.0 * np.cumsum(weight) / HALF_LIFE)
    return weight * 0.5 ** ((steps[-1] - np.append(0.0, steps[:-1])) / 4.0)


@pytest.mark.usefixtures("kernel")
def test_it_is_the_solution_for_rows_that_count_less_the_older_they_are():
    X, y, weight = made()
    two = np.column_stack([y, 3.0 * X[:, 0] - y])
    reg = ScaleInvariantRegressor(invariance="full", half_life=HALF_LIFE).partial_fit(X, two, weight)
    roots, with_one = np.sqrt(counts(weight))[:, None], np.column_stack([X, np.ones(len(X))])
    expected = np.linalg.lstsq(with_one * roots, two * roots, rcond=None)[0].T
    np.testing.assert_allclose(reg.coef_, expected[:, :-1], rtol=1e-9)
    np.testing.assert_allclose(reg.intercept_, expected[:, -1], rtol=1e-9)
    np.testing.assert_allclose(reg._state.t, counts(weight).sum())
    assert reg.t_ == weight.sum()


@pytest.mark.usefixtures("kernel")
def test_linear_maps_and_cuts():
    X, y, weight = made()
    mapped = X @ np.random.default_rng(1).normal(size=(4, 4)) + 2.0
    whole, other, parts = (ScaleInvariantRegressor(invariance="full", half_life=HALF_LIFE) for _ in range(3))
    whole.partial_fit(X, y, weight)
    np.testing.assert_allclose(other.partial_fit(mapped, y, weight).predict(mapped), whole.predict(X), rtol=1e-7)
    for rows in np.array_split(np.arange(len(y)), 37):
        parts.partial_fit(X[rows], y[rows], weight[rows])
    assert np.array_equal(parts.coef_, whole.coef_)
    assert np.array_equal(parts._state.factor, whole._state.factor)


@pytest.mark.usefixtures("kernel")
def test_what_no_row_has_shown_for_a_thousand_half_lives_is_given_up():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1800, 2))
    X[20:, 1] = 0.0
    y = X @ [1.0, 2.0]
    reg = ScaleInvariantRegressor(invariance="full", half_life=1, fit_intercept=False, clip=None)
    with np.errstate(all="raise"):
        np.testing.assert_allclose(reg.partial_fit(X[:600], y[:600]).coef_, [1.0, 2.0], rtol=1e-6)
        np.testing.assert_allclose(reg.partial_fit(X[600:], y[600:]).coef_, [1.0, 0.0], rtol=1e-6)
        X = rng.normal(size=(300, 2))
        np.testing.assert_allclose(reg.partial_fit(X, X @ [1.0, 3.0]).coef_, [1.0, 3.0], rtol=1e-6)
