"""
Text: as sure as it is right
============================

After one pass over few texts with many words, probabilities of a linear model
are often nearer to one half than they should be, as it is still on its way.
With ``calibration="progressive"`` it sees that by the texts that it predicted
just before it learnt them. No text is held out.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_nag import NAGClassifier
from sklearn_nag.model_selection import progressive_validation

# %%
# Made-up texts of two kinds, of 60 words each: all words come in both, some
# more often in one of them.

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
# One pass of each over the texts. The scores are of probabilities that each
# text had before it was learnt.

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
# Sets of classes hold the right one as often as was asked for, or more often
# where the most probable class alone does. The second number is how many
# classes they have.

sets = results["calibrated"]
with np.printoptions(precision=3):
    print("held", sets.coverage, "classes", sets.width)

# %%
# ``predictions`` has what scikit-learn's displays take. Where the curve is
# steeper than the diagonal, the right class comes more often than expected.

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
# The log loss gains by it from early on.

figure, ax = plt.subplots(layout="constrained")
for name, result in results.items():
    ax.plot(ends, -result.curve["score"], "o-", label=name)
ax.set(xlabel="texts", ylabel="log loss so far")
ax.legend()
plt.show()
