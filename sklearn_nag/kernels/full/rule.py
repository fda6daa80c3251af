"""Invariance under every linear map of the features: its rule, its models, and the weights they play.

Notation (paper: Kotłowski, "Scale-invariant unconstrained online learning", 2017, Algorithm 2). ``g`` is a derivative
divided by the largest that it can be, ``h = -sum c g x``, ``S = sum c x x^T``, and the weights are a function of these.

Least squares has the sum of ``c y x`` in place of ``h``, and the weights ``S^+ h``: the forecaster of Vovk (1998) and
of Azoury and Warmuth (2001) without its regulariser (Gaillard, Gerchinovitz, Huard and Stoltz, 2019). It can forget, in
steps, like recursive least squares with a forgetting factor. The potential cannot, because its weights are no ratio of
sums.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from ..state.fading import fade_rows, learn_and_fade
from ..state.fields import DEVIATION, LARGEST_SEEN, LIFT, ORIGIN, PAST, WEIGHT, Field, always
from ..state.lifts import LARGEST_POWER, TINY, positive
from ..state.model import BoundedState
from ..state.rule import OneHeadRule

ROUNDING = np.finfo(np.float64).eps
SOME = 16.0 * ROUNDING  # of a value, times the number of columns: may be rounding once others are subtracted
FAINT = 1e-140  # rest of a direction that no row has shown for a thousand half-lives; its weight is dropped
# Fields of each column; `State` says what weights are. They and their average are relative to the factor.
FIELDS = (
    ORIGIN._replace(needed=always),
    DEVIATION._replace(needed=always),
    LIFT,
    LARGEST_SEEN,
    WEIGHT,
    PAST,
)


@dataclass(frozen=True)
class Rule(OneHeadRule):
    """The update of Algorithm 2, or least squares.

    Attributes
    ----------
    update : {"potential", "least_squares"}
        Which of the two.
    alpha : float
        The constant of the potential.
    averaged : bool
        Whether to predict with the average of the weights; see `State`.
    half_life : float
        Total weight of rows after which a row counts half; infinite for never, and for the potential.
    forecasts : bool
        Whether least squares play the forecaster, with ``S`` including the row, instead of their prediction before it.
    """

    not_zero: ClassVar[tuple[str, ...]] = ("alpha", "half_life")
    FIELDS: ClassVar[tuple[Field, ...]] = FIELDS

    update: Literal["potential", "least_squares"]
    alpha: float
    averaged: bool
    half_life: float = np.inf
    forecasts: bool = False

    normalization = "rms"
    lazy = False

    @property
    def by_latest(self):
        return replace(self, averaged=False, forecasts=True)


@dataclass(eq=False)
class State(BoundedState):
    """A model that is invariant under every linear map of its features, and moves of their origins.

    ``S = sum c x x^T`` is stored as a triangular factor, ``S = factor^T factor``, for lifted ``x`` relative to the
    first row. ``columns.weight`` holds ``q`` with ``h = factor^T q``, ``columns.past`` the factor times the average of
    the weights (0 for least squares), and ``columns.deviation`` the largest absolute ``x``. A row of the factor whose
    diagonal entry is 0 is all 0: its column depends on the ones before, and has no weight.

    Weights say nothing of rows outside the span of those that they were learnt from, so their mean is not defined if
    new directions were met on the way. Predictions use the average ``a``. When row ``t`` has made the weights ``w``,
    ``a`` first becomes the ``b`` that predicts the rows before as ``a`` does and this one as ``w`` does:
    ``min_b |b - a|^2_S + c (x^T b - x^T w)^2`` with ``S`` without the row, or ``S^+ ((S - c x x^T) a + c x x^T w)``
    with ``S`` including it. Then ``a = b + (1 - (1 - c / t)^2) (w - b)``. While rows of one kind go on, this is the
    mean in which row ``t`` counts ``c t^2``. No linear map of the rows changes what it predicts in their span.

    Attributes
    ----------
    factor : ndarray of shape (n_columns, n_columns)
        Upper triangular.
    of_heads : ndarray of shape (2, n_heads)
        ``Gamma``, the sum of ``c g^2 c x^T S^+ x``, and ``residual``, for least squares that do not forget: the root of
        the residual sum of squares, from what rotations leave of targets (Gentleman 1974).
    """

    SMALL: ClassVar[tuple[str, ...]] = (*BoundedState.SMALL, "factor", "of_heads")

    factor: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    of_heads: np.ndarray = field(default_factory=lambda: np.zeros((2, 0)))

    Gamma = property(lambda self: self.of_heads[0])
    residual = property(lambda self: self.of_heads[1])

    def __setstate__(self, saved):
        vars(self).update(saved)
        if "Gamma" in saved:  # from earlier versions, in which small residuals are lost
            with np.errstate(all="ignore"):
                left = self.targets.spread**2 + self.targets.sum**2 / max(self.t, TINY)
                left -= (self.columns.weight**2).sum(axis=1)
                residual = np.nan_to_num(np.sqrt(np.maximum(left, 0.0)))
            self.of_heads = np.stack([vars(self).pop("Gamma"), residual])
        if self.averaged > 0:  # from earlier versions, which kept the sum of ``c t w`` and of ``c t``
            self.columns = self.columns.copy()  # arrays that were read may not be written to
            self.columns.past /= self.averaged
            self.averaged = 0.0

    @classmethod
    def new(cls, rule, n_features):
        state = super().new(rule, n_features)
        n_columns = state.columns.lift.size
        state.factor = np.zeros((n_columns, n_columns))
        state.of_heads = np.zeros((2, rule.n_heads))
        return state

    def moved(self, places):
        """Raise, because what is stored for pairs of features cannot be moved."""
        raise NotImplementedError("what they keep is of all pairs of features")

    def relift_targets(self, factor):
        """As for any model; for least squares, also ``q`` and the residual."""
        super().relift_targets(factor)
        self.of_heads = self.of_heads * [[1.0], [factor]]
        if self.rule.update == "least_squares":
            self.columns = self.columns.copy()  # a call that is undone goes back to the old ones
            self.columns.weight *= factor

    def relift(self, index, new):
        """As for any model; the factor is that of lifted columns."""
        self.factor[:, index] *= np.minimum(new / self.columns.lift[index], 1.0)
        super().relift(index, new)

    def moments(self):
        """Mean, relative to the first row, and root mean square deviation of each column, lifted."""
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
        power = np.einsum("ki,ki->k", q, q) - self.Gamma
        return played_factor(power, self.rule.alpha, self.largest_weight)

    def unit_free_weight(self):
        """``u`` to predict with, in units of the target: the average, the latest weights, or the solution."""
        if self.rule.update == "least_squares":
            q = self.columns.weight
        elif self.rule.averaged:
            q = self.columns.past
        else:
            q = self.potential()[:, None] * self.columns.weight
        w = solve(self.factor, q)
        mean, size = self.moments()
        u = w * positive(size)
        if self.rule.intercept:
            u[:, -1] += (w * mean).sum(axis=1)
        if self.rule.update != "least_squares":
            return u * self.unit()[:, None]
        if self.rule.target_unit and self.rule.intercept:  # predictions are counted from it
            u[:, -1] -= self.targets.mean(self.t)
        return u


Rule.State = State


def played_factor(power, alpha, largest_weight):
    """``exp((h^T S^+ h - Gamma) / (2 alpha)) / alpha``, from ``power``, the difference."""
    return np.exp(np.minimum(power / (2.0 * alpha * (largest_weight or 1.0)), LARGEST_POWER)) / alpha


def solve(factor, q):
    """Rows ``w`` with ``factor w = q``; 0 if the diagonal entry of the factor is 0."""
    w = np.zeros(q.shape)
    for i in range(len(factor) - 1, -1, -1):
        if factor[i, i] != 0.0:
            w[:, i] = (q[:, i] - np.add.reduce(factor[i, i + 1 :] * w[:, i + 1 :], axis=1)) / factor[i, i]
    return w


def rank_tolerance(columns):
    """How far rounding may have moved values of each column: proportional to deviations and to distance from 0."""
    n_columns = columns.lift.size
    return SOME * n_columns * columns.deviation + 2.0 * ROUNDING * columns.largest * columns.lift


def fading(learn_rows, multiply, rule, compiled):
    """As in `sklearn_nag.kernels.state.rule.Family`; compiled loops fade within the loop."""
    return learn_rows if compiled else partial(learn_and_fade, learn_rows, fade)


def fade(state, factor):
    """Multiply all sums over rows by ``factor``, at most 1; the factor of ``S``, and ``q``, are roots of sums."""
    state.factor *= np.sqrt(factor)
    state.columns.weight *= np.sqrt(factor)
    faint = np.abs(state.factor).max(axis=1) < FAINT
    state.factor[faint] = 0.0
    state.columns.weight[:, faint] = 0.0
    fade_rows(state, factor)
