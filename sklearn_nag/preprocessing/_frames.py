"""Tables of pandas, polars and Arrow, and arrays, as columns of a few kinds; no other module knows these libraries.

A column holds numbers, words or dates; one without values may later hold any. No library is imported: what is not a
table of one of them is read as an array.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from decimal import Decimal
from functools import cached_property, lru_cache
from numbers import Number
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from ..estimators._parameters import shown
from ..estimators._validation import as_given, as_numpy, check_sparse, is_missing

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
}  # in lower case
# As other programs write them. Readers of files keep these in columns of words, as saved models know them.
ALSO_MISSING = {
    *("n.a.", "<na>", "#na", "#n/a n/a", "-nan", "1.#ind", "-1.#ind", "1.#qnan", "-1.#qnan"),
    *("#div/0!", "#value!", "#ref!", "#num!", "#name?", "#null!"),  # of spreadsheets
}
_APART = NUMBERS, DATES, WORDS  # kinds that objects of one column may mix
_WORD_TYPES = str, datetime.time  # a time of day is read like its words, to the second
_DATE_TYPES = datetime.date, np.datetime64  # these include datetime, and pandas' Timestamp
_FIRST = 32  # rows per word, in which all words usually occur
_FEW = 50  # rows, up to which words are numbered one by one
_MICROSECONDS = np.dtype("datetime64[us]")
_NOT_A_TIME = np.datetime64("NaT", "us")
_YEARS = np.array([-290_307 - 1970, 294_247 - 1970], dtype="datetime64[Y]")  # first year in range, first year beyond
_COARSE = "Y", "M", "W", "D", "h", "m", "s", "ms"  # units of dates that can exceed the range of microseconds
_TILE = 2**16  # numbers written at a time, so that they stay in the cache


class Table(NamedTuple):
    """Columns side by side."""

    names: list | None
    columns: list
    n_rows: int
    array: Any  # the source, if it was an array of numbers or sparse

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns, as those of an array."""
        return self.n_rows, len(self.columns)


def read_table(X: Any) -> Table:
    """Columns of a pandas or polars frame, an Arrow table or batch, an array, a sparse matrix or a list of rows."""
    if isinstance(X, Table):
        return X
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        names, columns = [], []
        for name, column in X.items():
            if name is not None and is_missing(name):  # it does not equal itself
                raise ValueError(f"X has a column named {name}; give it another name.")
            names.append(name)
            columns.append(_of_pandas(name, column))
        return Table(names, columns, len(X), None)
    if type(X).__module__.partition(".")[0] == "polars" and hasattr(X, "get_columns"):
        columns = X.get_columns()
        return Table(list(X.columns), [_OfPolars(column.name, column) for column in columns], X.height, None)
    if hasattr(X, "num_rows") and hasattr(X, "schema"):
        names, ordered = list(X.schema.names), _categories_in((X.schema.metadata or {}).get(b"pandas"))
        columns = [_OfArrow(name, column, ordered.get(name)) for name, column in zip(names, X.columns)]
        return Table(names, columns, X.num_rows, None)
    if sparse.issparse(X):
        check_sparse(X)
        return Table(None, [None] * X.shape[1], X.shape[0], X.tocsr())
    is_series = hasattr(X, "to_frame")
    X = as_numpy(X, "X")
    if hasattr(X, "__dataframe__") and not isinstance(X, np.ndarray):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}; convert it to a pandas or polars frame.")
    array = X if isinstance(X, np.ndarray) else _as_array(X)
    if array.ndim != 2:
        column = "series.to_frame()" if is_series else "array.reshape(-1, 1)"
        how = f"Reshape your data: {column} is one column, array.reshape(1, -1) one row."
        if array.size and isinstance(array.flat[0], Mapping):
            how = "Rows are dicts: give pandas.DataFrame(rows)."
        raise ValueError(f"Expected 2D array, got {array.ndim}D array instead: shape {array.shape}. {how}")
    if array.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: X has dtype {array.dtype}.")
    return Table(
        None,
        [Column(place, array[:, place]) for place in range(array.shape[1])],
        len(array),
        array if array.dtype.kind in "biuf" else None,
    )


