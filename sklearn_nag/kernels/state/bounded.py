"""Models that learn without a learning rate, from derivatives divided by their bound.

A row of weight ``c`` counts as if its features and its derivative were multiplied by ``sqrt(c / C)``, with ``C`` the
largest weight so far (for ScInOL: the derivative by ``c / C``): so every derivative stays within the bound that the
theorems need, equal weights change nothing, and light rows change little.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .model import LinearState

LARGEST_POWER = 700.0  # exponents are cut off there, to stay in range


@dataclass(eq=False)
class BoundedState(LinearState):
    """Base of the models without a learning rate.

    Attributes
    ----------
    largest_gradient : ndarray of shape (n_heads,)
        The largest derivative so far, for losses that have no bound.
    largest_weight : float
        The largest weight of a row.
    """

    largest_gradient: np.ndarray = field(default_factory=lambda: np.zeros(0))
    largest_weight: float = 0.0

    @classmethod
    def new(cls, rule, n_features):
        """State before the first row."""
        state = super().new(rule, n_features)
        state.largest_gradient = np.zeros(rule.n_heads)
        return state

    def relift_targets(self, factor):
        """Multiply by ``factor`` the targets and whatever has their unit; weights are kept without it."""
        super().relift_targets(factor)
        self.largest_gradient = self.largest_gradient * factor ** (self.rule.degree - 1)

    def small_arrays(self):
        """Copies of the arrays that do not grow with the columns."""
        return {**super().small_arrays(), "largest_gradient": self.largest_gradient.copy()}
