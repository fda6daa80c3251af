"""
How fast does the world change?
===============================

**The point:** ``half_life="auto"`` learns with several half-lives side by
side. Their weights show how fast the stream is changing.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import HalfLivesDisplay

# %%
# A stream of three parts
# -----------------------
#
# At first the relation between features and labels is constant. Then it
# rotates gradually. In the last part it flips every 300 rows.

rng = np.random.default_rng(0)
n = 3000
X = rng.normal(size=(3 * n, 5))
angle = np.concatenate(
    [np.zeros(n), np.linspace(0, 4 * np.pi, n), np.zeros(n)]
)
sign = np.concatenate([np.ones(2 * n), (-1.0) ** (np.arange(n) // 300)])
z = 4 * sign * (X[:, 0] * np.cos(angle) + X[:, 1] * np.sin(angle))
y = z + rng.logistic(size=3 * n) > 0

# %%
# Each row is predicted before it is learnt
# -----------------------------------------

learners = {'half_life="auto"': NAGClassifier(half_life="auto")}
learners["half_life=None"] = NAGClassifier()
right = {}
for name, learner in learners.items():
    played = []
    for start in range(0, 3 * n, 20):
        batch, labels = X[start : start + 20], y[start : start + 20]
        if start > 0:
            played.append(learner.score(batch, labels))
        learner.partial_fit(batch, labels, classes=[False, True])
    right[name] = np.array(played)
    print(f"{name}: {np.mean(played):.3f} of the labels are right")

# %%
# Weights of the half-lives
# -------------------------

auto = NAGClassifier(half_life="auto")
HalfLivesDisplay.from_estimator(auto, X, y)
plt.show()

# %%
# Accuracy over time
# ------------------

figure, ax = plt.subplots(layout="constrained")
for name, values in right.items():
    smooth = np.convolve(values, np.ones(15) / 15, mode="valid")
    ax.plot(160 + 20 * np.arange(len(smooth)), smooth, label=name)
ax.set(xlabel="rows", ylabel="accuracy")
ax.legend(loc="lower left")
plt.show()
