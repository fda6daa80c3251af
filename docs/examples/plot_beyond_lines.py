"""
Curves and cells in one pass
============================

**The point:** ``NAGCellsRegressor`` learns lines, curves and cells side by
side, row by row, and soon gives most weight to those that suit the data.
"""

from itertools import zip_longest

import matplotlib.pyplot as plt
import numpy as np

from sklearn_nag import NAGCellsRegressor
from sklearn_nag.model_selection import EffectsDisplay

# %%
# The data
# --------
#
# The target is a wave in the first column, whose height is the second column.
# No line and no sum of curves can follow it.


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
# Weights of the mixture
# ----------------------
#
# For the first 300 rows there are only lines and products; then curves and
# cells have their knots. A second generation of cells, which cut the columns
# that have mattered so far, joins after 1,000 rows. A third one, with better
# evidence, joins after 5,000.

names = list(reg.named_estimators_)
figure, ax = plt.subplots(layout="constrained")
ax.stackplot(rows, *zip_longest(*weights, fillvalue=0.0), labels=names)
ax.set(xlabel="rows", ylabel="weight", xlim=(rows[0], rows[-1]), ylim=(0, 1))
figure.legend(loc="outside upper center", ncols=4)
plt.show()

# %%
# What the mixture predicts
# -------------------------

grid = np.linspace(-1, 1, 80)
u, v = np.meshgrid(grid, grid)
predicted = reg.predict(np.column_stack([u.ravel(), v.ravel()]))

figure, ax = plt.subplots(layout="constrained")
image = ax.pcolormesh(u, v, predicted.reshape(u.shape), cmap="coolwarm")
ax.set(xlabel="$x_0$", ylabel="$x_1$")
figure.colorbar(image, ax=ax, label="prediction")
plt.show()

# %%
# Effects of the columns
# ----------------------
#
# Effects are computed from the weights. The height of the wave, ``x1``, has no
# effect by itself.

effects = EffectsDisplay.effects_of(reg, ["x0", "x1", ("x0", "x1")])
_, ax = plt.subplots(figsize=(6.4, 9), layout="constrained")
EffectsDisplay(effects).plot(ax, n_cols=1)
plt.show()

# %%
# Scores on new rows
# ------------------

X_new, y_new = draw(2000, 1)
for name, estimator in reg.named_estimators_.items():
    print(f"{name:8} {estimator.score(X_new, y_new):.3f}")
print(f"mixture  {reg.score(X_new, y_new):.3f}")

# sphinx_gallery_thumbnail_number = 2
