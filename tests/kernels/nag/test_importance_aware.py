"""Importance-aware steps: none overshoots its target, and a weight of k has nearly the effect of k rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_nag import config_context, losses
from sklearn_nag.kernels import predict

from ..helpers import BY_ITSELF, make_data, make_state, progressive

CAREFUL = [name for name, loss in BY_ITSELF.items() if loss.move is not None]


@pytest.mark.parametrize("normalization", ["max", "rms"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_step_overshoots(normalization, data):
    """Whatever the learning rate and the weight, a row's own prediction gets no farther from its target."""
    name = data.draw(st.sampled_from(CAREFUL))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    eta, c = 10.0 ** data.draw(st.floats(-3, 6)), 10.0 ** data.draw(st.floats(-3, 6))
    X, y = make_data(rng, n=12, d=4, loss=name)
    adaptive, centred = data.draw(st.booleans()), data.draw(st.booleans())
    state = make_state(4, normalization, adaptive, eta=[eta], importance_aware=True, centred=centred)
    for i in range(12):
        row = slice(i, i + 1)
        with config_context(kernel="numpy"):
            before = progressive(state, X[row], y[row], np.array([c]), name)[0, 0]
        after = float(_decision(state, X[row])[0, 0])
        slack = 1e-9 * (abs(before) + abs(after) + abs(y[i]))
        if name in losses.CLASSIFICATION:
            least = 1.0 if name != "log_loss" else np.inf  # the margin that a step may not pass
            assert min(y[i] * before, least) - slack <= y[i] * after <= max(y[i] * before, least) + slack
        else:
            assert abs(after - y[i]) <= abs(before - y[i]) + slack


def _decision(state, X):
    state.cached = None
    return predict(state, X)


@pytest.mark.parametrize("name", ["squared_error", "log_loss", "hinge"])
def test_a_weight_is_nearly_as_many_rows(name, rng):
    """One row of weight k and k rows lead to predictions less than half as far apart as with other steps (median)."""
    X, y = make_data(rng, n=100, d=4, loss=name)
    X, wrong = X / np.abs(X).max(axis=0), {True: [], False: []}
    for careful in (True, False):
        for k in (2, 5, 20):
            once, often = (make_state(4, eta=[0.5], importance_aware=careful) for _ in range(2))
            for state in (once, often):
                progressive(state, X, y, loss=name)
            x, target = rng.normal(size=(1, 4)), -np.sign(_decision(once, X[:1])[0])
            progressive(once, x, target, np.array([float(k)]), name)
            progressive(often, np.repeat(x, k, axis=0), np.repeat(target, k), None, name)
            wrong[careful].append(abs(_decision(once, x) - _decision(often, x)).item())
    assert np.median(wrong[True]) < 0.5 * np.median(wrong[False])
