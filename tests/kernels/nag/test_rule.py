"""Rules of models of the NAG family: penalties, averages, experts, and changes of the rule."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_nag import losses
from sklearn_nag.kernels import learn, positive
from sklearn_nag.kernels.nag.rule import pace

from ..helpers import EXTENSIONS, LOSSES, PENALTIES, RULES, flat, make_data, make_state, progressive
from . import reference


@pytest.mark.parametrize(("alpha", "l1_ratio"), [(0.05, 0.0), (0.05, 1.0), (0.05, 0.4)])
@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_penalty_agrees_with_applying_it_row_by_row(rng, normalization, adaptive, alpha, l1_ratio):
    X, y = make_data(rng, n=100, density=0.3)
    if normalization is None:
        X /= np.abs(X).max(axis=0)
    rule = {"normalization": normalization, "adaptive": adaptive, "power_t": 0.25}
    options = {"l1": alpha * l1_ratio, "l2": alpha * (1 - l1_ratio)}
    expected, w = reference.run(X, y, loss="log_loss", eta=0.3, alpha=alpha, l1_ratio=l1_ratio, **rule)
    for rows in (X, sparse.csr_array(X)):
        state = make_state(6, eta=[0.3], **rule, **options)
        played = progressive(state, rows, y)[:, 0]
        np.testing.assert_allclose(played, expected, rtol=1e-10, atol=1e-11)
        coef, bias, _ = state.linear()
        np.testing.assert_allclose([*coef[0], *bias], w, rtol=1e-9, atol=1e-12)


def test_a_rate_beyond_the_range_is_infinite_for_a_number_as_for_an_array():
    rule = make_state(1, power_t=1e6).rule
    with np.errstate(over="ignore"):
        assert pace(rule, 0.5) == np.inf
        np.testing.assert_array_equal(pace(rule, np.array([0.5, 2.0])), [np.inf, 0.0])


def test_l1_alone_is_the_minimum_over_all_gradients(rng):
    """The weight is FTRL-Proximal's by definition, for OGD with one feature: McMahan (AISTATS 2011), equation 3."""
    x, y = np.where(rng.random(300) < 0.5, 0.5, 1.0), rng.normal(size=300) + 0.1
    for l1 in (0.01, 0.2, 1.0):
        state = make_state(1, None, False, intercept=False, eta=[0.3], l1=l1, power_t=0.5)
        u, sums, old = 0.0, 0.0, 0.0
        played = progressive(state, x[:, None], y, loss="squared_error")[:, 0]
        for t in range(1, 301):
            np.testing.assert_allclose(played[t - 1], u * x[t - 1], rtol=1e-9, atol=1e-12)
            inverse_rate = t**0.5 / 0.3
            sums += (u * x[t - 1] - y[t - 1]) * x[t - 1] - (inverse_rate - old) * u
            old = inverse_rate
            u = -np.sign(sums) * max(abs(sums) - l1 * t, 0.0) / inverse_rate
        np.testing.assert_allclose(state.unit_free_weight(), [[u]], rtol=1e-9, atol=1e-12)


def test_l1_leaves_true_zeros(rng):
    X, y = make_data(rng, n=500, d=6, density=1.0)
    X = np.hstack([X, rng.normal(size=(500, 20))])
    for rows in (X, sparse.csr_array(X)):
        state = make_state(26, l1=0.05)
        progressive(state, rows, y)
        coef = state.linear()[0]
        assert 0 < np.count_nonzero(coef) < 26
        assert state.linear()[1][0] != 0


