"""Which columns of the rows a parameter names."""

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
    """Raise unless ``columns``, given for the parameter ``name``, is a list of places, of names, or of flags."""
    if isinstance(columns, list | tuple):
        for kinds in (bool | np.bool_, Integral, str):
            if all(isinstance(entry, kinds) for entry in columns):
                return
    raise InvalidParameterError(name, ALLOWED, shown(columns))


def places_of(name: str, columns: Any, names: np.ndarray) -> np.ndarray:
    """Places of columns in rows with these ``names``, ascending, each once; raise for one that the rows do not have.

    The parameter ``name`` has ``columns``, as `check_columns` lets them pass; a name may be a pattern with ``*``, ``?``
    or ``[...]``.
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
    """Positions of columns as a tuple of int, ascending; raise for what is none."""
    given = list(positions)
    if any(not isinstance(place, int | np.integer) or isinstance(place, bool) or place < 0 for place in given):
        raise ValueError(f"positions must be integers that are not negative; got {shown(given)}.")
    return tuple(sorted({int(place) for place in given}))


def warn_of_sparse_rows(owner: object, consequence: str) -> None:
    """Tell that ``columns="auto"`` takes no columns of sparse rows, as long as nobody says which are numbers."""
    warnings.warn(
        f"columns='auto' of {type(owner).__name__} takes no columns of sparse rows, which may all be words and "
        f"categories: {consequence}. Name the columns of numbers by columns=[...], or give columns=[] for none.",
        UserWarning,
        stacklevel=2,
    )


class ToldNumbers:
    """Base of what somebody may tell which columns are numbers, and which may say so itself, by ``columns``."""

    columns: Any
    _numeric: tuple[int, ...] | None = None  # positions of the columns that are numbers, where somebody has told
    _told: tuple[int, ...] | None = None  # those that a pipeline has told, for the model that is to begin alone

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
        """As `set_numeric_columns`, for the model alone that begins with the next rows."""
        self._told = numeric_places(positions)

    def _heed(self):
        """Begin a model by what was told for it, or else by what its user has told."""
        by_user = vars(self).setdefault("_told_by_user", self._numeric)  # which saved models may lack
        self._numeric, self._told = by_user if self._told is None else self._told, None


class OfNumbers(ToldNumbers, CheckedWhenLoaded, OnlineTransformer):
    """Base of transformers that do something to the columns that are numbers, which ``columns`` names."""

    _input_tags = "sparse", "allow_nan"
    _kept: type  # named tuple of what has been learnt
    _had = "were numbers"  # what those that `set_numeric_columns` names, or others, did when it was new

    def _check_state(self, state, begun_with):
        """Raise for what has been learnt, but for its ``columns``, that does not fit together."""

    def _check_whole(self):
        """Raise for attributes that do not make a transformer together, as those of a damaged file."""
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
        """Places of the columns, for the first rows."""
        self._heed()
        if not isinstance(self.columns, str):
            return places_of("columns", self.columns, names_in(self))
        if self._numeric is not None:
            return places_of("set_numeric_columns", self._numeric, names_in(self))
        if sparse.issparse(rows):
            warn_of_sparse_rows(self, "they come out as they are")
            return np.arange(0)
        return np.arange(rows.shape[1])

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
    """Raise unless it is an array of so many dimensions and of this type."""
    if not (isinstance(array, np.ndarray) and array.ndim == ndim and np.issubdtype(array.dtype, dtype)):
        raise ValueError(f"{name} is no array of {ndim} dimensions of {dtype.__name__}")


def _place(name, entry, n_columns):
    if not 0 <= entry < n_columns:
        raise ValueError(
            f"{name} has {shown(int(entry))}, which is no column of X: places go from 0 to {n_columns - 1}."
        )
    return int(entry)


def _named(name, entry, names):
    exact = np.flatnonzero(names == entry)
    found = exact if len(exact) else [place for place, known in enumerate(names) if fnmatchcase(str(known), entry)]
    if len(found) == 0:
        raise ValueError(f"{name} has {entry!r}, which is no column of X; the first is {as_given(names[0])}.")
    return list(found)
