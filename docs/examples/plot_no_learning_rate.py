"""
Learners without a learning rate
================================

**The point:** ``ScaleInvariantRegressor`` has no learning rate. With
``invariance="full"``, correlated features do not slow it down either.

The features become more and more alike, while the target stays as easy.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from sklearn_nag import NAGRegressor, ScaleInvariantRegressor

rng = np.random.default_rng(0)
common, own = rng.normal(size=(2000, 1)), rng.normal(size=(2000, 6))
weights = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
units = 10.0 ** np.arange(-3, 3)

# %%
# One pass over 1,000 rows
# ------------------------
#
# Each feature is the sum of a number common to all features and a part of its
# own. Only its own part matters; ``share`` is the size of that part.

learners = {
    "NAGRegressor": NAGRegressor(max_iter=1, random_state=0),
    "one scale per feature": ScaleInvariantRegressor(
        max_iter=1, random_state=0
    ),
    'invariance="full"': ScaleInvariantRegressor(
        invariance="full", max_iter=1, random_state=0
    ),
}
shares = 10.0 ** np.linspace(0, -3, 7)
scores: dict[str, list[float]] = {name: [] for name in learners}
for share in shares:
    X = (common + share * own) * units
    y = own @ weights + 0.1 * rng.normal(size=2000)
    split = train_test_split(X, y, test_size=0.5, random_state=0)
    for name, learner in learners.items():
        learner.fit(split[0], split[2])
        scores[name].append(learner.score(split[1], split[3]))

figure, ax = plt.subplots(layout="constrained")
for name, values in scores.items():
    ax.plot(shares, values, marker="o", label=name)
ax.set(xscale="log", xlabel="size of each feature's own part", ylabel="R²")
ax.set(ylim=(-0.1, 1.05))
ax.invert_xaxis()
ax.legend()
plt.show()
