"""Columns of the rows that a parameter names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from numbers import Integral
from typing import Any, Self, TypeAlias

import numpy as np
from scipy import sparse

from ..estimators._parameters import InvalidParameterError, parameter_names, shown
from ..estimators._saved import CheckedWhenLoaded, check_attributes, check_features
from ..estimators._validation import as_given
from ._base import OnlineTransformer, checked_numbers, names_in

Columns: TypeAlias = Sequence[int] | Sequence[str] | Sequence[bool]

ALLOWED = "a list of places, of names, or of True and False for each column"


def check_columns(name: str, columns: Any) -> None:
    """Raise unless ``columns``, given for the parameter ``name``, is a list of places, names or flags."""
    if isinstance(columns, list | tuple):
        for kinds in (bool | np.bool_, Integral, str):
            if all(isinstance(entry, kinds) for entry in columns):
                return
    raise InvalidParameterError(name, ALLOWED, shown(columns))


def places_of(name: str, columns: Any, names: np.ndarray) -> np.ndarray:
    """Places of columns in rows with these ``names``, ascending and unique; raise for missing columns.

    ``columns``, given for the parameter ``name``, must pass `check_columns`. Names may be patterns with ``*``, ``?`` or
    ``[...]``.
    """
    if len(columns) and all(isinstance(entry, bool | np.bool_) for entry in columns):
        if len(columns) != len(names):
            raise ValueError(f"{name} has {len(columns)} flags; X has {len(names)} columns.")
        return np.flatnonzero(columns)
    found: list[int] = []
    for entry in columns:
        found += _named(name, entry, names) if isinstance(entry, str) else [_place(name, entry, len(names))]
    return np.unique(np.asarray(found, dtype=np.intp))


def numeric_places(positions: Iterable) -> tuple[int, ...]:
    """Column positions as an ascending tuple of int; raise for invalid ones."""
    given = list(positions)
    if any(not isinstance(place, int | np.integer) or isinstance(place, bool) or place < 0 for place in given):
        raise ValueError(f"positions must be integers that are not negative; got {shown(given)}.")
    return tuple(sorted({int(place) for place in given}))


class ToldNumbers:
    """Base of estimators that are told which columns are numbers, or name them in ``columns``."""

    columns: Any
    _numeric: tuple[int, ...] | None = None  # positions of the columns that are numbers, if told
    _told: tuple[int, ...] | None = None  # those told by a pipeline, only for the model about to begin

    def set_numeric_columns(self, positions: Iterable[int]) -> Self:
        """State which columns are numbers, before the first rows; ``columns="auto"`` then takes these.

        An `OnlinePipeline` in which columns of words become columns of sparse rows calls this method by itself, but
        only for a model that it begins. The positions are part of what has been learnt: pickles contain them, clones do
        not.

        Parameters
        ----------
        positions : iterable of int
            Their positions among the input columns.

        Returns
        -------
        self : object
            The estimator.
        """
        self._numeric = self._told_by_user = numeric_places(positions)
        return self

    def _check_columns(self):
        if not (isinstance(self.columns, str) and self.columns == "auto"):
            check_columns("columns", self.columns)

    def _tell(self, positions):
        """Like `set_numeric_columns`, only for the model that begins with the next rows."""
        self._told = numeric_places(positions)

    def _heed(self):
        """Begin a model with the columns told for it, or else by its user."""
        by_user = vars(self).setdefault("_told_by_user", self._numeric)  # older saved models may lack it
        self._numeric, self._told = by_user if self._told is None else self._told, None

    def _chosen_places(self, rows, consequence):
        """Places of the columns, given the first rows; None for all, none for sparse rows of unknown content.

        The latter is said by a warning, with its ``consequence``.
        """
        if not isinstance(self.columns, str):
            return places_of("columns", self.columns, names_in(self))
        if self._numeric is not None:
            return places_of("set_numeric_columns", self._numeric, names_in(self))
        if not sparse.issparse(rows):
            return None
        warnings.warn(
            f"columns='auto' of {type(self).__name__} takes no columns of sparse rows, which may all be words and "
            f"categories: {consequence}. Name the columns of numbers by columns=[...], or give columns=[] for none.",
            UserWarning,
            stacklevel=2,
        )
        return np.arange(0)


class OfNumbers(ToldNumbers, CheckedWhenLoaded, OnlineTransformer):
    """Base of transformers of numeric columns, which ``columns`` names."""

    _input_tags = "sparse", "allow_nan"
    _kept: type  # named tuple of the state
    _had = "were numbers"  # what its columns did when it was new, for messages

    def _check_state(self, state, begun_with):
        """Raise for inconsistent parts of the state, apart from its ``columns``."""

    def _check_whole(self):
        """Raise for attributes that do not form a transformer, as from a damaged file."""
        names = parameter_names(type(self))
        check_attributes(self, names)
        if not self.__sklearn_is_fitted__():
            return
        check_features(self)
        begun_with, state = vars(self).get("_begun_with"), self._state
        if not (isinstance(begun_with, dict) and begun_with.keys() == set(names)):
            raise ValueError("it has no parameters that it was begun with")
        if type(state) is not self._kept or len(state) != len(self._kept._fields):
            raise ValueError("what it has seen is not what such transformers keep")
        check_kind("columns", state.columns, 1, np.integer)
        if ((state.columns < 0) | (state.columns >= self.n_features_in_)).any() or (np.diff(state.columns) <= 0).any():
            raise ValueError("its columns are none of X, or out of order")
        self._check_state(state, begun_with)

    def _rows(self, X, first):
        return checked_numbers(self, X, first, allow_sparse=True)

    def _places(self, rows):
        """Places of the columns, given the first rows."""
        self._heed()
        places = self._chosen_places(rows, "they come out as they are")
        return np.arange(rows.shape[1]) if places is None else places

    def _is_as_begun(self):
        return self._numeric is None and super()._is_as_begun()

    def _check_begun_with(self, parameters):
        super()._check_begun_with(parameters)
        told = isinstance(self.columns, str) and self._numeric is not None
        if told and not np.array_equal(self._numeric, self._state.columns):
            raise ValueError(
                f"set_numeric_columns named {list(self._numeric)}, and columns {self._state.columns.tolist()} "
                f"{self._had} when this {type(self).__name__} was new; it cannot go on with others: call fit, or clone "
                "it."
            )


def check_kind(name, array, ndim, dtype):
    """Raise unless ``array`` is an array with ``ndim`` dimensions of this type."""
    if not (isinstance(array, np.ndarray) and array.ndim == ndim and np.issubdtype(array.dtype, dtype)):
        raise ValueError(f"{name} is no array of {ndim} dimensions of {dtype.__name__}")


def _place(name, entry, n_columns):
    if not 0 <= entry < n_columns:
        raise ValueError(
            f"{name} has {shown(int(entry))}, which is not a column of X: positions go from 0 to {n_columns - 1}."
        )
    return int(entry)


def _named(name, entry, names):
    exact = np.flatnonzero(names == entry)
    found = exact if len(exact) else [place for place, known in enumerate(names) if fnmatchcase(str(known), entry)]
    if len(found) == 0:
        raise ValueError(f"{name} has {entry!r}, which is not a column of X; the first is {as_given(names[0])}.")
    return list(found)
