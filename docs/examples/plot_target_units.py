"""
Targets in any unit
===================

**The point:** for regression, the unit and the origin of the target matter as
little as those of the features: grams or tons, degrees Celsius or kelvin.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDRegressor
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_nag import NAGRegressor

X, y = load_diabetes(return_X_y=True, scaled=False)
folds = KFold(5, shuffle=True, random_state=0)

# %%
# R² against the unit of the target
# ---------------------------------
#
# The Huber loss turns linear at ``epsilon``. In SGD, ``epsilon`` and the
# learning rate depend on the unit of the target. The same is true of NAG
# without ``target_normalization``. With it, ``epsilon`` is in standard
# deviations of the target.

units = 10.0 ** np.arange(-6, 7, 2)
nag = NAGRegressor(
    loss="huber", epsilon=1.35, max_iter=20, tol=None, random_state=0
)
sgd = SGDRegressor(
    loss="huber", epsilon=1.35, max_iter=20, tol=None, random_state=0
)
learners = {
    "NAGRegressor": nag,
    "without target_normalization": clone(nag).set_params(
        target_normalization=None
    ),
    "SGD, scaled features": make_pipeline(StandardScaler(), sgd),
}
warnings.simplefilter("ignore", ConvergenceWarning)  # of units too large
scores = {
    name: [
        cross_val_score(learner, X, y * unit, cv=folds).mean()
        for unit in units
    ]
    for name, learner in learners.items()
}
figure, ax = plt.subplots(layout="constrained")
for name, values in scores.items():
    ax.plot(units, values, marker="o", label=name)
ax.set(xscale="log", xlabel="unit of the target", ylabel="R²")
ax.set_ylim(-1, 0.6)  # lower is worse than predicting the mean
ax.legend()
plt.show()

# %%
# If the unit changes by a power of two, predictions change by exactly the same
# factor, to the last bit:

here = NAGRegressor(random_state=0).fit(X, y)
there = NAGRegressor(random_state=0).fit(X, y * 2**30)
print((there.predict(X) == here.predict(X) * 2**30).all())
