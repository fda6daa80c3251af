"""Several half-lives side by side: one model for each, mixed by how well they predicted rows before learning them.

Models share nothing but the rows. Fading means and scales are much of what a short half-life gains: on the electricity
stream, six half-lives predict .87 of the classes on common scales, .95 on their own. Predictions are mixed, which keeps
the model linear; mixing probabilities would lower the log loss by at most .0041 on any stream measured.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import lru_cache
from types import SimpleNamespace
from typing import ClassVar

import numpy as np

from ...losses import FARTHEST, NOTHING, ZERO, between
from ..state.checks import check_array, check_finite
from ..state.lifts import LARGEST, TINY, positive
from ..state.mixture import FixedShare
from ..state.targets import Targets
from ..vectorized.columns import running
from ..vectorized.targets import read_classes, read_units, read_variations
from .rule import Rule, State

OF_DEVIANCES = 2.0  # a deviance is twice a negative log likelihood
AT_ONCE = 2**13  # rows for which the predictions of all models are kept at once


@dataclass(frozen=True)
class MixedRule(Rule):
    """Rule of one model that never forgets, and of one more for each half-life.

    Attributes
    ----------
    half_lives : tuple of float
        Of the models that forget.
    in_nats : bool
        Whether losses are log losses, which `FixedShare` uses unscaled.
    most_nats : float
        The most that a model's loss on a row counts beyond the loss of the frequency of the row's class; infinity in
        models of earlier versions. Otherwise, one row that a model was sure of would decide about it for hundreds.
        Without the frequency, a model that rules out rare classes would win.
    """

    forgets: ClassVar[bool] = True
    as_begun: ClassVar[tuple[str, ...]] = (*Rule.as_begun, "half_lives", "most_nats")
    columnwise: ClassVar[bool] = False  # the weights of several models must be looked up

    half_lives: tuple[float, ...] = ()
    in_nats: bool = False
    most_nats: float = np.inf


@lru_cache
def rules_of(rule):
    """Rules of the models; the one that never forgets comes first."""
    values = {part.name: getattr(rule, part.name) for part in fields(Rule)}
    return tuple(Rule(**{**values, "half_life": h, "plays_latest": False}) for h in (np.inf, *rule.half_lives))


def _of_all(name):
    """Method of `MixedState` that makes a new state by method ``name`` of all models."""

    def make(self, *args):
        others = tuple(getattr(other, name)(*args) for other in self.others)
        return replace(getattr(State, name)(self, *args), others=others)

    return make


@dataclass(eq=False)
class MixedState(State):
    """One model for each half-life; attributes not listed here are those of the model that never forgets.

    Attributes
    ----------
    others : tuple of State
        The models that forget.
    trusted : FixedShare
        How much each model is trusted.
    heard : Targets
        As ``targets``, but with the same bits in both kernels; for units and upper bounds of losses.
    loss : ndarray of shape (n_played,)
        Of the mixture.
    """

    SMALL: ClassVar[tuple[str, ...]] = (*State.SMALL, "trusted", "heard")

    others: tuple = ()
    trusted: FixedShare = field(default_factory=lambda: FixedShare.new(1, 1, 0.0))
    heard: Targets = field(default_factory=lambda: Targets.new(1))

    @classmethod
    def new(cls, rule, n_features):
        state, rules = super().new(rule, n_features), rules_of(rule)
        state.others = tuple(State.new(own, n_features) for own in rules[1:])
        unit = 0.0 if rule.in_nats else float(rule.degree or OF_DEVIANCES)
        state.trusted = FixedShare.new(rule.n_groups, len(rules), unit)
        state.heard = state.targets.copy()
        return state

    @property
    def seen(self):
        """Total weight of the rows seen."""
        return self.t

    def check_others(self):
        """Raise ValueError unless ``others`` have the expected rules and columns, and ``heard`` the expected table."""
        rules = [getattr(other, "rule", None) for other in self.others]
        if rules != list(rules_of(self.rule)[1:]) or not all(type(other) is State for other in self.others):
            raise ValueError("others are not the models that the half-lives of the rule stand for")
        for other in self.others:
            if getattr(getattr(other, "columns", None), "lift", np.empty(0)).shape != self.columns.lift.shape:
                raise ValueError("others have another number of columns")
        if type(self.heard) is not Targets:
            raise ValueError(f"heard is a {type(self.heard).__name__}; it must be what is known of targets")
        check_array("heard", self.heard.table, self.targets.table.shape)
        check_finite("heard", self.heard.table)

    def models(self):
        """Pairs of a share, of shape (n_played,), and a model."""
        first = object.__new__(State)
        cached = None if self.cached is None else self.cached[3]
        vars(first).update({name: value for name, value in vars(self).items() if name not in OF_MIXTURES})
        vars(first).update(rule=rules_of(self.rule)[0], cached=cached)
        if _has_floors(self.rule):
            has_zeros = self.targets.low <= ZERO
            for model, floor in zip(self.others, _floors(self.rule, self.target_mean(), self.t, has_zeros)):
                model.floor = floor
        weights = self.trusted.weights()
        shares = weights if len(weights) == self.rule.n_played else np.repeat(weights, self.rule.n_played, axis=0)
        return list(zip(shares.T, (first, *self.others)))

    def undo(self, named=None):
        """`MixedUndo` of all models; see `LinearState.undo`."""
        first = super().undo(named)
        return MixedUndo(first, [other.undo(first.named, as_given=True) for other in self.others])

    copy, moved, part, latest, unclipped = map(_of_all, ("copy", "moved", "part", "latest", "unclipped"))

    def clip_range(self):
        """Range of predictions: its ends are mixtures of the models' own ends."""
        if self.rule.clip != "targets" or self.t == 0:
            return super().clip_range()
        shares, models = zip(*self.models())
        ends = zip(*(model.clip_range() for model in models))
        with np.errstate(over="ignore"):  # added in the same order as predictions, so that both are equal
            means = (sum(share * end for share, end in zip(shares, some)) for some in ends)
            return tuple(np.clip(mean, -LARGEST, LARGEST) for mean in means)

    def adopt(self, rule):
        """Switch all models to ``rule``."""
        rule = self.goes_on_by(rule)
        first, *others = rules_of(rule)
        self.rule = rules_of(self.rule)[0]
        super().adopt(first)
        for other, own in zip(self.others, others, strict=True):
            other.adopt(own)
        self.rule = rule

    def relift_targets(self, factor):
        """Multiply what has the unit of targets by ``factor``, in all models."""
        super().relift_targets(factor)
        for other in self.others:
            other.relift_targets(factor)
        self.heard = Targets(self.heard.table * factor, self.heard.lift * factor)

    def eta0_weights(self):
        """Shares of experts in all models together, of shape (n_groups, n_experts)."""
        shares = self.trusted.weights()
        weights = [model.mixture.weights() for model in (self, *self.others)]
        return sum(share[:, None] * own for share, own in zip(shares.T, weights))

    def unit_free_weight(self):
        """Like that of any model, relative to the mean and over the scale of the model that never forgets."""
        shares, models = zip(*self.models())
        with np.errstate(all="ignore"):
            scale = positive(models[0].scale())
            parts = [model.unit_free_weight() * (scale / positive(model.scale())) for model in models]
            return np.clip(sum(share[:, None] * own for share, own in zip(shares, parts)), -LARGEST, LARGEST)

    def far(self, *distance):
        """Whether `LinearState.far` holds in any model, by column."""
        return np.logical_or.reduce([model.far(*distance) for _, model in self.models()])

    def linear(self):
        """See `LinearState.linear`; also caches the first model's, because `models` makes that model anew."""
        return super().linear()[:3]

    def _linear(self):
        """Compute `linear`: a mean of linear functions is linear."""
        shares, models = zip(*self.models())
        functions = [model.linear() for model in models]
        with np.errstate(all="ignore"):
            coef = sum(share[:, None] * own[0] for share, own in zip(shares, functions))
            intercept = sum(share * own[1] for share, own in zip(shares, functions))
            coef, intercept = (between(a, -LARGEST, LARGEST) for a in (coef, intercept))
        return self.within_bounds(coef), intercept, min(own[2] for own in functions), functions[0]


