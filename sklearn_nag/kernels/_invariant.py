"""Models that learn without a learning rate: their rules, arrays, and the weights that these stand for.

Notation (paper: Kotłowski, "Scale-invariant unconstrained online learning", 2017; for ScInOL: Kempka, Kotłowski and
Warmuth, ICML 2019). ``g`` is a derivative divided by the largest that it can be, ``h = -sum c g x``, and the weights
are a function of ``h``, not something that steps are added to.

A row of weight ``c`` counts as if its features and its derivative were multiplied by ``sqrt(c / C)``, with ``C`` the
largest weight so far (for ScInOL: the derivative by ``c / C``): so every derivative stays within the bound that the
theorems need, equal weights change nothing, and light rows change little.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from ._state import TINY, State, positive

LARGEST_POWER = 700.0  # exponents are cut off there, to stay in range
MOST_WEALTH = 1e300  # beta is cut off there
ROUNDING = np.finfo(np.float64).eps


class InvariantRule(NamedTuple):
    """One update without a learning rate.

    Attributes
    ----------
    update : {"potential", "scinol1", "scinol2"}
        Algorithms 1 and 2 of the paper of 2017, or those of the paper of 2019.
    full : bool
        Whether predictions are invariant under every linear map of the features (Algorithm 2), not only under scaling
        each (Algorithm 1).
    n_targets : int
        Number of targets; each has one head.
    alpha : float
        The constant of the potential.
    intercept : bool
        Whether the last column is the constant 1.
    averaged : bool
        Whether to predict with the average of the weights played; row ``t`` counts ``c t`` or, where coordinates are
        learnt each by itself, ``c t s^2`` if ``x`` is not 0.
    centred, target_unit, degree, coupled
        As for `Rule`.
    """

    update: str
    full: bool
    n_targets: int
    alpha: float
    intercept: bool
    averaged: bool
    centred: bool
    target_unit: bool
    degree: int
    coupled: bool

    experts = 1
    mixed = True
    adaptive = True
    lifted = True
    penalised = False
    power_t = 0.0

    @property
    def n_heads(self):
        return self.n_targets

    @property
    def n_played(self):
        return self.n_targets

    @property
    def n_groups(self):
        return 1 if self.coupled else self.n_targets

    @property
    def normalization(self):
        """The scale without which ``z`` has no unit: root mean square for the potential, largest size for ScInOL."""
        return "rms" if self.update == "potential" else "max"

    @property
    def lazy(self):
        return not (self.centred or self.full)

    @property
    def fields(self):
        """Fields of `Columns` that are needed."""
        if self.full:
            return {"largest", "lift", "origin", "deviation", "weight", "past"}
        fields = {"largest", "lift", "weight", "past", "credit"}
        fields |= {"squares"} if self.update == "potential" else {"G", "beta"}
        if self.centred:
            fields |= {"origin", "sum"} | ({"deviation"} if self.normalization == "max" else set())
        return fields

    @property
    def lift_powers(self):
        """By which power of a lift each field is multiplied."""
        if self.full:
            return {"origin": 1, "deviation": 1}
        return {"origin": 1, "sum": 1, "deviation": 1, "squares": 2, "credit": 2, "weight": 1, "past": 1}


def potential(h, size, t, heaviest, alpha, n_columns, own):
    """``u = w s`` of the potential (2017, Algorithm 1), with ``s`` the root mean square.

    Parameters
    ----------
    h : ndarray of shape (n_heads, n_columns)
        ``-sum c g x``.
    size : ndarray of shape (n_columns,)
        Root of ``sum c x^2 / t``, with the row at hand.
    t : float
        Total weight of the rows.
    heaviest : float
        The largest weight of a row.
    alpha : float
        The constant of the potential.
    n_columns : int
        Number of columns of the whole model.
    own : ndarray of shape (n_columns,)
        ``c z^2`` of the row at hand.

    Returns
    -------
    ndarray of shape (n_heads, n_columns)
        ``u``.
    """
    ratio = h / positive(size)
    power = (ratio * ratio / heaviest + own) / (2.0 * alpha * t)
    return ratio / t * np.exp(np.minimum(power - np.log(alpha * n_columns * t / heaviest), LARGEST_POWER))


def scinol_root(G, size, heaviest):
    """Root of ``S^2 + M^2``, times the largest weight of a row (2019, Algorithms 1 and 2)."""
    return np.sqrt(G + (heaviest * size) ** 2)


def scinol(update, h, root, beta, size, heaviest):
    """``u = w M`` of ScInOL, with ``M`` the largest size (2019, Algorithms 1 and 2).

    Parameters
    ----------
    update : {"scinol1", "scinol2"}
        Which of the two.
    h, root, beta : ndarray of shape (n_heads, n_columns)
        ``-sum c g x``, what `scinol_root` returned, and the wealth of each column.
    size : ndarray of shape (n_columns,)
        The largest ``|x|``.
    heaviest : float
        The largest weight of a row.

    Returns
    -------
    ndarray of shape (n_heads, n_columns)
        ``u``.
    """
    root = positive(root)
    theta = h / root
    if update == "scinol1":
        bet = np.copysign(np.expm1(np.minimum(np.abs(theta) / 2.0, LARGEST_POWER)), theta)
    else:
        bet = np.minimum(np.maximum(theta, -1.0), 1.0)
    return beta * bet * (heaviest * size / (2.0 * root))


@dataclass(eq=False)
class InvariantState(State):
    """A model that is invariant under scaling each feature.

    ``columns.weight`` holds ``h`` and ``columns.G`` the sum of squared ``c g x``. The average of the weights played is
    ``columns.past / columns.credit``, the sums of ``c t s^2 w`` and of ``c t s^2`` over the rows where the feature is
    not 0: when its values grow late, the rows before do not count any more.

    Attributes
    ----------
    steepest : ndarray of shape (n_heads,)
        The largest derivative so far, for losses that have no bound.
    heaviest : float
        The largest weight of a row.
    """

    kernel: ClassVar[str] = "_coordinatewise"

    steepest: np.ndarray = field(default_factory=lambda: np.zeros(0))
    heaviest: float = 0.0

    @classmethod
    def new(cls, rule, n_features):
        """State before the first row."""
        state = super().new(rule, n_features)
        state.steepest = np.zeros(rule.n_heads)
        if state.columns.beta is not None:
            state.columns.beta[:] = 1.0
        return state

    def _small(self):
        return {**super()._small(), "steepest": self.steepest.copy()}

    def adopt(self, rule):
        """Go on by ``rule``, which may differ in ``alpha`` and in what is predicted with."""
        self.rule = rule

    def unit_free_weight(self):
        """``u`` to predict with, in units of the target: the average, or the one for a row of zeros."""
        rule, columns, size, heaviest = self.rule, self.columns, self.size(), self.heaviest or 1.0
        with np.errstate(all="ignore"):
            if rule.averaged:
                u = columns.past / positive(columns.credit) * size
            elif rule.update == "potential":
                n_columns = columns.lift.size
                u = potential(columns.weight, size, max(self.t, TINY), heaviest, rule.alpha, n_columns, 0.0)
            else:
                root = scinol_root(columns.G, size, heaviest)
                u = scinol(rule.update, columns.weight, root, columns.beta, size, heaviest)
            return u * self.unit()[:, None]


@dataclass(eq=False)
class FullState(InvariantState):
    """A model that is invariant under every linear map of its features, and moves of their origins.

    ``S = sum c x x^T`` is kept as a triangular factor of the rows, ``S = factor^T factor``, with lifted ``x`` relative
    to the first row. ``columns.weight`` holds ``q`` with ``h = factor^T q``, ``columns.past`` the factor times the
    sum of ``c t w``, and ``columns.deviation`` the largest size of an ``x``. A row of the factor without a diagonal is
    0: its column depends on the ones before, and has no weight.

    Attributes
    ----------
    factor : ndarray of shape (n_columns, n_columns)
        Upper triangular.
    surprise : ndarray of shape (n_heads,)
        ``Gamma``: the sum of ``c g^2 c x^T S^+ x``.
    """

    kernel: ClassVar[str] = "_full"

    factor: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    surprise: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def new(cls, rule, n_features):
        """State before the first row."""
        state = super().new(rule, n_features)
        n_columns = state.columns.lift.size
        state.factor, state.surprise = np.zeros((n_columns, n_columns)), np.zeros(rule.n_heads)
        return state

    def _small(self):
        return {**super()._small(), "factor": self.factor.copy(), "surprise": self.surprise.copy()}

    def relift(self, index, new):
        """Change the lifts of the columns at ``index``."""
        part = self.columns.take(index)
        self.factor[:, index] *= np.minimum(new / part.lift, 1.0)
        part.relift(self.rule, new)
        self.columns.put(index, part)

    def moments(self):
        """Mean and root mean square deviation of each column, lifted, the former relative to the first row."""
        t = max(self.t, TINY)
        root, mean = self.factor / np.sqrt(t), np.zeros(len(self.factor))
        if self.rule.intercept:
            constant = root[:, -1].copy()
            mean = root.T @ constant
            mean[-1] = 0.0
            root -= np.outer(constant, mean)
        return mean, np.sqrt(np.einsum("ij,ij->j", root, root))

    def size(self):
        """Scale of each column, lifted."""
        return self.moments()[1]

    def mean_from_origin(self):
        """Running mean of each column, lifted, relative to the first row; 0 without an intercept."""
        return self.moments()[0]

    def potential(self):
        """Factor of ``S^+ h`` in the weights, for each head (2017, Algorithm 2)."""
        q = self.columns.weight
        power = np.einsum("ki,ki->k", q, q) - self.surprise
        return played_factor(power, self.rule.alpha, self.heaviest)

    def unit_free_weight(self):
        """``u`` to predict with, in units of the target: the average, or the last one."""
        if self.rule.averaged and self.averaged > 0:
            q = self.columns.past / self.averaged
        else:
            q = self.potential()[:, None] * self.columns.weight
        w = solve(self.factor, q)
        mean, size = self.moments()
        u = w * positive(size)
        if self.rule.intercept:
            u[:, -1] += (w * mean).sum(axis=1)
        return u * self.unit()[:, None]


def played_factor(power, alpha, heaviest):
    """``exp((h^T S^+ h - Gamma) / (2 alpha)) / alpha``, from the difference."""
    return np.exp(np.minimum(power / (2.0 * alpha * (heaviest or 1.0)), LARGEST_POWER)) / alpha


def solve(factor, q):
    """Rows ``w`` with ``factor w = q``, 0 where the factor has no diagonal."""
    w = np.zeros(q.shape)
    for i in range(len(factor) - 1, -1, -1):
        if factor[i, i] != 0.0:
            w[:, i] = (q[:, i] - np.add.reduce(factor[i, i + 1 :] * w[:, i + 1 :], axis=1)) / factor[i, i]
    return w


def rank_tolerance(columns):
    """How far rounding may have moved the values of each column: by its size, and by the digits that values have."""
    n_columns = columns.lift.size
    return ROUNDING * (16.0 * n_columns * columns.deviation + 2.0 * columns.largest * columns.lift)
