"""Coordinate-wise scale invariance without a learning rate: rules, models, and the weights that they play.

Papers: Kotłowski, "Scale-invariant unconstrained online learning", 2017; for ScInOL Kempka, Kotłowski and Warmuth, ICML
2019. ``g`` is a derivative divided by its bound, and ``h = -sum c g x``. Weights are a function of ``h``; no steps are
added to them.
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
    """Whether a rule is from the paper of 2019."""
    return rule.update != "potential"


# Fields of each column; `State` says what weights and their average are.
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
        Whether the average of the weights played predicts, in which row ``t`` counts ``c t s^2`` if ``x`` is not 0.
    judged : bool
        Whether the latest weights and their average, if there is one, share in predictions by how right each has been.
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
        """Whether weights depend only on what is stored for their columns; the potential's latest ones do not."""
        return self.averaged or self.update != "potential"

    @property
    def selective(self):
        """Whether only frequent columns are centred; others never are."""
        return self.centred

    @property
    def by_latest(self):
        return replace(self, plays_latest=True)

    @property
    def normalization(self):
        """The scale that frees ``z`` of units: root mean square for the potential, largest size for ScInOL."""
        return "rms" if self.update == "potential" else "max"


@dataclass(eq=False)
class State(BoundedState, JudgedState):
    """A model that is invariant under scaling each feature.

    ``columns.weight`` holds ``h``, and ``columns.G`` the sum of squared ``c g x``. The average of the weights played is
    ``columns.past / columns.credit``, the sums of ``c t s^2 w`` and of ``c t s^2`` over the rows where the feature is
    centred, or not 0. If its values grow late, earlier rows count for next to nothing.
    """

    SMALL: ClassVar[tuple[str, ...]] = (*BoundedState.SMALL, "trust", "due")

    def unit_free_weight(self):
        """``u`` to predict with, in units of the target: the average, what a row of zeros plays, or both."""
        rule, columns = self.rule, self.columns
        with np.errstate(all="ignore"):
            u = self.latest_weight() if rule.judged or not rule.averaged else None
            if rule.averaged:
                average = columns.past / positive(columns.credit) * self.size()
                u = average if u is None else u - (1.0 - self.share_of_latest())[:, None] * (u - average)
            return u * self.unit()[:, None]

    def latest_weight(self):
        """``u`` of the latest weights, for a row of zeros, without the unit of the target."""
        rule, columns, size, largest_weight = self.rule, self.columns, self.size(), self.largest_weight or 1.0
        if rule.update == "potential":
            t = max(self.t, TINY)
            return potential(columns.weight, size, t, largest_weight, rule.alpha, self.n_columns, 0.0)
        root = scinol_root(columns.G, size, largest_weight)
        return scinol(rule.update, columns.weight, root, columns.beta, size, largest_weight)


Rule.State = State


def potential(h, size, t, largest_weight, alpha, n_columns, own):
    """``u = w s`` of the potential, with ``s`` the root mean square, of shape (n_heads, n_columns) (2017, Algorithm 1).

    ``h`` is ``-sum c g x``, ``size`` the root of ``sum c x^2 / t`` with the current row, ``own`` that row's ``c z^2``,
    ``t`` the total weight of the rows, ``largest_weight`` that of a single one, and ``n_columns`` counts those of the
    whole model.
    """
    ratio = h / positive(size)
    power = (ratio * ratio / largest_weight + own) / (2.0 * alpha * t)
    return ratio / t * np.exp(np.minimum(power - np.log(alpha * n_columns * t / largest_weight), LARGEST_POWER))


def scinol_root(G, size, largest_weight):
    """Root of ``S^2 + M^2``, times the largest weight of a row (2019, Algorithms 1 and 2)."""
    return np.sqrt(G + (largest_weight * size) ** 2)


def scinol(update, h, root, beta, size, largest_weight):
    """``u = w M`` of ScInOL, with ``M`` the largest size, of shape (n_heads, n_columns) (2019, Algorithms 1 and 2).

    ``h`` is ``-sum c g x``, ``root`` comes from `scinol_root`, ``beta`` is the wealth of each column, ``size`` the
    largest ``|x|``, and ``largest_weight`` that of a row.
    """
    root = positive(root)
    theta = h / root
    if update == "scinol1":
        bet = np.copysign(np.expm1(np.minimum(np.abs(theta) / 2.0, LARGEST_POWER)), theta)
    else:
        bet = np.minimum(np.maximum(theta, -1.0), 1.0)
    return beta * bet * (largest_weight * size / (2.0 * root))
