"""The NAG family: its rules, its models, and the penalty.

Two identities leave nothing to rescale when a scale changes:

* adaptive rules: ``g z / sqrt(H) = g x / sqrt(G)`` with ``H = G / s^2``, so the step of ``u`` does not depend on ``s``;
* other rules: ``w = theta / s^2`` with ``theta = -sum eta (t/N) g x``, which squashing by ``(s/|x|)^2`` preserves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal

import numpy as np

from ...constraints import Box, L2Ball, Simplex, WeightedL1Ball
from ...losses import between
from ..state.fields import INPUTS, PAST, WEIGHT, Field, G
from ..state.judged import JudgedState
from ..state.lifts import LARGEST, LARGEST_LIFT, positive
from ..state.mixture import Mixture
from ..state.rule import LinearRule

STEEPEST = 1e150
DAMPING = 0.1  # added to ``H`` of rare columns; .03 to 1 served about as well in trials
MOST_DAMPED = 2.0**400  # largest lifted unit of gradients: its square stays in range, whatever the scale

# Fields of each column; `State` says what weights are.
FIELDS = (
    *INPUTS,
    Field("shrunk", lambda rule: rule.l2 > 0),  # clock reading up to which the L2 penalty has been applied
    WEIGHT._replace(lift_power=lambda rule: 0 if rule.adaptive else 1),
    G._replace(needed=lambda rule: rule.adaptive),
    # ``State.averaged * weight`` minus the sum of ``c t weight`` over the weights played, so that rows that do not name
    # a column leave it unchanged. While averaging is off, that sum itself.
    PAST._replace(needed=lambda rule: rule.averaged, lift_power=lambda rule: 0 if rule.adaptive else 1, fades=True),
    # Sum over rows of the subgradients of ``|u|`` that an L1 penalty has applied: from ``-t`` to ``t``, and at an end
    # unless ``u`` is 0.
    Field("received", lambda rule: rule.l1 > 0, per_head=True, fades=True),
)


@dataclass(frozen=True)
class Rule(LinearRule):
    """One update rule with its parameters. Models keep those in `as_begun`; earlier models have the defaults of these.

    Attributes
    ----------
    normalization : {"max", "rms", "auto", None}
        The scale ``s``; see `LinearRule`.
    adaptive : bool
        Whether steps are divided by the root of the sum of squared gradients.
    intercept : bool
        Whether the last column is the constant 1; it is never penalised.
    eta : tuple of float, of length n_heads
        Learning rate of each head.
    power_t : float
        The learning rate falls as ``t ** -power_t``; 0 keeps it constant.
    slowed : float
        Factor of the rate once ``t`` is above `slowed_from`.
    l1, l2 : float
        Strength of the penalty ``l1 |u| + l2 u^2 / 2`` for each column.
    average_from : float
        ``t`` from which the weights played are averaged, ``inf`` for never; a row counts ``c t``.
    last : float
        Share of the latest weights in predictions, if weights are averaged; the average has the rest.
    judged : bool
        Whether AdaHedge sets that share by the losses of the two instead.
    plays_latest : bool
        Whether the latest weights alone are played, whatever predicts.
    importance_aware : bool
        Whether a step is the limit of infinitely many small ones, for losses that have a ``move``.
    experts : int
        Heads for each target. Heads of an expert are adjacent.
    mixed : bool
        Whether AdaHedge mixes the experts into one prediction; else each is played and judged by itself.
    half_life : float
        Weight of rows after which what was learnt counts half, ``inf`` if it does not fade; see `forgetting`.
    fades_average : bool
        Whether the average of the weights played fades 1.5 times as fast as the rest, and short half-lives forget
        weights sooner; False for models saved before.
    slow_scales : bool
        Whether scales fall slowly while the model forgets, not at once.
    damped : bool
        Whether steps of rare columns are divided by the root of ``H + DAMPING``, in units of the loss, if nothing is
        penalised or projected.
    named_clearly : bool
        Whether clearly more than half of the rows must name a column for it to become frequent while the model forgets.
    centred, target_unit, degree, robust, outlying, coupled, log_link, clip
        See `LinearRule`.
    constraint : set of `sklearn_nag.constraints` or None
        Set onto which ``u`` of the features, in units of the target, is projected after each step, in the metric of the
        steps, ``sqrt(H)``. Its radius replaces ``sqrt(t / N)`` in the rates of adaptive rules with scales. A `Box`
        bounds weights in raw units instead, of the columns that a row visits, by the scales after the row.
    """

    not_zero: ClassVar[tuple[str, ...]] = ("half_life", "slowed")
    of_steps: ClassVar[tuple[str, ...]] = ("damped", "slowed")
    as_begun: ClassVar[tuple[str, ...]] = ("fades_average", "slow_scales", "named_clearly", "outlying", *of_steps)
    FIELDS: ClassVar[tuple[Field, ...]] = FIELDS

    normalization: Literal["max", "rms", "auto"] | None
    adaptive: bool
    intercept: bool
    eta: tuple[float, ...]
    power_t: float = 0.0
    slowed: float = 1.0
    l1: float = 0.0
    l2: float = 0.0
    average_from: float = np.inf
    last: float = 0.0
    judged: bool = False
    plays_latest: bool = False
    centred: bool = False
    importance_aware: bool = False
    target_unit: bool = False
    degree: int = 2
    coupled: bool = False
    log_link: bool = False
    robust: bool = False
    outlying: float = 32.0
    experts: int = 1
    mixed: bool = True
    half_life: float = np.inf
    fades_average: bool = False
    slow_scales: bool = False
    named_clearly: bool = False
    damped: bool = False
    clip: tuple[float, float] | Literal["targets"] | None = None
    constraint: Box | L2Ball | Simplex | WeightedL1Ball | None = None

    @property
    def by_latest(self):
        return replace(self, plays_latest=True)

    @property
    def n_heads(self):
        return len(self.eta)

    @property
    def n_targets(self):
        """Number of targets: heads per expert."""
        return len(self.eta) // self.experts

    @property
    def sharing(self):
        """Number of heads that share one ``G``, the mean of their own: those that the loss compares, else 1.

        A row has a slope of about 1 in its class and of ``1 / K`` in the others. Divided by roots of their own sums,
        the many small ones would move weights as far as the large one.
        """
        return self.n_targets if self.coupled and self.adaptive else 1

    def heads(self, experts, targets):
        """Heads of some experts for some targets."""
        return (experts[:, None] * self.n_targets + targets).ravel()

    @property
    def radius(self):
        """What replaces ``sqrt(t / N)`` in the rates; 0 if nothing does."""
        replaced = self.projected and self.adaptive and self.normalization is not None
        return self.constraint.radius if replaced else 0.0

    @property
    def slowed_from(self):
        """Total weight, halfway between two whole rows, up to which about 20 are on the rare side of a quantile."""
        return np.rint(80.0 / max(self.slowed, 1e-150) ** 2) + 0.5 if self.slowed < 1.0 else np.inf

    @property
    def penalised(self):
        return self.l1 > 0 or self.l2 > 0

    @property
    def averaged(self):
        return self.average_from < np.inf

    @property
    def lifted(self):
        """Whether columns are lifted; only OGD works on them as they are."""
        return self.adaptive or self.normalization is not None

    @property
    def lazy(self):
        """Whether a row may skip columns that it does not name, because its effect on them can be applied later.

        It may not if weights that a penalty shrinks are averaged, if all features are centred, so that a 0 is a
        deviation like any other, or if weights have a common constraint.
        """
        every_row = self.centred and not self.selective
        return not (every_row or (self.penalised and self.averaged) or self.projected)

    @property
    def holds_scales(self):
        return self.slow_scales and self.forgets and self.centred and self.normalization in ("rms", "auto")

    @property
    def damps(self):
        by_column = self.adaptive and self.normalization == "auto"
        return self.damped and by_column and not (self.penalised or self.projected)

    @property
    def fades_on_the_way(self):
        return self.forgets and self.fades_average and not self.penalised

    @property
    def columnwise(self):
        """Whether the weight of a column that is not centred depends only on what is stored for it."""
        return self.selective or not self.centred

    @property
    def weight_power(self):
        """Power of ``s`` that divides stored weights, to make them weights per unit of ``x``."""
        return 1 if self.adaptive or self.normalization is None else 2


@dataclass(eq=False)
class State(JudgedState):
    """A model of the NAG family.

    ``columns.weight`` holds ``u`` for adaptive rules, ``theta * lift`` for the others; with ``columns.past`` it gives
    the average of the weights played.

    Attributes
    ----------
    N : float
        ``sum c z^2`` over rows and columns.
    extra : float
        Excess of ``averaged`` of a merged model over what its models counted, each by its own rows.
    shrinkage : float
        Clock of the L2 penalty: ``sum c eta_t`` times the rule's normalisation, without the factor ``eta``.
    mixture : Mixture
        How much each expert is trusted.
    gradient_lift : ndarray of shape (n_heads / sharing,)
        Powers of two; ``g' = g * gradient_lift``.
    """

    CLOCKS: ClassVar[tuple[str, ...]] = (*JudgedState.CLOCKS, "N", "extra", "shrinkage")
    SMALL: ClassVar[tuple[str, ...]] = (*JudgedState.SMALL, "mixture", "gradient_lift")

    N: float = 0.0
    extra: float = 0.0  # also for models saved by earlier versions
    shrinkage: float = 0.0
    mixture: Mixture = field(default_factory=lambda: Mixture(np.zeros((0, 0)), np.zeros(0)))
    gradient_lift: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def new(cls, rule, n_features):
        state = super().new(rule, n_features)
        state.mixture = Mixture(np.zeros((rule.n_groups, rule.experts)), np.zeros(rule.n_groups))
        state.gradient_lift = np.full(rule.n_heads // rule.sharing, LARGEST_LIFT)
        if isinstance(rule.constraint, Simplex) and n_features > 0 and not rule.target_unit:
            state.columns.weight[:, :n_features] = rule.constraint.radius / n_features
        return state

    def relift_targets(self, factor):
        """Multiply what has the unit of targets by ``factor``: these, weights and, for losses of degree 2, slopes."""
        super().relift_targets(factor)
        self.note_columns()  # before these columns are replaced by others, which then change
        self.columns = self.columns.copy()  # a call that is undone goes back to the old ones
        self.columns.settle()
        self.columns.weight *= factor
        if self.columns.past is not None:
            self.columns.past *= factor
        if self.rule.adaptive and self.rule.degree == 2:  # lifted gradients, and G, stay as they are
            lifts = np.minimum(self.gradient_lift, LARGEST_LIFT * factor) / factor
            self.columns.multiply({"G": (lifts / self.gradient_lift * factor)[:, None] ** 2})
            self.gradient_lift = lifts

    def factors_to(self, later):
        """Factors, by field, that a ``later`` model has applied to columns not named since."""
        ratio = later.gradient_lift / self.gradient_lift
        return {"G": ratio[:, None] ** 2} if self.rule.adaptive and (ratio != 1.0).any() else {}

    # -- some of the heads

    def select_experts(self, experts, rule):
        """State that learning with ``rule``, that of some ``experts``, would have given, with arrays of its own.

        It has the same bits, because experts are not mixed.
        """
        heads = self.rule.heads(experts, np.arange(self.rule.n_targets))
        judged = self.judged_heads(self.rule.groups(heads)[:: rule.n_targets // rule.n_groups])
        return replace(self._with_heads(heads, rule), targets=self.targets.copy(), loss=self.loss[heads], **judged)

    def for_targets(self, which):
        """State with arrays of its own that learns some targets, not coupled with others, as among all."""
        heads = self.rule.heads(np.arange(self.rule.experts), which)
        subset = self._with_heads(heads, replace(self.rule, eta=tuple(self.rule.eta[head] for head in heads)))
        subset.targets = self.targets.take(which)
        subset.mixture = Mixture(self.mixture.excess[which], self.mixture.gap[which])
        played = which if self.rule.mixed else heads
        return replace(subset, loss=self.loss[played], **self.judged_heads(played))

    def put_targets(self, which, subset):
        """Take over what ``subset`` of `for_targets` has learnt; what targets share is the same in all subsets."""
        heads = self.rule.heads(np.arange(self.rule.experts), which)
        if self.G_before is None and subset.G_before is not None:
            self.G_before = self.columns.kept("G").copy()
        self.columns.put_heads(heads, subset.columns)
        self.targets.table[:, which] = subset.targets.table
        self.mixture.excess[which], self.mixture.gap[which] = subset.mixture.excess, subset.mixture.gap
        played = which if self.rule.mixed else heads
        self.loss[played] = subset.loss
        if self.rule.judged:
            self.trust.excess[played], self.trust.gap[played] = subset.trust.excess, subset.trust.gap
            self.due[played] = subset.due
        self.gradient_lift[heads] = subset.gradient_lift
        self.frequent = subset.frequent
        vars(self).update(subset.clocks())

    def _with_heads(self, heads, rule):
        """State with ``rule``, and the columns, lifts and clocks of some heads."""
        columns = self.columns.of_heads(heads)
        lifts = self.gradient_lift[heads[:: rule.sharing] // rule.sharing]
        return replace(State.new(rule, 0), columns=columns, gradient_lift=lifts, **self.clocks())

    # -- rules that change

    def adopt(self, rule):
        """Switch to ``rule``, which may differ in everything except the meaning of the arrays.

        A penalty that is due is first applied by the old rule. A new L1 penalty counts as if it had always been there
        and held the weights where they are. A changed one goes on from the gradients against which the old one held
        weights at 0, as far as it could have held them.
        """
        rule = self.goes_on_by(rule)
        if rule == self.rule:
            self.rule = rule
            return
        if rule.n_judged != self.rule.n_judged:
            self.begin_to_judge(rule)
        columns = self.columns
        columns.settle()
        if self.rule.averaged:  # keep the sum itself until averaging resumes
            columns.past[:] = self.averaged * columns.weight - columns.past
        settle(self, columns)
        self.columns = columns.for_rule(rule)
        if rule.l2 > 0:
            self.columns.shrunk[:] = penalty_clock(self, rule)
        if rule.l1 > 0 and not self.rule.l1 > 0:
            self.columns.received[:] = self.t * np.sign(columns.weight)
        elif rule.l1 > 0 and rule.l1 != self.rule.l1:
            with np.errstate(over="ignore"):
                held = np.clip(columns.received * min(self.rule.l1 / rule.l1, LARGEST), -self.t, self.t)
            self.columns.received[:] = np.where(columns.weight == 0, held, columns.received)
        if rule.averaged:
            self.columns.past[:] = self.averaged * self.columns.weight - self.columns.past
        self.rule = rule

    def goes_on_by(self, rule):
        """Rule used if ``rule`` is asked for; models of earlier versions keep any fixed share of the latest weights."""
        if rule.judged and self.rule.averaged and not self.rule.judged and self.averaged > 0:
            rule = replace(rule, judged=False, last=self.rule.last)
        return super().goes_on_by(rule)

    def share_of_latest(self):
        """Share of the latest weights in predictions, for each head."""
        return super().share_of_latest() if self.rule.judged else np.full(self.rule.n_heads, self.rule.last)

    # -- what the arrays stand for

    def latest(self):
        """The model, predicting with the latest weights; the rule stays, because it tells when averaging begins."""
        return replace(self, averaged=0.0, cached=None) if self.rule.averaged else self

    def unit_free_weight(self):
        """``u`` to predict with: of the average and the latest weights, penalised as due, with experts mixed.

        Returns
        -------
        ndarray of shape (n_played, n_columns)
            Relative to the mean of columns and targets if these are learnt.
        """
        columns, rule = self.columns, self.rule
        by_average = rule.averaged and self.averaged > 0
        u = columns.weight if by_average else penalised_weight(self, columns)[0]
        behind = columns.past / self.averaged if by_average else None
        if rule.bounded:
            ends = ends_of(rule, columns, self.size(), self.targets.lift)
            average = None if behind is None else np.clip(u - behind, *ends)
            u = np.clip(u, *ends)
            behind = None if average is None else u - average
        if by_average:
            behind *= (1.0 - self.share_of_latest())[:, None]
            u = u - behind
        if not rule.adaptive:
            u = u / positive(self.size())
        if rule.n_played == rule.n_heads:
            return u
        experts = u.reshape(rule.experts, rule.n_targets, -1)
        mixed = [share[:, None] * own for share, own in zip(self.shares().T, experts)]
        return np.add.reduce(mixed)  # adds one by one, whatever the number of columns

    def eta0_weights(self):
        """Shares of experts, of shape (n_groups, n_experts)."""
        return self.mixture.weights()

    def shares(self):
        """Shares of experts, of shape (n_targets, n_experts)."""
        shares = self.mixture.weights()
        return np.broadcast_to(shares, (self.rule.n_targets, shares.shape[1]))


Rule.State = State


def constrain(rule, columns, size, unit, heads):
    """Project weights of some heads, except the intercept, onto the set of the rule.

    ``size`` holds lifted scales, and ``unit`` the unit of the target for each head, in which the radius is measured.
    """
    inner = slice(0, size.size - rule.intercept)
    size = positive(size)[inner]
    for k in heads:
        weight, metric = columns.weight[k, inner], None
        if rule.adaptive:
            metric = np.sqrt(columns.G[k // rule.sharing, inner]) / size
        per_u = size if not rule.adaptive and rule.normalization is not None else 1.0
        new = rule.constraint.scaled(unit[k]).nearest(weight / per_u, metric) * per_u
        weight[:] = new


def damping(rule, gradient_lift, unit):
    """What is added to ``G`` of rare columns, for a lifted scale of 1 and targets of this ``unit``."""
    return DAMPING * between(gradient_lift * unit ** (rule.degree - 1), 0.0, MOST_DAMPED) ** 2


def ends_of(rule, columns, size, target_lift, places=slice(None)):
    """Bounds of stored weights within a `Box`; infinite if there are none.

    ``size`` holds the lifted scales of the columns at ``places`` of all ``columns``.
    """
    size = positive(size)
    with np.errstate(over="ignore"):
        factor = size / columns.lift[places] * target_lift
        return columns.ends(factor if rule.adaptive or rule.normalization is None else factor * size, places)


def hold(state):
    """Clip the weights of a model to its `Box`."""
    columns = state.columns
    columns.settle()
    columns.weight[:] = np.clip(columns.weight, *ends_of(state.rule, columns, state.size(), state.targets.lift))


def penalty_clock(state, rule):
    """The clock whose past readings are in ``columns.shrunk``: ``t`` with an L1 penalty, else ``shrinkage``."""
    return state.t if rule.l1 > 0 else state.shrinkage


def settle(state, columns, named=None):
    """Apply the penalty that is due, and note that this was done.

    ``columns`` are all or some, as before the current row. With an L1 penalty, the mask ``named`` selects those to
    settle.
    """
    rule = state.rule
    if not rule.penalised:
        return
    weight, received = penalised_weight(state, columns)
    clock = penalty_clock(state, rule)
    if named is not None and rule.l1 > 0:
        weight, received = np.where(named, weight, columns.weight), np.where(named, received, columns.received)
        clock = np.where(named, clock, columns.shrunk) if rule.l2 > 0 else clock
    columns.weight[:] = weight
    if rule.l1 > 0:
        columns.received[:] = received
    if rule.l2 > 0:
        columns.shrunk[:] = clock


def penalised_weight(state, columns):
    """Weights after the penalty that is due, in closed form.

    L2 alone is the flow ``du = -r l2 u`` over ``r``, the learning rates of past rows.

    With L1, ``u`` becomes the minimiser of ``(u - v)^2 / (2 r) + l1 (t |u| - a u) + l2 t' u^2 / 2``: ``v`` is the
    weight after the last step, ``r`` the current learning rate of the coordinate, ``a`` its ``received``, and ``t'``
    the weight of the rows for which L2 is due. So ``u`` stays 0 as long as the *sum* of its gradients is within ``l1
    t``, and no single row moves it. This is FTRL-Proximal (McMahan, AISTATS 2011), with the steps of the rule. Because
    ``r`` is the current rate, a column that waited is not quite what it would be if settled at each row; with L2 alone
    it is.

    With ``target_unit``, ``u`` and the loss are in units of the target's current standard deviation.

    ``columns`` are all or some, as before the current row. Returned are their new ``weight`` and ``received``; the
    latter stays if it is None.
    """
    rule = state.rule
    if rule.l1 > 0:
        return _penalised_by_l1(state, columns)
    if rule.l2 == 0:
        return columns.weight, None
    due = state.shrinkage - columns.shrunk
    if rule.intercept:
        due[-1] = 0.0
    decay = np.exp(-rule.l2 * _rates(state, columns, due))
    return columns.weight * decay + 0.0, None  # ``+ 0.0`` leaves no -0, which a step of 0 would turn into 0


def _penalised_by_l1(state, columns):
    """`penalised_weight` with an L1 penalty."""
    rule, t, w, a = state.rule, state.t, columns.weight, columns.received
    if t == 0:
        return w, a
    per_row = rate_of_row(rule, t, state.N)
    rate = np.minimum(_rates(state, columns, np.full(columns.lift.size, per_row)), LARGEST)
    pull = rule.l1 * rate * state.unit()[:, None]
    if not rule.adaptive:  # the weight is theta, not u
        pull = pull * columns.size(rule, t)
    pull = np.minimum(pull, LARGEST)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        left = np.maximum(w - pull * (t - a), 0.0) + np.minimum(w + pull * (t + a), 0.0)
        held = between(np.where(w == 0, a, a + w / pull), -t, t)
    received = np.where(left == 0, held, np.copysign(t, left))
    if rule.l2 > 0:
        left = left / (1.0 + np.minimum(rule.l2 * rate * (t - columns.shrunk), LARGEST))
    left = left + 0.0
    if rule.intercept:
        left[:, -1], received[:, -1] = w[:, -1], a[:, -1]
    return left, received


def pace(rule, t):
    """Factor of learning rates that depends on time alone."""
    rate = np.asarray(t)[()] ** -rule.power_t  # beyond the range a power of Python's floats raises an error
    return np.where(t > rule.slowed_from, rate * rule.slowed, rate)[()]


def rate_of_row(rule, t, N):
    """Argument of `_rates` for learning rates after rows of total weight ``t``."""
    rate = pace(rule, t)
    if rule.normalization is not None:
        per_row = t / N if N > 0 else t
        rate *= math.sqrt(per_row) if rule.adaptive else per_row
    return float(rate / rule.time_factor(t)) if rule.adaptive else rate


def _rates(state, columns, clock):
    """Learning rates, of shape (n_heads, n_columns), for ``u`` and losses in units of the target.

    ``clock`` is what heads share: `rate_of_row` of each column, or a sum over rows.
    """
    rule = state.rule
    rate = np.multiply.outer(rule.eta, clock)
    if rule.adaptive:  # 1 / sqrt(H), except what the clock holds; bounded, because it is huge before the first gradient
        unit = state.unit()[:, None] ** (rule.degree - 1)
        with np.errstate(over="ignore", invalid="ignore"):
            root = state.gradient_lift[:, None] * columns.scale_but_for_time(rule, state.t) / np.sqrt(columns.G)
            root = root.repeat(rule.sharing, axis=0)
            rate *= np.minimum(np.where(unit > 0, root * unit, 0.0), STEEPEST)
    return rate
