"""Merged models: what they know of the rows, apart from what tests of linear maps compare."""

import numpy as np

from sklearn_nag import losses
from sklearn_nag.kernels import merge

from ..bounded_helpers import make_state, progressive


def test_maxima_are_those_of_all_models(rng):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    X[1::2] += 30.0
    y[1::2] *= 100.0
    states = [make_state(3, loss=losses.SquaredError) for _ in range(2)]
    for i, (state, c) in enumerate(zip(states, (1.0, 2.0))):
        progressive(state, X[i::2], y[i::2], np.full(30, c), loss="squared_error")
    for some in (states, states[::-1]):
        merged = merge(some)
        for name in ("Gamma", "largest_gradient", "largest_weight"):
            values = [getattr(state, name) for state in states]
            assert values[0] != values[1]
            assert getattr(merged, name) == max(values)
        origin, deviation = merged.columns.origin, merged.columns.deviation
        assert ((1.0 + 1e-12) * deviation[:3] >= np.abs(X - origin[:3]).max(axis=0)).all()
