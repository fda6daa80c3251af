"""
A rare class
============

**The point:** weights of classes move the threshold, and so does the threshold
itself. Probabilities that nobody has weighted stay calibrated.

Two rows in a hundred are of the rare class.
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
# Precision and recall, and probabilities
# ---------------------------------------
#
# Both models offer nearly the same choices (above): the weighted one only
# starts at another point, the dot. But its probabilities are not those of
# the rows (below).

models = {
    "unweighted": NAGClassifier(max_iter=2, tol=None, random_state=0),
    "balanced": NAGClassifier(
        class_weight="balanced", max_iter=2, tol=None, random_state=0
    ),
}
figure, (above, below) = plt.subplots(
    2, 1, figsize=(6, 7.5), layout="constrained"
)
for i, (name, model) in enumerate(models.items()):
    p = model.fit(X_train, y_train).predict_proba(X_test)[:, 1]
    precision, recall, _ = precision_recall_curve(y_test, p)
    above.plot(recall[:-1], precision[:-1], f"C{i}", label=name)
    found = p > 0.5
    above.plot(y_test[found].sum() / y_test.sum(), y_test[found].mean(), "o")
    above.lines[-1].set_color(f"C{i}")
    share, mean = calibration_curve(y_test, p, n_bins=5, strategy="quantile")
    below.plot(mean[share > 0], share[share > 0], "o-")
above.set(xlabel="recall", ylabel="precision")
below.plot([1e-4, 1], [1e-4, 1], "k:")
below.set(xscale="log", yscale="log", xlim=(1e-4, 1), ylim=(1e-4, 1))
below.set(xlabel="predicted probability", ylabel="share of the rare class")
above.legend()
plt.show()

# %%
# A threshold instead of weights
# ------------------------------

p = models["unweighted"].predict_proba(X_test)[:, 1]
for threshold in (0.5, 0.2, 0.05):
    found = p > threshold
    print(
        f"threshold {threshold:4}: recall "
        f"{y_test[found].sum() / y_test.sum():.2f}, precision "
        f"{y_test[found].mean():.2f}"
    )
