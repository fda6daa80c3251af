"""Learners whose weights are constrained to a set, by both kernels: they agree with textbooks, whatever the units."""

import copy
import itertools
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    config_context,
    merge,
)
from sklearn_nag.constraints import L2Ball, Simplex, WeightedL1Ball

from ..kernels.helpers import KERNELS, on_both
from ..pairs import every_pair
from ..regret import plain
from .helpers import bits

PRINTED = {"normalization": None, "fit_intercept": False, "target_normalization": None, "clip": None}
OGD = {**PRINTED, "adaptive": False, "importance_aware": False, "average": False}
LAZY = {**PRINTED, "regularizer": "l2", "power_t": 0.0}


def rows(rng, n=120, d=5):
    X = rng.normal(size=(n, d))
    return X, np.abs(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n)


def to_simplex(w, radius):
    """Project on the simplex by bisection."""
    low, high = w.min() - radius - 1.0, w.max()
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if np.maximum(w - middle, 0).sum() > radius else (low, middle)
    return np.maximum(w - high, 0)


PLAIN_PROJECTIONS = {
    L2Ball: lambda w, radius: plain.to_ball(w[None], radius)[0],
    WeightedL1Ball: lambda w, radius: plain.to_diamond(w[None], radius, np.ones((1, w.size)))[0],
    Simplex: to_simplex,
}


def textbook(X, y, project, eta, lazy, start):
    """Gradient descent for the absolute error, projected after each step or, lazily, from the sum of the steps."""
    state, w, played = start.copy(), project(start), []
    for x, target in zip(X, y):
        played.append(w @ x)
        state = state - eta * np.sign(played[-1] - target) * x
        w = project(state)
        if not lazy:
            state = w
    return np.array(played), w


@pytest.mark.parametrize(
    ("kind", "radius", "kernel"), on_both(itertools.product([L2Ball, WeightedL1Ball, Simplex], [0.3, 5.0]), 1)
)
def test_gradient_descent_is_the_textbooks(rng, kind, radius, kernel):
    X, y = rows(rng, 60)
    project = lambda w: PLAIN_PROJECTIONS[kind](w, radius)  # noqa: E731
    start = np.full(5, radius / 5) if kind is Simplex else np.zeros(5)
    options = {"loss": "absolute_error", "eta0": 0.2, "constraint": kind(radius)}
    with config_context(kernel=kernel):
        for container in (np.asarray, sparse.csr_array):
            played, w = textbook(X, y, project, 0.2, False, start)
            greedy = NAGRegressor(**options, **OGD)
            np.testing.assert_allclose(greedy._play(container(X), y)[:, 0], played, rtol=0, atol=1e-9)
            np.testing.assert_allclose(greedy.coef_, w, rtol=0, atol=1e-9)
            # The lazy version of the simplex starts where zero gradients lead: at the point nearest to 0.
            played, w = textbook(X, y, project, 0.2, True, 0.0 * start)
            lazy = FTRLRegressor(**options, **LAZY)
            np.testing.assert_allclose(lazy._play(container(X), y)[:, 0], played, rtol=0, atol=1e-9)
            np.testing.assert_allclose(lazy.coef_, w, rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_mixture_has_its_sum_where_steps_are_far_longer_than_it_is_wide(rng, kernel):
    X = rng.normal(size=(300, 2))
    y = X @ [0.7, 0.3]
    with config_context(kernel=kernel):
        for radius in (1e-10, 1e-14, 1e-17, 1e-200):
            reg = FTRLRegressor(constraint=Simplex(radius), regularizer="l2", normalization="rms").partial_fit(X, y)
            u = reg.coef_ * reg.scale_ / reg._state.unit()
            assert u.sum() == pytest.approx(radius, rel=1e-12)
        if kernel == "numba" and not os.environ.get("EVERY_RULE"):  # its rule would be compiled for this test
            return
        for factor in (1e9, 1e50):
            reg = NAGRegressor(constraint=Simplex(), **OGD).partial_fit(X * factor, y)
            assert reg.coef_.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("kernel", KERNELS)
def test_nag_is_that_of_the_theorem(rng, kernel):
    """NAG is that of the theorem once scales are known, with ``eta0 = sqrt(2)``."""
    X, y = rows(rng)
    X *= [1.0, 1e3, 1e-3, 1.0, 5.0]
    scale, C = np.abs(X).max(axis=0), 0.7
    options = {"centering": False, "importance_aware": False, "average": False, "fit_intercept": False}
    with config_context(kernel=kernel):
        reg = NAGRegressor(
            "absolute_error", normalization="max", eta0=np.sqrt(2.0), constraint=WeightedL1Ball(C),
            target_normalization=None, clip=None, **options,
        )  # fmt: skip
        reg.partial_fit(np.diag(scale), np.zeros(5))  # rows that are predicted correctly teach only scales
        played = reg._play(X, y)[:, 0]
    expected = plain.nag(X[None], y[None], plain.absolute_gradient, scale[None], C)[0]
    np.testing.assert_allclose(played, expected, rtol=0, atol=1e-9)
    assert np.abs(reg.coef_ * scale).sum() == pytest.approx(C)


NAGS = [
    {"normalization": normalization, "adaptive": adaptive, "constraint": kind(0.4), "average": average}
    for (normalization, adaptive), kind, average in every_pair(
        [("max", True), ("rms", True), ("max", False), ("rms", False), (None, True)],
        [L2Ball, WeightedL1Ball],
        [True, False],
    )
]
FTRLS = [
    {"regularizer": "l2", "normalization": normalization, "constraint": kind(0.4)}
    for normalization, kind in itertools.product(["max", "rms", None], [L2Ball, WeightedL1Ball, Simplex])
]
REGRESSORS = [NAGRegressor(**p) for p in NAGS] + [FTRLRegressor(**p) for p in FTRLS]
REGRESSORS += [NAGRegressor(eta0="auto", constraint=L2Ball(0.4)), FTRLRegressor(l2=3.0, l1=0.1, **FTRLS[0])]


def size(constraint, u):
    return np.linalg.norm(u, axis=-1) if isinstance(constraint, L2Ball) else np.abs(u).sum(axis=-1)


@pytest.mark.parametrize(("estimator", "kernel"), on_both(zip(REGRESSORS), 2), ids=str)
def test_weights_are_in_the_set_and_kernels_agree(rng, estimator, kernel):
    X, y = rows(rng)
    X = X * [1.0, 1e3, 1e-3, 1.0, 5.0] if estimator.normalization is not None else X
    Y = np.column_stack([y, 100.0 - 30.0 * y])
    weight = rng.integers(0, 3, 120) * rng.random(120)
    for container in (np.asarray, np.asfortranarray, sparse.csr_array)[:: 2 if kernel == "numpy" else 1]:
        models, played = [], []
        for used in dict.fromkeys(["numpy", kernel]):
            with config_context(kernel=used):
                model = copy.deepcopy(estimator)
                played.append(model._play(container(X), Y, weight))
                models.append(model)
        for p, model in zip(played, models):
            np.testing.assert_allclose(p, played[0], rtol=1e-7, atol=1e-8 * np.abs(played[0]).max())
            np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-6, atol=1e-9 * np.abs(model.coef_).max())
    u = models[0].coef_ * models[0].scale_ / models[0]._state.unit()[:2, None]
    bound = models[0].constraint.radius * (1.0 + 1e-9)
    assert (size(models[0].constraint, u) <= bound * (1.2 if models[0]._state.rule.averaged else 1.001)).all()
    assert (size(models[0].constraint, u) > 0.05 * bound).all()


