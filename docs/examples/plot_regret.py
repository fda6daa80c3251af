"""
Regret and its bounds
=====================

**The point:** for any sequence of rows, theorems bound the regret of learners
without a learning rate: the loss in excess of the best fixed weights. This
example measures the regret and compares it with the bounds.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer

from sklearn_nag import ScaleInvariantClassifier
from sklearn_nag.regret import (
    RegretDisplay,
    best_in_hindsight,
    full_bound,
    record,
    scaling_adversary,
    scinol1_bound,
)

rng = np.random.default_rng(0)
X, y = load_breast_cancer(return_X_y=True)
order = rng.permutation(len(y))
X = (X - X.mean(axis=0))[order, :5]
coins = scaling_adversary(
    rng.choice([-1.0, 1.0], size=(len(y), 5)), orders=10, random_state=0
)
sequences = {
    "breast cancer, 5 features": (X, y[order]),
    "coins": (coins, rng.integers(0, 2, len(y))),
}

# %%
# Three learners
# --------------
#
# The theorems do not cover an intercept or centring, so these are switched
# off. No bound is drawn for ``scinol2``.

learners = {
    "scinol1": ScaleInvariantClassifier(
        update="scinol1", fit_intercept=False, centering=False
    ),
    "scinol2": ScaleInvariantClassifier(
        update="scinol2", fit_intercept=False, centering=False
    ),
    "full": ScaleInvariantClassifier(invariance="full", fit_intercept=False),
}
bounds = {"scinol1": scinol1_bound, "full": full_bound}

# %%
# Regret, and bounds as dashed lines
# ----------------------------------
#
# All regrets stay below their bounds and grow more slowly than the number of
# rows.


def play(title):
    """Let all learners play a sequence, and draw their regret."""
    rows, classes = sequences[title]
    runs = {
        name: record(learner, rows, classes)
        for name, learner in learners.items()
    }
    best = best_in_hindsight(runs["full"])
    display = RegretDisplay.from_runs(runs, best, bounds).plot()
    display.ax_.set_title(title)
    plt.show()
    mean_losses = [
        f"{name} {run.losses.mean():.3f}" for name, run in runs.items()
    ]
    print(f"{title}: mean loss {', '.join(mean_losses)}, "
          f"best weights {runs['full'].loss_of(best).mean():.3f}")  # fmt: skip


play("breast cancer, 5 features")

# %%
# The labels of the coins are random, so there is nothing to learn. The regret
# is close to zero.

play("coins")