MixedRule.State = MixedState
OF_MIXTURES = {part.name for part in fields(MixedState)} - {part.name for part in fields(State)}


class MixedUndo:
    """`Undo` of the ``first`` model, with what all models share, and of each of the others."""

    def __init__(self, first, others):
        self.state, self.first, self.others = first.state, first, others
        self.named = first.named

    def end(self):
        """`Undo.end` of all models."""
        for undo in (self.first, *self.others):
            undo.end()

    def restore(self):
        """`Undo.restore` of all models."""
        for undo in (self.first, *self.others):
            undo.restore()

    def model(self, later=()):
        """`Undo.model` of all models, as one."""
        firsts, others = [undo.first for undo in later], [other for undo in later for other in undo.others]
        models = tuple(undo.model([other for other in others if other.state is undo.state]) for undo in self.others)
        return replace(self.first.model(firsts), others=models)


def learn_and_mix(learn_by, tells, mix, state, loss, X, y, sample_weight, order, predictions):
    """Let all models learn rows; their mixture predicts each row before any has learnt it.

    ``learn_by(rule)`` is ``learn_rows`` for one model; if this ``tells``, it also fills an array with the losses of
    predictions. ``mix`` is `Mixture.play` with the mixture, of a single group, as first argument.
    """
    n = X.shape[0] if order is None else len(order)
    for start in range(0, n, AT_ONCE):
        rows = slice(start, min(start + AT_ONCE, n)) if order is None else order[start : start + AT_ONCE]
        c = None if sample_weight is None else sample_weight[rows]
        some = X if order is None and n <= AT_ONCE else X[rows]
        if isinstance(X, np.ndarray):  # one copy for all models, if rows are not contiguous
            some = np.ascontiguousarray(some)
        mixed = _learn_some(learn_by, tells, mix, state, loss, some, y[rows], c)
        if predictions is not None:
            predictions[start : start + len(mixed)] = mixed


