"""
A rare class
============

**The point:** class weights move the decision threshold. You can also move
it directly, and keep calibrated probabilities.

Two rows in a hundred belong to the rare class.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import calibration_curve
from sklearn.metrics import precision_recall_curve
from sklearn.model_selection import train_test_split

from sklearn_nag import NAGClassifier

rng = np.random.default_rng(0)
n = 20_000
X = rng.normal(size=(n, 3)) * [1e-4, 1.0, 1e4]
rare = X @ [1.5e4, 1.0, 1e-4] + rng.logistic(size=n) > 5.6
X_train, X_test, y_train, y_test = train_test_split(
    X, rare, stratify=rare, random_state=0
)
print(f"rare: {rare.mean():.3f}; accuracy of 'never': {1 - rare.mean():.3f}")

# %%
# Precision and recall
# --------------------
#
# Both models offer nearly the same trade-offs. They differ in the point that
# the default threshold selects, which the dot marks.

models = {
    "unweighted": NAGClassifier(max_iter=2, tol=None, random_state=0),
    "balanced": NAGClassifier(
        class_weight="balanced", max_iter=2, tol=None, random_state=0
    ),
}
figure, ax = plt.subplots(layout="constrained")
probabilities = {}
for i, (name, model) in enumerate(models.items()):
    p = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    precision, recall, _ = precision_recall_curve(y_test, p)
    ax.plot(recall[:-1], precision[:-1], f"C{i}", label=name)
    found = p > 0.5
    of_all, of_found = y_test[found].sum() / y_test.sum(), y_test[found].mean()
    ax.plot(of_all, of_found, "o", color=f"C{i}", markersize=12)
    probabilities[name] = p
ax.set(xlabel="recall", ylabel="precision")
ax.legend()
plt.show()

# %%
# Probabilities
# -------------
#
# The probabilities of the weighted model do not match the share of rare rows.

figure, ax = plt.subplots(layout="constrained")
for name, p in probabilities.items():
    share, mean = calibration_curve(y_test, p, n_bins=5, strategy="quantile")
    ax.plot(mean[share > 0], share[share > 0], "o-", label=name)
ax.plot([1e-4, 1], [1e-4, 1], "k:")
ax.set(xscale="log", yscale="log", xlim=(1e-4, 1), ylim=(1e-4, 1))
ax.set(xlabel="predicted probability", ylabel="share of the rare class")
ax.legend()
plt.show()

# %%
# A threshold instead of weights
# ------------------------------

p = probabilities["unweighted"]
for threshold in (0.5, 0.2, 0.05):
    found = p > threshold
    print(
        f"threshold {threshold:4}: recall "
        f"{y_test[found].sum() / y_test.sum():.2f}, precision "
        f"{y_test[found].mean():.2f}"
    )