def _as_array(rows):
    """A list of rows as an array: of numbers if all are, otherwise of objects, so that 1 and "1" differ."""
    with suppress(UnicodeDecodeError):  # of bytes next to words
        array = np.asarray(rows)
        if array.dtype.kind in "biufcM":
            return array
    return np.asarray(rows, dtype=object)


class Column:
    """A column of an array: its name or number, and its library's values. Other columns derive from it.

    It is made anew in each call, so that values do not change meanwhile.
    """

    def __init__(self, name, values):
        self.name, self.values = name, values

    @cached_property
    def kind(self) -> str:
        """Its content: numbers (including booleans), words, dates, or no values."""
        return self._kind_of(self.values)

    @property
    def is_nominal(self) -> bool:
        """Whether its type says that values, even numbers, are names: categories without an order.

        Arrow's dictionaries say nothing, because they may only save memory; pandas' metadata for them do.
        """
        return False

    @property
    def has_values(self) -> bool:
        """Whether any value is not missing; types tell only what may occur, and readers of files guess them."""
        if any(word is not None for word in self.head().words()):  # usually the first one tells
            return True
        read = {NUMBERS: self.numbers, DATES: self.dates}.get(self.kind)
        if read is None:
            return any(word is not None for word in self.coded()[1])
        values = read()
        return bool((values == values).any())

    @property
    def is_mixed(self) -> bool:
        """Whether numbers may be among words, as in Python objects."""
        return getattr(getattr(self.values, "dtype", None), "kind", None) == "O"

    def head(self) -> Column:
        """Its first row."""
        return type(self)(self.name, self.values[:1])

    def apart(self) -> list:
        """Pairs of rows and their column, one per kind of values, if words are mixed with numbers or dates.

        So what numbers mean does not depend on words in the same table, for readers of words.
        """
        values = self._objects()
        kinds = {} if values is None else {kind: _APART.index(_kind_of_type(kind)) for kind in set(map(type, values))}
        if len(set(kinds.values())) < 2 or self.kind != WORDS:
            return [(slice(None), self)]
        of_rows = np.fromiter((kinds[type(value)] for value in values), np.intp, len(values))
        return [(of_rows == kind, Column(self.name, values[of_rows == kind])) for kind in np.unique(of_rows)]

    def _objects(self):
        """Its values as an array of objects if their type does not tell their kind; otherwise None."""
        return self.values if self.is_mixed else None

    def numbers(self) -> np.ndarray:
        """Numbers as float64, NaN for missing ones."""
        return self._as_numbers(self.values)

    def words(self) -> np.ndarray:
        """Words as an array of objects: str, or None if missing; numbers and dates become words."""
        return self._as_words(self.values.tolist() if self.values.dtype.kind != "M" else list(self.values))

    def coded(self) -> tuple[np.ndarray, list]:
        """Words by number: a code per row, and the word of each code, as in `words`; all codes occur.

        Several codes may stand for one word.
        """
        words = self.words().tolist()
        places: dict = {}
        codes = np.array([places.setdefault(word, len(places)) for word in words], dtype=np.intp)
        return codes, list(places)

    def dates(self) -> np.ndarray:
        """Local times as datetime64[us], NaT if missing."""
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
        """Kind of Python objects; mixtures with words, and of numbers and dates, are words."""
        if any(issubclass(kind, _WORD_TYPES) for kind in set(map(type, values))):
            return WORDS
        types = {type(value) for value in values if not is_missing(value)}
        if not types:
            return EMPTY
        kinds = set(map(_kind_of_type, types))
        if WORDS not in kinds:
            return WORDS if len(kinds) > 1 else kinds.pop()
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
        words[:] = _as_words(values)
        return words

    def _decoded(self):
        """Like `words`, for a column with numbered words."""
        codes, words = self.coded()
        return np.array([*words, None], dtype=object)[codes]

    def _as_dates(self, values):
        if values.dtype.kind == "M":
            return self._in_microseconds(values)
        return np.array([self._as_date(value) for value in values.tolist()], dtype="datetime64[us]")

    def _as_date(self, value):
        if is_missing(value):
            return _NOT_A_TIME
        if isinstance(value, datetime.datetime):
            value = value.replace(tzinfo=None)
        if not isinstance(value, _DATE_TYPES):
            raise ValueError(f"column {as_given(self.name)} must hold dates; it has {shown(value)}.")
        return self._in_microseconds(np.datetime64(value))

    def _in_microseconds(self, dates):
        """Dates of any unit as datetime64[us]; raise for the first one beyond its range."""
        if np.datetime_data(dates.dtype)[0] in _COARSE:
            first, beyond_all = _YEARS.astype(dates.dtype)
            beyond = np.atleast_1d((dates < first) | (dates >= beyond_all))
            if beyond.any():
                date = np.atleast_1d(dates)[beyond.argmax()]
                raise ValueError(f"column {as_given(self.name)} has the date {date}; years go from -290307 to 294246.")
        return dates.astype(_MICROSECONDS)


