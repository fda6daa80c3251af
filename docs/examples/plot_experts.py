"""
Mix several learners
====================

**The point:** ``HedgeClassifier`` weights learners by how well each has
predicted so far. It is nearly as good as the best of them, without knowing in
advance which that is.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

from sklearn_nag import (
    HedgeClassifier,
    NAGClassifier,
    ScaleInvariantClassifier,
)

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
y = y % 2  # odd or even

experts = [
    ("NAG", NAGClassifier(normalization="max")),
    ("sNAG", NAGClassifier(normalization="rms")),
    ("no rate", ScaleInvariantClassifier()),
    ("SGD, raw", SGDClassifier(loss="log_loss", random_state=0)),
    (
        "SGD, scaled",
        make_pipeline(
            StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)
        ),
    ),
]

# %%
# Weights during learning
# -----------------------
#
# All forecasts start with the same weight. A learner that averages its
# coefficients makes two forecasts for each row: one with the latest
# coefficients and one with their average.

clf = HedgeClassifier(experts, batch_size=10, random_state=0)
rows, weights = [], []
for start in range(0, len(X), 30):
    stop = start + 30
    clf.partial_fit(X[start:stop], y[start:stop], classes=[0, 1])
    rows.append(clf.t_)
    weights.append(clf.weights_.copy())

figure, ax = plt.subplots(layout="constrained")
ax.stackplot(rows, *zip(*weights), labels=[name for name, _ in experts])
ax.set(xlabel="rows", ylabel="weight", xlim=(rows[0], rows[-1]), ylim=(0, 1))
ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0))
plt.show()

# %%
# Losses
# ------

print(f"mixture      {clf.progressive_loss_:.3f}")
for (name, _), loss in zip(experts, clf.expert_losses_):
    print(f"{name:12} {loss:.3f}")
