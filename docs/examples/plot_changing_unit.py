"""
A unit that changes mid-stream
==============================

**The point:** a stream may change from metres to feet, or from euros to
cents. The scales adapt, and the model keeps what it learnt about the other
features.

After half of the rows, the unit of one feature becomes a hundred times
smaller, so its values become a hundred times larger.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier, ScaleInvariantClassifier

rng = np.random.default_rng(0)
n, change, size = 20_000, 10_000, 200
X = rng.normal(size=(n, 4))
y = X @ [2.0, -1.0, 1.0, 0.5] + rng.logistic(size=n) > 0
best = np.mean((X @ [2.0, -1.0, 1.0, 0.5] > 0) == y)
X[change:, 0] *= 100

# %%
# Accuracy before each batch is learnt
# ------------------------------------
#
# SGD gets a scaler fitted on the first thousand rows, as in a typical
# deployment, and a learning rate that suits the rows before the change.

scaler = StandardScaler().fit(X[:1000])
as_it_is, scaled = (lambda rows: rows), scaler.transform
learners = {
    "NAGClassifier": (NAGClassifier(average=False), as_it_is),
    "ScaleInvariantClassifier": (
        ScaleInvariantClassifier(average=False),
        as_it_is,
    ),
    "SGD, scaled": (
        SGDClassifier(
            loss="log_loss",
            learning_rate="constant",
            eta0=0.01,
            random_state=0,
        ),
        scaled,
    ),
}
figure, ax = plt.subplots(layout="constrained")
ends = np.arange(size, n, size)
for name, (learner, prepare) in learners.items():
    learner.partial_fit(prepare(X[:size]), y[:size], classes=[False, True])
    accuracy = []
    for start in ends:
        rows = slice(start, start + size)
        accuracy.append(learner.score(prepare(X[rows]), y[rows]))
        learner.partial_fit(prepare(X[rows]), y[rows])
    smooth = np.convolve(accuracy, np.ones(5) / 5, mode="valid")
    ax.plot(ends[4:], smooth, label=name)
    after = np.mean(accuracy[len(ends) // 2 :])
    print(f"{name:25} after the change: {after:.3f}")
ax.axvline(change, ls="--", color="k", lw=1)
ax.axhline(best, ls=":", color="k", label="true weights, on average")
ax.set(xlabel="rows", ylabel="accuracy, mean of 1,000 rows", ylim=(0.45, 0.95))
ax.legend(loc="lower left")
plt.show()
