"""The updates of the NAG family in NumPy, against the paper, and the promises of the unit-free form."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_nag import config_context, losses
from sklearn_nag.kernels import adopt, learn, predict

from ...pairs import every_pair
from ..helpers import BY_ITSELF, EXTENSIONS, KERNELS, LOSSES, RULES, flat, make_data, make_state, progressive
from . import reference


@pytest.mark.parametrize(
    ("rule", "loss", "weighted", "intercept"), every_pair(RULES, BY_ITSELF, [True, False], [True, False])
)
def test_agrees_with_the_paper(rng, rule, loss, weighted, intercept):
    (normalization, adaptive), (X, y) = rule, make_data(rng, n=60, d=4, loss=loss)
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


@pytest.mark.parametrize(
    ("rule", "extended", "weighted", "intercept"),
    every_pair(
        [rule for rule in RULES if rule[0]],
        itertools.product(EXTENSIONS, ["log_loss", "hinge", "squared_error", "absolute_error"]),
        [True, False],
        [True, False],
    ),
)
def test_extensions_agree_with_computing_everything_from_scratch(rng, rule, extended, weighted, intercept):
    (normalization, adaptive), (extension, loss) = rule, extended
    X, y = make_data(rng, n=80, d=4, loss=loss)
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


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("normalization", "adaptive"), [("rms", True), ("max", False)])
@pytest.mark.parametrize("outlying", [6.0, 32.0])
def test_outliers_agree_with_computing_everything_from_scratch(rng, normalization, adaptive, intercept, outlying):
    X, y = make_data(rng, n=200, d=4, loss="absolute_error")
    y[[30, 31, 90, 199]] *= [-1e9, 1e5, 1e3, 1e4]
    weights = rng.integers(0, 3, len(X)) * rng.random(len(X))
    rule = {"normalization": normalization, "adaptive": adaptive, "intercept": intercept}
    rule |= {"target_unit": True, "robust": True, "outlying": outlying}
    expected, w = reference.run(X, y, loss="absolute_error", eta=0.1, weights=weights, **rule)
    state = make_state(4, eta=[0.1], **rule, degree=1)
    played = progressive(state, X, y, weights, "absolute_error")[:, 0]
    np.testing.assert_allclose(played[weights > 0], np.array(expected)[weights > 0], rtol=1e-6, atol=1e-7)
    u = np.array(w) * state.scale()
    np.testing.assert_allclose(state.unit_free_weight()[0], u, rtol=1e-6, atol=1e-7 * np.abs(u).max())
    known = (y - state.targets.origin)[weights > 0]
    assert (state.targets.low, state.targets.high) == (min(known.min(), 0.0), max(known.max(), 0.0))  # with outliers


@pytest.mark.parametrize(
    ("rule", "weighted", "intercept"),
    every_pair(
        itertools.product([("rms", True), ("max", False)], [(), *EXTENSIONS], ["targets", (-0.4, 0.3)]),
        [True, False],
        [True, False],
    ),
)
def test_clipped_predictions_agree_with_computing_everything_from_scratch(rng, rule, weighted, intercept):
    (normalization, adaptive), extension, clip = rule
    X, y = make_data(rng, n=100, d=4, loss="squared_error")
    weights = rng.integers(0, 3, len(X)) * rng.random(len(X)) if weighted else None
    kept = slice(None) if weights is None else weights > 0
    rule = {"normalization": normalization, "adaptive": adaptive, "intercept": intercept, "clip": clip}
    rule |= dict.fromkeys(extension, True)
    eta = 2.0 if adaptive else 0.1  # too large, so that many predictions are clipped
    expected, w = reference.run(X, y, loss="squared_error", eta=eta, weights=weights, **rule)
    state = make_state(4, eta=[eta], **rule)
    played = progressive(state, X, y, weights, "squared_error")[:, 0]
    size = np.abs(expected).max()
    np.testing.assert_allclose(played[kept], np.array(expected)[kept], rtol=1e-6, atol=1e-7 * size)
    u = np.array(w) * state.scale()
    np.testing.assert_allclose(state.unit_free_weight()[0], u, rtol=1e-6, atol=1e-7 * np.abs(u).max())
    low, high = state.clip_range()
    assert ((predict(state, X) >= low) & (predict(state, X) <= high)).all()


@pytest.mark.parametrize(("normalization", "adaptive"), [rule for rule in RULES if rule[0]])
@settings(max_examples=12, deadline=None)
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
@settings(max_examples=8, deadline=None)
@given(exponents=st.lists(st.floats(-290, 290), min_size=4, max_size=4), seed=st.integers(0, 2**32 - 1))
def test_any_factors_change_only_rounding(normalization, adaptive, exponents, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(100, 4)), rng.choice([-1.0, 1.0], 100)
    a = progressive(make_state(4, normalization, adaptive), X, y)
    b = progressive(make_state(4, normalization, adaptive), X * 10.0 ** np.array(exponents), y)
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize(("normalization", "adaptive"), [rule for rule in RULES if rule[0]])
def test_the_ends_of_the_range_learn_as_well_as_the_middle(rng, normalization, adaptive):
    X = rng.normal(size=(300, 4))
    y = np.where(X @ [1.0, -1.0, 0.5, 2.0] > 0, 1.0, -1.0)
    middle, ends = make_state(4, normalization, adaptive), make_state(4, normalization, adaptive)
    p = progressive(middle, X, y)
    q = progressive(ends, X * [1e-300, 1e300, 1e-300, 1.0], y)
    assert np.mean(np.sign(p[150:, 0]) == y[150:]) > 0.9
    np.testing.assert_allclose(p, q, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(predict(middle, X), predict(ends, X * [1e-300, 1e300, 1e-300, 1.0]), rtol=1e-6)


@settings(max_examples=40, deadline=None)
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


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_heads_do_not_know_of_one_another(rng, kernel, container):
    X, y = make_data(rng, n=100, d=50)
    with config_context(kernel=kernel):
        alone, among = make_state(50), make_state(50, eta=[0.5, 0.5, 0.5])
        one = progressive(alone, container(X), y)
        three = progressive(among, container(X), np.column_stack([y, -y, np.roll(y, 1)]))
    assert np.array_equal(one[:, 0], three[:, 0])
    assert np.array_equal(alone.columns.weight[0], among.columns.weight[0])


def test_a_squared_gradient_that_underflows_makes_no_step():
    state = make_state(1, intercept=False)
    learn(state, LOSSES["squared_error"](), np.array([[1.0], [1.0]]), np.array([[1.0], [0.5 + 1e-200]]))
    assert np.isfinite(flat(state)).all()
    state = make_state(1, intercept=False, normalization=None, adaptive=True)
    learn(state, LOSSES["squared_error"](), np.array([[1e-200]]), np.array([[1e-200]]))
    assert np.isfinite(flat(state)).all()


def test_every_finite_double_is_legal_input(rng):
    values = np.array([0.0, 5e-324, -5e-324, 1e-308, 1.0, -1e154, 1e300, np.finfo(float).max, -np.finfo(float).max])
    X = rng.choice(values, (100, 5))
    y = rng.choice([-1.0, 1.0], 100)
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


def by_hand(X, classes, weights, n_classes, eta, importance_aware, averaged):
    """NAG ("max") on the softmax with one G for all classes, in plain Python.

    Return decisions before each row, and the final ``w`` or average.
    """
    d = len(X[0])
    w, mean = ([[0.0] * d for _ in range(n_classes)] for _ in range(2))
    s, G, N, t, total = [0.0] * d, [0.0] * d, 0.0, 0.0, 0.0
    decisions = []
    for x, label, c in zip(X.tolist(), classes.tolist(), weights.tolist()):
        for i in range(d):
            new = max(s[i], abs(x[i]))
            for k in range(n_classes):
                w[k][i] *= s[i] / new
                mean[k][i] *= s[i] / new
            s[i] = new
        t += c
        N += c * sum((x[i] / s[i]) ** 2 for i in range(d))
        p = [sum(a * b for a, b in zip(w[k], x)) for k in range(n_classes)]
        decisions.append([sum(a * b for a, b in zip(v, x)) for v in (mean if averaged else w)])
        total += c * t
        for k in range(n_classes):
            for i in range(d):  # the average is of the weights that predicted
                mean[k][i] += c * t / total * (w[k][i] - mean[k][i])
        chance = [math.exp(v) for v in p]
        g = [chance[k] / sum(chance) - (k == label) for k in range(n_classes)]
        for i in range(d):
            G[i] += (c if importance_aware else c * c) * x[i] ** 2 * sum(v * v for v in g) / n_classes
        step = [x[i] / (s[i] * math.sqrt(G[i])) for i in range(d)]
        reach = sum(a * b for a, b in zip(step, x))
        for k in range(n_classes):
            far = -eta * math.sqrt(t / N) * c * g[k]
            if importance_aware:  # the move of the log loss at the margin of a class
                others = math.log(sum(chance[j] for j in range(n_classes) if j != k))
                sign = 1.0 if k == label else -1.0
                a = eta * math.sqrt(t / N) * c * reach
                far = reference.move("log_loss", p[k] - others, sign, a) / reach
            for i in range(d):
                w[k][i] += far * step[i]
    return np.array(decisions), np.array(mean if averaged else w)


@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("importance_aware", [False, True])
@pytest.mark.parametrize("n_classes", [3, 5])
def test_classes_with_one_G(rng, n_classes, importance_aware, averaged):
    X, classes, c = make_data(rng, 150, d=4, density=1)[0], rng.integers(n_classes, size=150), rng.random(150) * 3
    expected, w = by_hand(X, classes, c, n_classes, 0.5, importance_aware, averaged)
    y = np.where(classes[:, None] == np.arange(n_classes), 1.0, -1.0)
    options = {"importance_aware": importance_aware, "average_from": 0.0 if averaged else np.inf}
    options |= {"coupled": True, "intercept": False, "eta": [0.5] * n_classes}
    for rows in (X, sparse.csr_array(X)):
        state = make_state(4, **options)
        played = progressive(state, rows, y, c, "softmax")
        np.testing.assert_allclose(played, expected, rtol=1e-9, atol=1e-10 * np.abs(expected).max())
        np.testing.assert_allclose(state.linear()[0], w, rtol=1e-9, atol=1e-10 * np.abs(w).max())
    assert state.columns.G.shape == (1, 4)


@pytest.mark.parametrize("l2", [0.0, 0.01])
@pytest.mark.parametrize("kernel", KERNELS)
def test_rates_are_slowed_once_their_rows_are_over(rng, kernel, l2):
    X, y = make_data(rng, n=300, d=4, loss="absolute_error")
    rule = {"normalization": "rms", "eta": [0.5], "target_unit": True, "robust": True, "degree": 1, "l2": l2}
    whole, parts = make_state(4, slowed=0.8, **rule), make_state(4, **rule)
    n = 125  # 80 / 0.8 ** 2
    assert whole.rule.slowed_from == n + 0.5 < replace(whole.rule, slowed=1e-300).slowed_from
    with config_context(kernel=kernel):
        progressive(whole, X, y, loss="absolute_error")
        progressive(parts, X[:n], y[:n], loss="absolute_error")
        adopt(parts, replace(parts.rule, eta=(0.4,)))
        progressive(parts, X[n:], y[n:], loss="absolute_error")
    np.testing.assert_allclose(whole.unit_free_weight(), parts.unit_free_weight(), rtol=1e-12)
