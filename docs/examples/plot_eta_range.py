"""
How far can the learning rate be off?
=====================================

**The point:** with the defaults, learning rates that differ by a factor of a
thousand are equally good here. ``GridSearchCV`` and a display show this.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_nag import NAGRegressor
from sklearn_nag.model_selection import EtaSweepDisplay, eta_sweep

X, y = load_diabetes(return_X_y=True, scaled=False)
eta0s = 4.0 ** np.arange(-5, 6)

# %%
# Two learners, one search each
# -----------------------------
#
# The second learner is NAG as the paper prints it: features are not centred,
# weights are not averaged, and the unit of the target matters.

nag = NAGRegressor(max_iter=5, tol=None, random_state=0)
learners = {
    "defaults": nag,
    "NAG, as printed": clone(nag).set_params(
        normalization="max",
        centering=False,
        importance_aware=False,
        average=False,
        target_normalization=None,
        clip=None,
    ),
}
warnings.simplefilter("ignore", ConvergenceWarning)  # of the bad ends
folds = KFold(5, shuffle=True, random_state=0)
searches = {
    name: GridSearchCV(learner, {"eta0": eta0s}, cv=folds).fit(X, y)
    for name, learner in learners.items()
}
figure, ax = plt.subplots(figsize=(6.4, 5.6), layout="constrained")
display = EtaSweepDisplay.from_sweeps(searches, ax=ax)
ax.legend(
    title="bars: within 5 % or 1 standard error of the best",
    loc="upper center",
    bbox_to_anchor=(0.5, -0.15),
    ncols=2,
)
plt.show()

# %%
# The ends of each bar:

for name, ends in display.ranges_.items():
    print(f"{name}: {'no rate' if ends is None else ends}")

# %%
# The same in one pass
# --------------------
#
# ``eta_sweep`` learns with all rates at once, and scores the predictions made
# before each row was learnt. It needs no folds, and can read rows from a file.

sweep = eta_sweep(NAGRegressor(), X, y, eta0s)
print(f"best of {len(eta0s)} rates in one pass: {sweep.best_eta0:g}")
