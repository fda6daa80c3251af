"""Knots from the first rows, for curves and cells."""

from __future__ import annotations

import copy
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..estimators._parameters import check_number
from ..estimators._saved import check_integer
from ._base import dense, filled, joined
from ._places import OfNumbers, check_kind

HALF = 0.5 + 1e-9  # rounds halves up, however cosines are rounded


class Knots(NamedTuple):
    """Quantiles of some columns, which give values their ranks.

    All are values of rows, so an increasing map of a column maps its knots.
    """

    values: np.ndarray  # of the first column, ascending and unique, then of the second, ...
    starts: np.ndarray  # first knot of each column, and the end; a column without values has none
    middles: np.ndarray  # lower median of each column, 0 if all values were missing

    @classmethod
    def of(cls, rows, n_quantiles):
        """Knots of dense rows, with NaN for missing values."""
        columns = [_quantiles(np.sort(column[~np.isnan(column)]), n_quantiles) for column in rows.T]
        starts = np.add.accumulate([0, *map(len, columns)], dtype=np.int64)
        return cls(np.concatenate([np.empty(0), *columns]), starts, middles(rows))

    def with_others(self, columns):
        """These knots, some replaced: ``columns`` maps places to knots of one column."""
        if not columns:
            return self
        own = enumerate(np.split(self.values, self.starts[1:-1]))
        parts = [columns[i].values if i in columns else values for i, values in own]
        middles = [columns[i].middles[0] if i in columns else middle for i, middle in enumerate(self.middles)]
        starts = np.add.accumulate([0, *map(len, parts)], dtype=np.int64)
        return type(self)(np.concatenate(parts), starts, np.array(middles))

    def check(self, n_columns):
        """Raise unless these are knots of ``n_columns`` columns."""
        check_kind("knots", self.values, 1, np.float64)
        check_kind("starts of knots", self.starts, 1, np.int64)
        check_kind("middles", self.middles, 1, np.float64)
        starts = self.starts
        if (
            len(starts) != n_columns + 1
            or starts[0] != 0
            or starts[-1] != len(self.values)
            or (np.diff(starts) < 0).any()
        ):
            raise ValueError("its knots are not those of its columns")
        ascends = np.diff(self.values) > 0
        ascends[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(self.values))] - 1] = True  # between columns
        if len(self.middles) != n_columns or not (ascends.all() and np.isfinite([*self.values, *self.middles]).all()):
            raise ValueError("its knots are not finite, or out of order")


class Seen(NamedTuple):
    """State: what the rows have shown so far."""

    columns: np.ndarray  # places of the columns with knots, ascending
    seed: int  # of the random choices made with the knots; 0 if there are none
    first: np.ndarray  # rows that wait until there are enough; none once there are knots
    knots: Knots | None = None
    made: Any = None  # what the transformer derives from the knots


