"""The coordinate-wise updates against the papers in extended precision, and their invariance."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_nag import config_context

from .. import invariant_reference as reference
from ..bounded_helpers import BOUNDED, UPDATES, make_state, progressive, with_constant
from ..helpers import make_data, on_both


@pytest.mark.parametrize(
    ("update", "loss", "centred", "kernel"), on_both(itertools.product(UPDATES, BOUNDED, [False, True]), 4)
)
def test_coordinatewise_agrees_with_the_papers(rng, update, loss, centred, kernel):
    n, d = (60, 5) if not centred else (45, 3)
    X, y = make_data(rng, n=n, d=d, loss="log_loss" if loss != "absolute_error" else "squared_error")
    where = [centred] * d + [False]
    expected = reference.coordinatewise(with_constant(X), y, loss, update, centred=where)
    with config_context(kernel=kernel):
        for rows in (X, sparse.csr_array(X)):
            state = make_state(d, ("coordinatewise", update), centred=centred, averaged=False)
            played = progressive(state, rows, y, loss=loss)[:, 0]
            np.testing.assert_allclose(played, expected, rtol=1e-8, atol=1e-12)


@settings(max_examples=20, deadline=None)
@given(
    exponents=st.lists(st.integers(-900, 900), min_size=6, max_size=6),
    update=st.sampled_from(UPDATES),
    centred=st.booleans(),
    loss=st.sampled_from(["log_loss", "squared_error", "huber"]),
)
def test_powers_of_two_change_no_bit(exponents, update, centred, loss):
    rng = np.random.default_rng(1)
    X, y = make_data(rng, n=60, loss=loss)
    powers = np.ldexp(1.0, exponents)
    for container in (np.asarray,) if centred else (np.asarray, sparse.csr_array):
        states = [make_state(6, ("coordinatewise", update), centred=centred, target_unit=True) for _ in range(2)]
        before = progressive(states[0], container(X), y, loss=loss)
        after = progressive(states[1], container(X * powers), y, loss=loss)
        assert np.array_equal(before, after)
