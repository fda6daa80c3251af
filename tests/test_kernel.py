"""The kernel against the paper, and what the unit-free form promises."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_nag import losses
from sklearn_nag.kernels import Diverged, learn, positive, predict

from . import reference
from .kernels.helpers import BY_ITSELF, EXTENSIONS, LOSSES, RULES, flat, make_data, make_state, progressive


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loss", BY_ITSELF)
@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_agrees_with_the_paper(rng, normalization, adaptive, loss, weighted, intercept):
    X, y = make_data(rng, n=2000, d=4, loss=loss)
    eta = 0.1 if adaptive else 0.02
    if normalization is None:
        X /= np.abs(X).max(axis=0)
    weights = rng.integers(0, 3, len(X)) * rng.random(len(X)) if weighted else None
    rule = {"normalization": normalization, "adaptive": adaptive, "intercept": intercept}
    expected, w = reference.run(X, y, loss=loss, eta=eta, weights=weights, **rule)
    for rows in (X, sparse.csr_array(X)):
        state = make_state(4, eta=[eta], **rule)
        played = progressive(state, rows, y, weights, loss)[:, 0]
        np.testing.assert_allclose(played, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())
        coef, bias, _ = state.linear()
        raw = [*coef[0], *bias] if intercept else coef[0]
        np.testing.assert_allclose(raw, w, rtol=1e-10, atol=1e-12 * np.abs(w).max())


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("loss", ["log_loss", "hinge", "squared_error", "absolute_error"])
@pytest.mark.parametrize("extension", EXTENSIONS, ids=lambda e: "+".join(e))
@pytest.mark.parametrize(("normalization", "adaptive"), [rule for rule in RULES if rule[0]])
def test_extensions_agree_with_computing_everything_from_scratch(
    rng, normalization, adaptive, extension, loss, weighted, intercept
):
    X, y = make_data(rng, n=200, d=4, loss=loss)
    X += 10.0 * np.abs(X).max(axis=0)
    weights = rng.integers(0, 3, len(X)) * rng.random(len(X)) if weighted else None
    extension = {name: True for name in extension if name != "target_unit" or loss not in losses.CLASSIFICATION}
    rule = {"normalization": normalization, "adaptive": adaptive, "intercept": intercept, **extension}
    eta = 0.3 if adaptive else 0.01
    if loss == "absolute_error" and "target_unit" in extension:
        degree = {"degree": 1}
    else:
        degree = {}
    kept = slice(None) if weights is None else weights > 0  # rows without weight are predicted differently
    expected, w = reference.run(X, y, loss=loss, eta=eta, weights=weights, **rule)
    state = make_state(4, eta=[eta], **rule, **degree)
    played = progressive(state, X, y, weights, loss)[:, 0]
    # The first deviations from a mean are small differences, whose rounding the adaptive rules magnify.
    np.testing.assert_allclose(played[kept], np.array(expected)[kept], rtol=1e-6, atol=1e-7 * np.abs(expected).max())
    u = np.array(w) * state.scale()
    np.testing.assert_allclose(state.unit_free_weight()[0], u, rtol=1e-6, atol=1e-7 * np.abs(u).max())


@pytest.mark.parametrize(("alpha", "l1_ratio"), [(0.05, 0.0), (0.05, 1.0), (0.05, 0.4)])
@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_penalty_agrees_with_applying_it_row_by_row(rng, normalization, adaptive, alpha, l1_ratio):
    X, y = make_data(rng, n=400, density=0.3)
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


def test_l1_alone_is_the_minimum_over_all_gradients(rng):
    """FTRL-Proximal by its definition, for OGD of one feature: McMahan (AISTATS 2011), equation 3."""
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


def size(state):
    return state.columns.size(state.rule, state.t)


@pytest.mark.parametrize(("normalization", "adaptive"), [rule for rule in RULES if rule[0]])
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_powers_of_two_change_no_bit(normalization, adaptive, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    X, y = make_data(rng, n=60, d=4)
    X = np.sign(X) * np.abs(X).clip(1e-3, 1e3) * (X != 0)
    factors = 2.0 ** np.array(data.draw(st.lists(st.integers(-900, 900), min_size=4, max_size=4)))
    penalty = data.draw(st.sampled_from([{}, {"l1": 0.01}, {"l2": 0.01}, {"average_from": 0.0}]))
    container = data.draw(st.sampled_from([np.asarray, sparse.csr_array]))
    extension = data.draw(st.sampled_from([(), *EXTENSIONS]))
    options = {"normalization": normalization, "adaptive": adaptive, **penalty, **dict.fromkeys(extension, True)}
    one, two = make_state(4, **options), make_state(4, **options)
    a = progressive(one, container(X), y)
    b = progressive(two, container(X * factors), y)
    assert np.array_equal(a, b)
    assert np.array_equal(one.unit_free_weight(), two.unit_free_weight())


@pytest.mark.parametrize(("normalization", "adaptive"), [rule for rule in RULES if rule[0]])
@settings(max_examples=25, deadline=None)
@given(exponents=st.lists(st.floats(-290, 290), min_size=4, max_size=4), seed=st.integers(0, 2**32 - 1))
def test_any_factors_change_only_rounding(normalization, adaptive, exponents, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 4)), rng.choice([-1.0, 1.0], 100)
    a = progressive(make_state(4, normalization, adaptive), X, y)
    b = progressive(make_state(4, normalization, adaptive), X * 10.0 ** np.array(exponents), y)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("normalization", "adaptive"), [rule for rule in RULES if rule[0]])
def test_the_ends_of_the_range_learn_as_well_as_the_middle(rng, normalization, adaptive):
    X = rng.normal(size=(2000, 4))
    y = np.where(X @ [1.0, -1.0, 0.5, 2.0] > 0, 1.0, -1.0)
    middle, ends = make_state(4, normalization, adaptive), make_state(4, normalization, adaptive)
    p = progressive(middle, X, y)
    q = progressive(ends, X * [1e-300, 1e300, 1e-300, 1.0], y)
    assert np.mean(np.sign(p[1000:, 0]) == y[1000:]) > 0.9
    np.testing.assert_allclose(p, q, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(predict(middle, X), predict(ends, X * [1e-300, 1e300, 1e-300, 1.0]), rtol=1e-6)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_any_cutting_of_a_stream_gives_the_same_bits(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n, d = data.draw(st.integers(2, 80)), data.draw(st.integers(1, 70))
    heads = data.draw(st.sampled_from([1, 3]))
    normalization, adaptive = data.draw(st.sampled_from(RULES))
    options = data.draw(
        st.sampled_from([{}, {"l1": 0.01}, {"l1": 0.003, "l2": 0.01}, {"average_from": 5.0}, {"power_t": 0.5}])
    )
    if data.draw(st.booleans()):
        options = {**options, "average_from": 0.0}
    options = options | dict.fromkeys(data.draw(st.sampled_from([(), *EXTENSIONS])), True)
    loss = data.draw(st.sampled_from(["log_loss", "softmax"])) if heads > 1 else "log_loss"
    options |= {"coupled": loss == "softmax", "experts": data.draw(st.sampled_from([1, 2]))}
    X, _ = make_data(rng, n, d)
    X *= 10.0 ** rng.choice([0, 0, 30, -30], size=(n, 1))
    if normalization is None:
        X /= np.abs(X).max() + 1e-300
    y = rng.choice([-1.0, 1.0], (n, heads))
    weights = data.draw(st.sampled_from([None, rng.integers(0, 3, n) * 0.3]))
    rows = data.draw(st.sampled_from([np.asarray, sparse.csr_array, lambda a: a.astype(np.float32)]))(X)
    eta = np.repeat([0.1, 0.3][: options["experts"]], heads)
    options = {"normalization": normalization, "adaptive": adaptive, "eta": eta, **options}
    whole, parts = make_state(d, **options), make_state(d, **options)
    a = progressive(whole, rows, y, weights, loss)
    cuts = sorted(data.draw(st.sets(st.integers(1, n - 1), max_size=6)))
    b = [
        progressive(parts, rows[i:j], y[i:j], None if weights is None else weights[i:j], loss)
        for i, j in itertools.pairwise([0, *cuts, n])
    ]
    assert np.array_equal(a, np.concatenate(b))
    assert np.array_equal(flat(whole), flat(parts))


@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_cutting_between_blocks_of_a_long_stream(rng, normalization, adaptive):
    X, y = make_data(rng, n=3000, d=40)
    X /= np.abs(X).max(axis=0) if normalization is None else 1.0
    whole, parts = make_state(40, normalization, adaptive), make_state(40, normalization, adaptive)
    progressive(whole, X, y)
    for i, j in itertools.pairwise([0, 1, 2, 700, 701, 2999, 3000]):
        progressive(parts, X[i:j], y[i:j])
    assert np.array_equal(flat(whole), flat(parts))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_heads_are_what_they_are_alone(rng, normalization, adaptive, container):
    X, y = make_data(rng, n=200, d=5)
    X /= np.abs(X).max(axis=0)
    etas = [0.01, 0.1, 0.5]
    together = make_state(5, normalization, adaptive, eta=etas)
    a = progressive(together, container(X), np.tile(y[:, None], 3))
    for k, eta in enumerate(etas):
        b = progressive(make_state(5, normalization, adaptive, eta=[eta]), container(X), y)
        assert np.array_equal(a[:, k], b[:, 0])


@pytest.mark.parametrize("options", [{}, {"l2": 0.01}, {"l1": 0.01, "average_from": 0.0}])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("normalization", "adaptive"), RULES)
def test_weight_0_is_absence(rng, normalization, adaptive, container, options):
    X, y = make_data(rng, n=150)
    X /= np.abs(X).max(axis=0)
    weights = rng.integers(0, 2, 150) * rng.random(150)
    X[weights == 0] *= 1e6
    kept = weights > 0
    options = {"normalization": normalization, "adaptive": adaptive, **options}
    one, two = make_state(6, **options), make_state(6, **options)
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


@pytest.mark.parametrize("rule", RULES)
def test_dense_in_any_layout_and_sparse_with_any_indices(rng, rule):
    X, y = make_data(rng, n=150)
    X = (X / np.abs(X).max(axis=0)).astype(np.float32)
    expected = progressive(make_state(6, *rule), X, y)
    for rows in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2]):
        assert np.array_equal(progressive(make_state(6, *rule), rows, y), expected)
    np.testing.assert_allclose(progressive(make_state(6, *rule), X.astype(float), y), expected, rtol=1e-12)
    narrow = sparse.csr_array(X)
    wide = narrow.copy()
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    a, b = (progressive(make_state(6, *rule), rows, y) for rows in (narrow, wide))
    assert np.array_equal(a, b)
    np.testing.assert_allclose(a, expected, rtol=1e-12, atol=1e-13)


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


def test_classes_become_one_against_the_rest(rng):
    X, _ = make_data(rng, n=100)
    classes = rng.integers(0, 3, 100)
    a = progressive(make_state(6, eta=[0.5] * 3), X, classes)
    b = progressive(make_state(6, eta=[0.5] * 3), X, np.where(classes[:, None] == np.arange(3), 1.0, -1.0))
    assert np.array_equal(a, b)


def test_a_squared_gradient_that_underflows_makes_no_step():
    state = make_state(1, intercept=False)
    learn(state, LOSSES["squared_error"](), np.array([[1.0], [1.0]]), np.array([[1.0], [0.5 + 1e-200]]))
    assert np.isfinite(flat(state)).all()
    state = make_state(1, intercept=False, normalization=None, adaptive=True)
    learn(state, LOSSES["squared_error"](), np.array([[1e-200]]), np.array([[1e-200]]))
    assert np.isfinite(flat(state)).all()


def test_every_finite_double_is_legal_input(rng):
    values = np.array([0.0, 5e-324, -5e-324, 1e-308, 1.0, -1e154, 1e300, np.finfo(float).max, -np.finfo(float).max])
    X = rng.choice(values, (400, 5))
    y = rng.choice([-1.0, 1.0], 400)
    for normalization, adaptive in RULES:
        if normalization is None:
            continue
        for rows in (X, sparse.csr_array(X)):
            state = make_state(5, normalization, adaptive, l1=1e-3, l2=1e-3)
            assert np.isfinite(progressive(state, rows, y)).all()
            assert np.isfinite(flat(state)).all()
            assert np.isfinite(predict(state, rows)).all()
            assert np.isfinite(state.linear()[0]).all()


@pytest.mark.parametrize("size", [1e-200, 1e-100, 1e100, 1e200])
def test_targets_of_any_size_leave_the_state_finite(rng, size):
    X, y = make_data(rng, loss="squared_error")
    state = make_state(6, eta=[0.5 * size])
    middle = make_state(6, eta=[0.5])
    a = progressive(state, X, y * size, loss="squared_error")
    b = progressive(middle, X, y, loss="squared_error")
    assert np.isfinite(flat(state)).all()
    np.testing.assert_allclose(a / size, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_divergence_is_said_and_can_be_undone(rng, container):
    X, y = make_data(rng)
    state = make_state(6, None, False, eta=[0.1])
    progressive(state, container(X[:10] * 1e-6), y[:10], loss="squared_error")
    before = flat(state)
    with pytest.raises(Diverged), state.unchanged_on_error():
        progressive(state, container(X * 1e6), y, loss="squared_error")
    assert np.array_equal(flat(state), before)
    with pytest.raises(Diverged), state.unchanged_on_error(np.array([0, 6])):
        learn(state, LOSSES["squared_error"](), sparse.csr_array(np.eye(1, 6) * 1e300), np.array([[1e300]]))
    assert np.array_equal(flat(state), before)


@pytest.mark.parametrize("new", [{}, {"l1": 0.5}, {"l2": 0.5}, {"l1": 0.5, "l2": 0.1}], ids=str)
@pytest.mark.parametrize("old", [{}, {"l1": 0.01}, {"l2": 0.01}, {"l1": 0.01, "l2": 0.01}], ids=str)
def test_a_penalty_that_changes_is_settled_first(rng, old, new):
    X, y = make_data(rng, density=0.3)
    changing = make_state(6, **old)
    progressive(changing, sparse.csr_array(X[:150]), y[:150])
    before = changing.unit_free_weight()
    changing.adopt(replace(changing.rule, **{"l1": 0.0, "l2": 0.0, **new}))
    changing.cached = None
    assert np.array_equal(changing.unit_free_weight(), before)
    progressive(changing, sparse.csr_array(X[150:]), y[150:])
    assert np.isfinite(flat(changing)).all()
    if not old and "l1" in new:  # weights that were there before the penalty was, and ought not to stay
        progressive(changing, np.tile(X, (20, 1)), np.tile(y, 20))
        assert not changing.unit_free_weight()[0, :-1].any()


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


def test_progressive_loss_is_the_mean_over_rows(rng):
    X, y = make_data(rng)
    state = make_state(6)
    played = progressive(state, X, y)[:, 0]
    np.testing.assert_allclose(state.loss, np.logaddexp(0, -y * played).sum())
