"""
Several labels for each row
===========================

**The point:** pass a ``y`` with several columns of zeros and ones. One model
learns all labels in one pass, from features in any units.
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
# The units of the features differ by a factor of up to ten thousand.

X, Y = make_multilabel_classification(
    6000, 30, n_classes=5, n_labels=2, random_state=4
)
X *= 10.0 ** np.random.default_rng(0).uniform(-2, 2, 30)
X_new, Y_new = X[5000:], Y[5000:]

# %%
# Compared with one SGDClassifier for each label
# ----------------------------------------------
#
# Both learn batches of rows as they come. ``predict`` returns a column for
# each label, which scikit-learn's metrics accept.

clf = NAGClassifier()
each = MultiOutputClassifier(SGDClassifier(loss="log_loss", random_state=0))
rows, scores = [], {"NAGClassifier": [], "one SGDClassifier per label": []}
for start in range(0, 5000, 100):
    batch = slice(start, start + 100)
    clf.partial_fit(X[batch], Y[batch])
    each.partial_fit(X[batch], Y[batch], classes=[[0, 1]] * 5)
    rows.append(start + 100)
    for name, learner in zip(scores, (clf, each)):
        predicted = learner.predict(X_new)
        scores[name].append(f1_score(Y_new, predicted, average="micro"))

# %%
# The scores during learning:

figure, ax = plt.subplots(layout="constrained")
for name, values in scores.items():
    ax.plot(rows, values, label=name)
ax.set(xlabel="rows learnt", ylabel="F1 on new rows", ylim=(0, 1))
ax.legend(loc="lower right")
plt.show()

# %%
# Each label has its own probability
# ----------------------------------
#
# The probabilities do not add up to 1. Among rows for which a label has the
# probability 0.7, it should be present in 70 of 100.

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
ax.set(xlabel="predicted probability", ylabel="share of rows with the label")
ax.legend(loc="upper left")
plt.show()