def _kind_of_type(kind):
    """Kind of values of a Python type; words if neither numbers nor dates."""
    if issubclass(kind, Number | np.bool_) and not issubclass(kind, complex | np.complexfloating):
        return NUMBERS
    return DATES if issubclass(kind, _DATE_TYPES) else WORDS


def _of_pandas(name, values):
    """A Series as a column."""
    is_arrow = type(values.dtype).__name__ == "ArrowDtype"
    return _OfArrow(name, values.array.__arrow_array__()) if is_arrow else _OfPandas(name, values)


class _OfPandas(Column):
    """A Series whose values are not Arrow's."""

    @cached_property
    def _has_categories(self):
        return hasattr(self.values.dtype, "categories")

    def head(self):
        return type(self)(self.name, self.values.iloc[:1])

    @cached_property
    def kind(self):
        dtype = self.values.dtype
        if self._has_categories or type(dtype).__name__ == "StringDtype":
            return WORDS
        return self._kind_of(self.values) if dtype.kind != "O" else self._kind_of_objects(self.values.tolist())

    @property
    def is_nominal(self):
        return self._has_categories and not self.values.dtype.ordered

    def apart(self):
        if not self._has_categories:
            return super().apart()
        entries, used = self.values.cat.categories, np.arange(len(self.values.cat.categories))
        if entries.inferred_type == "string":
            return [(slice(None), self)]
        if len(entries) > len(self.values):
            used = np.unique(self.values.cat.codes)
            used = used[used >= 0]
            entries = entries.take(used)
        if all(_kind_of_type(kind) == WORDS for kind in set(map(type, entries))):
            return [(slice(None), self)]
        by_code = entries.to_series(index=used)
        return _of_pandas(self.name, by_code.reindex(self.values.cat.codes)).apart()

    def _objects(self):
        return self.values.to_numpy() if self.values.dtype == np.dtype(object) else None

    def numbers(self):
        if self.values.dtype.kind in "biuf":
            return self.values.to_numpy(dtype=np.float64, na_value=np.nan)
        return self._as_numbers(self.values.to_numpy(dtype=object))

    def words(self):
        return self._decoded() if self._has_categories else self._as_words(self.values.tolist())

    def coded(self):
        if self._has_categories:
            return _present(self.values.cat.codes.to_numpy(), self.values.cat.categories)
        if type(self.values.dtype).__name__ == "StringDtype" and len(self.values) > _FEW:
            codes, words = self.values.factorize()
            return _present(codes, words.tolist())
        return super().coded()

    def dates(self):
        if self.values.dtype.kind != "M":
            return self._as_dates(self.values.to_numpy(dtype=object))
        local = self.values if getattr(self.values.dtype, "tz", None) is None else self.values.dt.tz_localize(None)
        return self._as_dates(local.values)


