"""AdaHedge: how much each of several experts is trusted."""

from __future__ import annotations

import numpy as np

from .lifts import LARGEST, positive


class Mixture:
    """AdaHedge: how much each expert is trusted, for each group of heads (de Rooij et al., JMLR 15, 2014, section 2).

    Parameters
    ----------
    excess : ndarray of shape (n_groups, n_experts)
        Total loss of each expert, less that of the best.
    gap : ndarray of shape (n_groups,)
        Total of the mixability gaps.
    """

    def __init__(self, excess, gap):
        self.excess, self.gap = excess, gap

    def copy(self):
        """Independent copy."""
        return Mixture(self.excess.copy(), self.gap.copy())

    def weights(self):
        """Share of each expert, of the shape of ``excess``; while there is no gap, the leaders share alike."""
        gap = self.gap[:, None]
        with np.errstate(all="ignore"):
            power = np.where(gap > 0, -np.log(self.excess.shape[1]) * (self.excess / gap), -np.inf)
        share = np.exp(np.where(self.excess == 0, 0.0, power))
        return share / np.add.reduce(share, axis=1, keepdims=True)

    def suffer(self, share, losses):
        """Count the losses of a row that was played with these shares, both of shape (n_groups, n_experts)."""
        n_experts = share.shape[1]
        behind = np.where(share > 0, losses, np.inf)
        behind = np.where(share > 0, losses - behind.min(axis=1, keepdims=True), 0.0)
        mean = np.add.reduce(share * behind, axis=1)
        rate = np.log(n_experts) / positive(self.gap)
        mixed = -np.log(np.add.reduce(share * np.exp(-rate[:, None] * behind), axis=1)) / rate
        self.gap[:] = np.minimum(self.gap + np.maximum(0.0, mean - np.where(self.gap > 0, mixed, 0.0)), LARGEST)
        self.excess[:] = np.minimum(self.excess + (losses - losses.min(axis=1, keepdims=True)), LARGEST)
        self.excess -= self.excess.min(axis=1, keepdims=True)
