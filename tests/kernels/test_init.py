"""How `learn` treats weights, orders and rows, whatever the family."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import config_context
from sklearn_nag.kernels import predict

from .helpers import RULES, flat, make_data, make_state, on_both, progressive


@pytest.mark.parametrize(
    ("rule", "container", "options", "kernel"),
    on_both(
        itertools.product(RULES, [np.asarray, sparse.csr_array], [{}, {"l2": 0.01}, {"l1": 0.01, "average_from": 0.0}]),
        2,
    ),
)
def test_weight_0_is_absence(rng, rule, container, options, kernel):
    normalization, adaptive = rule
    X, y = make_data(rng, n=90)
    X /= np.abs(X).max(axis=0)
    weights = rng.integers(0, 2, 90) * rng.random(90)
    X[weights == 0] *= 1e6
    kept = weights > 0
    options = {"normalization": normalization, "adaptive": adaptive, **options}
    one, two = make_state(6, **options), make_state(6, **options)
    with config_context(kernel=kernel):
        a = progressive(one, container(X), y, weights)
        b = progressive(two, container(X[kept]), y[kept], weights[kept])
    assert np.array_equal(a[kept], b)
    assert np.array_equal(flat(one), flat(two))
    assert np.isfinite(a).all()


def test_rows_without_weight_are_predicted_as_the_model_stands(rng):
    X, y = make_data(rng, n=40)
    weights = np.ones(40)
    weights[20:] = 0
    state = make_state(6)
    played = progressive(state, X, y, weights)
    np.testing.assert_allclose(played[20:], predict(state, X[20:]), rtol=1e-12)


def test_order_names_the_rows(rng):
    X, y = make_data(rng, n=100)
    order = rng.permutation(100)[:70]
    for rows in (X, sparse.csr_array(X)):
        a = progressive(make_state(6), rows, y, order=order)
        b = progressive(make_state(6), rows[order], y[order])
        assert np.array_equal(a, b)


def test_an_empty_order_names_no_row(rng):
    X, y = make_data(rng, n=10)
    for rows in (X, sparse.csr_array(X)):
        state = make_state(6)
        assert progressive(state, rows, y, order=np.array([], dtype=int)).shape == (0, 1)
        assert state.t == 0