@settings(max_examples=20, deadline=None)
@given(cuts=st.sets(st.integers(1, 119)), which=st.integers(0, len(REGRESSORS) - 1), power=st.integers(-300, 300))
def test_cuts_pickles_and_units_change_no_bit(cuts, which, power):
    X, y = rows(np.random.default_rng(0))
    make = lambda: copy.deepcopy(REGRESSORS[which])  # noqa: E731
    whole, model = make().partial_fit(X, y), make()
    for part in np.split(np.arange(120), sorted(cuts)):
        model = pickle.loads(pickle.dumps(model.partial_fit(X[part], y[part])))
    assert np.array_equal(bits(model), bits(whole))
    if whole.normalization is not None:
        scaled = make().partial_fit(X * 2.0**power, y)
        assert np.array_equal(scaled.predict(X * 2.0**power), whole.predict(X))


@pytest.mark.parametrize("estimator", REGRESSORS, ids=str)
def test_the_unit_of_the_target_does_not_matter(rng, estimator):
    if estimator.normalization is None and not isinstance(estimator, FTRLRegressor):
        pytest.skip("eta0 has a unit")
    X, y = rows(rng, 60)
    p = copy.deepcopy(estimator).partial_fit(X, y).predict(X)
    for a, c in [(1e3, -5.0), (2.0**-200, 0.0)]:
        q = copy.deepcopy(estimator).partial_fit(X, a * y + c).predict(X)
        np.testing.assert_allclose((q - c) / a, p, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize(
    "estimator",
    [NAGClassifier(constraint=WeightedL1Ball(2.0)), FTRLClassifier(regularizer="l2", constraint=L2Ball(2.0))],
    ids=str,
)
def test_classifiers(rng, estimator, n_classes):
    X, _ = rows(rng, 150)
    y = np.digitize(X[:, 0], [-0.4, 0.4][: n_classes - 1])
    clf = copy.deepcopy(estimator).set_params(max_iter=3).fit(X, y)
    assert clf.score(X, y) > 0.65
    assert (size(clf.constraint, clf.coef_ * clf.scale_) <= 2.0 * 1.001).all()
    parts = [(X[i::2], y[i::2], np.unique(y)) for i in (0, 1)]
    merged = merge([NAGClassifier(constraint=L2Ball(0.1)).partial_fit(*part) for part in parts])
    assert (size(L2Ball(1.0), merged.coef_ * merged.scale_) <= 0.11).all()


@pytest.mark.parametrize(
    ("estimator", "error"),
    [
        (NAGRegressor(constraint=3.0), "'constraint' parameter of NAGRegressor must be None, 'nonnegative', a dict"),
        (NAGRegressor(constraint=L2Ball(0.0)), "'constraint.radius' parameter of NAGRegressor must be"),
        (FTRLRegressor(regularizer="l2", constraint=L2Ball("1")), "'constraint.radius' parameter"),
        (
            NAGRegressor(constraint=L2Ball(1.0), penalty="l2"),
            "constraint and penalty='l2' do not go together",
        ),
        (NAGRegressor(constraint=Simplex()), "needs normalization=None and adaptive=False"),
        (NAGRegressor(constraint=Simplex(), normalization=None, adaptive=False), "needs target_normalization=None"),
        (FTRLRegressor(constraint=L2Ball(1.0)), "constraint needs regularizer='l2'; with 'proximal' each weight has"),
        (FTRLRegressor(constraint=L2Ball(1.0), regularizer="entropy"), "'entropy' limits its weights by radius"),
        (FTRLRegressor(constraint=Simplex(), regularizer="l2", l1=1.0), "l1 has no effect with constraint=Simplex"),
    ],
)
def test_what_has_no_meaning_is_refused(estimator, error):
    with pytest.raises(ValueError, match=error):
        estimator.fit([[1.0], [2.0]], [1.0, 2.0])
