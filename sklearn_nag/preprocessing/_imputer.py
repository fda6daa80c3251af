"""Missing values in a stream, each filled from the rows up to it."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np

from ..estimators._parameters import InvalidParameterError, check_flag, check_option, is_finite, shown
from ..estimators._validation import as_given
from ._base import OnlineTransformer, checked_numbers, column_names, loops, names_in, table_in
from ._frames import EMPTY, NUMBERS, as_word
from ._numpy_rows import HUGE, LIFT, means
from ._words import added_up, counted_since

_MOST_VALUES = 10_000  # different values counted per column


class Means(NamedTuple):
    """Numbers of a column so far: their count, the first one, and sums of distances from it.

    Huge distances are summed apart, scaled down.
    """

    n_values: np.ndarray
    total: np.ndarray
    huge: np.ndarray
    origin: np.ndarray = np.zeros(())  # default for states saved before it existed

    @classmethod
    def new(cls, n_columns):
        return cls(np.zeros(n_columns, dtype=np.int64), *np.zeros((3, n_columns)))

    def values(self):
        """The mean of each column; 0 if there is no number yet."""
        return means(*self)

    def learn_and_fill(self, rows, marked):
        """The state after the rows, and the filled rows; see `_numpy_rows.filled_by_means`."""
        origin = self.origin if self.origin.ndim else np.broadcast_to(self.origin, self.total.shape)
        filled, *known = loops().filled_by_means(rows, *self[:3], origin, marked)
        return Means(*known), filled

    def seen_from(self, origin):
        """The same, with distances from ``origin``."""
        lifted = self.origin * LIFT - origin * LIFT
        with np.errstate(over="ignore"):
            apart = self.origin - origin
        is_huge = np.abs(apart) > HUGE
        total = self.total + self.n_values * np.where(is_huge, 0.0, apart)
        return Means(self.n_values, total, self.huge + self.n_values * np.where(is_huge, lifted, 0.0), origin)

    def less(self, base):
        """What has been learnt since ``base``."""
        base = base.seen_from(self.origin)
        return Means(*(own - before for own, before in zip(self[:3], base)), self.origin)

    @staticmethod
    def merged(states):
        *sums, (origin, *_) = zip(*_from_one_origin(states))
        return Means(*(np.sum(field, axis=0) for field in sums), origin)

    @staticmethod
    def between(states, base):
        """The mean of means, weighted by the numbers since ``base``, whose own count once."""
        base, *states = _from_one_origin([base, *states])
        since = np.array([state.n_values - base.n_values for state in states])
        new = since.sum(axis=0)
        n_values = base.n_values + new
        factors = since / np.maximum(new, 1) * (n_values / np.maximum(base.n_values + since, 1))

        def sums(own, before):
            return np.where(new > 0, np.sum(factors * own, axis=0), before)

        _, total, huge, _ = map(np.array, zip(*states))
        return Means(n_values, sums(total, base.total), sums(huge, base.huge), base.origin)


def _from_one_origin(states):
    """`Means` from the smallest origin of each column, whatever the order of the models."""
    origins = [np.where(state.n_values > 0, state.origin, np.inf) for state in states]
    least = np.min(origins, axis=0)
    return [state.seen_from(np.where(np.isinf(least), 0.0, least)) for state in states]


class Counts(NamedTuple):
    """Counts of the values of each column, and the most frequent one with its count."""

    counts: tuple[dict, ...]
    most: tuple[tuple[Any, int], ...]

    @classmethod
    def new(cls, n_columns, value):
        return cls(({},) * n_columns, ((value, 0),) * n_columns)

    def values(self):
        return [value for value, _ in self.most]

    def learn_and_fill(self, rows, missing):
        """The state after the rows; fills missing values in place, each from the rows up to it."""
        counts, most = [], []
        for i, (before, (value, n)) in enumerate(zip(self.counts, self.most)):
            of_column = before.copy()
            filled = rows[:, i]
            for row, (entry, is_missing) in enumerate(zip(filled.tolist(), missing[:, i].tolist())):
                if is_missing:
                    filled[row] = value
                elif entry in of_column or len(of_column) < _MOST_VALUES:
                    of_column[entry] = now = of_column.get(entry, 0) + 1
                    if now > n:
                        value, n = entry, now
            counts.append(of_column)
            most.append((value, n))
        return Counts(tuple(counts), tuple(most))

    def less(self, base):
        """What has been learnt since ``base``."""
        return Counts(tuple(map(counted_since, self.counts, base.counts)), self.most)

    @staticmethod
    def merged(states):
        counts, most = [], []
        for of_column, firsts in zip(zip(*(state.counts for state in states)), zip(*(state.most for state in states))):
            total = added_up(of_column)
            ordered = sorted(total.items(), key=lambda item: (-item[1], item[0]))  # whatever the order of the models
            counts.append(dict(ordered[:_MOST_VALUES]))
            most.append(ordered[0] if ordered else firsts[0])
        return Counts(tuple(counts), tuple(most))


class Filled(NamedTuple):
    """What an imputer knows: whether columns hold words, and what to fill with, None for a constant."""

    holds_words: bool | None  # unknown before the first value
    known: Means | Counts | None


class OnlineImputer(OnlineTransformer):
    """Fill missing values in a stream with the mean, the most frequent value or a constant for each column.

    A missing value is filled using the rows up to it. Before the first value of a column, it is filled with 0, or with
    "missing_value" for words. NaN, None, NaT and pandas' NA are missing values.

    Parameters
    ----------
    strategy : {"mean", "most_frequent", "constant"}, default="mean"
        Value with which to fill. ``"mean"``: the running mean, for numbers. ``"most_frequent"``: the most frequent
        value so far; in case of a tie, the one that reached that count first. The first 10,000 different values of a
        column are counted. ``"constant"``: ``fill_value``.
    fill_value : float or str, default=None
        Value for ``strategy="constant"``; by default 0 for numbers and "missing_value" for words.
    add_indicator : bool, default=False
        Whether to append an indicator for each column, which is 1 if the value was missing and 0 otherwise. All columns
        get one, because values may be missing in any of them later.

    Attributes
    ----------
    statistics_ : ndarray of shape (n_features,)
        Current fill value of each column.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the input was a frame.

    See Also
    --------
    sklearn.impute.SimpleImputer : Needs all rows first.

    Notes
    -----
    The output is float64 or, if the first batch with a value held words, object. A column of objects that has both
    numbers and words should have a word in that batch. Means do not depend on how the stream is cut, and means of
    finite numbers are finite.

    `sklearn_nag.merge` merges imputers that learnt different rows; of several most frequent values, it takes the
    smallest. It warns about columns for which some imputers have seen no value: a learner behind them has learnt zeros
    there.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_nag.preprocessing import OnlineImputer
    >>> imputer = OnlineImputer()
    >>> imputer.learn_transform([[1.0, np.nan], [np.nan, 4.0], [3.0, 8.0], [np.nan, np.nan]])
    array([[1., 0.],
           [1., 4.],
           [3., 8.],
           [2., 6.]])
    >>> imputer.statistics_
    array([2., 6.])
    """

    _state: Filled

    def __init__(self, strategy: str = "mean", *, fill_value: Any = None, add_indicator: bool = False):
        self.strategy = strategy
        self.fill_value = fill_value
        self.add_indicator = add_indicator

    def _check_parameters(self):
        check_option("strategy", self.strategy, ("mean", "most_frequent", "constant"))
        check_flag("add_indicator", self.add_indicator)
        value = self.fill_value
        if not (value is None or isinstance(value, str) or is_finite(value)):
            raise InvalidParameterError("fill_value", "a finite number, a word, or None", shown(value))

    def _rows(self, X, first):
        holds_words = None if first else self._state.holds_words
        if self.strategy == "mean" or holds_words is False:
            return checked_numbers(self, X, first)
        table = table_in(self, X, first)
        columns = [column for column in table.columns if column is not None]
        may_be_words = self._fills_by_a_word() and columns and not any(column.has_values for column in columns)
        if not (holds_words or may_be_words or any(column.kind not in (NUMBERS, EMPTY) for column in columns)):
            return checked_numbers(self, X, first)
        return np.column_stack([column.words() for column in table.columns])

    def _new_state(self, rows):
        return Filled(False, Means.new(rows.shape[1])) if self.strategy == "mean" else self._begun(rows)

    def _begun(self, rows):
        """The state before the first rows, or the first with a value."""
        holds_words, known = rows.dtype == object, None
        if self.strategy == "constant":
            self._constant(holds_words)
        else:
            known = Counts.new(rows.shape[1], "missing_value" if holds_words else 0.0)
        return Filled(None if _missing(rows).all() else holds_words, known)

    def _fills_by_a_word(self):
        return self.strategy == "constant" and isinstance(self.fill_value, str)

    def _constant(self, holds_words):
        """The constant for missing values; raise for a word among numbers."""
        if self.fill_value is None:
            return "missing_value" if holds_words else 0.0
        if holds_words:
            return as_word(self.fill_value)  # in the form that the column gives the same number
        if isinstance(self.fill_value, str):
            raise ValueError(f"fill_value is the word {self.fill_value!r}, but the columns hold numbers.")
        return float(self.fill_value)

    def _learn_rows(self, state, rows, transform):
        known = state.known
        if isinstance(known, Means):
            known, filled = known.learn_and_fill(rows, self.add_indicator)
            return Filled(False, known), filled
        if state.holds_words is None:
            state = self._begun(rows)
            known = state.known
        missing = _missing(rows)
        if known is None:
            filled = self._filled(state, rows, missing)
        else:
            known = known.learn_and_fill(filled := rows.copy(), missing)
        return Filled(state.holds_words, known), self._with_indicators(filled, missing) if transform else None

    def _transform_rows(self, state, rows):
        if state.holds_words is None:
            state = self._begun(rows)
        missing = _missing(rows)
        return self._with_indicators(self._filled(state, rows, missing), missing)

    def _filled(self, state, rows, missing):
        if not missing.any():
            return rows
        values = self._constant(rows.dtype == object) if state.known is None else state.known.values()
        return np.where(missing, np.asarray(values, dtype=rows.dtype), rows)

    def _with_indicators(self, rows, missing):
        return np.hstack([rows, missing.astype(np.int64).astype(rows.dtype)]) if self.add_indicator else rows

    def _names_out(self, state, names):
        return [*names, *(f"missingindicator_{name}" for name in names)] if self.add_indicator else names

    def _numeric_outputs(self):
        return [] if self._state.holds_words else range(self.n_features_in_)

    def _merged(self, transformers, base=None):
        merged = super()._merged(transformers, base)
        if isinstance(merged._state.known, Means):
            n_values = np.stack([own._state.known.n_values for own in transformers])
            without = np.flatnonzero((n_values == 0).any(axis=0) & (n_values > 0).any(axis=0))
            if len(without):
                others = f" (one of {len(without)} such columns)" if len(without) > 1 else ""
                told = column_names.get()
                names = told if len(told) == self.n_features_in_ else names_in(self)
                warnings.warn(
                    f"some of the models have seen no value of column {as_given(names[without[0]])}{others}: "
                    "they have learnt 0 in its place, and a learner behind may predict badly when merged. "
                    "Let one model see rows with values first, and give copies of it to all shards.",
                    UserWarning,
                    stacklevel=2,
                )
        return merged

    def _merge_states(self, states):
        states = [state for state in states if state.holds_words is not None] or states
        first = states[0]
        if any(state.holds_words != first.holds_words for state in states):
            raise ValueError("some of these imputers fill words and others numbers; they cannot be merged.")
        return first if first.known is None else first._replace(known=first.known.merged([s.known for s in states]))

    def _less(self, state, base):
        return state if state.known is None else state._replace(known=state.known.less(base.known))

    @property
    def statistics_(self) -> np.ndarray:
        """Current fill value of each column."""
        self._check_is_fitted()
        state = self._state
        if state.known is None:
            holds_words = self._fills_by_a_word() if state.holds_words is None else state.holds_words
            return np.full(self.n_features_in_, self._constant(holds_words))
        values = state.known.values()
        return np.asarray(values, dtype=object if any(isinstance(value, str) for value in values) else np.float64)

    @property
    def _reads(self):
        return frozenset((NUMBERS,) if self.strategy == "mean" else ())

    @property
    def _input_tags(self):
        return ("allow_nan",) if self.strategy == "mean" else ("allow_nan", "categorical", "string")


def _missing(rows):
    """Mask of missing values: NaN among numbers, None among words."""
    return np.equal(rows, None).astype(bool) if rows.dtype == object else np.isnan(rows)
