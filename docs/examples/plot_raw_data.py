"""
Raw data, with and without a scaler
===================================

**The point:** SGD needs scaled features; ``NAGClassifier`` does not.

The features of the breast cancer data differ in size by five orders of
magnitude. Each learner makes five passes, at many learning rates.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier

X, y = load_breast_cancer(return_X_y=True)
largest = np.abs(X).max(axis=0)
print(f"largest values: from {largest.min():.3g} to {largest.max():.4g}")

# %%
# Three learners
# --------------
#
# With ``learning_rate="constant"``, ``eta0`` means the same for SGD as for
# ``NAGClassifier``.

nag = NAGClassifier(max_iter=5, tol=None, random_state=0)
sgd = SGDClassifier(
    "log_loss",
    learning_rate="constant",
    eta0=1.0,
    max_iter=5,
    tol=None,
    random_state=0,
)
learners = {
    "NAGClassifier, raw": lambda eta: clone(nag).set_params(eta0=eta),
    "SGD, raw": lambda eta: clone(sgd).set_params(eta0=eta),
    "SGD, scaled": lambda eta: make_pipeline(
        StandardScaler(), clone(sgd).set_params(eta0=eta)
    ),
}
warnings.simplefilter("ignore", ConvergenceWarning)  # of the bad ends
etas = 10.0 ** np.arange(-5, 4)
folds = StratifiedKFold(3, shuffle=True, random_state=0)
errors = {
    name: [
        1 - cross_val_score(learner(eta), X, y, cv=folds).mean()
        for eta in etas
    ]
    for name, learner in learners.items()
}

# %%
# Error against learning rate
# ---------------------------
#
# On raw features, no learning rate makes SGD good. On scaled features, at a
# different rate, it is as good as ``NAGClassifier`` on raw ones. The dotted
# line is the error of predicting the most frequent class.

figure, ax = plt.subplots(layout="constrained")
for name, values in errors.items():
    ax.plot(etas, values, marker="o", label=name)
majority = max(y.mean(), 1 - y.mean())
ax.axhline(1 - majority, ls=":", color="k")
ax.set(xscale="log", ylim=(0, 0.45))
ax.set(xlabel="learning rate", ylabel="cross-validated error")
ax.legend()
plt.show()

# %%
# Other units, the same predictions
# ---------------------------------
#
# Now the unit of each feature changes by a random factor.

units = 10.0 ** np.random.default_rng(0).uniform(-6, 6, X.shape[1])
here = NAGClassifier(random_state=0).fit(X, y)
there = NAGClassifier(random_state=0).fit(X * units, y)
change = here.predict_proba(X) - there.predict_proba(X * units)
print(f"largest change of a probability: {np.abs(change).max():.1e}")
