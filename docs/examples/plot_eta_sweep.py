"""
A range of learning rates in one pass
=====================================

Figures 2 and 3 of Ross, Mineiro and Langford ask how far a learning rate may be from the best one. Here is the question
in three lines: all learning rates are heads of one pass, and each row is predicted before it is learnt.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import EtaSweepDisplay, FeatureScalesDisplay, ProgressiveLossDisplay, eta_sweep

X, y = shuffle(*load_breast_cancer(return_X_y=True, as_frame=True), random_state=0)
eta0s = 10.0 ** np.arange(-5, 4.5, 0.5)

# %%
# The learners
# ------------
#
# The defaults, and what the paper prints: NAG, sNAG, and AdaGrad, which learns no scales. Features are in raw units.

printed = {"multi_class": "ovr", "centering": False, "importance_aware": False, "average": False}
learners = {
    "defaults": NAGClassifier(),
    "NAG": NAGClassifier(normalization="max", **printed),
    "sNAG": NAGClassifier(normalization="rms", **printed),
    "AdaGrad": NAGClassifier(normalization=None, **printed),
}
sweeps = {name: eta_sweep(learner, X, y, eta0s) for name, learner in learners.items()}
for name, sweep in sweeps.items():
    print(f"{name:10} best error {sweep.errors.min():.3f} at eta0 = {eta0s[sweep.errors.argmin()]:.2g}")

# %%
# Error against learning rate
# ---------------------------
#
# A bar shows where the error is within 5 % of a learner's best.

EtaSweepDisplay.from_sweeps(sweeps)
plt.show()

# %%
# Rows seen
# ---------
#
# Progressive accuracy at the defaults, beside SGDClassifier, which needs a scaler; it, too, learns as it goes.

scaled = make_pipeline(StandardScaler(), SGDClassifier(random_state=0))
ProgressiveLossDisplay.from_estimator({"NAGClassifier": NAGClassifier(), "SGDClassifier, scaled": scaled}, X, y)
plt.show()

# %%
# What the scales are
# -------------------
#
# The best model of the sweep is there already, fitted.

sweep = sweeps["defaults"]
FeatureScalesDisplay.from_estimator(sweep.estimators[sweep.best_index])
plt.show()
