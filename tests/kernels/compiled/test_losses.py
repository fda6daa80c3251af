"""The compiled losses against those in NumPy."""

from functools import cache

import numpy as np
import pytest

from sklearn_nag import losses

from ..helpers import BY_ITSELF, needs_numba


@cache
def play_for(constants):
    """Return a function that computes values, gradients and moves of losses compiled for the same constants."""
    from numba import njit

    from sklearn_nag.kernels.compiled import losses as compiled_losses
    from sklearn_nag.kernels.compiled.constants import constants_of
    from sklearn_nag.kernels.compiled.jit import for_rule

    constants = constants_of(**dict(constants))
    loss_and_gradient = for_rule(compiled_losses.loss_and_gradient, constants)
    importance_aware_move = for_rule(compiled_losses.importance_aware_move, constants)

    @njit
    def play(code, parameter, p, y, a, out):
        for i in range(p.size):
            out[0, i], out[1, i] = loss_and_gradient(code, parameter[i], p[i], y[i])
            out[2, i] = importance_aware_move(code, parameter[i], p[i], y[i], out[1, i], a[i])

    return play


@needs_numba
@pytest.mark.parametrize("name", BY_ITSELF)
def test_compiled_losses_are_those_in_numpy(rng, name):
    from sklearn_nag.kernels.compiled import losses as compiled_losses

    loss = BY_ITSELF[name]()
    play = play_for(tuple(compiled_losses.loss_constants(loss).items()))
    p, y, a = rng.normal(scale=3.0, size=300), rng.normal(scale=3.0, size=300), 10.0 ** rng.uniform(-6, 40, 300)
    a[1::3] = 10.0 ** rng.uniform(-3, 1, 100)
    y = np.sign(y) if name in losses.CLASSIFICATION else y
    if name == "log_loss":  # some labels are soft
        y[::2] = rng.uniform(-1.0, 1.0, 150)
    p[:3] = [0.0, y[1], 1e3]  # at a kink, at the target, and far from it
    p[3:5] = y[3:5] * [1.0 - 1e-12, 1.0 + 1e-12]
    unit = rng.uniform(0.5, 2.0, 300)
    compiled, out = compiled_losses.compiled_loss(loss), np.empty((3, 300))
    play(compiled.code, compiled.parameter * (unit if compiled.scaled else np.ones(300)), p, y, a, out)
    np.testing.assert_allclose(out[0], loss.value(p, y, unit), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(out[1], loss.gradient(p, y, unit), rtol=1e-12, atol=1e-15)
    if "hinge" in name or name == "modified_huber":
        assert not out[1, 3:5].any()  # rounding does not decide whether a step is made
    if loss.move is not None:
        np.testing.assert_allclose(out[2], loss.move(p, y, a, unit), rtol=1e-9, atol=1e-15)


@needs_numba
def test_short_moves_of_the_log_loss_solve_what_they_are_to():
    """Short moves solve ``slope d + (1 - slope) (e^d - 1) = slope a`` to rounding, in the whole range of their use."""
    from numba import njit

    from sklearn_nag.kernels.compiled.losses import SHORT, short_move_of_log

    play = njit(lambda slope, a: short_move_of_log(slope, a))
    for slope in (1e-300, 1e-17, 1e-3, 0.3, 0.5, 0.9, 1.0 - 1e-12, 1.0):
        for x in (0.0, 1e-200, 1e-9, 0.01, 0.1, 0.2, 0.29, SHORT):
            d = play(slope, x / slope)
            np.testing.assert_allclose(slope * d + (1.0 - slope) * np.expm1(d), x, rtol=4e-15)


@needs_numba
def test_every_loss_has_a_code_of_its_own():
    from sklearn_nag.kernels.compiled.losses import CODES

    assert set(CODES) == {*losses.CLASSIFICATION, *losses.REGRESSION, *losses.LOG_LINK, losses.Softmax.name}
    assert len({CODES[name] for name in losses.LOG_LINK}) == 1  # they differ by their power
    assert len(set(CODES.values())) == len(CODES) - 2


@cache
def play_deviances():
    """Return a function that computes values, gradients and moves of deviances."""
    from numba import njit

    from sklearn_nag.kernels.compiled import losses as compiled_losses

    value, slope, move = compiled_losses.deviance, compiled_losses.deviance_slope, compiled_losses.move_of_rate

    @njit
    def play(power, p, y, a, out):
        for i in range(p.size):
            out[0, i], out[1, i] = value(power, p[i], y[i]), slope(power, p[i], y[i])
            out[2, i] = move(power, p[i], y[i], a[i])

    return play


@needs_numba
@pytest.mark.parametrize("power", [1.0, 1.0000001, 1.05, 1.5, 1.7, 1.99, 2.0])
def test_compiled_deviances_are_those_in_numpy(rng, power):
    p, a = rng.normal(scale=10.0, size=300), 10.0 ** rng.uniform(-20, 40, 300)
    y = np.exp(rng.normal(scale=10.0, size=300))
    if power < 2.0:
        y[::7] = 0.0
    p[:4], y[0], y[3] = [1e4, -1e4, 1e300, -1e300], 1e300, 1e-300
    loss, out = losses.Tweedie(power), np.empty((3, 300))
    play_deviances()(power, p, y, a, out)
    assert np.isfinite(out).all()
    np.testing.assert_allclose(out[0], loss.value(p, y), rtol=1e-12)
    np.testing.assert_allclose(out[1], loss.gradient(p, y), rtol=1e-12)
    np.testing.assert_allclose(out[2], loss.move(p, y, a), rtol=1e-12)
