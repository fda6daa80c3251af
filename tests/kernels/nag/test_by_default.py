"""The whole default rule, through the public API, against `default_reference`, which follows the text."""

from functools import cache, partial

import numpy as np
import pytest
from scipy import sparse

from sklearn_nag import NAGClassifier, NAGRegressor, config_context

from ..helpers import KERNELS
from .default_reference import ROUND, Numbers, Softmax, TwoClasses

N_ROWS, NEAR = 130, 1e-9
REFERENCES = {"two classes": TwoClasses, "three classes": partial(Softmax, n_heads=3), "numbers": Numbers}
DENSE, RARE, RARE_THEN_FREQUENT, FREQUENT_THEN_RARE, ONE_HALF = [0, 1, 2], [3, 4, 5], 6, 7, 9
RARE_FREQUENT_RARE, ALWAYS_0, CONSTANT_LATE = 8, 10, 11


def make_rows(rng):
    """Return features of many kinds, some of which become frequent, rare, or both."""
    X, row, chance = rng.normal(size=(N_ROWS, 12)), np.arange(N_ROWS), rng.random((N_ROWS, 12))
    X[:, DENSE] = X[:, DENSE] * [1.0, 1e3, 1e-4] + [3.0, 1e5, 0.0]
    X[:, 2] *= row  # its scale grows
    X[:, 5] = 1.0
    X[:, RARE] *= (chance[:, RARE] < [0.3, 0.1, 0.06]) & (row > 0)[:, None]
    X[[70, 110], 4] = 50.0, -60.0  # far from all others
    X[:, RARE_THEN_FREQUENT] += 2.0
    X[:, RARE_THEN_FREQUENT] *= (row >= 25) | (chance[:, RARE_THEN_FREQUENT] < 0.2) & (row > 0)
    X[:, FREQUENT_THEN_RARE] += 5.0
    X[:, FREQUENT_THEN_RARE] *= (row < 25) | (chance[:, FREQUENT_THEN_RARE] < 0.1)
    X[:, RARE_FREQUENT_RARE] *= (row >= 10) & (row < 40)
    X[:, ONE_HALF] *= (chance[:, ONE_HALF] < 0.47) & (row < N_ROWS - 15)  # frequent at the end, at less than half
    X[:, ALWAYS_0] = 0.0
    X[row >= 60, CONSTANT_LATE] = 7.0
    return X


@cache
def stream(task):
    """Return rows, targets and weights."""
    rng = np.random.default_rng(12)
    X = make_rows(rng)
    weights = rng.choice([0.0, 0.5, 1.0, 2.75], size=N_ROWS, p=[0.1, 0.2, 0.5, 0.2])
    weights[0] = 1.0
    z = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    scores = z @ rng.normal(size=(X.shape[1], 3)) + rng.normal(size=(N_ROWS, 3))
    y = {
        "two classes": (scores[:, 0] > 0).astype(int),
        "three classes": scores.argmax(axis=1),
        "numbers": 500.0 + 40.0 * np.sign(scores[:, 0]) + 0.3 * np.arange(N_ROWS),
    }[task]
    return X, y, weights


@cache
def by_reference(task):
    """Return the reference after all rows, and its decisions and total losses before each row except the first."""
    X, y, weights = stream(task)
    learner, decisions, losses = REFERENCES[task](X.shape[1]), [], []
    for row, (x, target, c) in enumerate(zip(X.tolist(), y.tolist(), weights.tolist())):
        if row:
            decisions.append(learner.decide(x))
            losses.append(learner.total_loss)
        learner.learn(x, target, c)
    return learner, np.array(decisions), np.array(losses)


def begin(task):
    return NAGRegressor() if task == "numbers" else NAGClassifier()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("task", REFERENCES)
def test_defaults_are_what_they_are_said_to_be(task, container, kernel):
    """Decisions before each row, losses of the predictions played, which know its features, and final weights agree."""
    X, y, weights = stream(task)
    X, first = container(X), {} if task == "numbers" else {"classes": np.unique(y)}
    learner, expected, expected_losses = by_reference(task)
    with config_context(kernel=kernel):
        model, decisions, losses = begin(task), [], []
        for i in range(N_ROWS):
            if i:
                decide = model.predict if task == "numbers" else model.decision_function
                decisions.append(np.ravel(decide(X[i : i + 1])))
                losses.append(model.progressive_loss_ * model.t_)
            model.partial_fit(X[i : i + 1], y[i : i + 1], sample_weight=weights[i : i + 1], **first)
        whole = begin(task).partial_fit(X, y, sample_weight=weights, **first)
    assert_near(decisions, expected)
    assert_near(losses, expected_losses)
    coef, intercept = map(np.array, learner.linear())
    mean, scale = learner.means_and_scales()
    for ended in (model, whole):
        np.testing.assert_allclose(ended.mean_, mean, rtol=NEAR)
        np.testing.assert_allclose(ended.scale_, [s or 1.0 for s in scale], rtol=NEAR)
        assert_near(ended.coef_ * scale, (coef * scale).reshape(ended.coef_.shape))
        assert_near(np.ravel(ended.intercept_), intercept)


def assert_near(values, expected):
    np.testing.assert_allclose(values, expected, rtol=NEAR, atol=NEAR * np.abs(expected).max())


def test_the_streams_have_all_that_defaults_decide():
    """Otherwise, the test above would not see how all of it is handled."""
    for task in REFERENCES:
        learner, (X, _, weights) = by_reference(task)[0], stream(task)
        began, ended = ({i for _, i, begins in learner.turns if begins is which} for which in (True, False))
        assert {RARE_THEN_FREQUENT, RARE_FREQUENT_RARE} <= began
        assert {FREQUENT_THEN_RARE, RARE_FREQUENT_RARE} <= ended
        assert not {*RARE, FREQUENT_THEN_RARE, RARE_FREQUENT_RARE} & set(np.flatnonzero(learner.frequent))
        assert learner.frequent[ONE_HALF]
        assert np.average(X[:, ONE_HALF] != 0, weights=weights) < 0.49
        assert 3 * ROUND < len(learner.rows) < N_ROWS
        assert 0.01 < learner.trust.shares()[0] < 0.99
    assert by_reference("numbers")[0].n_held > 20
