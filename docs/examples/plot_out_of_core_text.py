"""
Text that does not fit in memory
================================

**The point:** messages can be hashed and learnt as they arrive, a few hundred
at a time, without storing them.

The messages are made up. Their words have the frequencies of a natural
language, and each of six topics uses some words more often.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.linear_model import SGDClassifier

from sklearn_nag import FTRLClassifier, NAGClassifier

rng = np.random.default_rng(0)
vocabulary = np.array([f"word{i}" for i in range(20_000)])
topics = np.arange(6)
frequent = 1 / np.arange(1, 20_001)
shares = frequent * np.where(rng.random((6, 20_000)) < 0.02, 8.0, 1.0)
shares /= shares.sum(axis=1, keepdims=True)


def batches(n_batches, size=250):
    """Messages, and their topics."""
    for _ in range(n_batches):
        chosen = rng.choice(topics, size)
        yield (
            [
                " ".join(rng.choice(vocabulary, 20, p=shares[t]))
                for t in chosen
            ],
            chosen,
        )


# %%
# One pass
# --------
#
# ``HashingVectorizer`` keeps no vocabulary. Each batch is predicted before it
# is learnt. The progressive accuracy therefore measures how well a learner
# predicts messages that it has not seen.

words = HashingVectorizer(n_features=2**16, alternate_sign=False)
learners = {
    "NAGClassifier": NAGClassifier(),
    "FTRLClassifier, L1": FTRLClassifier(l1=0.5),
    "SGDClassifier": SGDClassifier(random_state=0),
}
learnt: list[int] = []
right: dict[str, list[float]] = {name: [] for name in learners}
for messages, topic in batches(40):
    X = words.transform(messages)
    for name, learner in learners.items():
        if learnt:
            right[name].append(np.mean(learner.predict(X) == topic))
        learner.partial_fit(X, topic, classes=topics)
    learnt.append(len(messages))

figure, ax = plt.subplots(layout="constrained")
for name, shares_right in right.items():
    so_far = np.cumsum(shares_right) / np.arange(1, len(shares_right) + 1)
    ax.plot(np.cumsum(learnt)[1:], so_far, label=name)
ax.axhline(1 / 6, ls=":", color="k", label="one topic for all")
ax.set(xlabel="messages", ylabel="progressive accuracy")
ax.legend()
plt.show()

# %%
# Non-zero weights
# ----------------
#
# With the L1 penalty, few words keep a weight.

for name, learner in learners.items():
    print(f"{name}: {np.count_nonzero(learner.coef_):,} weights")
