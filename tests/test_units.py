"""No step overshoots, and no learning rate has to be chosen: importance-aware moves, softmax, and AdaHedge."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_wine

from sklearn_nag import losses
from sklearn_nag.estimators._nag import ETA0S
from sklearn_nag.kernels import predict
from sklearn_nag.kernels.state.mixture import Mixture

from .kernels.helpers import BY_ITSELF, make_data, make_state, progressive

CAREFUL = [name for name, loss in BY_ITSELF.items() if loss.move is not None]


def targets_of(loss, y):
    return np.where(y > 0, 1.0, -1.0) if loss in losses.CLASSIFICATION else y


# -- importance-aware steps


@pytest.mark.parametrize("name", CAREFUL)
def test_moves_solve_the_differential_equation(name, rng):
    """``dp/da = -gradient``, by the method of Runge and Kutta."""
    loss, steps = BY_ITSELF[name](), 4000
    p, unit = rng.normal(scale=3.0, size=100), rng.uniform(0.5, 2.0, 100)
    y = targets_of(name, rng.normal(scale=3.0, size=100))
    a = 10.0 ** rng.uniform(-4, 1, 100)
    h, q = a / steps, p
    for _ in range(steps):
        k1 = -loss.gradient(q, y, unit)
        k2 = -loss.gradient(q + h / 2 * k1, y, unit)
        k3 = -loss.gradient(q + h / 2 * k2, y, unit)
        k4 = -loss.gradient(q + h * k3, y, unit)
        q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    tolerance = 1e-9 + 4 * h * np.abs(loss.gradient(p, y, unit))  # a kink costs a step
    assert (np.abs(loss.move(p, y, a, unit) - (q - p)) <= tolerance).all()


def test_moves_of_the_log_loss_to_many_digits(rng):
    loss = losses.Log()
    margin, a = rng.uniform(-250, 600, 5000), 10.0 ** rng.uniform(-20, 20, 5000)
    moved = loss.move(margin, 1.0, a)
    assert (moved >= 0).all()
    for m, exposure, d in zip(margin[:300], a[:300], moved[:300]):
        low, high = 0.0, exposure
        for _ in range(3000):
            middle = (low + high) / 2
            below = middle < 700 and middle + math.exp(m) * math.expm1(middle) < exposure
            low, high = (middle, high) if below else (low, middle)
        assert d == pytest.approx(low, rel=1e-11)


@pytest.mark.parametrize("kernel", ["max", "rms"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_step_overshoots(kernel, data):
    """Whatever the learning rate and the weight, a row's own prediction comes no farther from its target."""
    name = data.draw(st.sampled_from(CAREFUL))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    eta, c = 10.0 ** data.draw(st.floats(-3, 6)), 10.0 ** data.draw(st.floats(-3, 6))
    X, y = make_data(rng, n=12, d=4, loss=name)
    adaptive, centred = data.draw(st.booleans()), data.draw(st.booleans())
    state = make_state(4, kernel, adaptive, eta=[eta], importance_aware=True, centred=centred)
    for i in range(12):
        row = slice(i, i + 1)
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
    """The prediction after one row of weight k against that after k rows, for both kinds of step."""
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


# -- several classes


def test_softmax_is_what_its_formula_says(rng):
    loss = losses.Softmax()
    for scale in (1.0, 30.0, 1000.0):
        p = rng.normal(size=(50, 6)) * scale
        p[:5] = np.round(p[:5] / scale)  # ties
        y = np.where(np.arange(6) == rng.integers(0, 6, (50, 1)), 1.0, -1.0)
        margins = loss.margins(p)
        np.testing.assert_allclose(loss.value(margins, y).sum(axis=1), -log_softmax(p, axis=1)[y > 0], 1e-12, 1e-15)


# -- the learning rate


def adahedge(losses):
    """Shares before each row, by the definition of AdaHedge, from the losses of the experts alone."""
    K = losses.shape[1]
    total, gap, shares = np.zeros(K), 0.0, []
    for row in losses:
        if gap == 0:
            share = (total == total.min()) / np.sum(total == total.min())
            mixed = row[total == total.min()].min()
        else:
            beta = math.log(K) / gap
            share = np.exp(-beta * (total - total.min()))
            share /= share.sum()
            least = row[share > 0].min()
            mixed = least - math.log(share[share > 0] @ np.exp(-beta * (row[share > 0] - least))) / beta
        gap += max(0.0, share @ row - mixed)
        total += row
        shares.append(share)
    return np.array(shares), total, gap


@pytest.mark.parametrize("classes", [2, 3])
def test_auto_mixes_the_models_of_each_learning_rate(classes):
    load = load_breast_cancer if classes == 2 else load_wine
    X, y = load(return_X_y=True)
    heads = 1 if classes == 2 else 3
    coupled = {"coupled": classes > 2}
    options = {"normalization": "rms", "importance_aware": True, "centred": True, **coupled}
    name = "softmax" if classes > 2 else "log_loss"
    alone = [progressive(make_state(X.shape[1], eta=[e] * heads, **options), X, y, loss=name) for e in ETA0S]
    state = make_state(X.shape[1], eta=np.repeat(ETA0S, heads), experts=len(ETA0S), **options)
    mixed = progressive(state, X, y, loss=name)
    if classes == 2:
        losses = np.column_stack([np.logaddexp(0, -np.where(y, 1, -1) * p[:, 0]) for p in alone])
    else:
        losses = np.column_stack([-log_softmax(p, axis=1)[np.arange(len(y)), y] for p in alone])
    shares, total, gap = adahedge(losses)
    np.testing.assert_allclose(mixed, np.einsum("tk,ktc->tc", shares, np.array(alone)), rtol=1e-6, atol=1e-9)
    assert state.mixture.gap[0] == pytest.approx(gap, rel=1e-8)
    np.testing.assert_allclose(state.mixture.excess[0], total - total.min(), rtol=1e-6, atol=1e-8)
    assert state.loss.sum() <= total.min() + 2 * gap + 1e-9  # by convexity, and AdaHedge's own bound


def test_the_gap_of_an_expert_without_a_share():
    mixture = Mixture(np.array([[0.0, 0.0, 1.0, 1.0, 1.0]]), np.array([1e-6]))
    mixture.suffer(mixture.weights(), np.array([[0.2, 0.8, 0.0, 0.0, 0.0]]))
    assert mixture.gap[0] == pytest.approx(0.3, rel=1e-4)
