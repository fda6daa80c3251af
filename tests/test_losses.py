"""Every loss by itself: its derivative, the bound of this, and the unit of its target."""

import numpy as np
import pytest

from sklearn_nag import losses

LOSSES = {**losses.CLASSIFICATION, **losses.REGRESSION}


def predictions_and_targets(rng, name):
    p, y = rng.normal(scale=3.0, size=500), rng.normal(scale=3.0, size=500)
    return p, np.sign(y) if name in losses.CLASSIFICATION else y, rng.uniform(0.5, 2.0, 500)


@pytest.mark.parametrize("name", LOSSES)
def test_gradient_is_the_derivative_of_the_value(rng, name):
    loss, h = LOSSES[name](), 1e-6
    p, y, unit = predictions_and_targets(rng, name)
    slope = (loss.value(p + h, y, unit) - loss.value(p - h, y, unit)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(p, y, unit), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", LOSSES)
def test_bound_is_the_largest_derivative(rng, name):
    loss = LOSSES[name]()
    p, y, unit = predictions_and_targets(rng, name)
    far = np.abs(loss.gradient(np.concatenate([p, -1e3 * y, 1e3 * y]), np.tile(y, 3), np.tile(unit, 3)))
    for largest, one in zip(far.reshape(3, -1).max(axis=0), unit):
        bound = loss.lipschitz(one)
        if bound is None:
            assert far.max() > 100.0
        else:
            assert largest <= bound
    if loss.lipschitz() is not None:
        assert np.abs(loss.gradient(np.array([-1e3, 1e3]), np.array([1.0, -1.0]))).max() == loss.lipschitz()


@pytest.mark.parametrize("name", losses.REGRESSION)
def test_degree_is_how_a_loss_grows_with_the_unit_of_the_target(rng, name):
    loss = LOSSES[name]()
    p, y, unit = predictions_and_targets(rng, name)
    expected = 8.0**loss.degree * loss.value(p, y, unit)
    np.testing.assert_allclose(loss.value(8 * p, 8 * y, 8 * unit), expected, rtol=1e-12)


@pytest.mark.parametrize("name", [name for name, loss in LOSSES.items() if loss.move is not None])
def test_no_step_goes_beyond_where_the_loss_is_least(rng, name):
    loss = LOSSES[name]()
    p, y, unit = predictions_and_targets(rng, name)
    for a in (1e-3, 1.0, 1e17, 1e33, 1e300):
        with np.errstate(over="ignore"):
            move = loss.move(p, y, np.full(500, a), 1e-36 * unit)  # a unit that steps outweigh
        assert (np.abs(move) <= np.maximum(np.abs(y - p), 1000.0)).all()  # margins of the log loss have no end
        if name in losses.REGRESSION:
            assert (np.abs(move) <= np.abs(y - p) * (1.0 + 1e-12)).all()
