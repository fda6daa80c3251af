"""
Prediction intervals on a changing stream
=========================================

**The point:** intervals from the errors that a regressor made on each row
before learning it keep their coverage while the stream changes. Intervals
fixed at the start do not.

The target is a demand with daily and seasonal cycles, and noise that grows.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_nag import NAGRegressor
from sklearn_nag.model_selection import (
    IntervalDisplay,
    progressive_validation,
)

# %%
# The rows are the half hours of a year, in order. In the second half, the
# noise is three times as large, and the effect of the temperature changes its
# sign.

rng = np.random.default_rng(0)
n = 17_520
hour = np.arange(n) / 2
temperature = 15 - 10 * np.cos(2 * np.pi * hour / 8760) + rng.normal(0, 3, n)
X = np.column_stack(
    [
        np.sin(2 * np.pi * hour / 24),
        np.cos(2 * np.pi * hour / 24),
        temperature,
    ]
)
effect = np.where(np.arange(n) < n // 2, 8.0, -8.0)
noise = rng.normal(0, np.where(np.arange(n) < n // 2, 20.0, 60.0))
y = 900 + X[:, :2] @ [150.0, -60.0] + effect * (temperature - 15) + noise

# %%
# Each row is scored with the interval predicted before it was learnt.

learner = NAGRegressor(half_life=1000)
ends = np.arange(1, 21) * n // 20
result = progressive_validation(
    learner, X, y, coverage=[0.8, 0.9, 0.95], curve_at=ends
)
with np.printoptions(precision=3):
    print("coverage", result.coverage, "width", result.width)

# %%
# These are the intervals of the model from before the change. From row 100 on,
# targets leave them.

rows = slice(n // 2 - 100, n // 2 + 100)
model = NAGRegressor(half_life=1000).partial_fit(X[: n // 2], y[: n // 2])
display = IntervalDisplay.from_estimator(model, X[rows], y[rows])
display.ax_.axvline(99.5, color="0.5", linewidth=1)
display.ax_.set_ylim(200)  # room for the legend
display.ax_.legend(loc="lower left")
plt.show()

# %%
# The next figure shows the share of targets within the intervals of the
# learner that goes on learning, and within those of a model fitted on the
# first tenth of the rows.

first = NAGRegressor().partial_fit(X[: n // 10], y[: n // 10])
low, high = first.predict_interval(X, 0.9).T
kept = (low <= y) & (y <= high)
running = np.diff(result.curve["coverage"][:, 1] * ends, prepend=0) / (n // 20)

figure, ax = plt.subplots(layout="constrained")
ax.plot(ends, running, "o-", label="goes on learning")
ax.plot(
    ends, kept.reshape(20, -1).mean(axis=1), "s--", label="fixed after a tenth"
)
ax.axhline(0.9, color="0.5", linewidth=1)
ax.set(xlabel="rows", ylabel="share within 90 % intervals", ylim=(0, 1.02))
ax.legend(loc="lower left")
plt.show()
