"""Sequences of rows on which regret bounds are tested, and fixed weights to compare with."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LinearRegression, LogisticRegression

from .bounded_helpers import LOSSES, make_state, progressive


def random_rows(rng):
    X = rng.normal(size=(400, 4)) * [1e-3, 1.0, 50.0, 1e4]
    return X, np.sign(X @ [1e3, -1.0, 0.02, 1e-4] + rng.normal(size=400))


def real_rows(rng):
    X, y = load_breast_cancer(return_X_y=True)
    order = rng.permutation(len(X))
    return X[order][:, :6], 2.0 * y[order] - 1.0


def growing_rows(rng):
    """Rows of the adversary of Ross et al., section 4: every value dwarfs all earlier ones."""
    t = np.arange(60)
    X = np.column_stack([2.0**t, rng.normal(size=60) * 3.0**t])
    return X, np.where(rng.random(60) < 0.7, 1.0, -1.0)


def contrary_rows(rng):
    """Random signs: nothing can be learnt, and any learner loses to the best in hindsight (2017, Theorem 6)."""
    X = rng.choice([-1.0, 1.0], size=(300, 3)) * [1.0, 1e-6, 1e6]
    return X, rng.choice([-1.0, 1.0], size=300)


SEQUENCES = [random_rows, real_rows, growing_rows, contrary_rows]


def comparators(X, y, loss, rng):
    """Yield zero, random directions of many lengths, and weights that solvers find to be good in hindsight."""
    scale = 1.0 / np.maximum(np.abs(X).max(axis=0), 1e-300)
    yield np.zeros(X.shape[1])
    for length in 10.0 ** np.arange(-3, 4):
        for _ in range(10):
            yield length * scale * rng.normal(size=X.shape[1])
    for strength in (0.01, 1.0, 100.0):
        best = LogisticRegression(C=strength, fit_intercept=False, max_iter=2000).fit(X * scale, y > 0).coef_[0]
        for factor in (0.3, 1.0, 3.0):
            yield factor * best * scale
    yield LinearRegression(fit_intercept=False).fit(X * scale, y).coef_ * scale


def regrets(X, y, loss, kind, rng, alpha=1.5):
    state = make_state(X.shape[1], kind, alpha=alpha, intercept=False, averaged=False)
    played = progressive(state, X, y, loss=loss)[:, 0]
    value = LOSSES[loss]().value
    own = value(played, y).sum()
    for u in comparators(X, y, loss, rng):
        yield u, own - value(X @ u, y).sum(), played, state
