"""
Regret and its bounds
=====================

The learners without a learning rate come with theorems: on every sequence of rows, their total loss exceeds that of any
fixed weights by no more than a bound that grows with the logarithm of the scale of these weights. Here both are drawn,
against the weights that are best in hindsight, for a sequence of real rows and for one on which nothing can be learnt.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from sklearn_nag import ScaleInvariantClassifier
from sklearn_nag.regret import (
    RegretDisplay,
    best_in_hindsight,
    full_bound,
    potential_bound,
    record,
    scaling_adversary,
    scinol1_bound,
)

rng = np.random.default_rng(0)
X, y = load_breast_cancer(return_X_y=True)
order = rng.permutation(len(y))
coins = scaling_adversary(rng.choice([-1.0, 1.0], size=(len(y), 5)), orders=10, random_state=0)
sequences = {
    "breast cancer, 5 features": (X[order, :5], y[order]),
    "coins": (coins, rng.integers(0, 2, len(y))),
}

# %%
# The learners
# ------------
#
# ``plain`` switches off what the theorems do not speak of: the constant feature and centring. For ``scinol2`` the
# paper's bound has more terms, and is not drawn.

plain = {"fit_intercept": False, "centering": False}
learners = {
    "potential": ScaleInvariantClassifier(update="potential", **plain),
    "scinol1": ScaleInvariantClassifier(update="scinol1", **plain),
    "scinol2": ScaleInvariantClassifier(update="scinol2", **plain),
    "full": ScaleInvariantClassifier(invariance="full", fit_intercept=False),
}
bounds = {"potential": potential_bound, "scinol1": scinol1_bound, "full": full_bound}

# %%
# Regret
# ------
#
# The solid lines are regrets, the dashed ones bounds.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for ax, (title, (rows, classes)) in zip(axes, sequences.items()):
    runs = {name: record(learner, rows, classes) for name, learner in learners.items()}
    best = best_in_hindsight(runs["potential"])
    RegretDisplay.from_runs(runs, best, bounds).plot(ax)
    ax.set_title(title)
axes[0].get_legend().remove()
