"""
Targets in any unit
===================

**The point:** for regression the unit and the origin of the target matter as
little as those of the features: grams or tons, degrees Celsius or kelvin.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
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
# SGD has scaled features. Its target is in raw units, with an offset that
# grows with the unit, as temperatures in kelvin have one.

units = 10.0 ** np.arange(-6, 7, 2)
learners = {
    "NAGRegressor, raw": NAGRegressor(max_iter=5, tol=None, random_state=0),
    "SGD, scaled features": make_pipeline(
        StandardScaler(), SGDRegressor(max_iter=100, tol=None, random_state=0)
    ),
}
scores = {
    name: [
        cross_val_score(learner, X, (y + 1000) * unit, cv=folds).mean()
        for unit in units
    ]
    for name, learner in learners.items()
}
figure, ax = plt.subplots(layout="constrained")
for name, values in scores.items():
    ax.plot(units, values, marker="o", label=name)
ax.set(xscale="log", xlabel="unit of the target", ylabel="R²", ylim=(-0.1, 1))
ax.legend()
plt.show()

# %%
# In powers of two, not a bit changes:

here = NAGRegressor(random_state=0).fit(X, y)
there = NAGRegressor(random_state=0).fit(X, y * 2**30)
print((there.predict(X) == here.predict(X) * 2**30).all())
