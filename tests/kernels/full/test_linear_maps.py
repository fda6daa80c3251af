"""No linear map of the rows changes what full invariance predicts, however few rows there are."""

import pickle

import numpy as np
import pytest

from sklearn_nag import ScaleInvariantClassifier, ScaleInvariantRegressor, config_context, merge

from ...pairs import every_pair
from ..helpers import KERNELS, on_both

SHAPES = [(8, 30), (33, 30), (150, 30), (200, 50), (120, 6), (1000, 50)]
KINDS = ["plain", "dependent", "late", "one-hot"]
LEARNERS = {
    "two classes": lambda **options: ScaleInvariantClassifier(invariance="full", **options),
    "three classes": lambda **options: ScaleInvariantClassifier(invariance="full", **options),
    "each class against the rest": lambda **options: ScaleInvariantClassifier(
        invariance="full", multi_class="ovr", **options
    ),
    "latest weights": lambda **options: ScaleInvariantClassifier(invariance="full", average=False, **options),
    "potential": lambda **options: ScaleInvariantRegressor(invariance="full", loss="huber", clip=None, **options),
    "least squares": lambda **options: ScaleInvariantRegressor(invariance="full", clip=None, **options),
}


def rows_of_a_kind(rng, kind, n, d):
    X = rng.normal(size=(n, d)) + rng.normal(size=d)
    if kind == "dependent":
        X[:, 1], X[:, 3] = X[:, 0], X[:, 2] - 2 * X[:, 0] + 3.0
    if kind == "late":  # columns that are 0 at first or in most rows, and one that equals another at first
        X[: n // 2, 1] = X[: 9 * n // 10, 2] = 0.0
        X[:, 3] = np.arange(n) % max(n // 3, 2) == n // 3 - 1
        X[: n // 3, 4] = X[: n // 3, 5]
    if kind == "one-hot":
        levels = rng.permutation(np.minimum(rng.geometric(0.2, n), d) - 1)
        X = np.eye(d)[levels]
    return X


def maps(rng, d, intercept):
    """Yield names, linear maps and shifts of the origin; a shift is a linear map only with a constant column."""
    left, right = (np.linalg.qr(rng.normal(size=(d, d)))[0] for _ in range(2))
    yield "columns reversed", np.eye(d)[::-1], 0.0
    yield "columns mirrored", np.diag(rng.choice([-1.0, 1.0], d)), 0.0
    yield "columns in other units", np.diag(10.0 ** rng.integers(-6, 7, d)), 0.0
    yield "any map", left @ np.diag(np.geomspace(1, 1e3, d)) @ right, 0.0
    if intercept:
        yield "origins moved", np.eye(d), 10.0 * rng.normal(size=d)
        yield "any map and move", left @ right, rng.normal(size=d)


def combinations(rng, X, intercept, n=100):
    """Return rows in the span of those of ``X`` or, with an intercept, of ``(X, 1)``."""
    shares = rng.normal(size=(n, len(X)))
    if intercept:
        shares += (1.0 - shares.sum(axis=1, keepdims=True)) / len(X)
    return np.vstack([X, shares @ X])


def targets(rng, name, X):
    margins = (X - X.mean(axis=0)) @ rng.normal(size=(X.shape[1], 3)) + rng.normal(size=(len(X), 3))
    if name in ("potential", "least squares"):
        return margins[:, 0] + 5.0, {}
    n_classes = 2 if name in ("two classes", "latest weights") else 3
    return margins[:, :n_classes].argmax(axis=1), {"classes": np.arange(n_classes)}


def decide(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize(
    ("name", "kind", "shape", "intercept", "kernel"), on_both(every_pair(LEARNERS, KINDS, SHAPES, [True, False]), 14)
)
def test_decisions_for_rows_in_the_span_are_those_of_mapped_rows(rng, name, kind, shape, intercept, kernel):
    n, d = shape
    if kernel == "numpy" and n * d > 1200:
        pytest.skip("the compiled kernel alone, as it takes a while")
    X = rows_of_a_kind(rng, kind, n, d)
    y, options = targets(rng, name, X)
    new = combinations(rng, X, intercept)
    with config_context(kernel=kernel):
        one = decide(LEARNERS[name](fit_intercept=intercept).partial_fit(X, y, **options), new)
        for what, map_, move in maps(rng, d, intercept):
            model = LEARNERS[name](fit_intercept=intercept).partial_fit(X @ map_ + move, y, **options)
            other = decide(model, new @ map_ + move)
            np.testing.assert_allclose(other, one, rtol=0, atol=1e-8 * np.abs(one).max(), err_msg=what)
    assert np.abs(one).max() > 1e-3


@pytest.mark.parametrize(("name", "kind", "with_base"), every_pair(LEARNERS, ["plain", "late"], [False, True]))
def test_merged_models_of_rows_in_different_spans(rng, name, kind, with_base):
    """Each model has seen fewer rows than there are columns; only all models together have seen enough."""
    n, d = 24, 12
    X = rows_of_a_kind(rng, kind, n, d)
    y, options = targets(rng, name, X)
    new = combinations(rng, X, intercept=True)

    def merged(rows, new):
        start = LEARNERS[name]().partial_fit(rows[:6], y[:6], **options) if with_base else None
        models = []
        for part in (slice(6, 12), slice(12, 16), slice(16, n)):
            model = pickle.loads(pickle.dumps(start)) if with_base else LEARNERS[name]()
            models.append(model.partial_fit(rows[part], y[part], **options))
        return decide(merge(models, start), new)

    one = merged(X, new)
    assert np.abs(one).max() > 1e-3
    for what, map_, move in maps(rng, d, intercept=True):
        other = merged(X @ map_ + move, new @ map_ + move)
        np.testing.assert_allclose(other, one, rtol=0, atol=1e-7 * np.abs(one).max(), err_msg=what)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("share", [1.0, 1e-6])
def test_a_column_that_comes_late_is_learnt_and_spoils_nothing(rng, kernel, share):
    """The row with which the column comes may be like others, or hardly leave the span of earlier rows."""
    X = rng.normal(size=(2000, 4))
    X[:1800, 3] = X[:1800, 2]
    X[1800, 3] = X[1800, 2] + share
    y = X @ [1.0, -1.0, 0.5, 1.0] + 0.5 * rng.normal(size=2000)
    with config_context(kernel=kernel):
        before = ScaleInvariantRegressor(invariance="full", update="potential").partial_fit(X[:1800], y[:1800])
        reg = pickle.loads(pickle.dumps(before)).partial_fit(X[1800:1801], y[1800:1801])
        assert abs(reg.score(X[:1800], y[:1800]) - before.score(X[:1800], y[:1800])) < 1e-4
        assert reg.partial_fit(X[1801:], y[1801:]).score(X[1800:], y[1800:]) > 0.9


def test_models_that_kept_a_sum_of_weights_go_on(rng):
    """Earlier versions kept ``sum c t w`` and ``sum c t`` instead of an average."""
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    reg = ScaleInvariantRegressor(invariance="full", update="potential").partial_fit(X[:40], y[:40])
    old = pickle.loads(pickle.dumps(reg))
    old._state.averaged = 40 * 41 / 2
    old._state.columns.past *= old._state.averaged
    loaded = pickle.loads(pickle.dumps(old))
    for model in (reg, loaded):
        model.partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(loaded.predict(X), reg.predict(X), rtol=1e-12)
    assert loaded._state.averaged == 0.0