class _OfPolars(Column):
    """A Series of polars."""

    @cached_property
    def kind(self):
        dtype = self.values.dtype
        name = dtype.base_type().__name__
        if dtype.is_numeric() or name == "Boolean":
            return NUMBERS
        if name in ("String", "Categorical", "Enum", "Time"):
            return WORDS
        if name in ("Date", "Datetime"):
            return DATES
        if name == "Null":
            return EMPTY
        if name == "Object":
            return self._kind_of_objects(self.values.to_list())
        raise self._refused(dtype)

    @property
    def is_nominal(self):
        return self.values.dtype.base_type().__name__ in ("Categorical", "Enum")

    @property
    def is_mixed(self):
        return self.values.dtype.base_type().__name__ == "Object"

    def _objects(self):
        return np.array([*self.values.to_list(), None], dtype=object)[:-1] if self.is_mixed else None

    def numbers(self):
        dtype = self.values.dtype
        if (dtype.is_numeric() and not dtype.is_decimal()) or dtype.base_type().__name__ == "Boolean":
            return self.values.cast(float).to_numpy()
        return self._as_numbers(np.array([*self.values.to_list(), None], dtype=object)[:-1])

    def words(self):
        return self._as_words(self.values.to_list())

    def coded(self):
        if self.values.dtype.base_type().__name__ != "String" or len(self.values) <= _FEW:
            return super().coded()
        ranks = self.values.rank("dense").fill_null(0).to_numpy().astype(np.intp)
        words = self.values.drop_nulls().unique().sort().to_list()
        return _present(ranks - 1, words)

    def dates(self):
        has_zone = getattr(self.values.dtype, "time_zone", None) is not None
        return self._as_dates((self.values.dt.replace_time_zone(None) if has_zone else self.values).to_numpy())


class _OfArrow(Column):
    """An array of pyarrow, chunked or not; pandas' metadata may say that it has categories, and whether ordered."""

    def __init__(self, name, values, is_ordered=None):
        super().__init__(name, values)
        self._is_ordered = is_ordered

    def head(self):
        return type(self)(self.name, self.values[:1], self._is_ordered)

    @property
    def _is_of_categories(self):
        from pyarrow import types

        return self._is_ordered is not None and not types.is_floating(self.values.type)  # floats were cast since

    @property
    def is_nominal(self):
        return self._is_of_categories and not self._is_ordered

    @cached_property
    def kind(self):
        kind = kind_in_arrow(self.values.type)
        if kind is None:
            raise self._refused(self.values.type)
        return WORDS if self._is_of_categories else kind

    def apart(self):
        from pyarrow import types

        kind = self.values.type
        own = kind.value_type if types.is_dictionary(kind) else kind
        if self.kind != WORDS or kind_in_arrow(own) in (WORDS, None):
            return [(slice(None), self)]
        return [(slice(None), _OfArrow(self.name, self.values if own == kind else self.values.cast(own)))]

    def numbers(self):
        from pyarrow import float64, types

        kind = self.values.type
        if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
            values = self.values if types.is_float64(kind) else self.values.cast(float64(), safe=False)
            return values.to_numpy(zero_copy_only=False)
        return self._as_numbers(np.array([*self.values.to_pylist(), None], dtype=object)[:-1])

    def words(self):
        return self._decoded() if hasattr(self.values.type, "index_type") else self._as_words(self.values.to_pylist())

    def coded(self):
        of_bytes = re.match("(dictionary<values=)?[a-z_]*binary", str(self.values.type))
        if not hasattr(self.values.type, "index_type") if of_bytes else self.kind != WORDS:
            return super().coded()
        values = self.values.combine_chunks() if hasattr(self.values, "combine_chunks") else self.values
        if not hasattr(values, "indices"):
            values = values.dictionary_encode()
        codes = values.indices.cast("int64").fill_null(-1) if values.indices.null_count else values.indices
        return _present(codes.to_numpy(zero_copy_only=False), values.dictionary)

    def dates(self):
        from pyarrow import types

        values = self.values
        if not types.is_date(values.type) and getattr(values.type, "tz", None) is not None:
            from pyarrow import compute

            values = compute.local_timestamp(values)
        return self._as_dates(np.asarray(values.to_numpy(zero_copy_only=False)))


