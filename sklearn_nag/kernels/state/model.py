"""A model: its columns, what they have in common, and the linear function that they represent.

Notation (paper: Ross, Mineiro and Langford, UAI 2013). A column is a feature, or the constant 1 of the intercept, which
is the last one. ``s`` is the scale of a column, ``z = x / s``, and ``u = w s`` the unit-free weight.

In ``centred`` rules, ``x`` is the deviation from the running mean. It is computed relative to the first row, so that a
distant origin costs no digits. The constant column is never centred. With ``target_unit``, targets are likewise
relative to the first one, predictions are counted from their running mean, and steps are multiplied by their running
standard deviation.
"""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from ...losses import NOTHING
from .columns import FEW, Columns, distinct
from .frequent import ENDS
from .lifts import LARGEST, TINY, over_scales, positive
from .memory import can_be_written, check_room
from .targets import Targets, growth_of, in_one_pass, widened, widened_rates

LARGEST_TARGET, TARGET_LIFT = 2.0**256, 2.0**-768  # size of lifted targets that need a lift, and that lift
SMALL_LIFT = 2.0**512  # lift of small targets
MANY = 2**27  # weights in raw units (a GiB); of more, no array is made unless somebody asks for it
AT_ONCE = 2**21  # weights that are made at once if there is no array of all
FARTHEST = 2.0**20  # size of a mean, in scales, from which predictions are made of deviations, not raw features


class Diverged(ArithmeticError):
    """Some number of the model has left the range of float64; the state must not be used."""


