"""Tables of pandas, polars and Arrow, and arrays, as columns of a few kinds: the one place that knows their libraries.

A column holds numbers, words or dates; one without any value may turn out to hold either. None of the libraries is
imported: what is no table of one of them is read as an array.
"""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..estimators._validation import as_given, as_numpy, check_sparse, shown

NUMBERS, WORDS, DATES, EMPTY = "numbers", "words", "dates", "no values"
MISSING_WORDS = {
    "",
    "?",
    "-",
    "--",
    ".",
    "n/a",
    "na",
    "#n/a",
    "nan",
    "null",
    "none",
    "nil",
    "missing",
}  # in small letters
_DATE_TYPES = datetime.date, np.datetime64  # a datetime, and a Timestamp of pandas, are dates
_NOT_A_TIME = np.datetime64("NaT", "us")


class Table(NamedTuple):
    """Columns side by side.

    Attributes
    ----------
    names : list or None
        Names of the columns, where they have any.
    columns : list of Column
        The columns.
    n_rows : int
        Number of rows.
    array : ndarray or CSR array, or None
        What it was made of, where that was an array of numbers.
    """

    names: list | None
    columns: list
    n_rows: int
    array: Any


def read_table(X: Any) -> Table:
    """Take a frame of pandas or polars, an Arrow table or batch, an array, a sparse matrix or a list of rows apart."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        return Table(list(X.columns), [_OfPandas(name, column) for name, column in X.items()], len(X), None)
    if type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "get_columns"):
        columns = X.get_columns()
        return Table(list(X.columns), [_OfPolars(column.name, column) for column in columns], X.height, None)
    if hasattr(X, "schema") and hasattr(X, "num_rows"):
        names = list(X.schema.names)
        return Table(names, [_OfArrow(name, column) for name, column in zip(names, X.columns)], X.num_rows, None)
    if sparse.issparse(X):
        check_sparse(X)
        return Table(None, [None] * X.shape[1], X.shape[0], X.tocsr())
    X = as_numpy(X, "X")
    if hasattr(X, "__dataframe__") and not isinstance(X, np.ndarray):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}; give it as a frame of pandas or polars.")
    array = X if isinstance(X, np.ndarray) else _as_array(X)
    if array.ndim != 2:
        raise ValueError(
            f"Expected 2D array, got {array.ndim}D array instead: shape {array.shape}. Reshape your data: "
            "array.reshape(-1, 1) is one column, array.reshape(1, -1) one row."
        )
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X has dtype {array.dtype}.")
    return Table(
        None,
        [Column(place, array[:, place]) for place in range(array.shape[1])],
        len(array),
        array if array.dtype.kind in "biuf" else None,
    )


def _as_array(rows):
    """A list of rows as an array: of numbers where all are, else of objects, so that 1 and "1" stay apart."""
    array = np.asarray(rows)
    return array if array.dtype.kind in "biufcM" else np.asarray(rows, dtype=object)


class Column:
    """A column of an array; columns of tables derive from it.

    Parameters
    ----------
    name : object
        Its name, or its number where it has none.
    values : object
        What its library has.
    """

    def __init__(self, name, values):
        self.name, self.values = name, values

    @property
    def kind(self) -> str:
        """What it holds: numbers (booleans are such), words, dates, or no values."""
        return self._kind_of(self.values)

    def numbers(self) -> np.ndarray:
        """Numbers as float64, NaN for missing ones."""
        return self._as_numbers(self.values)

    def words(self) -> np.ndarray:
        """Words as an array of objects: str, or None for missing ones. Numbers and dates become words."""
        return self._as_words(self.values.tolist() if self.values.dtype.kind != "M" else list(self.values))

    def dates(self) -> np.ndarray:
        """Times by the clock that they are given by, as datetime64[us], NaT for missing ones."""
        return self._as_dates(self.values)

    # -- of arrays

    def _kind_of(self, values):
        kind = values.dtype.kind
        if kind in "biuf":
            return NUMBERS
        if kind in "UST":
            return WORDS
        if kind == "M":
            return DATES
        if kind != "O":
            raise self._refused(values.dtype)
        return self._kind_of_objects(values.tolist())

    def _kind_of_objects(self, values):
        """What objects of Python are; numbers beside words are words."""
        types = {type(value) for value in values if not is_missing(value)}
        if not types:
            return EMPTY
        if any(issubclass(kind, str) for kind in types):
            return WORDS
        if all(issubclass(kind, Number) and kind is not complex for kind in types):
            return NUMBERS
        if all(issubclass(kind, _DATE_TYPES) for kind in types):
            return DATES
        raise self._refused(" and ".join(sorted(kind.__name__ for kind in types)))

    def _refused(self, what):
        return ValueError(f"column {as_given(self.name)} holds {what}: columns hold numbers, words or dates.")

    def _as_numbers(self, values):
        if values.dtype.kind in "biuf":
            return values.astype(np.float64, copy=False)
        return np.array([self._as_number(value) for value in values.tolist()], dtype=np.float64)

    def _as_number(self, value):
        if is_missing(value):
            return math.nan
        try:
            return float(value)
        except OverflowError:
            raise ValueError(f"column {as_given(self.name)} has an integer beyond the range of float64.") from None
        except (TypeError, ValueError):
            raise ValueError(f"column {as_given(self.name)} must hold numbers; it has {shown(value)}.") from None

    def _as_words(self, values):
        words = np.empty(len(values), dtype=object)
        words[:] = [value if type(value) is str else as_word(value) for value in values]
        return words

    def _as_dates(self, values):
        if values.dtype.kind == "M":
            return values.astype("datetime64[us]")
        return np.array([self._as_date(value) for value in values.tolist()], dtype="datetime64[us]")

    def _as_date(self, value):
        if is_missing(value):
            return _NOT_A_TIME
        if isinstance(value, datetime.datetime):
            value = value.replace(tzinfo=None)
        if not isinstance(value, _DATE_TYPES):
            raise ValueError(f"column {as_given(self.name)} must hold dates; it has {shown(value)}.")
        return np.datetime64(value, "us")


class _OfPandas(Column):
    """A Series."""

    def __init__(self, name, values):
        dtype = values.dtype
        if type(dtype).__name__ == "ArrowDtype":
            values = _OfArrow(name, values.array.__arrow_array__())
        self.is_arrow = isinstance(values, _OfArrow)
        super().__init__(name, values)

    @property
    def kind(self):
        if self.is_arrow:
            return self.values.kind
        dtype = self.values.dtype
        if hasattr(dtype, "categories") or type(dtype).__name__ == "StringDtype":
            return WORDS
        return self._kind_of(self.values.array) if dtype.kind != "O" else self._kind_of_objects(self.values.tolist())

    def numbers(self):
        if self.is_arrow:
            return self.values.numbers()
        if self.values.dtype.kind in "biuf":
            return self.values.to_numpy(dtype=np.float64, na_value=np.nan)
        return self._as_numbers(self.values.to_numpy(dtype=object))

    def words(self):
        return self.values.words() if self.is_arrow else self._as_words(self.values.tolist())

    def dates(self):
        if self.is_arrow:
            return self.values.dates()
        if self.values.dtype.kind != "M":
            return self._as_dates(self.values.to_numpy(dtype=object))
        local = self.values if getattr(self.values.dtype, "tz", None) is None else self.values.dt.tz_localize(None)
        return self._as_dates(local.to_numpy())


class _OfPolars(Column):
    """A Series of polars."""

    @property
    def kind(self):
        dtype = self.values.dtype
        name = dtype.base_type().__name__
        if dtype.is_numeric() or name == "Boolean":
            return NUMBERS
        if name in ("String", "Categorical", "Enum"):
            return WORDS
        if name in ("Date", "Datetime"):
            return DATES
        if name == "Null":
            return EMPTY
        if name == "Object":
            return self._kind_of_objects(self.values.to_list())
        raise self._refused(dtype)

    def numbers(self):
        dtype = self.values.dtype
        if dtype.is_numeric() and not dtype.is_decimal() and not self.values.null_count():
            return self.values.to_numpy().astype(np.float64, copy=False)
        return self._as_numbers(np.array([*self.values.to_list(), None], dtype=object)[:-1])

    def words(self):
        return self._as_words(self.values.to_list())

    def dates(self):
        if self.values.dtype.base_type().__name__ == "Date" or getattr(self.values.dtype, "time_zone", "") is None:
            return self._as_dates(self.values.to_numpy())
        return self._as_dates(np.array([*self.values.to_list(), None], dtype=object)[:-1])


class _OfArrow(Column):
    """An array of pyarrow, chunked or not."""

    @property
    def kind(self):
        from pyarrow import types

        kind = self.values.type
        if types.is_dictionary(kind):
            return WORDS
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
            return NUMBERS
        if types.is_string(kind) or types.is_large_string(kind) or _is_string_view(types, kind):
            return WORDS
        if types.is_date(kind) or types.is_timestamp(kind):
            return DATES
        if types.is_null(kind):
            return EMPTY
        raise self._refused(kind)

    def numbers(self):
        if self.kind == NUMBERS and str(self.values.type) in ("double", "float", "int64", "int32", "int16", "int8"):
            return self.values.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        return self._as_numbers(np.array([*self.values.to_pylist(), None], dtype=object)[:-1])

    def words(self):
        return self._as_words(self.values.to_pylist())

    def dates(self):
        from pyarrow import types

        if types.is_date(self.values.type) or getattr(self.values.type, "tz", "") is None:
            return self._as_dates(np.asarray(self.values.to_numpy(zero_copy_only=False)))
        return self._as_dates(np.array([*self.values.to_pylist(), None], dtype=object)[:-1])


def _is_string_view(types, kind):
    return hasattr(types, "is_string_view") and types.is_string_view(kind)  # since pyarrow 16


def is_missing(value: Any) -> bool:
    """Whether a value of Python is none: None, NaN, NaT, or NA of pandas."""
    if value is None:
        return True
    if isinstance(value, str):
        return False
    return type(value).__name__ in ("NAType", "NaTType") or (
        isinstance(value, Number | np.datetime64) and value != value
    )


def as_word(value: Any) -> str | None:
    """The word that a value stands for: 1.0 and 1 are "1", a date is as ISO 8601 writes it; None for a missing one."""
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value):
        return str(int(value))
    if isinstance(value, datetime.date):
        return value.isoformat()
    return str(value)