def _learn_some(learn_by, tells, mix, state, loss, X, y, sample_weight):
    """Let all models learn some rows; return the predictions of the mixture, of shape (n_rows, n_played)."""
    rule, before, n = state.rule, state.t, len(y)
    targets = read_classes(y, rule.n_targets)
    c = np.ones(n) if sample_weight is None else sample_weight
    t = running(np.add, before, c)
    hear = _hear_rates if rule.log_link else _hear_targets
    predicted, in_units, units, noise, floors = hear(state, loss, targets, c, t)
    played = np.empty((1 + len(state.others), n, rule.n_played))
    told, of_mixture = np.empty_like(played) if tells else [None] * len(played), state.loss.copy()
    state.rule = rules_of(rule)[0]
    try:
        for model, own, lost in zip((state, *state.others), played, told):
            model.cached, model.looked_up = None, 0
            telling = {"losses": lost} if tells else {}
            learn_by(model.rule)(model, loss, X, y, sample_weight, None, own, **telling)
    finally:
        state.rule = rule

    def values(predicted, y, *units):
        return loss.value(loss.margins(predicted) if loss.coupled else predicted, y, *units)

    def counted(losses):
        losses = np.minimum(np.minimum(losses, LARGEST) * c[:, None], LARGEST)
        if rule.target_unit and before == 0 and rule.intercept:  # the first row is not predicted
            losses[..., 0, :] = 0.0
        return losses

    played[1:] = np.maximum(played[1:], floors)
    with np.errstate(all="ignore"):
        by_all = told if tells and not rule.target_unit else values(predicted(played), in_units)
        losses = counted(np.minimum(by_all, _most_nats(state, targets, c, t)) if rule.in_nats else by_all)
        if rule.n_groups < rule.n_targets:
            losses = np.minimum(np.add.reduce(losses, axis=2, keepdims=True), LARGEST)
        mixed = played[0].copy()  # adding differences from it leaves predictions on which all models agree unrounded
        shares, row_weights = np.empty(losses.shape), np.stack([c, t[1:]], axis=1)
        for i in range(rule.n_groups):
            by_chance = None if noise is None else noise[:, i] * c
            by_group = np.ascontiguousarray(losses[..., i].T)
            shares[..., i] = mix(state.trusted.group(i), by_group, by_chance, row_weights).T
        for own, share in zip(played, shares):
            mixed += share * between(own - played[0], -LARGEST, LARGEST)
        mixed = between(mixed, -LARGEST, LARGEST)
        totals = running(np.add, of_mixture, counted(values(mixed, targets, units)))
        state.loss[:] = np.minimum(totals[-1], LARGEST)
    return mixed


