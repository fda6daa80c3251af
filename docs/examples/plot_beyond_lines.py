"""
Curves and cells in one pass
============================

**The point:** ``NAGCellsRegressor`` learns lines, curves and cells side by
side, row by row, and soon trusts whatever suits the data.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_nag import NAGCellsRegressor
from sklearn_nag.model_selection import EffectsDisplay

# %%
# What has to be learnt
# ---------------------
#
# A wave in the one column, whose height is the other: no line and no sum of
# curves can follow it.


def draw(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    y = X[:, 1] * np.sin(5 * X[:, 0]) + 0.5 * X[:, 0]
    return X, y + 0.2 * rng.normal(size=n)


X, y = draw(6000, 0)
reg = NAGCellsRegressor(random_state=0)
rows, weights = [], []
for start in range(0, len(X), 100):
    reg.partial_fit(X[start : start + 100], y[start : start + 100])
    rows.append(start + 100)
    weights.append(reg.weights_)

# %%
# Which of them is trusted, and what the mixture predicts
# -------------------------------------------------------
#
# The first 300 rows are learnt by lines alone; then there are knots.

grid = np.linspace(-1, 1, 80)
u, v = np.meshgrid(grid, grid)
predicted = reg.predict(np.column_stack([u.ravel(), v.ravel()]))

figure, (above, below) = plt.subplots(
    2, 1, figsize=(6, 7.5), layout="constrained"
)
above.stackplot(rows, *zip(*weights), labels=list(reg.named_estimators_))
above.set(
    xlabel="rows", ylabel="weight", xlim=(rows[0], rows[-1]), ylim=(0, 1)
)
above.legend(loc="upper right")
image = below.pcolormesh(u, v, predicted.reshape(u.shape), cmap="coolwarm")
below.set(xlabel="$x_0$", ylabel="$x_1$", title="prediction")
figure.colorbar(image, ax=below)
plt.show()

# %%
# How columns matter
# ------------------
#
# Read from the weights. The height of the wave has no effect by itself.

EffectsDisplay.from_estimator(reg, ["x0", "x1", ("x0", "x1")])
plt.show()

# %%
# Scores on new rows
# ------------------

X_new, y_new = draw(2000, 1)
for name, estimator in reg.named_estimators_.items():
    print(f"{name:8} {estimator.score(X_new, y_new):.3f}")
print(f"mixture  {reg.score(X_new, y_new):.3f}")
