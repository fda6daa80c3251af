"""Progressive predictions, which the progressive loss judges, are what `predict` returns before a row is learnt."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import (
    FTRLClassifier,
    FTRLRegressor,
    NAGClassifier,
    NAGRegressor,
    ScaleInvariantClassifier,
    ScaleInvariantRegressor,
    config_context,
    kernels,
)

from ..pairs import every_pair
from .helpers import on_both

PLAIN = {"normalization": None, "centering": False}
MAX = {"normalization": "max", "centering": False}
# No row of `data` changes the scales of these models, so `predict` need not count its features first.
STILL = [
    (NAGClassifier, PLAIN),
    (NAGClassifier, MAX),
    (NAGClassifier, {**MAX, "average": True}),
    (NAGClassifier, {**MAX, "average": False}),
    (NAGClassifier, {**MAX, "average": 14}),
    (NAGClassifier, {**MAX, "adaptive": False, "eta0": 0.1}),
    (NAGClassifier, {**MAX, "eta0": "auto"}),
    (NAGClassifier, {**MAX, "eta0": "auto", "loss": "hinge"}),
    (NAGClassifier, {**MAX, "multi_class": "ovr"}),
    (NAGClassifier, {**MAX, "half_life": 30, "normalization": None}),
    (NAGRegressor, MAX),
    (NAGRegressor, {**MAX, "clip": (-0.3, 0.5), "eta0": 3.0}),
    (NAGRegressor, {**MAX, "clip": "targets", "eta0": "auto", "average": True}),
    (NAGRegressor, {**MAX, "target_normalization": None, "average": 20}),
    (NAGRegressor, {**MAX, "loss": "absolute_error", "importance_aware": False}),
    (ScaleInvariantClassifier, {"update": "potential", "centering": False}),
    (ScaleInvariantClassifier, {"update": "scinol1", "centering": False, "average": True}),
    (ScaleInvariantClassifier, {"update": "scinol2", "centering": False}),
    (ScaleInvariantRegressor, {"loss": "squared_error", "centering": False, "clip": "targets"}),
    (ScaleInvariantClassifier, {"invariance": "full"}),
    (ScaleInvariantRegressor, {"invariance": "full", "loss": "absolute_error"}),
    (FTRLClassifier, PLAIN),
    (FTRLRegressor, {**PLAIN, "clip": "targets"}),
]
CASES = [
    (estimator, options, container, n)
    for (estimator, options), container, several in every_pair(STILL, ["dense", "sparse"], [False, True])
    for n in ((2, 4)[several] if "Classifier" in estimator.__name__ else (1, 3)[several],)
    if not (container == "sparse" and options.get("invariance") == "full")
]

BY_KERNEL = on_both(CASES, 3)


def data(is_regressor, n, n_rows=26, d=6):
    """Return rows, classes or outputs, and weights; the first row has the largest value of each feature."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n_rows, d)) * (rng.random((n_rows, d)) < 0.6)
    X[:, 2] = X[:, 1] * (np.arange(n_rows) < 18)  # a direction that appears late
    X[0] = 1.0
    y = X @ rng.normal(size=(d, n)) + 0.5 * rng.normal(size=(n_rows, n))
    weight = rng.uniform(0.5, 2.0, n_rows)
    if is_regressor:
        return X, y[:, 0] if n == 1 else y, weight
    y = np.argmax(y, axis=1)
    y[:n] = np.arange(n)
    return X, y, weight


def loss_of(model, decision, target):
    """Loss of a row by its plain formula, summed over outputs or over classes learnt one against the rest."""
    if isinstance(model, NAGRegressor | ScaleInvariantRegressor | FTRLRegressor):
        residuals = np.ravel(decision - target)
        if model.loss == "absolute_error":
            return sum(abs(r) for r in residuals)
        return sum(r * r / 2 for r in residuals)
    decision = np.ravel(decision)
    multinomial = getattr(model, "multi_class", None) == "multinomial" and model.loss == "log_loss"
    if len(decision) > 1 and multinomial:
        return math.log(sum(math.exp(p) for p in decision)) - decision[target]
    signs = (
        [1 if target == 1 else -1] if len(decision) == 1 else [1 if k == target else -1 for k in range(len(decision))]
    )
    margins = [s * p for s, p in zip(signs, decision)]
    return sum(max(0.0, 1 - m) if model.loss == "hinge" else math.log1p(math.exp(-m)) for m in margins)


