"""
Regret and its bounds
=====================

The learners without a learning rate come with theorems: on every sequence of rows, their total loss exceeds that of any
fixed weights by no more than a bound that grows with the logarithm of the scale of these weights. Here both are drawn,
against the weights that are best in hindsight, for a sequence of real rows and for one on which nothing can be learnt.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from sklearn_nag import ScaleInvariantClassifier

rng = np.random.default_rng(0)
X, y = load_breast_cancer(return_X_y=True)
order = rng.permutation(len(y))
coins = rng.choice([-1.0, 1.0], size=(len(y), 5)) * 10.0 ** np.arange(-4, 6, 2)
sequences = {
    "breast cancer, 5 features": (X[order, :5], y[order]),
    "coins": (coins, rng.integers(0, 2, len(y))),
}

# %%
# The bounds
# ----------
#
# Both papers' bounds, as functions of the rows so far, the comparator ``u`` and the margins played. ``plain`` switches
# off what the theorems do not speak of: the constant feature and centring.

plain = {"fit_intercept": False, "centering": False}
alpha = 1.5


def potential_bound(X, u):
    """Kotłowski (2017), Theorem 4."""
    T, d = X.shape
    size = np.abs(u) * np.sqrt((X**2).sum(axis=0))
    return (size * np.sqrt(alpha * np.log1p(alpha * (d * T * size) ** 2))).sum() + np.exp(1 / (2 * alpha - 2.25)) * (
        1 + np.log(T)
    )


def full_bound(X, u, g):
    """Kotłowski (2017), Theorem 9."""
    size = np.linalg.norm(X @ u)
    surprise, S = 0.0, np.zeros((X.shape[1],) * 2)
    for x, slope in zip(X, g):
        S += np.outer(x, x)
        surprise += slope**2 * x @ np.linalg.pinv(S, rcond=1e-12, hermitian=True) @ x
    return size * np.sqrt(alpha * np.log1p(alpha * size**2 * np.exp(surprise / alpha))) + 1


def scinol1_bound(X, u, g):
    """Kempka, Kotłowski and Warmuth (2019), for the first algorithm."""
    T, d = X.shape
    size = 2 * np.abs(u) * np.sqrt(((g[:, None] * X) ** 2).sum(axis=0) + np.abs(X).max(axis=0) ** 2)
    return (size * np.log1p(size * T)).sum() + d * (1 + np.log(T))


learners = {
    "potential": (ScaleInvariantClassifier(update="potential", potential_alpha=alpha, **plain), potential_bound),
    "scinol1": (ScaleInvariantClassifier(update="scinol1", **plain), scinol1_bound),
    "scinol2": (ScaleInvariantClassifier(update="scinol2", **plain), None),
    "full": (ScaleInvariantClassifier(invariance="full", potential_alpha=alpha, fit_intercept=False), full_bound),
}

# %%
# Regret
# ------
#
# The loss of a learner is its ``progressive_loss_`` times the number of rows. The solid lines are regrets, the dashed
# ones bounds; for ``scinol2`` the paper's bound has more terms than fit here.

steps = np.unique(np.geomspace(5, len(y), 25).astype(int))
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for ax, (title, (rows, classes)) in zip(axes, sequences.items()):
    scale = np.abs(rows).max(axis=0)
    best = LogisticRegression(C=1e6, fit_intercept=False, max_iter=20_000).fit(rows / scale, classes).coef_[0] / scale
    signs = 2.0 * classes - 1.0
    losses = np.cumsum(np.logaddexp(0, -signs * (rows @ best)))
    slopes = 1 / (1 + np.exp(signs * (rows @ best)))  # near those played, for the bounds that ask for them
    for color, (name, (learner, bound)) in zip(plt.cm.tab10.colors, learners.items()):
        learner, regret, bounds, start = clone(learner), [], [], 0
        for stop in steps:
            learner.partial_fit(rows[start:stop], classes[start:stop], classes=[0, 1])
            regret.append(learner.progressive_loss_ * stop - losses[stop - 1])
            if bound is not None:
                extra = () if bound is potential_bound else (slopes[:stop],)
                bounds.append(bound(rows[:stop], best, *extra))
            start = stop
        ax.plot(steps, regret, color=color, label=name)
        if bounds:
            ax.plot(steps, bounds, "--", color=color)
    ax.set(title=title, xlabel="rows", xscale="log", yscale="symlog")
axes[0].set_ylabel("regret against the best in hindsight\n(dashed: bound)")
axes[1].legend()