def _most_nats(state, targets, c, t):
    """Upper bounds of log losses, by the frequency of each row's class so far; updates ``heard.sum``."""
    sums = running(np.add, state.heard.sum, c[:, None] * targets)
    state.heard.sum[:] = sums[-1]
    frequency = 0.5 + 0.5 * targets * (sums / np.maximum(t, TINY)[:, None])[1:]
    return state.rule.most_nats - np.log(np.maximum(frequency, TINY))


def _hear(read, state, targets, c, t, robust=False):
    """What ``read`` makes of targets, which it adds to ``state.heard``."""
    rule = SimpleNamespace(intercept=state.rule.intercept, robust=robust, outlying=state.rule.outlying)
    heard = SimpleNamespace(rule=rule, targets=state.heard, t=state.t)
    return read(heard, targets, c, t)


def _hear_targets(state, loss, targets, c, t):
    """How to free losses of units, so that no square leaves the range.

    ``t`` is the total weight before each row, and after the last. No single row may set the unit, in which losses of
    later rows would be nothing; losses with a parameter in units of the target are exempt.

    Returns
    -------
    predicted : callable
        Maps predictions, of shape (n_models, n_rows, n_targets), to those of which losses are taken.
    in_units : ndarray of shape (n_rows, n_targets)
        Targets that go with these.
    units : ndarray of shape (n_rows, n_targets)
        Of the targets.
    noise : ndarray of shape (n_rows, n_targets) or None
        Loss that is put down to chance, the least that a mean loss counts as; None if losses themselves tell.
    floors : float or ndarray of shape (n_models - 1, n_rows, n_targets)
        Lower bounds of predictions by the models that forget.
    """
    if not state.rule.target_unit:
        return (lambda played: played), targets, np.ones(targets.shape), None, -np.inf
    with np.errstate(all="ignore"):
        robust = state.rule.robust or "epsilon" not in loss.parameters
        *_, units = _hear(read_units, state, targets, c, t, robust)
        units = units[1:]
        unit = positive(units)
        return (lambda played: played / unit), targets / unit, units, None, -np.inf


def _hear_rates(state, _, targets, c, t):
    """`_hear_targets` for predictions that are logarithms, because deviances have a unit, too.

    If most targets are 0, the mean deviance is far below the dispersion, which divides it in the log likelihood and is
    then about the squared coefficient of variation. The deviance of a 0 counts as at least this: many zeros are no
    reason to trust most the models that expected them most.
    """
    means, noise, floors = np.zeros(targets.shape), None, -np.inf
    with np.errstate(all="ignore"):
        if state.rule.target_unit:
            means, variations = _hear(read_variations, state, targets, c, t)
            means, noise = means[:-1], np.where(targets == 0.0, variations, 0.0)
        start = np.where(means == NOTHING, 0.0, means)
        if _has_floors(state.rule):
            are_zeros = np.vstack([state.targets.low <= ZERO, targets[:-1] == 0.0])
            floors = _floors(state.rule, means, t[:-1, None], np.logical_or.accumulate(are_zeros))
        relative = np.where(targets > 0, np.exp(np.clip(np.log(targets) - start, -FARTHEST, FARTHEST)), 0.0)
    over = lambda played: np.where(played <= ZERO, played, played - start)  # noqa: E731
    return over, relative, np.ones(targets.shape), noise, floors


def _has_floors(rule):
    """Whether predictions are clipped logarithms, counted from that of a mean."""
    return rule.log_link and rule.target_unit and rule.clip is not None


def _floors(rule, mean, t, has_zeros):
    """Lower bounds of the logarithms that the models that forget predict; -inf until a target is 0 and one is not.

    Rows of zeros show only that the rate is below one over their number. A model that predicted less would be trusted
    for it, and would spoil a mean of logarithms.

    ``mean`` is the logarithm of the mean of all targets, or `NOTHING`, and ``t`` the weight of all rows. The first axis
    of the result is that of half-lives.
    """
    half_lives = np.reshape(rule.half_lives, (-1, *[1] * np.ndim(mean)))
    rows = np.minimum(t, half_lives / np.log(2.0))
    return np.where(has_zeros & (mean > NOTHING), mean - np.log1p(rows), -np.inf)
