"""Models that predict with their latest weights and the average of past ones, by how right each has been so far."""

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from .lifts import LARGEST
from .mixture import Mixture
from .model import LinearState

ROUND = 32  # rows between changes of the share of the latest weights: exponentials cost more than a narrow row


def _no_mixture():
    return Mixture(np.zeros((0, 2)), np.zeros(0))


@dataclass(eq=False)
class JudgedState(LinearState):
    """Base of the models in which the latest weights and their average share in predictions, if the rule is ``judged``.

    Attributes
    ----------
    trust : Mixture
        Trust in the latest weights and in their average, in this order, for each group of heads.
    due : ndarray of shape (n_judged, 2)
        Losses of the two that ``trust`` has not counted yet; it counts once in `ROUND` rows.
    waiting : float
        Number of these rows.
    """

    CLOCKS: ClassVar[tuple[str, ...]] = (*LinearState.CLOCKS, "waiting")
    SMALL: ClassVar[tuple[str, ...]] = (*LinearState.SMALL, "trust", "due")

    trust: Mixture = field(default_factory=_no_mixture)
    due: np.ndarray = field(default_factory=lambda: np.zeros((0, 2)))
    waiting: float = 0.0

    def __setstate__(self, saved):  # earlier versions have a fixed share of the latest weights
        unjudged = {"trust": _no_mixture(), "due": np.zeros((0, 2)), "waiting": 0.0}
        super().__setstate__(saved if unjudged.keys() & saved.keys() else {**unjudged, **saved})

    @classmethod
    def new(cls, rule, n_features):
        state = super().new(rule, n_features)
        state.begin_to_judge(rule)
        return state

    def begin_to_judge(self, rule):
        """Trust the latest weights and their average equally, for all that a rule judges."""
        self.trust = Mixture(np.zeros((rule.n_judged, 2)), np.zeros(rule.n_judged))
        self.due, self.waiting = np.zeros((rule.n_judged, 2)), 0.0

    def adopt(self, rule):
        """Go on with ``rule``, and judge anew if it judges another number of predictions."""
        if rule.n_judged != self.rule.n_judged:
            self.begin_to_judge(rule)
        super().adopt(rule)

    def judged_heads(self, which):
        """``trust`` and ``due`` of some judged groups, by name; nothing if the rule does not judge."""
        if not self.rule.judged:
            return {}
        return {"trust": Mixture(self.trust.excess[which], self.trust.gap[which]), "due": self.due[which]}

    def share_of_latest(self):
        """Share of the latest weights in predictions, for each head."""
        shares, n_heads = self.trust.weights()[:, 0], self.rule.n_heads
        return shares if len(shares) == n_heads else shares[self.rule.groups(np.arange(n_heads))]

    def rest_of_round(self):
        """Number of rows to judge before the share changes."""
        return max(1, math.ceil(ROUND - self.waiting))

    def judge(self, losses):
        """Count losses of rows of a round, of shape (n_rows, n_judged, 2); AdaHedge suffers a round's at once."""
        self.due[:] = np.minimum(np.add.accumulate(np.concatenate([self.due[None], losses]))[-1], LARGEST)
        self.waiting += float(len(losses))
        if self.waiting >= ROUND:
            self.trust.suffer(self.trust.weights(), self.due)
            self.due[:], self.waiting = 0.0, 0.0

    def merge_judged(self, parts):
        """Set ``trust`` and the losses that are due from all models of ``parts``."""
        first, *others = (state.trust for state in parts.states)
        self.trust = first.merged(others, parts.base.trust)
        self.due = np.maximum(parts.total(lambda state: state.due), 0.0)
        self.waiting = max(parts.total(lambda state: state.waiting), 0.0)
