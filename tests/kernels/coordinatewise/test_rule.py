"""The theorems on the regret of the coordinate-wise updates."""

import numpy as np
import pytest

from sklearn_nag import losses

from ..bounded_helpers import BOUNDED, LOSSES, make_state, progressive
from ..regret import SEQUENCES, regrets


@pytest.mark.parametrize("loss", BOUNDED)
@pytest.mark.parametrize("rows", SEQUENCES, ids=lambda rows: rows.__name__)
def test_regret_of_the_potential_is_within_theorem_4(rng, rows, loss):
    X, y = rows(rng)
    (T, d), alpha, s = X.shape, 1.5, np.sqrt((X**2).sum(axis=0))
    kappa = np.exp(1 / (2 * (alpha - 9 / 8)))
    for u, regret, _, _ in regrets(X, y, loss, ("coordinatewise", "potential"), rng, alpha):
        size = np.abs(u) * s
        bound = (size * np.sqrt(alpha * np.log1p(alpha * (d * T * size) ** 2))).sum() + kappa * (1 + np.log(T))
        assert regret <= bound


@pytest.mark.parametrize("loss", BOUNDED)
@pytest.mark.parametrize("rows", SEQUENCES, ids=lambda rows: rows.__name__)
def test_regret_of_scinol1_is_within_its_bound(rng, rows, loss):
    """With the paper's ``S``, the bound is the sum over coordinates of ``2 |u| S log(1 + 2 |u| S T) + 1 + log T``."""
    X, y = rows(rng)
    T, d = X.shape
    for u, regret, played, _ in regrets(X, y, loss, ("coordinatewise", "scinol1"), rng):
        g = LOSSES[loss]().gradient(played, y)
        S = np.sqrt(((g[:, None] * X) ** 2).sum(axis=0) + np.abs(X).max(axis=0) ** 2)
        size = 2 * np.abs(u) * S
        assert regret <= (size * np.log1p(size * T)).sum() + d * (1 + np.log(T))


def test_regret_of_scinol2_is_within_that_of_its_wealth(rng):
    """The wealth of a coordinate is what it has not lost: 1 minus the sum of its ``g x w``. It is never negative."""
    for rows in SEQUENCES:
        X, y = rows(rng)
        state = make_state(X.shape[1], ("coordinatewise", "scinol2"), intercept=False, averaged=False)
        played = progressive(state, X, y)[:, 0]
        g = losses.Log().gradient(played, y)
        assert (state.columns.beta > 0).all()
        np.testing.assert_allclose(X.shape[1] - (g * played).sum(), state.columns.beta.sum(), rtol=1e-9)
