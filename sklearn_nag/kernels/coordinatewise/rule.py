"""Coordinate-wise scale invariance without a learning rate: its rules, its models, and the weights they play.

Notation (papers: Kotłowski, "Scale-invariant unconstrained online learning", 2017; for ScInOL Kempka, Kotłowski and
Warmuth, ICML 2019). ``g`` is a derivative divided by the largest that it can be, ``h = -sum c g x``, and the weights
are a function of ``h``, not something that steps are added to.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from ..state.fields import INPUTS, PAST, WEIGHT, Field, G, once, twice
from ..state.judged import JudgedState
from ..state.lifts import LARGEST_POWER, TINY, positive
from ..state.model import BoundedState
from ..state.rule import OneHeadRule

LARGEST_WEALTH = 1e300  # beta is cut off there


def is_scinol(rule):
    """Whether a rule is one of the paper of 2019, and not the potential."""
    return rule.update != "potential"


# What is kept of each column; `State` says what weights and their average are.
FIELDS = (
    *INPUTS,
    Field("credit", least=0.0, lift_power=twice),  # what the average of weights is divided by
    WEIGHT._replace(lift_power=once),
    G._replace(needed=is_scinol),
    Field("beta", is_scinol, per_head=True, initial=1.0, least=0.0),  # the wealth of the column
    PAST._replace(lift_power=once),
)


@dataclass(frozen=True)
class Rule(OneHeadRule):
    """An update that is invariant under scaling each feature.

    Attributes
    ----------
    update : {"potential", "scinol1", "scinol2"}
        Algorithm 1 of the paper of 2017, or those of the paper of 2019.
    alpha : float
        The constant of the potential.
    averaged : bool
        Whether to predict with the average of the weights played, in which row ``t`` counts ``c t s^2`` where ``x`` is
        not 0.
    judged : bool
        Whether predictions are by the latest weights and their average, as much as each has been right, where weights
        are averaged.
    plays_latest : bool
        Whether the latest weights alone are played, whatever predicts.
    """

    not_zero: ClassVar[tuple[str, ...]] = ("alpha",)
    FIELDS: ClassVar[tuple[Field, ...]] = FIELDS

    update: Literal["potential", "scinol1", "scinol2"]
    alpha: float
    averaged: bool
    judged: bool = False
    plays_latest: bool = False

    lazy = True

    @property
    def columnwise(self):
        """Whether the weight of a column is a function of what is kept for it; the last one of the potential is not."""
        return self.averaged or self.update != "potential"

    @property
    def selective(self):
        """Whether only frequent columns are centred: the others never are."""
        return self.centred

    @property
    def by_latest(self):
        return replace(self, plays_latest=True)

    @property
    def normalization(self):
        """The scale without which ``z`` has no unit: root mean square for the potential, largest size for ScInOL."""
        return "rms" if self.update == "potential" else "max"


@dataclass(eq=False)
class State(BoundedState, JudgedState):
    """A model that is invariant under scaling each feature.

    ``columns.weight`` holds ``h`` and ``columns.G`` the sum of squared ``c g x``. The average of the weights played is
    ``columns.past / columns.credit``, the sums of ``c t s^2 w`` and of ``c t s^2`` over the rows where the feature is
    centred, or not 0: when its values grow late, the rows before count for next to nothing.
    """

    SMALL: ClassVar[tuple[str, ...]] = (*BoundedState.SMALL, "trust", "due")

    def unit_free_weight(self):
        """``u`` to predict with, in units of the target: the average, what is played of a row of zeros, or both."""
        rule, columns = self.rule, self.columns
        with np.errstate(all="ignore"):
            u = self.latest_weight() if rule.judged or not rule.averaged else None
            if rule.averaged:
                average = columns.past / positive(columns.credit) * self.size()
                u = average if u is None else u - (1.0 - self.share_of_latest())[:, None] * (u - average)
            return u * self.unit()[:, None]

    def latest_weight(self):
        """``u`` of the last weights, for a row of zeros, without the unit of the target."""
        rule, columns, size, largest_weight = self.rule, self.columns, self.size(), self.largest_weight or 1.0
        if rule.update == "potential":
            t = max(self.t, TINY)
            return potential(columns.weight, size, t, largest_weight, rule.alpha, self.n_columns, 0.0)
        root = scinol_root(columns.G, size, largest_weight)
        return scinol(rule.update, columns.weight, root, columns.beta, size, largest_weight)


Rule.State = State


def potential(h, size, t, largest_weight, alpha, n_columns, own):
    """``u = w s`` of the potential, with ``s`` the root mean square, of shape (n_heads, n_columns) (2017, Algorithm 1).

    ``h`` is ``-sum c g x``, ``size`` the root of ``sum c x^2 / t`` with the row at hand, ``own`` the ``c z^2`` of it,
    ``t`` the total weight of the rows, ``largest_weight`` that of a single one, and ``n_columns`` counts the columns of
    the whole model.
    """
    ratio = h / positive(size)
    power = (ratio * ratio / largest_weight + own) / (2.0 * alpha * t)
    return ratio / t * np.exp(np.minimum(power - np.log(alpha * n_columns * t / largest_weight), LARGEST_POWER))


def scinol_root(G, size, largest_weight):
    """Root of ``S^2 + M^2``, times the largest weight of a row (2019, Algorithms 1 and 2)."""
    return np.sqrt(G + (largest_weight * size) ** 2)


def scinol(update, h, root, beta, size, largest_weight):
    """``u = w M`` of ScInOL, with ``M`` the largest size, of shape (n_heads, n_columns) (2019, Algorithms 1 and 2).

    ``h`` is ``-sum c g x``, ``root`` what `scinol_root` returned, ``beta`` the wealth of each column, ``size`` the
    largest ``|x|``, and ``largest_weight`` that of a row.
    """
    root = positive(root)
    theta = h / root
    if update == "scinol1":
        bet = np.copysign(np.expm1(np.minimum(np.abs(theta) / 2.0, LARGEST_POWER)), theta)
    else:
        bet = np.minimum(np.maximum(theta, -1.0), 1.0)
    return beta * bet * (largest_weight * size / (2.0 * root))
