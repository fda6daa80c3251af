"""Follow the regularised leader: its rules, its models, and the weights they play.

Notation (papers: McMahan et al., "Ad click prediction: a view from the trenches", KDD 2013; Xiao, "Dual averaging
methods for regularized stochastic learning and online optimization", JMLR 11, 2010; Kivinen and Warmuth, "Exponentiated
gradient versus gradient descent for linear predictors", 1997). ``g`` is the derivative of the loss with respect to the
prediction, ``z`` the sum that McMahan et al. call so, ``n`` their sum of squared gradients.

The algorithms run on ``x / a``, with weights ``v`` in units of the target. The size ``a`` of a column is its scale
``s`` times ``sqrt(N / t)``, so that the mean square length of rows ``x / a`` is 1; for the entropy, it is ``s``. What
is stored is in the unit of ``g x``: ``z`` and ``root``, the root of ``n``, become those of the printed algorithm when
divided by ``a``. So they need not change with ``a``, because past ``v`` keep their meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Literal

import numpy as np

from ...constraints import Box, L2Ball, Simplex, WeightedL1Ball
from ..state.fading import fade_rows, learn_and_fade
from ..state.fields import INPUTS, WEIGHT, Field, once
from ..state.lifts import LARGEST, positive
from ..state.model import LinearState
from ..state.rule import OneHeadRule

# Fields of each column; `State` says what weights are.
FIELDS = (
    *INPUTS,
    WEIGHT._replace(lift_power=once),
    Field("root", lambda rule: rule.regularizer == "proximal", per_head=True, least=0.0, lift_power=once),
)


@dataclass(frozen=True)
class Rule(OneHeadRule):
    """A regulariser with its parameters.

    Attributes
    ----------
    regularizer : {"proximal", "l2", "entropy"}
        FTRL-Proximal, with a learning rate for each weight; lazy gradient descent; exponentiated gradient.
    normalization : {"max", "rms", "auto", None}
        The scale ``s``; see `LinearRule`.
    eta : float
        Learning rate: ``alpha`` of McMahan et al.
    beta : float
        Their ``beta``, for "proximal".
    power_t : float
        The learning rate falls as ``t ** -power_t``, for the other two.
    l1, l2 : float
        Adds ``l1 |v|_1 + l2 |v|^2 / 2`` to the regulariser; not for "entropy".
    radius : float
        Largest sum of absolute weights, or the sum if ``positive``, for "entropy".
    positive : bool
        Whether weights are not negative, for "entropy".
    half_life : float
        Total weight of rows after which what was learnt counts half; infinite for never.
    named_clearly : bool
        See `LinearRule`.
    constraint : set of `sklearn_nag.constraints` or None
        Set in which ``u`` of the features must stay, in units of the target, for "l2"; or a `Box` of weights in raw
        units, also for "proximal".
    """

    not_zero: ClassVar[tuple[str, ...]] = ("eta", "radius", "half_life")
    as_begun: ClassVar[tuple[str, ...]] = ("named_clearly", "outlying")
    FIELDS: ClassVar[tuple[Field, ...]] = FIELDS

    regularizer: Literal["proximal", "l2", "entropy"]
    normalization: Literal["max", "rms", "auto"] | None
    eta: float
    beta: float
    power_t: float
    l1: float
    l2: float
    radius: float
    positive: bool
    constraint: Box | L2Ball | Simplex | WeightedL1Ball | None = None
    half_life: float = np.inf
    named_clearly: bool = False

    averaged = False

    @property
    def lazy(self):
        """Whether a row leaves other columns alone; not if weights share their sum ("entropy") or a constraint."""
        of_all = self.regularizer == "entropy" or self.projected
        return (self.selective or not self.centred) and not of_all

    columnwise = lazy  # see `LinearRule`

    def shrinks_rows(self):
        """Whether rows are divided by the root of their mean square length."""
        return self.normalization is not None and self.regularizer != "entropy"


@dataclass(eq=False)
class State(LinearState):
    """A model that follows the regularised leader.

    ``columns.weight`` is ``z``: the sum of ``g x``, minus that of ``sigma v`` for "proximal". ``columns.root`` is the
    root of the sum of ``(g x)^2``.

    Attributes
    ----------
    N : float
        ``sum c (x / s)^2`` over rows and columns.
    """

    CLOCKS: ClassVar[tuple[str, ...]] = (*LinearState.CLOCKS, "N")

    N: float = 0.0

    def relift_targets(self, factor):
        """As for any model; for losses of degree 2, also sums of gradients."""
        super().relift_targets(factor)
        if self.rule.degree == 2:
            self.columns = self.columns.copy()  # a call that is undone goes back to the old ones
            self.columns.weight *= factor
            if self.columns.root is not None:
                self.columns.root *= factor

    def unit_free_weight(self):
        """``u`` to predict with, in units of the target: that of the next row, which minimises the regularised loss.

        It is 0 for a column that has no scale yet, even if weights do not begin at 0 (``positive``, a simplex).
        """
        length, size = mean_length(self.rule, self.N, self.t), self.size()
        with np.errstate(all="ignore"):
            v = leader(self.rule, self.columns, size * length, self.t, self.unit(), length, self.targets.lift)
            return np.where(size > 0, v / length * self.unit()[:, None], 0.0)


Rule.State = State


def mean_length(rule, N, t):
    """Root of the mean square length of the rows ``x / s``; 1 if they are not divided by it."""
    return np.sqrt(N / t) if rule.shrinks_rows() and N > 0 else 1.0


def leader(rule, columns, size, t, unit, length, target_lift):
    """Weights ``v``, of shape (n_heads, n_columns), that minimise the regularised sum of losses.

    ``columns`` has the sums of rows of total weight ``t``. ``size`` is ``a``, lifted; ``length`` is `mean_length`;
    ``unit``, of shape (n_heads,), and ``target_lift`` are those of the targets.
    """
    z, sizes = columns.weight, size
    size = size * (unit ** (rule.degree - 1))[:, None]
    growth = min(np.float_power(max(t, 1.0), rule.power_t), LARGEST)  # a power in Python would raise an error
    if rule.regularizer != "entropy":
        v = quadratic_leader(rule, z, columns.root, size, growth)
        if rule.bounded:  # weights separately: what is minimised is a sum of convex terms
            factor = sizes / columns.lift * target_lift / positive(unit)[:, None]
            return np.clip(v, *columns.ends(factor)) + 0.0
        if rule.constraint is not None:  # all weights have the same curvature
            for own in v[:, : z.shape[1] - rule.intercept]:
                own[:] = rule.constraint.scaled(length).nearest(own)
        return v
    inner = slice(0, z.shape[1] - rule.intercept)
    v = np.empty(z.shape)
    v[:, inner] = entropy_leader(rule, z[:, inner], size[:, inner], growth)
    v[:, inner.stop :] = -rule.eta * z[:, inner.stop :] / (growth * positive(size[:, inner.stop :]))
    return v


def quadratic_leader(rule, z, root, size, growth):
    """Like `leader`, for a quadratic regulariser with an L1 norm, which leaves zeros."""
    l1, l2 = rule.l1 * size, rule.l2 * size
    if rule.intercept:
        l1[:, -1] = l2[:, -1] = 0.0
    beyond = np.maximum(np.abs(z) - l1, 0.0)
    strength = (size * growth if root is None else size * rule.beta + root) / rule.eta + l2
    return np.where(strength > 0, -np.copysign(beyond, z) / positive(strength), 0.0) + 0.0  # turns -0 into 0


def entropy_leader(rule, z, size, growth):
    """Like `leader`, for weights whose absolute values add up to at most the radius."""
    if z.shape[1] == 0:
        return z
    power = np.where(size > 0, -rule.eta / growth * (z / positive(size)), 0.0)
    if rule.positive:
        share = np.exp(power - power.max(axis=1, keepdims=True))
        return rule.radius * (share / np.add.reduce(share, axis=1, keepdims=True))
    top = np.abs(power).max(axis=1, keepdims=True)
    up, down = np.exp(power - top), np.exp(-power - top)
    return rule.radius * ((up - down) / np.add.reduce(up + down, axis=1, keepdims=True))


# -- half-lives: follows the leader of recent losses. All that is stored is sums over rows, of gradients among others,
# so the definition itself fades; see `state.fading`


def fading(learn_rows, multiply, rule, compiled):
    """As in `sklearn_nag.kernels.state.rule.Family`; compiled loops for dense rows fade within the loop."""
    stopping = partial(learn_and_fade, learn_rows, partial(fade, multiply))
    if not compiled:
        return stopping

    def learn_fading_rows(state, loss, X, *args):
        on_the_way = isinstance(X, np.ndarray) or not state.rule.lazy
        (learn_rows if on_the_way else stopping)(state, loss, X, *args)

    return learn_fading_rows


def fading_powers(rule):
    """Powers of the factor of sums over rows that multiply fields, by name; ``root`` is the root of a sum."""
    return {field.name: 1.0 for field in rule.FIELDS if field.fades} | {"weight": 1.0, "root": 0.5}


def fade(multiply, state, factor):
    """Multiply all sums over rows by ``factor``, at most 1."""
    columns, rule = state.columns, state.rule
    multiply(columns, {name: factor**by for name, by in fading_powers(rule).items() if name in columns.names})
    fade_rows(state, factor)
    state.N *= factor
