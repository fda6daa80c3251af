"""Models of very many weight vectors and columns, which store a column from the first row on that names it.

A table of a thousand classes and a million hashed columns takes gigabytes, but rows name only a small part. Here, a
column gets a place in a table, which grows by doubling, once a row names it. Kernels do not know of it: the columns
that a call names are taken out as a separate model, with the features in order, are learnt or read, and are put back.
So results have the same bits as with a full table.

This is for rules that change only the columns that a row names, and for models whose table would be too large; see
`is_placed`.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from .columns import Columns, distinct, renumbered
from .csr import csr_rows
from .memory import TooLarge, array_in_lines, can_be_written, check_room, has_room
from .model import LinearState, sparse_weights_of

LARGE = 2**30  # numbers (8 GiB) from which no table is made
AT_ONCE = 2**22  # numbers of the columns that are taken out at a time
SAVED = "common", "store", "features", "n_features"  # what is saved; features in order, and columns in theirs
# Attributes that the whole model has from ``common``, the model without features.
OF_ALL = frozenset({
    "averaged", "clip_range", "clocks", "eta0_weights", "goes_on_by", "in_unit_of_loss", "is_among_targets", "loss",
    "mean_loss", "models", "others", "rule", "seen", "see_growth", "share_at_ends", "shares", "t", "target_mean",
    "targets", "unit",
})  # fmt: skip


def can_be_placed(rule):
    """Whether models of a rule can do without the columns that no row has named."""
    if not (rule.lazy and rule.mixed) or rule.forgets or rule.target_unit:
        return False
    return not (rule.bounded and (np.ndim(rule.constraint.low) or np.ndim(rule.constraint.high)))


def is_placed(rule, n_features):
    """Whether a new model of sparse rows should be a `PlacedState`.

    Parameters
    ----------
    rule : LinearRule
        The rule by which it will learn.
    n_features : int
        Number of features.

    Returns
    -------
    bool
        True if the rule allows it, and a table of all columns has at least `LARGE` numbers or does not fit in memory.
    """
    if not can_be_placed(rule):
        return False
    size = len(rule.State.new(rule, 0).columns.table) * (n_features + rule.intercept)
    return size >= LARGE or not has_room(size, 2)


class PlacedState:
    """A model that stores only the columns that rows have named, each in a place of its own.

    Methods without a docstring do what those of `LinearState` do.

    Parameters
    ----------
    common : LinearState
        A model without features: the rule, the clocks, the targets, and the column of the intercept.
    store : Columns
        What is stored for the features that have a place. Columns beyond the last of these have no meaning.
    place : ndarray of int32 of shape (n_features,)
        Place of each feature in ``store``; -1 if it has none.

    Attributes
    ----------
    n : int
        Number of features with a place. Their columns are the first ones of ``store``.
    centred : ndarray of int
        The frequent features, in order, which each row visits.
    """

    has_many = True  # so that predictions use only the columns that rows name

    common: LinearState

    def __init__(self, common, store, place):
        self.common, self.store, self.place = common, store, place
        self.n = store.table.shape[1]
        self.centred = np.zeros(0, np.int64)
        if common.rule.selective:
            features = self.features()
            self.centred = features[store.frequent[place[features]] > 0]

    @classmethod
    def new(cls, rule, n_features):
        """Model before the first row."""
        common = rule.State.new(rule, 0)
        store = common.columns.with_table(np.empty((len(common.columns.table), 0)))
        return cls(common, store, _no_places(n_features))

    @classmethod
    def of(cls, model, features, n_features):
        """Model of ``n_features`` features, of which ``model`` is the part on ``features``, in order."""
        n, place = len(features), _no_places(n_features)
        place[features] = np.arange(n)
        store = model.columns.with_table(np.array(model.columns.whole(slice(n)), order="F"))
        return cls(_without_features(model), store, place)

    def __getattr__(self, name: str) -> Any:
        if name in OF_ALL:
            return getattr(self.common, name)
        needs_table = name == "columns" or hasattr(LinearState, name)
        if name.startswith("_") or not needs_table:
            raise AttributeError(name)
        raise self.refusal()

    def refusal(self):
        """Error for what needs a table of all columns."""
        return TooLarge(
            f"a model of {self.rule.n_heads:,} weight vectors of {self.n_features:,} columns keeps those "
            f"alone that rows have named, {self.n:,} so far: it learns, predicts and is merged, and its coef_ is a "
            "sparse matrix, but there is no array of all its weights. Take fewer columns, such as by n_features of a "
            "hasher, or fewer classes."
        )

    # -- copies

    def __getstate__(self):
        model = self.copy()
        return dict(zip(SAVED, (model.common, model.store, model.features(), model.n_features)))

    def __setstate__(self, state):
        kinds = LinearState, Columns, np.ndarray, int
        if set(state) != set(SAVED) or not all(map(isinstance, (state[name] for name in SAVED), kinds)):
            raise ValueError(f"a model of columns with places consists of {', '.join(SAVED)}")
        common, store, features, n_features = (state[name] for name in SAVED)
        fits = features.dtype == np.int64 and features.shape == store.table.shape[1:]
        if not (fits and (np.diff(features, prepend=-1, append=n_features) > 0).all()):
            raise ValueError(f"features is not one of {n_features} for each column that is kept, in order")
        place = _no_places(n_features)
        place[features] = np.arange(len(features))
        vars(self).update(common=common, store=store, place=place, n=len(features))
        self.check_places()
        self.__init__(common, store, place)

    def copy(self):
        """Independent copy with writeable arrays, places in the order of features, and no spare room."""
        features, place = self.features(), _no_places(self.n_features)
        place[features] = np.arange(self.n)
        store = self.store.with_table(self.store.table.T[self.place[features]].T)
        return PlacedState(self.common.copy(), store, place)

    def _with(self, common):
        """The same columns, without copies, with another model without features."""
        model = object.__new__(PlacedState)
        vars(model).update(vars(self), common=common)
        return model

    def latest(self):
        return self._with(self.common.latest())

    def unclipped(self):
        return self._with(self.common.unclipped())

    def moved(self, places):
        self.common.moved(np.zeros(0, np.int64))  # raises if features cannot be moved
        features = self.features()
        features = features[places[features] >= 0]
        order = np.argsort(places[features])
        return PlacedState.of(self.part(features[order]), places[features[order]], self.n_features)

    # -- which columns there are

    @property
    def n_features(self):
        """Number of features, with a place or without."""
        return len(self.place)

    @property
    def n_columns(self):
        """Number of columns, with a place or without."""
        return self.n_features + self.rule.intercept

    @property
    def can_be_written(self):
        return can_be_written(self.place) and self.common.can_be_written and can_be_written(self.store.table)

    def features(self):
        """Features that have a place, in order."""
        return np.flatnonzero(self.place >= 0)

    def followed(self):
        """The frequent features, in order."""
        return self.centred

    def part(self, features, order="C"):
        """The model on some features, in this order, and the intercept, as a separate `LinearState`.

        Features without a place are as before the first row. C order suits reading, F order learning.
        """
        common, own, places = self.common, self.common.columns, self.place[features]
        table, n, known = array_in_lines((len(own.table), len(places) + own.lift.size), "F"), len(places), places >= 0
        columns = table.T
        if known.all():
            columns[:n] = self.store.table.T[places]
        else:
            columns[:n][known] = self.store.table.T[places[known]]
            columns[:n][~known] = Columns.new(self.rule, 1 + self.rule.intercept, like=own).table[:, 0]
        columns[n:] = own.table.T
        columns = own.with_table(np.asarray(table, order=order))
        transient = {**LinearState.TRANSIENT, "of_columns": self.n_columns}
        return replace(common, columns=columns, **common.small_arrays(), **transient)

    def put(self, features, part):
        """Take over what a `part` of these features has learnt; they must include all frequent ones."""
        factors = self.common.factors_to(part)
        if factors:  # a call that is undone goes back to the old store
            self.store = self.store.with_table(self.store.table.copy(order="F"))
            self.store.with_table(self.store.table[:, : self.n]).multiply(factors)
        new = features[self.place[features] < 0]
        self._make_room(self.n + len(new))
        self.place[new] = np.arange(self.n, self.n + len(new))
        self.n += len(new)
        self.store.table.T[self.place[features]] = part.columns.whole(slice(len(features))).T
        self.common = _without_features(part)
        if self.rule.selective:
            self.centred = features[part.columns.frequent[: len(features)] > 0]

    def _make_room(self, n):
        """Let the store have room for ``n`` columns."""
        old = self.store.table
        if n <= old.shape[1]:
            return
        shape = len(old), max(n, 2 * old.shape[1])
        check_room(
            shape,
            1,
            f"a model of {self.rule.n_heads:,} weight vectors with room for {shape[1]:,} columns that rows have named",
            "Take fewer columns, such as by n_features of a hasher, or fewer classes.",
        )
        table = np.empty(shape, order="F")
        table[:, : self.n] = old[:, : self.n]
        self.store = self.store.with_table(table)

    # -- learning

    def undo(self, named=None):
        return Undo(self, None if named is None else distinct(named, self.n_features))

    def learn(self, learn_rows, loss, X, y, sample_weight, order, predictions):
        """Learn rows by ``learn_rows``, `sklearn_nag.kernels.learn`, on the columns that they name.

        It takes as many rows at a time as need little memory.
        """
        X = sparse.csr_array(X)
        if order is not None:
            X, y, sample_weight = X[order], y[order], None if sample_weight is None else sample_weight[order]
        for rows in pieces_of(X, AT_ONCE // len(self.store.table)):
            weight, played = (None if values is None else values[rows] for values in (sample_weight, predictions))
            features, some = named_by(X[rows], self.centred)
            part = self.part(features, "F")
            learn_rows(part, loss, some, y[rows], weight, predictions=played)
            self.put(features if some.nnz or len(self.centred) else features[:0], part)

    def adopt(self, rule):
        if not can_be_placed(rule):
            raise ValueError(
                f"a model of {rule.n_heads:,} weight vectors of {self.n_features:,} columns keeps those alone that "
                "rows have named; with these parameters each row changes all of them: keep those that it was "
                "begun with, or take fewer columns, such as by n_features of a hasher."
            )
        if rule != self.rule:
            self.change(lambda model: model.adopt(rule))

    def change(self, function):
        """Let ``function`` change, in place, the model of the columns that have a place."""
        features = self.features()
        model = self.part(features)
        function(model)
        vars(self).update(vars(PlacedState.of(model, features, self.n_features)))

    # -- what the arrays stand for

    def sparse_weights(self):
        return sparse_weights_of(self, self.features())

    coef = sparse_weights

    def intercept(self):
        return self.part(self.centred).linear()[1]

    def is_exact(self):
        return self.part(self.features()).is_exact()

    def scale(self):
        return self._of_columns(lambda model: model.scale(), 1.0 if self.rule.normalization is None else 0.0)

    def mean(self):
        return self._of_columns(lambda model: model.mean(), 0.0)

    def share_of_rows(self):
        return self._of_columns(lambda model: model.share_of_rows(), 0.0)

    @property
    def largest(self):
        return self._of_columns(lambda model: model.columns.largest, 0.0)[: self.n_features]

    def _of_columns(self, read, of_others):
        """Result of ``read`` for each column of the model; ``of_others`` for columns without a place."""
        features = self.features()
        found, values = read(self.part(features)), np.full(self.n_columns, of_others)
        values[features], values[self.n_features :] = found[: len(features)], found[len(features) :]
        return values

    # -- checks

    def check_places(self):
        """Raise ValueError unless each column in the store has one feature, and the store the fields of the rule."""
        place, table, own = self.place, self.store.table, self.common.columns
        if type(place) not in (np.ndarray, np.memmap) or place.dtype != np.int32 or place.ndim != 1 or not place.size:
            raise ValueError("place is not an array of int32 of one dimension")
        known = np.sort(place[place != -1])
        if not (np.array_equal(known, np.arange(self.n)) and self.n <= table.shape[1] and table.flags.f_contiguous):
            raise ValueError("place does not have a feature for each column that is kept")
        layouts = [(c.shared, c.per_head, c.n_heads, c.sharing) for c in (self.store, own)]
        whole = all(len(c.table) == c.n_rows and not len(c.apart) for c in (self.store, own))
        if layouts[0] != layouts[1] or not whole or self.common.n_features != 0:
            raise ValueError("the columns with a place are not those of the model that is kept besides")

    def whole(self):
        """The columns that have a place, in order of places, as a `LinearState` without others."""
        table = np.hstack([self.store.table[:, : self.n], self.common.columns.table])
        return replace(self.common, columns=self.common.columns.with_table(table))


class Undo:
    """Like `sklearn_nag.kernels.state.model.Undo`; the features that a call may change are ``named``, by default all.

    A replaced store stays as it was, so only the columns that the call names are copied.
    """

    def __init__(self, state, named=None):
        self.state, self.parts = state, {**vars(state), "common": state.common.copy()}
        self.named, features = named, state.features() if named is None else named
        places = np.append(state.place[features], state.place[state.centred])
        self.places = np.unique(places[places >= 0])
        self.columns = state.store.table.T[self.places]

    def end(self):
        """Do nothing, because a call leaves nothing of the earlier model."""

    def restore(self):
        """Make the model what it was before the call."""
        vars(self.state).update(self.parts)
        self._put_back(self.state)

    def model(self, later=()):
        """Copy of the model as it was; ``later`` are the `Undo` objects of later calls, in order."""
        model = object.__new__(PlacedState)
        vars(model).update(self.parts, place=self.parts["place"].copy())
        model.store = model.store.with_table(model.store.table.copy(order="F"))
        for undo in reversed([undo for undo in later if undo.parts["store"] is self.parts["store"]]):
            undo._put_back(model)
        self._put_back(model)
        return model.copy()

    def _put_back(self, model):
        model.place[model.place >= model.n] = -1
        model.store.table.T[self.places] = self.columns


def _no_places(n_features):
    """Array for the places of features, none of which has one."""
    check_room((n_features / 2,), 2, f"an array of the places of {n_features:,} columns", "Take fewer columns.")
    return np.full(n_features, -1, dtype=np.int32)


def _without_features(model):
    """The model without the columns of its features, and no longer as a part of another."""
    n = model.columns.lift.size
    columns = model.columns.take(np.arange(n - model.rule.intercept, n))
    return replace(model, columns=columns, **LinearState.TRANSIENT)


def named_by(X, also=None):
    """Features that sparse rows or ``also`` name, in order, and the rows on only these features."""
    indices = X.indices[: X.nnz]
    features, numbers = renumbered(indices if also is None else np.concatenate([indices, also]), X.shape[1])
    numbers = numbers[: len(indices)].astype(X.indices.dtype, copy=False)
    if not len(features):  # because kernels need a column
        features = np.zeros(1, np.int64)
    indptr = X.indptr.astype(numbers.dtype, copy=False)
    return features, csr_rows(X.data[: X.nnz], numbers, indptr, (X.shape[0], len(features)))


def pieces_of(X, most):
    """Yield slices of sparse rows that name at most ``most`` columns; a single row may name more."""
    waiting = [(0, X.shape[0])]
    while waiting:
        start, stop = waiting.pop()
        indices = X.indices[X.indptr[start] : X.indptr[stop]]
        if stop - start > 1 and len(indices) > most and len(distinct(indices, X.shape[1])) > most:
            middle = (start + stop) // 2
            waiting += [(middle, stop), (start, middle)]
        else:
            yield slice(start, stop)


def side_by_side(states):
    """Models on the same features, each as a `LinearState`, and these features.

    These are all features that have a place in any of the models or, in one with a full table, that rows have named. If
    all have a full table, they are returned unchanged, with None.
    """
    if not any(isinstance(state, PlacedState) for state in states):
        return states, None
    features = [state.features() if isinstance(state, PlacedState) else state.met() for state in states]
    features = np.unique(np.concatenate(features))
    return [replace(state.part(features), of_columns=states[0].n_columns) for state in states], features
