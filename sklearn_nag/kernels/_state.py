"""The arrays a model is made of, and the linear function they stand for.

Notation (paper: Ross, Mineiro and Langford, UAI 2013). A column is a feature, or the constant 1 of the intercept, which
is the last one. ``s`` is the scale of a column, ``z = x / s``, ``u = w s`` the weight without units.

Two identities keep the arithmetic short, because they leave nothing to rescale when a scale changes:

* adaptive rules: ``g z / sqrt(H) = g x / sqrt(G)`` with ``H = G / s^2``, so the step of ``u`` does not know ``s``;
* the others: ``w = theta / s^2`` with ``theta = -sum eta (t/N) g x``, which is what squashing by ``(s/|x|)^2`` keeps.

With ``centred`` rules ``x`` above is the deviation from the running mean, taken relative to the first row, so that a
distant origin costs no digits; the constant column is never centred. Likewise the targets, with ``target_unit``: they
are taken relative to the first one, predictions are counted from their running mean, steps are multiplied by their
running standard deviation.

Squares of doubles overflow, so columns and gradients are *lifted*: multiplied by a power of two, exactly, that brings
the largest value seen near 1. A lift is set when a column is first seen, 1 for values between 2**-64 and 2**64, and
changes at most fourteen times after.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np

LIFT_STEP = 2.0**128
HIGHEST, LOWEST = 2.0**64, 2.0**-64  # lifted values that ask for another lift: at any time, when first seen
LARGEST_LIFT = 2.0**896  # the largest lift
TINY = np.finfo(np.float64).tiny  # G of a column without a gradient: 0 / sqrt(G) is then 0, not NaN
LARGEST = np.finfo(np.float64).max
STEEPEST = 1e150
FARTHEST = 2.0**20  # size of a mean, in scales, from which predictions are made of deviations, not of raw features
_FIELDS = (  # compiled code for sparse rows relies on the first two being these
    *("lift", "largest", "shrunk", "credit", "squares", "origin", "sum", "deviation"),
    *("weight", "G", "beta", "past"),
)
_PER_HEAD = ("weight", "G", "beta", "past")


class Rule(NamedTuple):
    """One update rule with its parameters.

    Attributes
    ----------
    normalization : {"max", "rms", None}
        The scale ``s``: the largest ``|x|``, the root mean square of ``x``, or 1.
    adaptive : bool
        Whether steps are divided by the root of the sum of squared gradients.
    intercept : bool
        Whether the last column is the constant 1; it is never penalised.
    eta : tuple of float, of length n_heads
        Learning rate of each head.
    power_t : float
        The learning rate falls as ``t ** -power_t``; 0 keeps it constant.
    l1, l2 : float
        Strength of the penalty ``l1 |u| + l2 u^2 / 2`` for each column.
    average_from : float
        Total weight of rows after which played weights are averaged; ``inf`` for never. Row ``t`` counts ``c t``.
    centred : bool
        Whether ``x`` stands for the deviation from the running mean, and ``s`` for its size.
    importance_aware : bool
        Whether a step goes where infinitely many small ones would, for losses that have a ``move``.
    target_unit : bool
        Whether the unit of the targets is learnt and, with an intercept, their origin.
    degree : int
        ``y -> a y`` multiplies the loss by ``a ** degree``; for ``target_unit``.
    coupled : bool
        Whether the loss compares the heads of an expert with one another.
    experts : int
        Heads for each target. Heads of an expert lie side by side.
    mixed : bool
        Whether the experts make one prediction together, by AdaHedge; else each is played, and judged, by itself.
    """

    normalization: str | None
    adaptive: bool
    intercept: bool
    eta: tuple[float, ...]
    power_t: float = 0.0
    l1: float = 0.0
    l2: float = 0.0
    average_from: float = np.inf
    centred: bool = False
    importance_aware: bool = False
    target_unit: bool = False
    degree: int = 2
    coupled: bool = False
    experts: int = 1
    mixed: bool = True

    @property
    def n_heads(self):
        return len(self.eta)

    @property
    def n_targets(self):
        """Number of targets: heads, but for the experts."""
        return len(self.eta) // self.experts

    def heads(self, experts, targets):
        """The heads of some of the experts for some of the targets."""
        return (experts[:, None] * self.n_targets + targets).ravel()

    @property
    def n_played(self):
        """Number of predictions for a row: one for each target, of each expert where these are not mixed."""
        return self.n_targets if self.mixed else len(self.eta)

    @property
    def n_groups(self):
        """Number of groups of targets within which experts are trusted alike."""
        return 1 if self.coupled else self.n_targets

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
        """Whether what a row does to the columns it does not name can be made up for later, in closed form.

        It cannot where shrinking weights are averaged, nor for an L1 threshold on ``u`` while ``s`` drifts (sNG), nor
        where a 0 is a deviation from the mean like any other.
        """
        drifting = self.normalization == "rms" and not self.adaptive
        return not (self.centred or (self.penalised and (self.averaged or (self.l1 > 0 and drifting))))

    @property
    def fields(self):
        """Fields of `Columns` that are needed."""
        needed = {
            "shrunk": self.penalised,
            "squares": self.normalization == "rms",
            "origin": self.centred,
            "sum": self.centred,
            "deviation": self.centred and self.normalization == "max",
            "G": self.adaptive,
            "past": self.averaged,
        }
        return {"largest", "lift", "weight"} | {name for name, is_needed in needed.items() if is_needed}

    @property
    def lift_powers(self):
        """By which power of a lift each field is multiplied, but for ``G``."""
        powers = {"origin": 1, "sum": 1, "deviation": 1, "squares": 2}
        return powers if self.adaptive else {**powers, "weight": 1, "past": 1}


def lift(largest):
    """Power of two, with an exponent in steps of 128, that brings ``largest`` into [2**-64, 2**64) or near."""
    _, exponent = np.frexp(largest)
    steps = np.clip((exponent + 63) // 128, -7, 7)
    return np.ldexp(1.0, -128 * steps)


@lru_cache
def first_rows(names, n_heads):
    """First row of each field in a table of columns."""
    rows, row = {}, 0
    for name in names:
        rows[name] = row
        row += n_heads if name in _PER_HEAD else 1
    return MappingProxyType(rows)


class Columns:
    """What is kept for every column: the rows of a table, and views of it by name.

    The table is C-ordered, which suits dense rows, or Fortran-ordered, so that all of a column shares a cache line,
    which suits sparse ones (see `arrange`). No result depends on it.

    Parameters
    ----------
    table : ndarray of shape (n_fields, n_columns)
        One row for each field, ``n_heads`` rows for those that heads do not share.
    names : tuple of str
        The fields, in order. Those that a rule does not need are absent, and None as attributes.
    n_heads : int
        Number of heads.

    Attributes
    ----------
    largest : ndarray of shape (n_columns,)
        The largest ``|x|`` seen.
    lift : ndarray of shape (n_columns,)
        Powers of two; below, ``x'`` is ``x * lift``.
    shrunk : ndarray of shape (n_columns,) or None
        Reading of ``State.shrinkage`` up to which a penalty has been applied.
    squares : ndarray of shape (n_columns,) or None
        ``sum c x'^2``, for "rms"; of deviations from the mean, where centred.
    origin : ndarray of shape (n_columns,) or None
        ``x'`` of the first row, for centred rules.
    sum : ndarray of shape (n_columns,) or None
        ``sum c (x' - origin)``, for centred rules.
    deviation : ndarray of shape (n_columns,) or None
        The largest deviation of an ``x'`` from the mean of its time, for centred rules with "max".
    weight : ndarray of shape (n_heads, n_columns)
        ``u`` for adaptive rules, ``theta * lift = u s'`` for the others.
    G : ndarray of shape (n_heads, n_columns) or None
        ``sum g'^2 x'^2``, for adaptive rules.
    credit, beta : ndarray or None
        See `_invariant.InvariantState`, where ``weight``, ``G`` and ``past`` have another meaning, too.
    past : ndarray of shape (n_heads, n_columns) or None
        What is to be subtracted from ``State.averaged * weight`` for the sum of ``c t weight`` over played weights, or
        that sum itself while averaging is turned off. A column that is not named has nothing to be made up for.
    """

    largest = lift = shrunk = credit = squares = origin = sum = deviation = weight = G = beta = past = None

    def __init__(self, table, names, n_heads):
        self.table, self.names, self.n_heads = table, names, n_heads
        for name, row in self.rows().items():
            setattr(self, name, table[row : row + n_heads] if name in _PER_HEAD else table[row])

    @classmethod
    def new(cls, rule, n_columns, names=()):
        """Columns before the first row, with the fields that the rule needs and those named."""
        names = tuple(name for name in _FIELDS if name in names or name in rule.fields)
        n_heads = rule.n_heads
        n_fields = sum(n_heads if name in _PER_HEAD else 1 for name in names)
        columns = cls(np.zeros((n_fields, n_columns)), names, n_heads)
        columns.lift[:] = 1.0
        if columns.G is not None:
            columns.G[:] = TINY
        return columns

    def rows(self):
        """First row of each field in the table."""
        return first_rows(self.names, self.n_heads)

    def rows_of(self, heads):
        """Rows of the table for some of the heads: those of fields that heads share, and their own."""
        rows = (row + heads if name in _PER_HEAD else [row] for name, row in self.rows().items())
        return np.concatenate(list(rows))

    def __reduce__(self):
        return Columns, (self.table, self.names, self.n_heads)

    def copy(self):
        """Copy of all columns."""
        return Columns(self.table.copy(order="K"), self.names, self.n_heads)

    def take(self, index):
        """Copy of the columns at ``index``."""
        return Columns(np.ascontiguousarray(self.table[:, index]), self.names, self.n_heads)  # sums go along rows

    def put(self, index, part):
        """Write ``part`` back to the columns at ``index``."""
        self.table[:, index] = part.table

    def arrange(self, order):
        """Order the table, "C" or "F", if it is not ordered so."""
        if not self.table.flags[f"{order}_CONTIGUOUS"]:
            self.__init__(np.array(self.table, order=order), self.names, self.n_heads)

    def finite(self):
        """Whether no number that could has left the range of float64; lifts keep the others small."""
        fields = (self.largest, self.weight, self.squares, self.past, self.sum)
        return all(np.isfinite(values).all() for values in fields if values is not None)

    def relift(self, rule, new):
        """Change the lifts; one that rises does so before there is anything to rescale."""
        ratio = np.minimum(new / self.lift, 1.0)
        self.lift[:] = new
        for name, power in rule.lift_powers.items():
            if name in self.names:
                getattr(self, name)[...] *= ratio**power
        if self.G is not None:
            self.rescale_G(ratio**2)

    def rescale_G(self, factor):
        """Multiply ``G``, which stays positive."""
        np.maximum(self.G * factor, TINY, out=self.G)

    def resting_size(self, rule):
        """Scale ``s``, lifted, but for the factor ``t ** -0.5`` that changes while a column is not named."""
        if rule.normalization == "max":
            return self.deviation if rule.centred else self.largest * self.lift
        if rule.normalization == "rms":
            return np.sqrt(self.squares)
        return self.lift

    def size(self, rule, t):
        """Scale ``s``, lifted, after rows of total weight ``t``."""
        size = self.resting_size(rule)
        return size / np.sqrt(max(t, TINY)) if rule.normalization == "rms" else size


class Targets:
    """What is learnt of the targets, one entry for each; all is 0 where a rule has no use for it.

    Parameters
    ----------
    table : ndarray of shape (5, n_targets)
        The attributes.

    Attributes
    ----------
    origin : ndarray of shape (n_targets,)
        The first target, to which the others are relative; 0 without an intercept.
    sum : ndarray of shape (n_targets,)
        ``sum c y``; 0 without an intercept.
    spread : ndarray of shape (n_targets,)
        Root of ``sum c (y - mean)^2``.
    low, high : ndarray of shape (n_targets,)
        The smallest and the largest.
    """

    def __init__(self, table):
        self.table = table
        self.origin, self.sum, self.spread, self.low, self.high = table

    def __reduce__(self):
        return Targets, (self.table,)

    def mean(self, t):
        """Running mean after rows of total weight ``t``, relative to the origin."""
        return self.sum / max(t, TINY)


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
        """Share of each expert, of the shape of ``excess``; of the leaders alone while there is no gap."""
        gap = self.gap[:, None]
        with np.errstate(all="ignore"):
            power = np.where(gap > 0, -np.log(self.excess.shape[1]) * (self.excess / gap), -np.inf)
        share = np.exp(np.where(self.excess == 0, 0.0, power))
        return share / np.add.reduce(share, axis=1, keepdims=True)

    def suffer(self, share, losses):
        """Count the losses, both of shape (n_groups, n_experts), of a row that was played with these shares."""
        n_experts = share.shape[1]
        behind = np.where(share > 0, losses, np.inf)
        behind = np.where(share > 0, losses - behind.min(axis=1, keepdims=True), 0.0)
        mean = np.add.reduce(share * behind, axis=1)
        rate = np.log(n_experts) / positive(self.gap)
        mixed = -np.log(np.add.reduce(share * np.exp(-rate[:, None] * behind), axis=1)) / rate
        self.gap[:] = np.minimum(self.gap + np.maximum(0.0, mean - np.where(self.gap > 0, mixed, 0.0)), LARGEST)
        self.excess[:] = np.minimum(self.excess + (losses - losses.min(axis=1, keepdims=True)), LARGEST)
        self.excess -= self.excess.min(axis=1, keepdims=True)


@dataclass(eq=False)
class State:
    """A model: its columns, and what is common to all of them.

    Attributes
    ----------
    rule : Rule
        The rule that made the state; a penalty that is still due is due by its parameters.
    columns : Columns
        The arrays that have one entry for each column.
    t : float
        Total weight of the rows seen.
    N : float
        ``sum c z^2`` over rows and columns.
    loss : ndarray of shape (n_played,)
        Sum of the weighted progressive losses.
    targets : Targets
        Origins and units of the targets.
    mixture : Mixture
        How much each expert is trusted.
    gradient_lift : ndarray of shape (n_heads,)
        Powers of two; ``g' = g * gradient_lift``.
    shrinkage : float
        Clock of the penalty: ``sum c eta_t`` times what the rule normalises it by, without the factor ``eta``.
    averaged : float
        ``sum c t`` over the rows that are averaged.
    cached : tuple or None
        What `linear` returned since the last row was learnt.
    G_before : ndarray or None
        ``columns.G`` before a kernel rescaled all of it, within `unchanged_on_error`.
    """

    kernel: ClassVar[str] = ""  # what the modules of the kernel end in

    rule: Rule
    columns: Columns
    t: float
    N: float
    loss: np.ndarray
    targets: Targets
    mixture: Mixture
    gradient_lift: np.ndarray
    shrinkage: float = 0.0
    averaged: float = 0.0
    cached: tuple | None = field(default=None, repr=False)
    G_before: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def new(cls, rule, n_features):
        """State before the first row."""
        columns = Columns.new(rule, n_features + rule.intercept)
        targets = Targets(np.zeros((5, rule.n_targets)))
        mixture = Mixture(np.zeros((rule.n_groups, rule.experts)), np.zeros(rule.n_groups))
        lifts = np.full(rule.n_heads, LARGEST_LIFT)
        return cls(rule, columns, 0.0, 0.0, np.zeros(rule.n_played), targets, mixture, lifts)

    def __getstate__(self):
        return {**vars(self), "cached": None}

    def copy(self):
        """Independent copy, with arrays that can be written to."""
        return replace(self, columns=self.columns.copy(), **self._small())

    def part(self, experts, rule):
        """Some of the experts as a state of its own.

        Parameters
        ----------
        experts : ndarray of int
            Which ones, of a rule that does not mix them.
        rule : Rule
            The rule for these alone.

        Returns
        -------
        State
            The bits that learning by ``rule`` from the start would have given; with arrays of its own.
        """
        heads = self.rule.heads(experts, np.arange(self.rule.n_targets))
        return replace(self._with_heads(heads, rule), targets=Targets(self.targets.table.copy()), loss=self.loss[heads])

    def for_targets(self, which):
        """Some of the targets, not coupled, as a state of its own, which learns what it would among all.

        Parameters
        ----------
        which : ndarray of int
            Which targets.

        Returns
        -------
        State
            With arrays of its own.
        """
        heads = self.rule.heads(np.arange(self.rule.experts), which)
        part = self._with_heads(heads, self.rule._replace(eta=tuple(self.rule.eta[head] for head in heads)))
        part.targets = Targets(self.targets.table[:, which])
        part.mixture = Mixture(self.mixture.excess[which], self.mixture.gap[which])
        part.loss = self.loss[which if self.rule.mixed else heads]
        return part

    def put_targets(self, which, part):
        """Take over what ``part``, from `for_targets`, has learnt; what targets share is the same in all parts."""
        heads = self.rule.heads(np.arange(self.rule.experts), which)
        self.columns.table[self.columns.rows_of(heads)] = part.columns.table
        self.targets.table[:, which] = part.targets.table
        self.mixture.excess[which], self.mixture.gap[which] = part.mixture.excess, part.mixture.gap
        self.loss[which if self.rule.mixed else heads] = part.loss
        self.gradient_lift[heads] = part.gradient_lift
        vars(self).update(part._clocks())

    def _with_heads(self, heads, rule):
        """New state by ``rule`` with the columns, lifts and clocks of some of the heads."""
        table = self.columns.table
        order = "C" if table.flags.c_contiguous else "F"
        part = np.array(table[self.columns.rows_of(heads)], order=order)
        columns = Columns(part, self.columns.names, len(heads))
        return replace(State.new(rule, 0), columns=columns, gradient_lift=self.gradient_lift[heads], **self._clocks())

    def _clocks(self):
        return {name: getattr(self, name) for name in ("t", "N", "shrinkage", "averaged")}

    def _small(self):
        """Copies of what does not grow with the columns."""
        targets = Targets(self.targets.table.copy())
        arrays = {"loss": self.loss.copy(), "gradient_lift": self.gradient_lift.copy()}
        return {**arrays, "targets": targets, "mixture": self.mixture.copy()}

    @contextmanager
    def unchanged_on_error(self, named=None):
        """Undo what happens inside when it raises.

        Parameters
        ----------
        named : ndarray of int, optional
            The columns that the rows to be learnt name, where they are few: only these are copied if only these can
            change, but for ``G``, of which kernels keep a copy in ``G_before`` when they rescale all of it.
        """
        if not self.rule.lazy:
            named = None
        self.G_before = None
        before = {**vars(self), **self._small()}
        columns = self.columns.copy() if named is None else self.columns.take(named)
        try:
            yield
        except BaseException:
            G = self.G_before
            vars(self).update(before)
            if named is None:
                self.columns = columns
            else:
                if G is not None:
                    self.columns.G[:] = G
                self.columns.put(named, columns)
            raise
        finally:
            self.G_before = None

    def adopt(self, rule):
        """Go on by ``rule``, which may differ in everything but the meaning of the arrays.

        A penalty that is due is made up for first, by the rule under which it fell due.
        """
        if rule == self.rule:
            return
        columns = self.columns
        if self.rule.averaged:  # the sum is what is kept until averaging goes on
            columns.past[:] = self.averaged * columns.weight - columns.past
        if self.rule.penalised:
            columns.weight[:] = shrink(self, columns)
        self.columns = Columns.new(rule, columns.largest.size, columns.names)
        for name in columns.names:
            getattr(self.columns, name)[:] = getattr(columns, name)
        if rule.penalised:
            self.columns.shrunk[:] = self.shrinkage
        if rule.averaged:
            self.columns.past[:] = self.averaged * self.columns.weight - self.columns.past
        self.rule = rule

    # -- what the arrays stand for

    def mean_loss(self, t):
        """Mean of the losses counted, over rows of total weight ``t`` and targets that are not coupled.

        An array with an entry for each expert, where these are not mixed.
        """
        if t == 0:
            return np.nan
        with np.errstate(over="ignore"):
            losses = (self.loss / self.rule.n_groups / t).reshape(-1, self.rule.n_targets)
            means = np.minimum(np.sum(losses, axis=1), LARGEST)
        return float(means[0]) if self.rule.mixed else means

    def unit(self):
        """Running standard deviation of the targets, for each head; 1 where a rule does not learn it."""
        if not self.rule.target_unit:
            return np.ones(self.rule.n_heads)
        return np.tile(self.targets.spread / np.sqrt(max(self.t, TINY)), self.rule.experts)

    def scale(self):
        """Scale ``s`` of each column, 0 where nothing but 0 was seen (and 1 throughout without normalization)."""
        if self.rule.normalization is None:
            return np.ones_like(self.columns.largest)
        if self.rule.normalization == "max" and not self.rule.centred:
            return self.columns.largest.copy()
        with np.errstate(over="ignore"):
            return np.minimum(self.size() / self.columns.lift, LARGEST)

    def size(self):
        """Scale of each column, lifted."""
        return self.columns.size(self.rule, self.t)

    def mean_from_origin(self):
        """Running mean of each column, lifted, relative to the origin where there is one; else 0."""
        columns = self.columns
        return columns.sum / max(self.t, TINY) if self.rule.centred else np.zeros(columns.lift.size)

    def lifted_mean(self):
        """Running mean of each column, lifted; 0 where it is not learnt."""
        mean = self.mean_from_origin()
        return mean if self.columns.origin is None else self.columns.origin + mean

    def mean(self):
        """Running mean of each column; 0 where the rule is not centred."""
        return self.lifted_mean() / self.columns.lift

    def unit_free_weight(self):
        """``u`` to predict with: the average, or the last one, shrunk by the penalty that is due; experts are mixed.

        Returns
        -------
        ndarray of shape (n_played, n_columns)
            Relative to the mean of columns and targets where these are learnt.
        """
        columns, rule = self.columns, self.rule
        if rule.averaged and self.averaged > 0:
            u = columns.weight - columns.past / self.averaged
        else:
            u = shrink(self, columns) if rule.penalised else columns.weight
        if not rule.adaptive:
            u = u / positive(self.size())
        if rule.n_played == rule.n_heads:
            return u
        return np.einsum("gk,kgi->gi", self.shares(), u.reshape(rule.experts, rule.n_targets, -1))

    def shares(self):
        """How much each expert is trusted, of shape (n_targets, n_experts)."""
        shares = self.mixture.weights()
        return np.broadcast_to(shares, (self.rule.n_targets, shares.shape[1]))

    def linear(self):
        """Weights in raw units, kept until the next row is learnt.

        Returns
        -------
        coef : ndarray of shape (n_played, n_features)
            ``u / s``, at most the largest double.
        intercept : ndarray of shape (n_played,)
            Weight of the constant 1, moved by the means of columns and targets.
        exact : bool
            Whether ``coef`` and ``intercept`` predict as ``u`` does: every weight is in the range of normal doubles,
            and no mean is so far from 0 that digits are lost.
        """
        if self.cached is None:
            rule = self.rule
            with np.errstate(all="ignore"):
                u = self.unit_free_weight()
                used = (u != 0).any(axis=0)
                scale, size = self.scale(), positive(self.size())
                w = u / positive(scale)
                n_features = w.shape[1] - rule.intercept
                coef, intercept = w[:, :n_features], w[:, n_features:].sum(axis=1)
                if rule.target_unit:
                    for origin in (self.targets.origin, self.targets.mean(self.t)):
                        intercept = intercept + np.resize(origin, rule.n_played)
                distance = self.lifted_mean() / size
                if rule.centred:
                    intercept = intercept - (u * distance)[:, :n_features].sum(axis=1)
                sizes = np.abs(coef)
                in_range = ((sizes >= TINY) | (u[:, :n_features] == 0)) & (sizes <= LARGEST)
                near = (np.abs(distance) < FARTHEST) & (scale > 0) | ~used
                exact = bool(in_range.all() and near.all() and np.isfinite(intercept).all())
            if not exact:
                coef, intercept = (np.nan_to_num(np.clip(a, -LARGEST, LARGEST)) for a in (coef, intercept))
            coef.flags.writeable = intercept.flags.writeable = False
            self.cached = coef, intercept, exact
        return self.cached


def positive(array):
    """``array`` with 1 in place of 0, to divide by: what is divided is 0 there."""
    return array if array.all() else np.where(array == 0, 1.0, array)


def shrink(state, columns):
    """Weights after the penalty that is due.

    For a column the penalty is the flow ``du = -r (l1 sign(u) + l2 u)``, stopped at 0, over ``r``: the learning rates
    of the rows that have passed. So it has a closed form, does not overshoot, and gives true zeros. With
    ``target_unit``, ``u`` and the loss are in units of the target's standard deviation (as it is when this is called).

    Parameters
    ----------
    state : State
        For its rule, clocks and lifts.
    columns : Columns
        All columns or some of them, as they were before the row at hand.

    Returns
    -------
    ndarray of shape (n_heads, n_columns)
        To take the place of ``columns.weight``.
    """
    rule = state.rule
    due = state.shrinkage - columns.shrunk
    if rule.intercept:
        due[-1] = 0.0
    rate = np.multiply.outer(rule.eta, due)
    unit = state.unit()[:, None]
    if rule.adaptive:  # 1 / sqrt(H), but for what the clock holds; bounded, as it is huge before the first gradient
        with np.errstate(over="ignore"):
            root = state.gradient_lift[:, None] * columns.resting_size(rule) / np.sqrt(columns.G)
        rate *= np.minimum(root, STEEPEST) * unit ** (rule.degree - 1)
    decay = np.exp(-rule.l2 * rate)
    threshold = -np.expm1(-rule.l2 * rate) * (rule.l1 / rule.l2) if rule.l2 > 0 else rule.l1 * rate
    threshold = threshold * unit
    if not rule.adaptive:  # the weight is theta, not u
        threshold = threshold * columns.size(rule, state.t)
    left = np.maximum(np.abs(columns.weight) * decay - threshold, 0.0)
    return np.copysign(left, columns.weight) + 0.0  # which has no -0: a step of 0 would turn it into 0
