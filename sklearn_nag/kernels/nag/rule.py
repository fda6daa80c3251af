"""The NAG family: its rules, its models, and the penalty.

Two identities keep the arithmetic short, because they leave nothing to rescale when a scale changes:

* adaptive rules: ``g z / sqrt(H) = g x / sqrt(G)`` with ``H = G / s^2``, so the step of ``u`` does not depend on ``s``;
* the others: ``w = theta / s^2`` with ``theta = -sum eta (t/N) g x``, which is what squashing by ``(s/|x|)^2`` keeps.
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
MOST_DAMPED = 2.0**400  # a lifted unit of gradients whose square stays in range, whatever the scale

# What is kept of each column; `State` says what weights are.
FIELDS = (
    *INPUTS,
    Field("shrunk", lambda rule: rule.l2 > 0),  # reading of the clock up to which an L2 penalty has been applied
    WEIGHT._replace(lift_power=lambda rule: 0 if rule.adaptive else 1),
    G._replace(needed=lambda rule: rule.adaptive),
    # ``State.averaged * weight`` less the sum of ``c t weight`` over the weights played, so that rows which do not name
    # a column leave it as it is; that sum itself while averaging is turned off.
    PAST._replace(needed=lambda rule: rule.averaged, lift_power=lambda rule: 0 if rule.adaptive else 1, fades=True),
    # Subgradients of ``|u|`` that an L1 penalty has applied, summed over rows: within ``t`` of 0, at its ends where
    # ``u`` is not 0.
    Field("received", lambda rule: rule.l1 > 0, per_head=True, fades=True),
)


@dataclass(frozen=True)
class Rule(LinearRule):
    """One update rule with its parameters; models that earlier versions began keep theirs of `as_begun`, the defaults.

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
        What the rate is multiplied by once ``t`` is above `slowed_from`.
    l1, l2 : float
        Strength of the penalty ``l1 |u| + l2 u^2 / 2`` for each column.
    average_from : float
        Played weights are averaged once the total weight ``t`` reaches this, ``inf`` for never; a row then counts
        ``c t`` in the average.
    last : float
        Share of the latest weights in what predicts, where weights are averaged; the average has the rest.
    judged : bool
        Whether that share follows the losses of the two instead, by AdaHedge.
    plays_latest : bool
        Whether the latest weights alone are played, whatever predicts.
    importance_aware : bool
        Whether a step is the limit of infinitely many small ones, for losses that have a ``move``.
    experts : int
        Heads for each target. Heads of an expert lie side by side.
    mixed : bool
        Whether the experts make one prediction together, by AdaHedge; else each is played, and judged, by itself.
    half_life : float
        Weight of rows after which what was learnt counts half, ``inf`` where it does not fade; see `forgetting`.
    fades_average : bool
        Whether the average of the weights played fades, too, and short half-lives forget weights sooner.
    slow_scales : bool
        Whether scales fall slowly while the model forgets, not at once.
    damped : bool
        Whether the steps of rare columns are divided by the root of ``H + DAMPING``, in units of the loss, where
        nothing is penalised or projected.
    named_clearly : bool
        Whether clearly more than half of the rows have to name a column for it to become frequent while the model
        forgets, not just half.
    centred, target_unit, degree, robust, outlying, coupled, log_link, clip
        See `LinearRule`.
    constraint : set of `sklearn_nag.constraints` or None
        Where ``u`` of the features is held, in units of the target: projected after each step in the metric of the
        steps, ``sqrt(H)``. The radius then has the place of ``sqrt(t / N)`` in the rates of adaptive rules with scales.
        A `Box` holds weights in raw units instead, of the columns that a row visits, by the scales that it leaves.
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
        """Number of targets: heads, but for the experts."""
        return len(self.eta) // self.experts

    @property
    def sharing(self):
        """How many heads have one ``G``, the mean of what each would have: those that the loss compares, or just one.

        A row has a slope of about 1 in its class and of ``1 / K`` in the others. Each over the root of its own sum, the
        many small ones would move weights as far as the large one does.
        """
        return self.n_targets if self.coupled and self.adaptive else 1

    def heads(self, experts, targets):
        """The heads of some of the experts for some of the targets."""
        return (experts[:, None] * self.n_targets + targets).ravel()

    @property
    def radius(self):
        """What the rates of the rule have in the place of ``sqrt(t / N)``; 0 where they have that."""
        replaced = self.projected and self.adaptive and self.normalization is not None
        return self.constraint.radius if replaced else 0.0

    @property
    def slowed_from(self):
        """When about 20 rows were on the rare side of a quantile, between two rows."""
        return np.rint(80.0 / max(self.slowed, 1e-150) ** 2) + 0.5 if self.slowed < 1.0 else np.inf

    @property
    def penalised(self):
        return self.l1 > 0 or self.l2 > 0

    @property
    def averaged(self):
        return self.average_from < np.inf

    @property
    def lifted(self):
        """Whether columns are lifted: OGD alone works on them as they are."""
        return self.adaptive or self.normalization is not None

    @property
    def lazy(self):
        """Whether a row may skip the columns it does not name, as what it does to them can be applied later.

        It cannot where weights that a penalty shrinks are averaged, nor where all features are centred, so that a 0 is
        a deviation like any other, nor where weights have a constraint in common.
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
        """Whether the weight of a column that is not centred is a function of what is kept for it."""
        return self.selective or not self.centred

    @property
    def weight_power(self):
        """By which power of ``s`` weights per unit of ``x`` are smaller than those kept."""
        return 1 if self.adaptive or self.normalization is None else 2


@dataclass(eq=False)
class State(JudgedState):
    """A model of the NAG family.

    ``columns.weight`` holds ``u`` for adaptive rules, ``theta * lift`` for the others; ``columns.past`` what turns it
    into the average of the weights played.

    Attributes
    ----------
    N : float
        ``sum c z^2`` over rows and columns.
    extra : float
        By how much ``averaged`` of a merged model is more than what the models counted, each by rows of its own.
    shrinkage : float
        Clock of the L2 penalty: ``sum c eta_t`` times what the rule normalises it by, without the factor ``eta``.
    mixture : Mixture
        How much each expert is trusted.
    gradient_lift : ndarray of shape (n_heads / sharing,)
        Powers of two; ``g' = g * gradient_lift``.
    """

    CLOCKS: ClassVar[tuple[str, ...]] = (*JudgedState.CLOCKS, "N", "extra", "shrinkage")
    SMALL: ClassVar[tuple[str, ...]] = (*JudgedState.SMALL, "mixture", "gradient_lift")

    N: float = 0.0
    extra: float = 0.0  # also of models that were saved by earlier versions
    shrinkage: float = 0.0
    mixture: Mixture = field(default_factory=lambda: Mixture(np.zeros((0, 0)), np.zeros(0)))
    gradient_lift: np.ndarray = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def new(cls, rule, n_features):
        """State before the first row."""
        state = super().new(rule, n_features)
        state.mixture = Mixture(np.zeros((rule.n_groups, rule.experts)), np.zeros(rule.n_groups))
        state.gradient_lift = np.full(rule.n_heads // rule.sharing, LARGEST_LIFT)
        if isinstance(rule.constraint, Simplex) and n_features > 0 and not rule.target_unit:
            state.columns.weight[:, :n_features] = rule.constraint.radius / n_features
        return state

    def relift_targets(self, factor):
        """Multiply by ``factor`` the targets and what has their unit: weights and, for losses of degree 2, slopes."""
        super().relift_targets(factor)
        self.note_columns()  # before these are left, as what changes from here on is of others
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
        """By what fields of columns that rows have not named are multiplied until a ``later`` model, by name."""
        ratio = later.gradient_lift / self.gradient_lift
        return {"G": ratio[:, None] ** 2} if self.rule.adaptive and (ratio != 1.0).any() else {}

    # -- some of the heads

    def select_experts(self, experts, rule):
        """A state with arrays of its own: what learning by ``rule``, that of some ``experts``, would have given.

        To the bit, as the rule of all does not mix them.
        """
        heads = self.rule.heads(experts, np.arange(self.rule.n_targets))
        judged = self.judged_heads(self.rule.groups(heads)[:: rule.n_targets // rule.n_groups])
        return replace(self._with_heads(heads, rule), targets=self.targets.copy(), loss=self.loss[heads], **judged)

    def for_targets(self, which):
        """A state with arrays of its own that learns what some targets, not coupled with others, would among all."""
        heads = self.rule.heads(np.arange(self.rule.experts), which)
        subset = self._with_heads(heads, replace(self.rule, eta=tuple(self.rule.eta[head] for head in heads)))
        subset.targets = self.targets.take(which)
        subset.mixture = Mixture(self.mixture.excess[which], self.mixture.gap[which])
        played = which if self.rule.mixed else heads
        return replace(subset, loss=self.loss[played], **self.judged_heads(played))

    def put_targets(self, which, subset):
        """Take over what ``subset``, from `for_targets`, has learnt. What targets share is the same in all subsets."""
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
        """New state by ``rule`` with the columns, lifts and clocks of some of the heads."""
        columns = self.columns.of_heads(heads)
        lifts = self.gradient_lift[heads[:: rule.sharing] // rule.sharing]
        return replace(State.new(rule, 0), columns=columns, gradient_lift=lifts, **self.clocks())

    # -- rules that change

    def adopt(self, rule):
        """Go on by ``rule``, which may differ in everything but the meaning of the arrays.

        A penalty that is due is made up for first, by the rule under which it fell due. An L1 penalty that is new
        counts as if it had always been there, and held the weights where they are. One that changes goes on from the
        gradients that it has held weights at 0 against, as far as it could have held them.
        """
        rule = self.goes_on_by(rule)
        if rule == self.rule:
            self.rule = rule
            return
        if rule.n_judged != self.rule.n_judged:
            self.begin_to_judge(rule)
        columns = self.columns
        columns.settle()
        if self.rule.averaged:  # keep the sum itself until averaging goes on
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
        """As of any model; those of earlier versions that average by a fixed share of the latest weights keep it."""
        if rule.judged and self.rule.averaged and not self.rule.judged and self.averaged > 0:
            rule = replace(rule, judged=False, last=self.rule.last)
        return super().goes_on_by(rule)

    def share_of_latest(self):
        """Share of the latest weights in what predicts, for each head."""
        return super().share_of_latest() if self.rule.judged else np.full(self.rule.n_heads, self.rule.last)

    # -- what the arrays stand for

    def latest(self):
        """As of any family; here it is by rows that the rule tells when it averages."""
        return replace(self, averaged=0.0, cached=None) if self.rule.averaged else self

    def unit_free_weight(self):
        """``u`` to predict with, of the average and the last one, shrunk by the penalty that is due; experts are mixed.

        Returns
        -------
        ndarray of shape (n_played, n_columns)
            Relative to the mean of columns and targets where these are learnt.
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
            u = u - (1.0 - self.share_of_latest())[:, None] * behind
        if not rule.adaptive:
            u = u / positive(self.size())
        if rule.n_played == rule.n_heads:
            return u
        experts = u.reshape(rule.experts, rule.n_targets, -1)
        mixed = [share[:, None] * own for share, own in zip(self.shares().T, experts)]
        return np.add.reduce(mixed)  # one after the other, whatever the number of columns

    def eta0_weights(self):
        """How much each expert is trusted, of shape (n_groups, n_experts)."""
        return self.mixture.weights()

    def shares(self):
        """How much each expert is trusted, of shape (n_targets, n_experts)."""
        shares = self.mixture.weights()
        return np.broadcast_to(shares, (self.rule.n_targets, shares.shape[1]))


