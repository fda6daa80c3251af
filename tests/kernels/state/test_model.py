"""What a model undoes, and the scales that it tells."""

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag.kernels import Diverged, learn

from ..helpers import LOSSES, flat, make_data, make_state, progressive


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_divergence_is_said_and_can_be_undone(rng, container):
    X, y = make_data(rng)
    state = make_state(6, None, False, eta=[0.1])
    progressive(state, container(X[:10] * 1e-6), y[:10], loss="squared_error")
    before = flat(state)
    undo = state.undo()
    with pytest.raises(Diverged):
        progressive(state, container(X * 1e6), y, loss="squared_error")
    assert np.array_equal(flat(undo.model()), before)
    undo.restore()
    assert np.array_equal(flat(state), before)
    undo = state.undo(np.array([0, 6]))
    with pytest.raises(Diverged):
        learn(state, LOSSES["squared_error"](), sparse.csr_array(np.eye(1, 6) * 1e300), np.array([[1e300]]))
    assert np.array_equal(flat(undo.model()), before)
    undo.restore()
    assert np.array_equal(flat(state), before)


def test_scales(rng):
    X, y = make_data(rng)
    weights = rng.random(300)
    for container in (np.asarray, sparse.csr_array):
        largest, rms, none = make_state(6), make_state(6, "rms"), make_state(6, None)
        for state in (largest, rms, none):
            progressive(state, container(X), y, weights)
        assert np.array_equal(largest.scale()[:6], np.abs(X).max(axis=0))
        np.testing.assert_allclose(rms.scale()[:6] ** 2, np.average(X**2, axis=0, weights=weights))
        assert np.array_equal(none.scale(), np.ones(7))