@lru_cache
def _categories_in(metadata):
    """Whether columns of categories are ordered, by name, from pandas' metadata in a schema."""
    try:
        columns = [] if metadata is None else json.loads(metadata)["columns"]
        categorical = [column for column in columns if column["pandas_type"] == "categorical"]
        return {column["name"]: bool((column.get("metadata") or {}).get("ordered")) for column in categorical}
    except (ValueError, TypeError, KeyError, AttributeError):  # others have written under this name
        return {}


@lru_cache
def kind_in_arrow(kind):
    """Kind of a column of an Arrow type; None if there is none."""
    from pyarrow import types

    if types.is_dictionary(kind):
        is_extension = hasattr(kind.value_type, "extension_name")  # such as pandas' bins and periods
        return WORDS if is_extension or kind_in_arrow(kind.value_type) else None
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind):
        return NUMBERS
    if types.is_string(kind) or types.is_large_string(kind) or str(kind) == "string_view" or types.is_time(kind):
        return WORDS
    if types.is_date(kind) or types.is_timestamp(kind):
        return DATES
    return EMPTY if types.is_null(kind) else None


def _present(codes, dictionary):
    """Codes, with -1 for a missing word, and words, without unused ones."""
    used, codes = _used_codes(codes, len(dictionary))
    words = _as_words(_taken(dictionary, used[used >= 0]))
    return codes, [None, *words] if len(words) < len(used) else words


def _used_codes(codes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Codes from -1 to ``n - 1`` that rows have, in order, and the index of each row's code among them."""
    if n > len(codes):
        used, places = np.unique(codes, return_inverse=True)
        return used, places.ravel()
    is_used = np.zeros(n + 1, dtype=bool)
    is_used[codes[: _FIRST * n]] = True  # the last place is for -1
    if is_used[:-1].all() and codes.min(initial=0) >= 0:
        return np.arange(n), codes.ravel()
    is_used[codes] = True
    used = np.flatnonzero(np.append(is_used[-1], is_used[:-1])) - 1
    new = np.zeros(n + 1, dtype=np.intp)
    new[used] = np.arange(len(used))
    return used, new[codes].ravel()


def _taken(dictionary: Any, places: np.ndarray) -> Any:
    """Words at these places, in order, of an Arrow or pandas dictionary, or a list without others."""
    if len(places) == len(dictionary):
        return dictionary
    is_view = str(getattr(dictionary, "type", "")) == "string_view"  # pyarrow cannot take from these
    return (dictionary.cast("large_string") if is_view else dictionary).take(places)


def _as_words(values):
    """Values as a list of words."""
    if hasattr(values, "to_pylist"):
        values = values.to_pandas() if hasattr(values.type, "extension_name") else values.to_pylist()
    return [value if type(value) is str else as_word(value) for value in values]


def as_word(value: Any) -> str | None:
    """The word for a value: "1" for 1.0 and 1, ISO 8601 for dates, None for missing ones."""
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if isinstance(value, np.datetime64):
        is_day = np.datetime_data(value)[0] in "YMWD"
        return str(value.astype("datetime64[D]" if is_day else "datetime64[us]")).removesuffix(".000000")
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).decode()
    if isinstance(value, Decimal) and value.is_finite():
        word = f"{value or 0:f}"
        return word.rstrip("0").rstrip(".") if "." in word else word
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, datetime.time):  # all have one form then
        return value.isoformat("seconds")
    return str(value)


def side_by_side(columns: list, n_rows: int) -> np.ndarray:
    """Columns of numbers as an array in C order, some rows at a time: whole columns miss the cache."""
    X = np.empty((n_rows, len(columns)))
    n = max(_TILE // max(len(columns), 1), 64)
    for start in range(0, n_rows, n):
        tile = X[start : start + n]
        for i, column in enumerate(columns):
            tile[:, i] = column[start : start + n]
    return X