Rule.State = State


def constrain(rule, columns, size, unit, heads):
    """Project the weights of some heads, but for the intercept, on the set of the rule.

    ``size`` holds lifted scales, ``unit`` the units of the targets, one for each head: a radius is so many of these.
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
    """What is added to ``G`` of rare columns, for a lifted scale of 1 and targets of some unit."""
    return DAMPING * between(gradient_lift * unit ** (rule.degree - 1), 0.0, MOST_DAMPED) ** 2


def ends_of(rule, columns, size, target_lift, places=slice(None)):
    """The least and the largest weights, as they are kept, within a `Box`; infinite where there is no bound.

    ``size`` holds the lifted scales of those of all ``columns`` that are at these ``places``.
    """
    size = positive(size)
    with np.errstate(over="ignore"):
        factor = size / columns.lift[places] * target_lift
        return columns.ends(factor if rule.adaptive or rule.normalization is None else factor * size, places)


def hold(state):
    """Bring the weights of a model within its `Box`."""
    columns = state.columns
    columns.settle()
    columns.weight[:] = np.clip(columns.weight, *ends_of(state.rule, columns, state.size(), state.targets.lift))


def penalty_clock(state, rule):
    """The clock whose past readings are in ``columns.shrunk``: ``t`` with an L1 penalty, else ``shrinkage``."""
    return state.t if rule.l1 > 0 else state.shrinkage


def settle(state, columns, named=None):
    """Make the weights what they are after the penalty that is due, and note that it has been applied.

    ``columns`` are all or some, as they were before the row at hand; ``named`` tells, as booleans, which of them to
    settle where there is an L1 penalty.
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

    L2 alone is the flow ``du = -r l2 u`` over ``r``, the learning rates of the rows that have passed.

    With L1, ``u`` becomes the minimum of ``(u - v)^2 / (2 r) + l1 (t |u| - a u) + l2 t' u^2 / 2``: ``v`` is the weight
    after the last step, ``r`` the learning rate of the coordinate now, ``a`` what is in ``received``, and L2 is due for
    rows of total weight ``t'``. So ``u`` stays 0 as long as the *sum* of its gradients is within ``l1 t``, and no
    single row moves it. This is FTRL-Proximal (McMahan, AISTATS 2011), with the steps of the rule. As ``r`` is that of
    now, a column that waited for it is not quite what it would be had each row settled it; with L2 alone it is.

    With ``target_unit``, ``u`` and the loss are in units of the target's standard deviation as it is by now.

    ``columns`` are all or some, as they were before the row at hand. What is returned is to take the place of their
    ``weight`` and, unless it is None, of their ``received``.
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
    return columns.weight * decay + 0.0, None  # which has no -0: a step of 0 would turn it into 0


