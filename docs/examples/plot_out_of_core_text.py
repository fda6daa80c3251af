"""
Text that does not fit in memory
================================

**The point:** messages can be hashed and learnt as they come, a few hundred at
a time, and nothing of them has to be kept.

The messages are made up of words with the frequencies of a natural language;
spam has its own favourites.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from sklearn_nag import FTRLClassifier, NAGClassifier

rng = np.random.default_rng(0)
vocabulary = np.array([f"word{i}" for i in range(20_000)])
frequent = 1 / np.arange(1, 20_001)
spammy = frequent * np.where(rng.random(20_000) < 0.02, 8.0, 1.0)
shares = [p / p.sum() for p in (frequent, spammy)]


def batches(n_batches, size=250):
    """Messages, and whether they are spam."""
    for _ in range(n_batches):
        spam = (rng.random(size) < 0.3).astype(int)
        yield (
            [
                " ".join(rng.choice(vocabulary, 20, p=shares[kind]))
                for kind in spam
            ],
            spam,
        )


# %%
# One pass
# --------
#
# ``HashingVectorizer`` keeps no vocabulary. Each batch is scored before it is
# learnt: by the mean log loss of the predictions made before each row.

words = HashingVectorizer(n_features=2**16, alternate_sign=False, norm=None)
learners = {
    "NAGClassifier": NAGClassifier(),
    "FTRLClassifier, L1": FTRLClassifier(l1=2.0),
}
rows, losses = [], {name: [] for name in learners}
for messages, spam in batches(30):
    X = words.transform(messages)
    for name, learner in learners.items():
        learner.partial_fit(X, spam, classes=[0, 1])
        losses[name].append(learner.progressive_loss_)
    rows.append(learner.t_)

figure, ax = plt.subplots(layout="constrained")
for name, curve in losses.items():
    ax.plot(rows, curve, label=name)
prior = -(0.3 * np.log(0.3) + 0.7 * np.log(0.7))
ax.axhline(prior, ls=":", color="k", label="shares of the classes")
ax.set(xlabel="messages", ylabel="progressive log loss")
ax.legend()
plt.show()

# %%
# What is kept
# ------------
#
# L1 leaves weights to few words.

for name, learner in learners.items():
    print(f"{name}: {np.count_nonzero(learner.coef_):,} weights")