def is_independent(model, X, i):
    """Whether a row is outside the span of earlier rows, which matters only to invariance under linear maps."""
    if getattr(model, "invariance", None) != "full":
        return False
    ranks = [np.linalg.matrix_rank(np.column_stack([X[:n], np.ones(n)])) for n in (i, i + 1)]
    return ranks[0] < ranks[1]


@pytest.mark.parametrize(("estimator", "options", "container", "n", "kernel"), BY_KERNEL, ids=str)
def test_the_progressive_loss_is_that_of_predict(estimator, options, container, n, kernel):
    is_regressor = "Regressor" in estimator.__name__
    X, y, weight = data(is_regressor, n)
    weight[0] = 2.0  # the largest weight, which ScInOL counts before it predicts
    rows = X if container == "dense" else sparse.csr_array(X)
    model, first = estimator(**options), {} if is_regressor else {"classes": np.arange(n)}
    method = "predict" if is_regressor else "decision_function"
    total = 0.0
    with config_context(kernel=kernel):
        model.partial_fit(rows[:1], y[:1], sample_weight=weight[:1], **first)
        before = model._state.loss.copy()
        for i in range(1, len(y)):
            predicted = getattr(model, method)(rows[i : i + 1])
            total += weight[i] * loss_of(model, predicted, y[i])
            played = model._play(rows[i : i + 1], y[i : i + 1], weight[i : i + 1])
            if is_independent(model, X, i):  # no weights determine its prediction
                mean = np.average(y[:i], axis=0, weights=weight[:i]) if is_regressor else 0.0
                np.testing.assert_allclose(played - mean, 0.0, atol=1e-12)
                total += weight[i] * (loss_of(model, played[0], y[i]) - loss_of(model, predicted, y[i]))
            else:
                np.testing.assert_allclose(played.ravel(), np.ravel(predicted), rtol=1e-7, atol=1e-10)
        assert np.sum(model._state.loss - before) == pytest.approx(total, rel=1e-7)
        whole = estimator(**options).partial_fit(rows, y, sample_weight=weight, **first)
    assert whole.progressive_loss_ == pytest.approx(model.progressive_loss_, rel=1e-9)


def knowing(state, rule, X, loss, y, c):
    """Return a copy of the model that has counted the features of a row in scales and means, and nothing else of it."""
    state, t = state.copy(), state.t
    kernels.adopt(state, replace(rule, eta=(0.0,) * len(rule.eta)))
    parts = {**state.small_arrays(), "averaged": state.averaged, "waiting": state.waiting}
    kernels.learn(state, loss, X, y, c)
    vars(state).update(parts)
    state.targets.sum[:] *= state.t / t
    state.targets.spread[:] *= math.sqrt(state.t / t)
    kernels.adopt(state, rule)
    return state


MOVING = [
    (NAGClassifier, {}),
    (NAGClassifier, {"average": True, "normalization": "rms"}),
    (NAGClassifier, {"normalization": "max", "eta0": "auto"}),
    (NAGClassifier, {"adaptive": False, "eta0": 0.1}),
    (NAGRegressor, {}),
    (NAGRegressor, {"eta0": "auto", "clip": (-1.0, 1.0)}),
]


@pytest.mark.parametrize(
    ("estimator", "options", "container", "kernel"),
    on_both(((*case, container) for case in MOVING for container in (np.asarray, sparse.csr_array)), 3),
    ids=str,
)
def test_scales_and_means_know_the_row_that_is_predicted(estimator, options, container, kernel):
    """As in the algorithm, scales and means count a row's features before it is predicted, and its target after."""
    if container is sparse.csr_array and options.get("normalization") in ("max", "rms"):
        options = {**options, "centering": False}
    is_regressor = estimator is NAGRegressor
    X, y, weight = data(is_regressor, 3)
    X = container(X * 10.0 ** np.arange(6) + np.arange(6) * (np.arange(6) > 3))
    first = {} if is_regressor else {"classes": np.arange(3)}
    with config_context(kernel=kernel):
        model = estimator(**options).partial_fit(X[:2], y[:2], sample_weight=weight[:2], **first)
        for i in range(2, len(y)):
            row, targets, c = X[i : i + 1], y[i : i + 1], weight[i : i + 1]
            known = knowing(model._state, model._state.rule, row, model._loss(), model._encode(targets), c)
            expected = kernels.predict_unit_free(known, row)
            played = model._play(row, targets, c)
            np.testing.assert_allclose(played, expected, rtol=1e-6, atol=1e-9)
