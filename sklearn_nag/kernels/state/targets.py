"""What is learnt of the targets."""

from __future__ import annotations

import numpy as np

from .lifts import TINY


class Targets:
    """What is learnt of the targets, one entry for each; all is 0 where a rule has no use for it.

    Parameters
    ----------
    table : ndarray of shape (5, n_targets)
        The attributes below, in units of ``1 / lift``.
    lift : float, default=1.0
        Power of two that targets are multiplied by; below 1 once they were so large that sums of them would overflow.

    Attributes
    ----------
    origin : ndarray of shape (n_targets,)
        The first target, to which the others are relative; 0 without an intercept.
    sum : ndarray of shape (n_targets,)
        ``sum c y``; 0 without an intercept.
    spread : ndarray of shape (n_targets,)
        Root of ``sum c (y - mean)^2``.
    low, high : ndarray of shape (n_targets,)
        The smallest and the largest, from the origin; without an intercept at most and at least 0. Kept where a rule
        learns units or clips predictions to this range.

    Where predictions are logarithms, ``origin`` and ``spread`` are 0, and ``sum``, ``low`` and ``high`` the logarithms
    of what they are otherwise, so that none of them can overflow; ``losses.ZERO`` stands for that of 0.
    """

    def __init__(self, table, lift=1.0):
        self.table, self.lift = table, lift
        self.origin, self.sum, self.spread, self.low, self.high = table

    def __getstate__(self):  # without the views, which would come back as arrays of their own
        return {"table": self.table, "lift": self.lift}

    def __setstate__(self, state):
        table = state.get("table")
        if not isinstance(table, np.ndarray) or table.ndim != 2 or len(table) != 5:
            raise ValueError(f"targets has a table of shape {np.shape(table)}; it must have 5 rows")
        self.__init__(**state)

    def copy(self):
        """Independent copy."""
        return Targets(self.table.copy(), self.lift)

    def take(self, which):
        """Copy of some of the targets."""
        return Targets(self.table[:, which], self.lift)

    def mean(self, t):
        """Running mean after rows of total weight ``t``, relative to the origin."""
        return self.sum / max(t, TINY)
