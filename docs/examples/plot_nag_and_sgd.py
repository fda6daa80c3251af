"""
NAGClassifier beside SGDClassifier on raw data
==============================================

The features of the breast cancer data set differ in size by six orders of magnitude. Stochastic gradient descent needs
them scaled first; NAGClassifier learns origins and scales on the way. Learning rates are searched by ``GridSearchCV``,
the same way for all.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGClassifier

X, y = load_breast_cancer(return_X_y=True)
print(f"smallest and largest scale: {np.abs(X).max(axis=0).min():.3g}, {np.abs(X).max(axis=0).max():.5g}")

# %%
# The learners
# ------------
#
# All make five passes. ``learning_rate="constant"`` lets ``eta0`` mean for SGD what it means for NAGClassifier.

passes = {"max_iter": 5, "tol": None, "random_state": 0}
sgd = SGDClassifier(loss="log_loss", learning_rate="constant", **passes)
learners = {
    "NAGClassifier": ("passthrough", NAGClassifier(**passes)),
    "largest value as scale": ("passthrough", NAGClassifier(normalization="max", **passes)),
    "SGD": ("passthrough", sgd),
    "SGD, scaled": (StandardScaler(), sgd),
}

# %%
# The search
# ----------

etas = 10.0 ** np.arange(-6, 4)
folds = StratifiedKFold(3, shuffle=True, random_state=0)
searches = {}
for name, (scaler, learner) in learners.items():
    pipeline = Pipeline([("scale", scaler), ("learn", learner)])
    searches[name] = GridSearchCV(pipeline, {"learn__eta0": etas}, cv=folds).fit(X, y)
    print(
        f"{name:22} best eta {searches[name].best_params_['learn__eta0']:<8g} accuracy {searches[name].best_score_:.3f}"
    )

# %%
# Accuracy against learning rate
# ------------------------------

for name, search in searches.items():
    plt.plot(etas, search.cv_results_["mean_test_score"], "--" if "scaled" in name else "-", marker=".", label=name)
plt.xscale("log")
plt.xlabel("learning rate")
plt.ylabel("cross-validated accuracy")
plt.ylim(0.8, 1.0)
plt.legend()
plt.show()

# %%
# In any units
# ------------
#
# Grams instead of kilograms, millimetres instead of miles: the predictions are the same.

units = 10.0 ** np.random.default_rng(0).uniform(-6, 6, X.shape[1])
here = NAGClassifier(random_state=0).fit(X, y)
there = NAGClassifier(random_state=0).fit(X * units, y)
print("largest change of a probability:", np.abs(here.predict_proba(X) - there.predict_proba(X * units)).max())
