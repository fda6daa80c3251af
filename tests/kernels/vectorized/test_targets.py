"""Targets made from classes, and the losses counted."""

import numpy as np
import pytest

from sklearn_nag import NAGRegressor
from sklearn_nag.kernels.vectorized.targets import read_targets

from ..helpers import make_data, make_state, progressive


def test_classes_become_one_against_the_rest(rng):
    X, _ = make_data(rng, n=100)
    classes = rng.integers(0, 3, 100)
    a = progressive(make_state(6, eta=[0.5] * 3), X, classes)
    b = progressive(make_state(6, eta=[0.5] * 3), X, np.where(classes[:, None] == np.arange(3), 1.0, -1.0))
    assert np.array_equal(a, b)


def test_progressive_loss_is_the_mean_over_rows(rng):
    X, y = make_data(rng)
    state = make_state(6)
    played = progressive(state, X, y)[:, 0]
    np.testing.assert_allclose(state.loss, np.logaddexp(0, -y * played).sum())


@pytest.mark.parametrize(("loss", "scale"), [("squared_error", np.array), ("poisson", np.log)])
def test_slopes_are_taken_in_a_range_with_the_target_itself(loss, scale):
    y = np.array([[1.0], [2.0], [0.5], [8.0], [0.1]])
    state = NAGRegressor(loss).partial_fit([[0.0]], [1.0])._state
    rows = read_targets(state, y, np.ones(5), np.arange(1.0, 7.0))
    target = scale(rows.compared)
    assert ((rows.floor - 1e-9 < target) & (target < rows.ceiling + 1e-9)).all()
    assert ((rows.ceiling - rows.floor)[-1] < 20.0).all()