def _penalised_by_l1(state, columns):
    """As `penalised_weight`, with an L1 penalty."""
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
    """The part of rates that depends on the time alone."""
    rate = t**-rule.power_t
    return np.where(t > rule.slowed_from, rate * rule.slowed, rate)[()]


def rate_of_row(rule, t, N):
    """What `_rates` is to be given for the learning rates of the coordinates after rows of total weight ``t``."""
    rate = pace(rule, t)
    if rule.normalization is not None:
        per_row = t / N if N > 0 else t
        rate *= math.sqrt(per_row) if rule.adaptive else per_row
    return float(rate / rule.time_factor(t)) if rule.adaptive else rate


def _rates(state, columns, clock):
    """Learning rates of the coordinates, for ``u`` and losses in units of the target, of shape (n_heads, n_columns).

    ``clock`` is what all heads have in common: `rate_of_row` of each column, or the sum over some rows.
    """
    rule = state.rule
    rate = np.multiply.outer(rule.eta, clock)
    if rule.adaptive:  # 1 / sqrt(H), but for what the clock holds; bounded, as it is huge before the first gradient
        unit = state.unit()[:, None] ** (rule.degree - 1)
        with np.errstate(over="ignore", invalid="ignore"):
            root = state.gradient_lift[:, None] * columns.scale_but_for_time(rule, state.t) / np.sqrt(columns.G)
            root = root.repeat(rule.sharing, axis=0)
            rate *= np.minimum(np.where(unit > 0, root * unit, 0.0), STEEPEST)
    return rate
