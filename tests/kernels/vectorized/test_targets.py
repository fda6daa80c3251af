"""Targets made of classes, and losses counted."""

import numpy as np

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
