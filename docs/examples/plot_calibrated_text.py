"""
Calibrated probabilities for text
=================================

**The point:** ``calibration="progressive"`` calibrates probabilities during
one pass, without held-out texts.

After one pass over few texts with many words, the probabilities of a linear
model are often too close to one half, because the model is still learning.
Progressive calibration corrects them with the predictions that the model made
for each text before learning it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import progressive_validation

# %%
# The made-up texts are of two kinds and have 60 words each. All words occur in
# both kinds, some more often in one of them.

rng = np.random.default_rng(0)
n, n_words = 4000, 3000
often = 1 / np.arange(10, n_words + 10)
leaning = rng.normal(0, 0.2, n_words)
words = np.array([f"word{i}" for i in range(n_words)])
kind = rng.integers(0, 2, n)
share = [often * np.exp(side * leaning) for side in (-1, 1)]
texts = [
    " ".join(rng.choice(words, 60, p=share[k] / share[k].sum())) for k in kind
]
X = HashingVectorizer(norm=None, alternate_sign=False).transform(texts)

# %%
# Each learner makes one pass over the texts. The scores are for the
# probabilities predicted for each text before it was learnt.

ends = np.arange(500, n + 1, 500)
results = {}
for name, clf in (
    ("plain", NAGClassifier()),
    ("calibrated", NAGClassifier(calibration="progressive")),
):
    results[name] = progressive_validation(
        clf,
        X,
        kind,
        scoring="neg_log_loss",
        curve_at=ends,
        coverage=[0.8, 0.9, 0.95] if clf.calibration else None,
    )
    print(f"{name}: log loss {-results[name].score:.3f}")

# %%
# Prediction sets contain the right class as often as requested, or more often
# if the most probable class alone already does. ``classes`` is the mean number
# of classes in a set.

sets = results["calibrated"]
with np.printoptions(precision=3):
    print("coverage", sets.coverage, "classes", sets.width)

# %%
# ``predictions`` can be passed to scikit-learn's displays. Where the curve is
# steeper than the diagonal, probabilities are too close to one half.

figure, ax = plt.subplots(layout="constrained")
for name, result in results.items():
    CalibrationDisplay.from_predictions(
        result.predictions["y"],
        result.predictions["predict_proba"][:, 1],
        n_bins=10,
        name=name,
        ax=ax,
    )
ax.set(xlabel="predicted probability", ylabel="share of texts with the class")
plt.show()

# %%
# Calibration improves the log loss from early on.

figure, ax = plt.subplots(layout="constrained")
for name, result in results.items():
    ax.plot(ends, -result.curve["score"], "o-", label=name)
ax.set(xlabel="texts", ylabel="log loss so far")
ax.legend()
plt.show()
