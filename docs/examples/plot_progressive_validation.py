"""
Progressive validation: every row is a test row first
=====================================================

**The point:** on a stream, predict each row, then learn it. Training then
also validates, without held-out rows, for any learner with ``partial_fit``.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import shuffle

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import (
    ProgressiveLossDisplay,
    progressive_validation,
)

X, y = shuffle(*load_digits(return_X_y=True), random_state=0)

# %%
# Learners of this package, and others
# ------------------------------------
#
# The scaler also learns online. Each batch of ten rows is predicted before any
# of its rows is learnt.

learners = {
    "NAGClassifier": NAGClassifier(),
    "SGD, scaled online": make_pipeline(
        StandardScaler(), SGDClassifier(loss="log_loss", random_state=0)
    ),
}
display = ProgressiveLossDisplay.from_estimator(
    learners, X, y, batch_size=10, metric="score"
)
display.ax_.set_ylabel("progressive accuracy")
plt.show()

# %%
# Labels that come late
# ---------------------
#
# With ``delay=200`` a row is learnt only after 200 more rows have been
# predicted.

for delay in (0, 200):
    result = progressive_validation(NAGClassifier(), X, y, delay=delay)
    print(f"delay {delay:3}: accuracy {result.score:.3f}")
