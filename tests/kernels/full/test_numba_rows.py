"""The compiled update of full invariance against NumPy, and rows rotated in together against single rows."""

import itertools

import numpy as np
import pytest

from sklearn_nag import config_context, losses
from sklearn_nag.kernels import Diverged, full, learn, new_state

from ..bounded_helpers import KINDS, LOSSES, assert_backends_agree, flat
from ..helpers import needs_numba

RULES = {
    "averaged": {"averaged": True},
    "latest weights": {"averaged": False},
    "no intercept": {"averaged": True, "intercept": False, "centred": False},
    "least squares": {"update": "least_squares", "averaged": False, "degree": 2},
}


@needs_numba
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", KINDS[:1], ids="-".join)
def test_the_compiled_kernel_agrees(rng, kind, loss):
    assert_backends_agree(rng, kind, loss)


def full_rank(rng, X):
    """Leave the rows as they are: as many are independent as there are columns."""


def constant(rng, X):
    """Make columns 0 or another constant, throughout or for a while."""
    X[:, 3], X[:, -1], X[:, 20] = 0.0, 7.0, -1e5
    X[:100, 5] = X[:70, 1] = 2.0
    X[:, 7] = X[::-1, 8] = np.arange(len(X)) == 66


def duplicated(rng, X):
    """Make columns depend on others, throughout or for a while."""
    X[:, 3], X[:, 30], X[:, 12] = X[:, 2], -1e-6 * X[:, 1], X[:, 0] - 2.0 * X[:, 5] + 3.0
    X[:77, 20] = X[:77, 4]
    X[100::9, 3] += 1e-3


def rounded(rng, X):
    """Make columns that others explain up to rounding: of values far from 0, and of the difference of two columns."""
    X[:, 1] = X[:, 0] + 1e-3 * X[:, 1]
    X[:, 2] = 1e6 * (X[:, 1] - X[:, 0])
    X[:, 9], X[:, 17] = X[:, 4] + 1e7, X[:, 4] + X[:, 5] - 1e5


def grown(rng, X):
    """Make columns that equal others until one row differs; the next row, a million times as large, would hide this."""
    for i in range(8):
        X[:, i] = X[:, 20 + i]
        X[120 + 3 * i, i] += 1e-9
        X[121 + 3 * i, [i, 20 + i]] *= 1e6


def one_hot(rng, X):
    """Encode three categories, some of whose levels are rare or appear late."""
    X[:, :30] = 0.0
    for first, n in ((0, 4), (4, 6), (10, 20)):
        level = np.minimum(rng.geometric(0.3, len(X)) - 1, n - 1)
        level[:90] %= 3
        X[np.arange(len(X)), first + level] = 1.0


def lifted(rng, X):
    """Give columns sizes that need lifts, some of them from the middle of the stream."""
    X[:, 2] *= 1e300
    X[:, 3] *= 1e-300
    X[60:, 4] *= 1e150
    X[77:, 4] *= 1e60
    X[100:, 5] *= 1e250
    X[:110, 6] = 0.0
    X[110:, 6] *= 1e-250


ROWS = [full_rank, constant, duplicated, rounded, grown, one_hot, lifted]
CUTS = {"one by one": 1, "by seven": 7, "by nine": 9, "at random": None}


def learnt(parts, d, rule, X, y, weights):
    """Return a model and its progressive predictions, after one call for each of ``parts``."""
    options = {"intercept": True, "centred": True, "target_unit": True, "degree": 1, **RULES[rule]}
    options = {"update": "potential", "alpha": 1.5, "n_targets": 3, "coupled": False, **options}
    state, played = new_state(full.Rule(**options), d), np.full(y.shape, np.nan)
    loss = losses.SquaredError() if rule == "least squares" else losses.Huber(1.0)
    for some in parts:
        learn(state, loss, X[some], y[some], weights[some], predictions=played[some])
    return state, played


def make_rows(rng, kind, n=160, d=37):
    X = rng.normal(size=(n, d)) @ (np.eye(d) + 0.3 * rng.normal(size=(d, d))) + rng.normal(size=d)
    y = X[:, :3] + X[:, 3:6] + rng.normal(size=(n, 3))
    kind(rng, X)
    return X, y, rng.random(n) + 0.1


@pytest.mark.compiled
@needs_numba
@pytest.mark.parametrize("kind", ROWS, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("rule", RULES)
def test_rows_that_go_together_are_learnt_as_one_by_one(rng, rule, kind):
    """Rows are learnt to the same bits, however they are cut into calls."""
    X, y, random = make_rows(rng, kind)
    n, d = X.shape
    for weights in (np.ones(n), random):
        state, played = learnt([slice(n)], d, rule, X, y, weights)
        assert np.isfinite(played).all()
        assert not np.tril(state.factor, -1).any()
        for name, step in CUTS.items():
            ends = range(0, n, step) if step else np.unique(rng.integers(1, n, 20))
            cuts = [0, *ends, n]
            parts = [slice(a, b) for a, b in itertools.pairwise(cuts) if a < b]
            other, parted = learnt(parts, d, rule, X, y, weights)
            assert parted.tobytes() == played.tobytes(), name
            assert flat(other).tobytes() == flat(state).tobytes(), name


@needs_numba
@pytest.mark.parametrize("kind", [kind for kind in ROWS if kind is not grown], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("rule", RULES)
def test_rows_that_go_together_are_learnt_as_in_numpy(rng, rule, kind):
    """Rows in which rounding takes most digits of what is new are left out."""
    X, y, weights = make_rows(rng, kind)
    models = []
    for kernel in ("numpy", "numba"):
        with config_context(kernel=kernel):
            models.append(learnt([slice(len(X))], X.shape[1], rule, X, y, weights))
    (state, played), (other, compiled) = models
    np.testing.assert_allclose(compiled, played, rtol=1e-7, atol=1e-7 * np.abs(played).max())
    assert np.array_equal(np.diag(other.factor) != 0.0, np.diag(state.factor) != 0.0)
    assert np.array_equal(other.columns.largest, state.columns.largest)


@pytest.mark.compiled
@needs_numba
@pytest.mark.parametrize("row", [0, 1, 7, 8, 20])
def test_a_row_that_is_not_finite_is_found_wherever_it_is(rng, row):
    X, y, weights = make_rows(rng, full_rank)
    X[row, 5] = np.nan
    with pytest.raises(Diverged):
        learnt([slice(40)], X.shape[1], "averaged", X, y, weights)