@dataclass(eq=False)
class LinearState:
    """Base of the models of all families.

    Attributes
    ----------
    rule : LinearRule
        The rule that made the state.
    columns : Columns
        What is stored for each column.
    t : float
        Total weight of the rows seen, less what has faded.
    loss : ndarray of shape (n_played,)
        Sum of the weighted progressive losses.
    targets : Targets
        Origins and units of the targets.
    averaged : float
        ``sum c t`` over the rows that are averaged.
    age : float
        Total weight of the rows seen, if models fade.
    faded : float
        Parts of a half-life that have faded.
    cached : tuple or None
        Result of `linear` since the last row was learnt.
    looked_up : int
        Entries of sparse rows predicted without `linear` since then.
    frequent : tuple or None
        Features that `followed` returns, and a bound on the mean number of entries of rows, both updated by sparse
        rows; None if unknown.
    G_before : ndarray or None
        ``columns.G`` before a kernel rescaled all of it, since the last `undo`.
    columns_before : tuple of ndarray or None
        Columns that `renew_columns` has changed since the last `undo`, and what the table had for them.
    of_columns : int or None
        Number of columns of the larger model that this is a `part` of.
    floor : ndarray of shape (n_played,) or None
        Lower bound of clipped predictions, set by the mixture that this model belongs to.
    """

    # Attributes that are found anew after loading, and their values until then.
    TRANSIENT: ClassVar[dict[str, Any]] = {
        "cached": None, "looked_up": 0, "frequent": None, "G_before": None, "columns_before": None, "of_columns": None,
        "floor": None,
    }  # fmt: skip

    CLOCKS: ClassVar[tuple[str, ...]] = ("t", "averaged", "age", "faded")  # counters of rows
    SMALL: ClassVar[tuple[str, ...]] = ("loss", "targets")  # arrays outside the columns
    others = ()  # models that learn the same rows alongside

    rule: Any
    columns: Columns
    t: float
    loss: np.ndarray
    targets: Targets
    averaged: float = 0.0
    age: float = 0.0
    faded: float = 0.0
    cached: tuple | None = field(default=None, repr=False)
    looked_up: int = field(default=0, repr=False)
    frequent: tuple | None = field(default=None, repr=False)
    G_before: np.ndarray | None = field(default=None, repr=False)
    columns_before: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    of_columns: int | None = field(default=None, repr=False)
    floor: np.ndarray | None = field(default=None, repr=False)

    @classmethod
    def new(cls, rule, n_features):
        """State before the first row."""
        columns = Columns.new(rule, n_features + rule.intercept)
        return cls(rule, columns, 0.0, np.zeros(rule.n_played), Targets.new(rule.n_targets))

    @property
    def n_features(self):
        """Number of features."""
        return self.columns.lift.size - self.rule.intercept

    @property
    def n_columns(self):
        """Number of columns; of the whole model if this is a part of one."""
        return self.of_columns or self.columns.lift.size

    @property
    def can_be_written(self):
        """Whether arrays may be changed in place; not those of a file."""
        return can_be_written(self.columns.table)

    @property
    def seen(self):
        """Total weight of the rows seen."""
        return self.age if self.rule.forgets else self.t

    @property
    def largest(self):
        """Largest absolute value of each feature."""
        return self.columns.largest[: self.n_features]

    def goes_on_by(self, rule):
        """Rule with which the model goes on if ``rule`` is asked for."""
        if type(rule) is not type(self.rule):
            return rule  # cannot be adopted
        kept = {name: getattr(self.rule, name) for name in rule.as_begun}
        as_asked = all(getattr(rule, name) == value for name, value in kept.items())
        return rule if as_asked else replace(rule, **kept)

    def adopt(self, rule):
        """Go on with ``rule``, which may differ in everything except the meaning of the arrays."""
        if rule.bounded and rule.constraint != self.rule.constraint:
            self.columns = self.columns.for_rule(rule)
        self.rule = rule

    def change(self, function):
        """Let ``function`` change the model in place."""
        function(self)

    def factors_to(self, later):
        """Factors of fields, by name, until a ``later`` model, for columns that rows have not named."""
        return {}

    def check_others(self):
        """Raise ValueError unless the models in ``others`` fit this one."""

    def models(self):
        """For a mixture of models, pairs of a share, of shape (n_played,), and a model; else an empty list."""
        return []

    def unit_free_weight(self):
        """Weights ``u`` to predict with, of shape (n_played, n_columns), in units of the target.

        Relative to the mean of columns and targets if these are learnt.
        """
        raise NotImplementedError

    # -- copies

    def __getstate__(self):
        return {**vars(self), **self.TRANSIENT}

    def __setstate__(self, state):
        vars(self).update(state, **self.TRANSIENT)

    def copy(self):
        """Independent copy with writeable arrays."""
        return replace(self, columns=self.columns.copy(), **self.small_arrays())

    def moved(self, places):
        """Copy with the features in other places; a place that stays empty is as before the first row.

        Parameters
        ----------
        places : ndarray of int of shape (n_features,)
            Where each feature goes; -1 for one that is forgotten.

        Returns
        -------
        LinearState
            A model with the same number of features.

        Raises
        ------
        NotImplementedError
            For a model that stores more of its features than columns, or begins with nonzero weights.
        """
        if self.rule.projected:
            raise NotImplementedError("a constraint holds all their weights together")
        if self.rule.bounded and (np.ndim(self.rule.constraint.low) or np.ndim(self.rule.constraint.high)):
            raise NotImplementedError("each has bounds of its own, which are for its place")
        n_features = self.n_features
        columns = Columns.new(self.rule, self.columns.lift.size, like=self.columns)
        before = self.columns.plain().whole()
        kept = np.flatnonzero(places >= 0)
        columns.put_whole(places[kept], before[:, kept])
        columns.put_whole(slice(n_features, None), before[:, n_features:])
        return replace(self, columns=columns, **self.small_arrays(), **self.TRANSIENT)

    def latest(self):
        """The same model, without copies, predicting with the latest weights instead of their average."""
        if not self.rule.averaged:
            return self
        return replace(self, rule=replace(self.rule, averaged=False), averaged=0.0, cached=None)

    def unclipped(self):
        """The same model, without copies, whose predictions are not clipped."""
        return replace(self, rule=replace(self.rule, clip=None))

    def followed(self, entries=0):
        """The frequent features, in order, which sparse rows visit whether they name them or not.

        Parameters
        ----------
        entries : int
            Largest number of entries of a coming row; see `most_followed`.
        """
        if self.frequent is None:
            features = slice(0, self.n_features)
            mean = (self.rows_of_each()[features] / max(self.t, TINY)).sum()
            self.frequent = np.flatnonzero(self.columns.frequent[features]), int(np.ceil(mean))
        features, most = self.frequent
        self.frequent = features, max(most, entries)
        return features

    def most_followed(self):
        """Upper bound of the number of frequent features: each is nonzero in at least ``1 - ENDS`` of the rows."""
        return int(self.frequent[1] / (1.0 - ENDS)) + 1

    def follow(self, features):
        """Note which features are frequent, in order."""
        self.frequent = features, self.frequent[1]

    def small_arrays(self):
        """Copies of the arrays outside the columns, by name."""
        return {name: getattr(self, name).copy() for name in self.SMALL}

    def clocks(self):
        """The counters of rows, by name."""
        return {name: getattr(self, name) for name in self.CLOCKS}

    def renew_columns(self):
        """Settle the columns, before what fades in units could leave the range."""
        self.note_columns()
        self.columns.settle()

    def note_columns(self):
        """Keep for `Undo` what a call may change in columns that it does not name; what is already kept stays."""
        G = self.columns.kept("G")
        if self.G_before is None and G is not None:
            self.G_before = G.copy()
        if self.columns_before is None:
            index = self.columns.in_units()
            self.columns_before = index, self.columns.take_kept(index)

    def undo(self, named=None, as_given=False):
        """Return the `Undo` of what is about to be learnt.

        Parameters
        ----------
        named : ndarray of int, optional
            The features that the rows to be learnt name, in any order and more than once. If the rule changes no
            others, and they are less than half of all, only these are copied. All of ``G``, or all that fades, may be
            rescaled even so; kernels then leave a copy of it in ``G_before`` or ``columns_before``.
        as_given : bool
            Whether another model has chosen them: ``named`` of its `Undo`, which may have a few features twice.
        """
        if not self.rule.lazy:
            named = None
        if named is not None:
            n, followed = self.columns.lift.size, self.followed() if self.rule.selective else named[:0]
            named = np.concatenate([named, followed, np.arange(n - self.rule.intercept, n)])
            # To copy the columns of a few twice takes less time than to go through a mark for every column.
            if not as_given and len(named) * len(self.columns.table) > n:
                named = distinct(named, n)
            if 2 * len(named) > n:
                named = None
        return Undo(self, named)

    def relift(self, index, new):
        """Change the lifts of the columns at ``index``, and rescale what is multiplied by them."""
        self.columns.relift(self.rule, index, new)

    # -- targets so large that sums of them would overflow

    def first_too_large(self, y):
        """Index of the first row of targets, as given, that needs a lift; None if there is none."""
        limit = LARGEST_TARGET / self.targets.lift
        if not np.abs(y).max(initial=0.0) >= limit:
            return None
        return int(np.argmax((np.abs(y) >= limit).any(axis=1)))

    def lift_small(self, y):
        """Lift targets that are all small, before the first row."""
        if self.t == 0 and self.targets.lift == 1.0 and 0.0 < np.abs(y).max(initial=0.0) < 1.0 / LARGEST_TARGET:
            self.relift_targets(SMALL_LIFT)

    def relift_targets(self, factor):
        """Multiply the targets, and all that has their unit, by ``factor``."""
        self.targets = Targets(self.targets.table * factor, self.targets.lift * factor)
        self.loss = self.in_unit_of_loss(self.loss, factor)

    def in_unit_of_loss(self, values, factor):
        """``values`` of a loss after targets were multiplied by ``factor``; at most the largest double."""
        with np.errstate(over="ignore"):
            for _ in range(self.rule.degree):  # in steps, because the power of the factor may be out of range
                values = np.minimum(values * factor, LARGEST)
        return values

    # -- what the arrays stand for

    def mean_loss(self, t, lifted=False, counting=1.0):
        """Mean of the losses over rows of total weight ``t``, and over targets unless they are coupled.

        ``counting`` multiplies the loss of each target. If experts are not mixed, returns an array with an entry for
        each.
        """
        if t == 0:
            return np.nan
        with np.errstate(over="ignore"):
            losses = self.loss / self.rule.n_groups / t
            losses = losses if lifted else self.in_unit_of_loss(losses, 1.0 / self.targets.lift)
            losses = losses.reshape(-1, self.rule.n_targets) * counting
            means = np.minimum(np.sum(losses, axis=1), LARGEST)
        return float(means[0]) if self.rule.mixed else means

    def unit(self):
        """Running standard deviation of the targets, for each head; 1 if a rule does not learn it or has a log link."""
        if not self.rule.target_unit or self.rule.log_link:
            return np.ones(self.rule.n_heads)
        spread = self.targets.spread / np.sqrt(max(self.t, TINY))
        return np.tile(spread, self.rule.n_heads // self.rule.n_targets)

    def of_played(self, values):
        """Values of targets, repeated for each of the ``n_played`` predictions."""
        return values if len(values) == self.rule.n_played else np.resize(values, self.rule.n_played)

    def target_mean(self):
        """What predictions are counted from: the mean of the targets, relative to their origin, or its logarithm."""
        if not self.rule.log_link:
            return self.targets.mean(self.t)
        total = self.targets.sum
        if not self.rule.target_unit:
            return np.zeros_like(total)
        return np.where((self.t > 0) & (total > NOTHING / 2.0), total - np.log(max(self.t, TINY)), NOTHING)

    def clip_range(self):
        """Range to which predictions are clipped, with the margin for targets that grow; None if they are not clipped.

        Two arrays of shape (n_played,), in units of the targets as given.
        """
        clip, targets = self.rule.clip, self.targets
        if clip is None or (clip == "targets" and self.t == 0):
            return None
        if clip == "targets":
            with np.errstate(over="ignore"):
                ends = (np.nan_to_num((targets.origin + end) / targets.lift) for end in self._range_of_targets())
        else:
            ends = map(np.atleast_1d, clip)
        low, high = map(self.of_played, ends)
        return low if self.floor is None else np.maximum(low, self.floor), high

    def is_among_targets(self, p):
        """Whether clipping changes nothing because targets were on both sides of each prediction; a fast check."""
        targets, n = self.targets, self.rule.n_played
        if self.rule.clip != "targets" or self.t == 0 or n != self.rule.n_targets:
            return False
        low, high = (targets.origin + targets.low) / targets.lift, (targets.origin + targets.high) / targets.lift
        low = low if self.floor is None else np.maximum(low, self.floor)
        return bool(((low <= p) & (p <= high)).all())

    def _range_of_targets(self):
        targets, t = self.targets, max(self.t, TINY)
        if self.rule.log_link:
            return widened_rates(targets.low, targets.high, targets.growth, targets.spread, self.target_mean(), t)
        return widened(targets.low, targets.high, targets.growth, targets.spread, t)

    def share_at_ends(self):
        """How close the targets are to lying only at the two ends of their range, for each target.

        Their variance over the largest with this range and mean: 1 if all are at an end, 1/3 if they fill the range
        evenly, 0 if means are not stored. Source: Bhatia and Davis, "A better bound on the variance", The American
        Mathematical Monthly 107, 2000.
        """
        targets, mean, t = self.targets, self.targets.mean(self.t), max(self.t, TINY)
        if self.rule.log_link:
            return np.zeros_like(mean)
        width = positive(targets.high - targets.low)
        most = (targets.high - mean) / width * ((mean - targets.low) / width)
        return (targets.spread / width / np.sqrt(t)) ** 2 / positive(most)

    def see_growth(self, y, c):
        """Set the growth of targets from rows in the order of time, if they were learnt in another or more than once.

        Parameters
        ----------
        y : ndarray of shape (n_rows, n_targets)
            Targets as they are given.
        c : ndarray of shape (n_rows,)
            Weights, at least one of them not 0.
        """
        rule, targets = self.rule, self.targets
        for other in self.others:
            other.see_growth(y, c)
        if not (rule.target_unit and rule.intercept) or self.t == 0:
            return
        with np.errstate(all="ignore"):
            if rule.log_link:
                y = y / positive(y.max(axis=0))
                y = y / positive(np.average(y, axis=0, weights=c))
            growth = growth_of(y * targets.lift, c)
            targets.growth[:] = np.nan_to_num(in_one_pass(growth, targets.spread, c.sum(), self.t))

    def scale(self, size=None):
        """Scale ``s`` of each column: 0 if only 0 was seen, 1 throughout without normalization.

        ``size`` is the result of `size`, if known.
        """
        with np.errstate(over="ignore"):
            return np.minimum((self.size() if size is None else size) / self.columns.lift, LARGEST)

    def rows_of_each(self):
        """Total weight of the rows in which each column is nonzero, for rules that count them."""
        tally = self.columns.tally
        return np.where(self.columns.frequent > 0, self.t - tally, tally)

    def share_of_rows(self):
        """Share of the rows in which each column is nonzero."""
        return self.rows_of_each() / self.t

    def size(self):
        """Scale of each column, lifted."""
        return self.columns.size(self.rule, self.t)

    def mean_from_origin(self):
        """Running mean of each column, lifted, relative to the origin if there is one; else 0."""
        columns = self.columns
        if not self.rule.centred:
            return np.zeros(columns.lift.size)
        mean = columns.sum / max(self.t, TINY)
        return mean if columns.frequent is None else np.where(columns.frequent, mean, -columns.origin)

    def lifted_mean(self):
        """Running mean of each column, lifted; 0 if it is not learnt."""
        mean = self.mean_from_origin()
        return mean if self.columns.origin is None else self.columns.origin + mean

    def mean(self):
        """Running mean of each column; 0 if the rule is not centred."""
        with np.errstate(over="ignore"):
            return np.clip(self.lifted_mean() / self.columns.lift, -LARGEST, LARGEST)  # rounding may exceed this

    def means_in_scales(self, size):
        """Running mean of each column over its scale, ``size``."""
        return self.lifted_mean() / positive(size)

    def centred_means(self, size):
        """Places of the columns whose mean is learnt, and these means over the scales, ``size``; others are 0."""
        columns = self.columns
        if not self.rule.centred:
            return slice(0, 0), np.zeros(0)
        if not self.rule.selective:
            places = slice(0, self.n_features)
            return places, self.means_in_scales(size)[places]
        places = (columns.frequent > 0).nonzero()[0]  # as `lifted_mean`, which is 0 in others
        mean = columns.origin[places] + columns.sum[places] / max(self.t, TINY)
        return places, mean / positive(size[places])

    def far(self, distance=FARTHEST):
        """Whether each column's mean is ``distance`` scales or more from 0, so weights in raw units lose digits."""
        with np.errstate(all="ignore"):
            return ~(np.abs(self.means_in_scales(self.size())) < distance)

    def linear(self):
        """Weights in raw units, cached until the next row is learnt.

        Returns
        -------
        coef : ndarray of shape (n_played, n_features)
            ``u / s``, at most the largest double.
        intercept : ndarray of shape (n_played,)
            Weight of the constant 1, moved by the means of columns and targets.
        reach : float
            Largest size of up to `FEW` features with which no sum leaves the range of float64. It is 0 if ``coef`` and
            ``intercept`` do not predict as ``u`` does: a weight is outside the range of normal doubles, or a mean so
            far from 0 that digits are lost.
        """
        if self.cached is None:
            check_room(
                (self.rule.n_played, self.columns.lift.size),
                4,
                f"an array of the weights of {self.rule.n_played:,} decision values for {self.columns.lift.size:,} "
                "columns",
                "After sparsify() coef_ is a sparse matrix of those that are not 0; predictions need neither.",
            )
            are_many = self.alone and self.columns.lift.size >= FEW and self.columns.table.flags.f_contiguous
            self.cached = self._linear_of_met() if are_many else self._linear()
            for values in self.cached[:2]:
                values.flags.writeable = False
        return self.cached

    @property
    def has_many(self):
        """Whether there are so many weights that predictions do without an array of all."""
        return self.cached is None and self.alone and self.rule.n_played * self.columns.lift.size > MANY

    @property
    def alone(self):
        """Whether each column's weight, and its part of the intercept, depend on this column alone."""
        return self.rule.columnwise and (self.rule.selective or not self.rule.centred)

    def intercept(self):
        """The intercept alone; see `linear`."""
        if not self.has_many:
            return self.linear()[1]
        centred = self.followed() if self.rule.selective else np.zeros(0, np.int64)
        return self.part(centred).linear()[1]

    def coef(self):
        """The weights of the features alone; see `linear`."""
        return self.linear()[0]

    def is_exact(self):
        """Whether weights in raw units predict as the model does, up to rounding; see `linear`."""
        return self.linear()[2] > 0.0

    def sparse_weights(self):
        """Nonzero weights of `linear`, as a CSR matrix of shape (n_played, n_features)."""
        if not self.has_many:
            return sparse.csr_matrix(self.linear()[0])
        return sparse_weights_of(self, self.met())

    def part(self, features):
        """The model on some features, in this order, and the intercept; with copies of the columns."""
        n = self.columns.lift.size
        columns = self.columns.take(np.concatenate([features, np.arange(n - self.rule.intercept, n)]))
        return replace(self, columns=columns, frequent=None, cached=None)

    def met(self):
        """Features that rows have named; no others have weights."""
        met = self.columns.largest > 0
        if self.columns.frequent is not None:
            met |= self.columns.frequent > 0
        return np.flatnonzero(met[: self.n_features])

    def _linear_of_met(self):
        """Like `_linear`, from the columns that rows have named; others have no weight."""
        columns, n_features = self.columns, self.n_features
        met = self.met()
        if 2 * len(met) > len(columns.lift):
            return self._linear()
        own, intercept, reach = self.part(met)._linear()
        coef = np.zeros((len(own), n_features))
        coef[:, met] = own
        return coef, intercept, reach

    def _linear(self):
        """Compute what `linear` returns."""
        rule = self.rule
        with np.errstate(all="ignore"):
            u = self.unit_free_weight()
            size = self.size()
            scale = self.scale(size)
            divisor = positive(scale)
            n_features = u.shape[1] - rule.intercept
            coef = over_scales(u[:, :n_features], divisor[:n_features], self.targets.lift)
            intercept = np.add.reduce(u[:, n_features:] / divisor[n_features:], axis=1)
            if rule.target_unit:
                for origin in (self.targets.origin, self.target_mean()):
                    intercept = intercept + self.of_played(origin)
            centred, distance = self.centred_means(size)
            shifted = u[:, centred]
            intercept = (intercept - np.add.reduce(shifted * distance, axis=1)) / self.targets.lift
            sizes = np.abs(coef)
            largest, last = np.maximum.reduce(sizes, axis=None, initial=1.0), np.maximum.reduce(np.abs(intercept))
            exact = largest <= LARGEST and last <= LARGEST and _are_normal(sizes, u) and _are_near(distance, shifted)
            exact = exact and (divisor is scale or np.count_nonzero(u[:, scale == 0.0]) == 0)
            reach = max(float((LARGEST - last) / (2 * FEW) / largest), TINY) if exact else 0.0
        if not reach:
            coef, intercept = (np.nan_to_num(np.clip(a, -LARGEST, LARGEST)) for a in (coef, intercept))
        return self.within_bounds(coef), intercept, reach

    def within_bounds(self, coef):
        """Weights in raw units, clipped to the rule's bounds, which rounding may have passed."""
        if not self.rule.bounded:
            return coef
        features = slice(0, coef.shape[1])
        return np.clip(coef, self.columns.low[features], self.columns.high[features]) + 0.0  # turns -0 into 0


def _are_normal(sizes, u):
    """Whether weights in raw units, of these ``sizes``, are normal doubles or 0 like those in ``u``."""
    if np.minimum.reduce(sizes, axis=None, initial=LARGEST) >= TINY:  # most are, and this is quick
        return True
    return bool(((sizes >= TINY) | (u[:, : sizes.shape[1]] == 0)).all())


def _are_near(distance, u):
    """Whether the means of all columns with a weight in ``u`` are so near 0, in scales, that no digits are lost."""
    near = np.abs(distance) < FARTHEST
    if np.count_nonzero(near) == near.size:
        return True
    return bool((near | ~(u != 0).any(axis=0)).all())


def sparse_weights_of(state, features):
    """Nonzero weights in raw units of some features, in order, as a CSR matrix of shape (n_played, n_features).

    Nothing is made of other features.
    """
    shape = state.rule.n_played, state.n_features
    parts, step = [np.zeros((3, 0))], max(1, AT_ONCE // shape[0])
    for start in range(0, len(features), step):
        some = features[start : start + step]
        coef = state.part(some)._linear()[0]
        heads, places = np.nonzero(coef)
        parts.append(np.array([heads, some[places], coef[heads, places]]))
    heads, places, values = np.concatenate(parts, axis=1)
    return sparse.csr_matrix((values, (heads.astype(np.int64), places.astype(np.int64))), shape=shape)


@dataclass(eq=False)
class BoundedState(LinearState):
    """Base of the models without a learning rate, which learn from derivatives divided by their bound.

    A row of weight ``c`` counts as if its features and its derivative were multiplied by ``sqrt(c / C)``, with ``C``
    the largest weight so far (in ScInOL, the derivative by ``c / C``). So every derivative stays within the bound that
    the theorems need, equal weights change nothing, and light rows change little.

    Attributes
    ----------
    largest_gradient : ndarray of shape (n_heads,)
        Largest derivative so far, for losses without a bound.
    largest_weight : float
        Largest weight of a row.
    """

    SMALL: ClassVar[tuple[str, ...]] = (*LinearState.SMALL, "largest_gradient")

    largest_gradient: np.ndarray = field(default_factory=lambda: np.zeros(0))
    largest_weight: float = 0.0

    @classmethod
    def new(cls, rule, n_features):
        state = super().new(rule, n_features)
        state.largest_gradient = np.zeros(rule.n_heads)
        return state

    def relift_targets(self, factor):
        """Like `LinearState.relift_targets`; weights are stored without unit."""
        super().relift_targets(factor)
        self.largest_gradient = self.largest_gradient * factor ** (self.rule.degree - 1)


class Undo:
    """What a model was before a call that may change the ``named`` columns, by default all."""

    def __init__(self, state, named=None):
        state.G_before = state.columns_before = None
        self.state, self.named = state, named
        self.parts = vars(state) | state.small_arrays()
        self.columns = state.columns.copy() if named is None else state.columns.take_kept(named)
        self.units = state.columns.units
        self.G = self.before = None  # of all columns, once the call has ended
        self.has_ended = False

    def end(self):
        """Take over what the call has left of the earlier model."""
        if not self.has_ended:
            self.G, self.before = self.state.G_before, self.state.columns_before
            self.has_ended = True  # at any moment, one of the two has them
            self.state.G_before = self.state.columns_before = None

    def restore(self):
        """Make the model what it was before the call."""
        self.end()
        vars(self.state).update(self.parts)
        self._put_back(self.state.columns)

    def model(self, later=()):
        """Copy of the model as it was, whatever has become of it since; may be called at any moment.

        ``later`` are the `Undo` objects of later calls, in order.
        """
        model = object.__new__(type(self.state))
        vars(model).update(self.parts)
        own, model.columns = model.columns, model.columns.copy()
        for undo in reversed([undo for undo in later if undo.parts["columns"] is own]):
            undo._put_back(model.columns)
        self._put_back(model.columns)
        return model.copy()

    def _put_back(self, columns):
        if self.named is None:
            columns.restore(self.columns)
            return
        G, before = (self.G, self.before) if self.has_ended else (self.state.G_before, self.state.columns_before)
        if before is not None:
            index, rows = before
            columns.put_kept(index, *rows)
        if G is not None:
            columns.kept("G")[:] = G
        columns.put_kept(self.named, *self.columns)
        columns.set_units(self.units)
        vars(columns).pop("_places", None)  # a loop may have left these marked