class KnotTransformer(OfNumbers):
    """Base of transformers that add columns made from ranks.

    The first rows wait, then their quantiles become the knots. These never move, so that what a learner has learnt of a
    column keeps its meaning. A subclass defines ``_beside``, ``_width`` and ``_block_names``, and ``_make`` if it
    derives more from the knots.
    """

    first_rows: int
    n_quantiles: int
    _kept = Seen
    _had = "had knots"

    # -- what a subclass defines

    def _make(self, knots, first, seed):
        """What is derived once from the knots."""

    def _check_made(self, made, begun_with):
        """Raise unless ``made`` can come from knots with the parameters ``begun_with``."""
        if made is not None:
            raise ValueError("it has made something of its knots that such transformers do not make")

    def _width(self, n_columns):
        """Number of columns added for ``n_columns`` columns with knots."""
        raise NotImplementedError

    def _beside(self, seen, rows, values):
        """Rows as a CSR array, with columns added to the last ones.

        ``values`` are the columns with knots, dense, of these last rows.
        """
        raise NotImplementedError

    def _block_names(self, names):
        """Names of the added columns, given those of the columns with knots."""
        raise NotImplementedError

    def _settle(self):
        if self._state.knots is None:
            self._state = self._with_knots(self._state)

    # -- what all have in common

    @property
    def knots_(self) -> list[np.ndarray] | None:
        """For each of ``columns``, its knots, ascending; None until enough rows have been seen."""
        knots = self._state.knots if hasattr(self, "_state") else None
        if knots is None:
            return None
        return [knots.values[a:b].copy() for a, b in zip(knots.starts, knots.starts[1:])]

    def __deepcopy__(self, memo):
        """A copy that shares what has been learnt, which never changes in place."""
        copied = object.__new__(type(self))
        memo[id(self)] = copied
        shared = {"_state": self._state} if hasattr(self, "_state") else {}
        own = {name: value for name, value in vars(self).items() if name != "_state"}
        vars(copied).update(copy.deepcopy(own, memo), **shared)
        return copied

    def _check_state(self, state, begun_with):
        columns, seed, first, knots, made = state
        check_integer("seed", seed, 0)
        check_kind("first", first, 2, np.float64)
        if first.shape[1] != len(columns) or np.isinf(first).any():
            raise ValueError("the first rows are no rows of these columns")
        if knots is not None:
            knots.check(len(columns))
            self._check_made(made, begun_with)
        elif made is not None:
            raise ValueError("it has made something of knots that it has not")

    def _check_knots(self):
        """Raise for invalid parameters of all such transformers."""
        self._check_columns()
        check_number("first_rows", self.first_rows, Integral, min_val=1)
        check_number("n_quantiles", self.n_quantiles, Integral, min_val=2, max_val=2**15)

    def _new_state(self, rows):
        columns = self._places(rows)
        return Seen(columns, 0, np.empty((0, len(columns))))

    def _with_knots(self, seen):
        knots = Knots.of(seen.first, self.n_quantiles)
        return seen._replace(first=seen.first[:0].copy(), knots=knots, made=self._make(knots, seen.first, seen.seed))

    def _learn_rows(self, state, rows, transform):
        if state.knots is not None:
            return state, self._transform_rows(state, rows) if transform else None
        values, waited = dense(rows, state.columns), len(state.first)
        first = np.concatenate([state.first, values[: self.first_rows - waited]])
        seen = state._replace(first=first)
        if len(first) == self.first_rows:
            seen = self._with_knots(seen)
        if not transform:
            return seen, None
        n_early = min(rows.shape[0], self.first_rows - 1 - waited)  # of these rows, before the knots
        stand_ins = np.empty_like(values)  # read only where values are missing
        for i in np.flatnonzero(np.isnan(values[:n_early]).any(axis=1)):
            stand_ins[i] = middles(first[: waited + i + 1])
        if seen.knots is not None:
            stand_ins[n_early:] = seen.knots.middles
        return seen, self._columns_out(seen, rows, values, stand_ins, n_early)

    def _transform_rows(self, state, rows):
        values = dense(rows, state.columns)
        if state.knots is not None:
            return self._columns_out(state, rows, values, state.knots.middles, 0)
        stand_ins = middles(state.first) if np.isnan(values).any() else 0.0  # only as needed, because it takes long
        return self._columns_out(state, rows, values, stand_ins, len(values))

    def _columns_out(self, seen, rows, values, stand_ins, n_early):
        """Output rows; early ones get no added columns.

        ``values`` are the columns with knots; ``stand_ins`` are as for `filled`.
        """
        rows = filled(rows, seen.columns, values, stand_ins)
        if n_early == len(values):
            return joined([rows, sparse.csr_array((n_early, self._width(len(seen.columns))))])
        return self._beside(seen, rows, values[n_early:])

    def _names_out(self, state, names):
        return [*names, *self._block_names(names[state.columns])]

    def _less(self, state, base):
        return state if state.knots is not None else state._replace(first=state.first[len(base.first) :])

    def _merge_states(self, states):
        fixed = [state for state in states if state.knots is not None]
        for state in states:
            if state.seed != states[0].seed:
                raise ValueError("models that have drawn other numbers cannot be merged: give all one random_state.")
        for state in fixed:
            if any(not np.array_equal(ours, theirs) for ours, theirs in zip(state.knots, fixed[0].knots)):
                raise ValueError(
                    "models with other knots cannot be merged, as their columns mean something else: let one of them "
                    "see the first rows, and give copies of it to all shards."
                )
        if fixed:
            return fixed[0]
        first = np.concatenate([state.first for state in states])
        if len(first) < self.first_rows:
            return states[0]._replace(first=first)
        first = first[np.lexsort([*first.T, range(len(first))][::-1])]  # whatever the order of the models
        return self._with_knots(states[0]._replace(first=first))


def _quantiles(ordered, n_quantiles):
    """Sorted values at Chebyshev's points of their ranks, including the first and last, without repetition.

    These points are closer at both ends, where long-tailed columns cover most of their range. Ranks of quantiles are
    known to ``sqrt(rank * (1 - rank) / n)``, so neighbours are equally many standard errors apart.
    """
    if not len(ordered):
        return ordered
    ranks = 0.5 - 0.5 * np.cos(np.linspace(0.0, np.pi, n_quantiles))
    return np.unique(ordered[np.floor(ranks * (len(ordered) - 1) + HALF).astype(np.intp)])


def middles(rows):
    """Lower median of each column's values; 0 if all are missing."""
    found = np.zeros(rows.shape[1])
    for j, column in enumerate(rows.T):
        known = np.sort(column[~np.isnan(column)])
        if len(known):
            found[j] = known[(len(known) - 1) // 2]
    return found