@pytest.mark.parametrize("penalty", [{"l1": 0.01}, {"l2": 0.02}, {"l1": 0.01, "l2": 0.02}], ids=str)
@pytest.mark.parametrize("adaptive", [True, False])
def test_average_of_penalised_weights_is_that_of_the_weights_played(rng, adaptive, penalty):
    X, y = make_data(rng, n=120, density=1.0)
    options = {"normalization": None, "adaptive": adaptive, "eta": [0.05], **penalty}
    X /= np.abs(X).max(axis=0)
    plain, total = make_state(6, **options), 0.0
    for i in range(120):
        plain.cached = None
        total = total + (i + 1) * plain.unit_free_weight()
        progressive(plain, X[i : i + 1], y[i : i + 1])
    state = make_state(6, average_from=0.0, **options)
    progressive(state, X, y)
    np.testing.assert_allclose(state.unit_free_weight(), total / (120 * 121 / 2), rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_average_is_the_mean_of_the_weights_that_a_rule_keeps(rng, normalization, adaptive):
    X, y = make_data(rng, n=120, density=0.4)
    weights = rng.integers(0, 3, 120).astype(float)
    options = {"normalization": normalization, "adaptive": adaptive, "eta": [0.05]}
    plain, total, count = make_state(6, **options), 0.0, 0.0
    for i in range(120):
        t = plain.t + weights[i]
        if weights[i] and t >= 10:
            total = total + weights[i] * t * plain.columns.weight / plain.columns.lift ** (not adaptive)
            count += weights[i] * t
        progressive(plain, X[i : i + 1], y[i : i + 1], weights[i : i + 1])
    for rows in (X, sparse.csr_array(X)):
        state = make_state(6, average_from=10.0, **options)
        progressive(state, rows, y, weights)
        expected = total / count if adaptive else total / count * state.columns.lift / positive(size(state))
        np.testing.assert_allclose(state.unit_free_weight(), expected, rtol=1e-10, atol=1e-13)


def size(state):
    return state.columns.size(state.rule, state.t)


@pytest.mark.parametrize("new", [{}, {"l1": 0.5}, {"l2": 0.5}, {"l1": 0.5, "l2": 0.1}], ids=str)
@pytest.mark.parametrize("old", [{}, {"l1": 0.01}, {"l2": 0.01}, {"l1": 0.01, "l2": 0.01}], ids=str)
def test_a_penalty_that_changes_is_settled_first(rng, old, new):
    X, y = make_data(rng, n=120, density=0.3)
    changing = make_state(6, **old)
    progressive(changing, sparse.csr_array(X[:60]), y[:60])
    before = changing.unit_free_weight()
    changing.adopt(replace(changing.rule, **{"l1": 0.0, "l2": 0.0, **new}))
    changing.cached = None
    assert np.array_equal(changing.unit_free_weight(), before)
    progressive(changing, sparse.csr_array(X[60:]), y[60:])
    assert np.isfinite(flat(changing)).all()
    if not old and "l1" in new:  # weights from before the penalty must not stay
        progressive(changing, np.tile(X, (20, 1)), np.tile(y, 20))
        assert not changing.unit_free_weight()[0, :-1].any()


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_experts_that_are_kept_apart_learn_what_each_would_alone(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, d, experts = data.draw(st.integers(2, 60)), data.draw(st.integers(1, 40)), data.draw(st.integers(1, 6))
    loss, (normalization, adaptive) = data.draw(st.sampled_from(sorted(LOSSES))), data.draw(st.sampled_from(RULES))
    heads = data.draw(st.sampled_from([3, 9] if loss == "softmax" else [1, 3]))
    options = {"normalization": normalization, "adaptive": adaptive, "intercept": data.draw(st.booleans())}
    options |= {"degree": LOSSES[loss].degree, "coupled": LOSSES[loss].coupled, **data.draw(st.sampled_from(PENALTIES))}
    options |= dict.fromkeys(data.draw(st.sampled_from([(), *EXTENSIONS])), True)
    X, y = make_data(rng, n, d, loss="log_loss" if loss == "softmax" else loss)
    if normalization is None:
        X /= np.abs(X).max() + 1e-300
    rows = data.draw(st.sampled_from([np.asarray, sparse.csr_array, np.asfortranarray]))(X)
    several = np.where(np.arange(heads) == rng.integers(0, heads, (n, 1)), 1.0, -1.0)
    targets = several if loss in losses.CLASSIFICATION or loss == "softmax" else np.outer(y, np.arange(1.0, heads + 1))
    weights = data.draw(st.sampled_from([None, rng.integers(0, 3, n) * 0.3]))
    etas = 10.0 ** rng.uniform(-3, 0, experts)
    together = make_state(d, eta=np.repeat(etas, heads), experts=experts, mixed=False, **options)
    played = progressive(together, rows, targets, weights, loss)
    means = together.mean_loss(together.t) if together.t else []
    for k, eta in enumerate(etas):
        alone = make_state(d, eta=[eta] * heads, **options)
        assert np.array_equal(progressive(alone, rows, targets, weights, loss), played[:, k * heads : (k + 1) * heads])
        part = together.select_experts(np.array([k]), alone.rule)
        assert np.array_equal(flat(part), flat(alone))
        assert together.t == 0 or means[k] == alone.mean_loss(alone.t)


def test_what_targets_learn_apart_is_undone(rng):
    """Columns that rows do not name are undone, too, if a far larger gradient of one target has rescaled ``G``."""
    state = make_state(8, eta=[0.5, 0.5])
    learn(state, losses.SquaredError(), sparse.csr_array(rng.normal(size=(20, 8))), rng.normal(size=(20, 2)))
    before, undo = flat(state), state.undo(np.array([0, 1]))
    X, y = np.zeros((1, 8)), np.array([[1.0, 1e30]])
    X[0, :2] = 1.0
    parts = [(np.array([k]), state.for_targets(np.array([k]))) for k in range(2)]
    for which, subset in parts:
        learn(subset, losses.SquaredError(), sparse.csr_array(X), y[:, which])
    for which, subset in parts:
        state.put_targets(which, subset)
    undo.restore()
    assert np.array_equal(flat(state), before)
