"""Multiplying a table with contiguous columns in one pass gives the same as field by field."""

import numpy as np
import pytest

from ..helpers import make_state

pytest.importorskip("numba")


@pytest.mark.parametrize("n_heads", [1, 3])
def test_equals_numpy(rng, n_heads):
    from sklearn_nag.kernels.compiled.fading import multiply

    state = make_state(50, "auto", eta=(1.0,) * n_heads, average_from=0.0, experts=n_heads)
    columns = state.columns
    columns.table[:] = rng.lognormal(0.0, 50.0, size=columns.table.shape)
    columns.G[:, :10] = np.finfo(float).tiny  # as in columns that have seen no gradient
    columns.arrange("F")
    ours, theirs = columns.copy(), columns.copy()
    factors = {"squares": 0.5, "tally": 0.25, "weight": 0.9, "G": 0.25, "past": 0.3}
    multiply(ours, factors, 7.0)
    theirs.multiply(factors, 7.0)
    for name in columns.names:
        # ``past`` is a difference, in which more digits may be lost.
        atol = 1e-13 * np.abs(7.0 * columns.weight).max() if name == "past" else 0.0
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-13, atol=atol, err_msg=name)
    assert (ours.G >= np.finfo(float).tiny).all()
