"""
Several labels a row
====================

**The point:** a ``y`` of zeros and ones in several columns is all that it
takes: one model learns all labels in one pass, from columns in any units.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import f1_score
from sklearn.multioutput import MultiOutputClassifier

from sklearn_nag import NAGClassifier

# %%
# Rows that have none, some or all of five labels
# -----------------------------------------------
#
# Their columns are in units that differ by up to ten thousand.

X, Y = make_multilabel_classification(
    6000, 30, n_classes=5, n_labels=2, random_state=4
)
X *= 10.0 ** np.random.default_rng(0).uniform(-2, 2, 30)
X_new, Y_new = X[5000:], Y[5000:]

# %%
# Beside one SGDClassifier for each label
# ---------------------------------------
#
# Both learn batches of rows as they come. ``predict`` has a column for each
# label, as scikit-learn's metrics take it.

clf = NAGClassifier()
each = MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0))
rows, scores = [], {"NAGClassifier": [], "an SGDClassifier a label": []}
for start in range(0, 5000, 100):
    batch = slice(start, start + 100)
    clf.partial_fit(X[batch], Y[batch])
    each.partial_fit(X[batch], Y[batch], classes=[[0, 1]] * 5)
    rows.append(start + 100)
    for name, learner in zip(scores, (clf, each)):
        predicted = learner.predict(X_new)
        scores[name].append(f1_score(Y_new, predicted, average="micro"))

# %%
# The scores on the way:

figure, ax = plt.subplots(layout="constrained")
for name, values in scores.items():
    ax.plot(rows, values, label=name)
ax.set(xlabel="rows learnt", ylabel="F1 on new rows", ylim=(0, 1))
ax.legend(loc="lower right")
plt.show()

# %%
# Each label has its probability
# ------------------------------
#
# They do not add up to 1. Where a label was given the probability 0.7, it is
# there in 70 of 100 rows.

figure, ax = plt.subplots(layout="constrained")
probability = clf.predict_proba(X_new)
bins = np.linspace(0, 1, 9)
for k in range(5):
    group = np.digitize(probability[:, k], bins[1:-1])
    shown = [i for i in range(8) if (group == i).sum() >= 20]
    said = [probability[group == i, k].mean() for i in shown]
    true = [Y_new[group == i, k].mean() for i in shown]
    ax.plot(said, true, "o-", label=f"label {k}")
ax.plot([0, 1], [0, 1], color="0.8", zorder=0)
ax.set(xlabel="predicted probability", ylabel="share of rows with it")
ax.legend(loc="upper left")
plt.show()
