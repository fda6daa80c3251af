"""Heads of classes, eight at a time, against the formulas in NumPy."""

import numpy as np
import pytest

from sklearn_nag.losses import Softmax

from ..helpers import needs_numba

GROUPS = 2  # experts, whose heads are adjacent
BESIDE = 1e300  # what the table has after the heads


@pytest.fixture(scope="module")
def rows_of():
    """Return a function that gives single margins, all margins, losses, derivatives and moves of many rows."""
    from numba import njit

    from sklearn_nag.kernels.compiled.constants import constants_of
    from sklearn_nag.kernels.compiled.heads import N_ROWS
    from sklearn_nag.kernels.compiled.jit import for_rule
    from sklearn_nag.kernels.compiled.losses import compiled_loss as parts
    from sklearn_nag.kernels.compiled.losses import fill_losses, fill_moves_of_classes, loss_constants
    from sklearn_nag.kernels.compiled.softmax import margin

    constants = constants_of(**loss_constants(Softmax()), has_target_unit=False)
    fill_losses = for_rule(fill_losses, constants)
    fill_moves_of_classes = for_rule(fill_moves_of_classes, constants)
    loss = parts(Softmax())

    @njit
    def fill(tables, a, n, latest, single):
        for i in range(len(tables)):
            for k in range(GROUPS * n):
                single[i, k] = margin(tables[i], latest, k, n)
            fill_losses(tables[i], loss, GROUPS * n, n)
            for start in range(0, GROUPS * n, n):
                fill_moves_of_classes(tables[i], start, n, a[i])

    def rows(p, y, a):
        from sklearn_nag.kernels.compiled import heads as names

        n_rows, n = len(p), y.shape[1]
        tables = np.full((n_rows, N_ROWS, GROUPS * n + 8), BESIDE)
        tables[:, names.TARGET] = -1.0
        tables[:, names.TARGET, :n] = y
        for row in (names.LATEST, names.PREDICTION):
            tables[:, row, : GROUPS * n] = p
        single = np.empty_like(p)
        fill(tables, a, n, names.LATEST, single)
        assert (tables[:, names.PREDICTION, GROUPS * n :] == BESIDE).all()
        kept = (tables[:, row, : GROUPS * n] for row in (names.PREDICTION, names.LOSS, names.GRADIENT, names.FACTOR))
        return single, *kept

    return rows


@needs_numba
@pytest.mark.parametrize("n", [2, 3, 8, 17])
@pytest.mark.parametrize("is_soft", [False, True])
@pytest.mark.parametrize("size", [1e-3, 3.0, 1e4])
def test_they_are_those_in_numpy(rng, rows_of, n, is_soft, size):
    """Results for equal predictions are also equal."""
    loss, n_rows = Softmax(), 60
    p = size * rng.normal(size=(n_rows, GROUPS * n))
    p[:20] = 0.0
    p[20, 1] = p[20, 0]
    y = np.where(np.arange(n) == rng.integers(n, size=n_rows)[:, None], 1.0, -1.0)
    if is_soft:
        y[2:] = 2.0 * rng.dirichlet(np.full(n, 0.5), size=n_rows - 2) - 1.0
    a = 10.0 ** rng.uniform(-6, 3, n_rows)
    a[:20], a[20::10] = np.geomspace(0.1, 30.0, 20), 1e40
    single, margins, losses, slopes, moves = rows_of(p, y, a)
    assert margins[20, 0] == margins[20, 1]
    for i in range(20 if not is_soft else 0):
        assert len(set(margins[i])) == 1
        assert len(set(moves[i, :n][y[i] < 0.0])) == 1
    for start in range(0, GROUPS * n, n):
        own = slice(start, start + n)
        expected = loss.margins(p[:, own])
        unit = np.maximum(np.abs(p[:, own]).max(axis=1, keepdims=True), 1.0)  # rounding is relative to the largest one
        np.testing.assert_allclose(margins[:, own] / unit, expected / unit, rtol=0, atol=2e-15)
        np.testing.assert_allclose(single[:, own] / unit, expected / unit, rtol=0, atol=2e-15)
        expected = margins[:, own]
        np.testing.assert_allclose(losses[:, own], loss.value(expected, y), rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(slopes[:, own], loss.gradient(expected, y), rtol=1e-12, atol=1e-15)
        together = np.array([loss.move(expected[i], y[i], a[i]) for i in range(n_rows)])
        together = np.where(slopes[:, own] == 0.0, 0.0, together)
        together *= np.stack([np.broadcast_to(loss.share(expected[i], together[i], y[i]), n) for i in range(n_rows)])
        np.testing.assert_allclose(moves[:, own], together, rtol=1e-9, atol=1e-12)
