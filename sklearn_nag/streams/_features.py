"""Features, targets and weights of tables, as arrays."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..preprocessing._base import joined
from ..preprocessing._frames import NUMBERS, WORDS, kind_in_arrow, read_table, side_by_side
from ..preprocessing._prepare import MOST_WORDS, WORDS_OF_TEXT
from ..preprocessing._words import Coded, hashed_rows
from ._csv import EXACT, check_exact
from ._sources import check_names, pyarrow

FEW_OTHERS = 0.01  # largest share of other words in a batch of a column meant for numbers
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # name that pandas gives an unnamed index in a file


class Place(NamedTuple):
    """Origin of rows: the file or table, for errors, and each row's number in it, from 0."""

    where: object
    numbers: np.ndarray

    def of_first_missing(self, column):
        """Place of the first missing value of a column, for messages."""
        return f"{self.where}, data row {self.numbers[int(np.argmax(_gaps(column)))] + 1}"


class TableReader:
    """Makes ``(X, y)`` or ``(X, y, sample_weight)`` of record batches; parameters as for `read_batches`.

    ``drop`` leaves out rows without a target; ``n_left_out`` counts them since `rows` last began.
    """

    def __init__(self, target, columns, sample_weight, n_hashed, transformer, frames, drop, takes_any=False, words=()):
        self.target, self.columns, self.sample_weight = target, columns, sample_weight
        self.targets = [target] if isinstance(target, str) else list(target or ())
        self.n_hashed = n_hashed
        self.needed = [*self.targets, *([] if sample_weight is None else [sample_weight])]
        self.transformer, self.frames, self.drop, self.n_left_out = transformer, frames, drop, 0
        self.takes_any = takes_any  # whether later tables may have other features
        self.seen: set[str] = set()  # columns whose words were checked for texts
        self.words = words  # features even if they are a pandas index
        self.mixed = set(words)  # columns already warned about, or known to hold words

    def names(self):
        """Columns to read; None for all."""
        return None if self.columns is None else list(dict.fromkeys([*self.columns, *self.needed]))

    def is_word(self, name):
        """Whether a column is a feature whose words may be dictionary-encoded."""
        return self.frames and name not in self.needed

    def rows(self, tables, batch_size):
        """Yield features, targets and, with a ``sample_weight``, weights, of at most ``batch_size`` rows.

        ``tables`` yields pairs of a name for errors and a table. The first table determines which columns are features,
        their order, and which hold words.
        """
        schema, features, words, file, n_rows, self.n_left_out = None, None, {}, None, 0, 0
        for where, table in tables:
            if table.num_rows == 0:  # types of columns without values mean nothing
                continue
            if where != file and isinstance(where, Path):  # other tables are counted as one
                file, n_rows = where, 0
            if schema is None or not table.schema.equals(schema, check_metadata=True):
                found = self._features(where, table.schema)
                features = found if features is None or self.takes_any else features
                _check_layout(where, table.schema, found, features)
                _check_words(where, table, () if self.frames else features, words)
                if schema is None or self.frames:  # otherwise keep the first: later ones may lack words by chance
                    schema = table.schema
            for start in range(0, table.num_rows, batch_size):
                rows = table.slice(start, batch_size)
                numbers = np.arange(n_rows + start, n_rows + start + rows.num_rows)
                gaps = [_gaps(_decoded(rows, name)) for name in self.targets if self.drop]
                if (gaps := np.any(gaps, axis=0)).any():
                    self.n_left_out += int(gaps.sum())
                    rows, numbers = rows.filter(pyarrow.array(~gaps)), numbers[~gaps]
                if rows.num_rows:
                    _check_words(where, table, self.targets, words, are_targets=True)
                    yield self._read(rows, features, words, Place(where, numbers))
            n_rows += table.num_rows

    def _features(self, where, schema):
        """Names of a table's feature columns."""
        names = schema.names
        check_names(names, self.needed, where)
        if self.columns is not None:
            return self.columns
        others = {*self.needed, *_index_of_pandas(schema).difference(self.words)}
        return [name for name in names if name not in others]

    def _read(self, table, features, words, place):
        X = self._rows(table.select(features), words, place)
        y = [_target(_decoded(table, name), name, place) for name in self.targets]
        y = None if not y else y[0] if isinstance(self.target, str) else _side_by_side(y, self.targets, place)
        if self.sample_weight is None:
            return X, y
        return X, y, _numbers(table.column(self.sample_weight), self.sample_weight, place, are_weights=True)

    def _rows(self, table, holds_words, place):
        if self.frames:
            return _with_codes(table)
        if self.transformer is not None:
            named = _index_of_pandas(table.schema).intersection(table.schema.names)  # features here, not the index
            return self.transformer.transform(table.to_pandas(ignore_metadata=bool(named)))
        columns = read_table(table).columns
        words = [column for column in columns if holds_words.get(column.name)]
        numbers = [column for column in columns if not holds_words.get(column.name)]
        X = side_by_side([_numbers(column.values, column.name, place) for column in numbers], table.num_rows)
        if not words:
            return X
        codes, coded = zip(*(column.coded() for column in words))  # leaves out dictionary words that no row has
        for column, own in zip(words, coded):
            self._look_at(column.name, [word for word in own if word is not None])
        names = [column.name for column in words]
        return joined([X, hashed_rows(Coded(codes, coded, table.num_rows), names, self.n_hashed)])

    def _look_at(self, name, words):
        """Warn if a column's words in one batch are texts, or were meant as numbers."""
        if len(words) <= MOST_WORDS:
            return
        if name not in self.seen:
            self.seen.add(name)
            _warn_of_text(name, words[:MOST_WORDS])
        if name not in self.mixed and (others := _few_that_are_no_numbers(words)):
            self.mixed.add(name)
            warnings.warn(
                f"column {name!r} holds words, because it has {others[0]!r} among its numbers, and each number is "
                "hashed as a separate word: correct the column, or read with frames=True and make a pipeline with "
                f"prepare, which treats {others[0]!r} as missing.",
                UserWarning,
                stacklevel=2,
            )


def _few_that_are_no_numbers(words):
    """Words that are not numbers, if few; otherwise none."""
    others: list[str] = []
    for word in words:
        try:
            float(word)
        except ValueError:
            others.append(word)
            if len(others) > FEW_OTHERS * len(words):
                return []
    return others


def _warn_of_text(name, words):
    if sum(len(word.split()) for word in words) >= WORDS_OF_TEXT * len(words):
        warnings.warn(
            f"column {name!r} holds texts, and each whole text is hashed as one word, which says little about other "
            "texts: leave the column out, or read with frames=True and make a pipeline with prepare, which takes texts "
            "word by word.",
            UserWarning,
            stacklevel=2,
        )


def _with_codes(table):
    """A record batch with words dictionary-encoded, to save later steps the work."""
    is_plain = [_holds_words(kind) and not pyarrow.types.is_dictionary(kind) for kind in table.schema.types]
    columns = [column.dictionary_encode() if plain else column for column, plain in zip(table.columns, is_plain)]
    batch = pyarrow.RecordBatch.from_arrays(columns, names=table.schema.names)
    return batch.replace_schema_metadata(table.schema.metadata)


def _index_of_pandas(schema):
    """Columns that are the index of a pandas frame, by its metadata, or by name if that is lost."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    unnamed = filter(_PANDAS_INDEX.fullmatch, schema.names)
    return {*unnamed, *(name for name in index if isinstance(name, str))}  # a range index is a dict


def _check_layout(where, schema, found, features):
    """Raise unless a table with features ``found`` has the ``features`` of the first, in any order."""
    check_names(schema.names, features, where)
    known = set(features)
    for name in found:
        if name not in known:
            raise ValueError(
                f"{where} has a column {name!r}, which is not a feature of the first table; name the features by "
                "columns."
            )


def _check_words(where, table, names, words, are_targets=False):
    """Raise unless the same columns hold words as in the first table, which fills ``words``."""
    types = pyarrow.types
    for name in names:
        kind = table.schema.field(name).type
        if are_targets and types.is_dictionary(kind):  # targets are decoded
            kind = kind.value_type
        may_lack = words.get(name) and types.is_floating(kind) and not are_targets  # missing words in pandas
        if types.is_null(kind) or (may_lack and _gaps(table.column(name)).all()):  # all values are missing
            continue
        holds = _holds_words(kind)
        if words.setdefault(name, holds) != holds:
            here, first = ("words", "none") if holds else (str(kind), "words")
            raise ValueError(f"{where} holds {here} in column {name!r}, which holds {first} in the first table.")


def _gaps(column):
    """Mask of missing values, including NaN, which is a value in Arrow."""
    return column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)


def _holds_words(kind):
    """Whether a type is of words as files write them; not times, as "9:30" read as a time would be another word."""
    types = pyarrow.types
    return types.is_dictionary(kind) or (kind_in_arrow(kind) == WORDS and not types.is_time(kind))


def _numbers(column, name, place, are_weights=False):
    """A column of numbers as float64."""
    kind = column.type
    is_number = kind_in_arrow(kind) == NUMBERS
    has_gaps = are_weights and _gaps(column).any()
    if are_weights and (not is_number or has_gaps):
        where = (
            f"has missing values in {place.of_first_missing(column)}" if has_gaps else f"holds {kind} in {place.where}"
        )
        raise ValueError(f"the sample_weight {name!r} {where}: each row needs a weight, which is a number.")
    if not is_number:
        raise ValueError(
            f"column {name!r} holds {kind} in {place.where}: features must be numbers or words; for others, read with "
            "frames=True and make a pipeline with prepare."
        )
    if column.null_count:
        raise ValueError(
            f"column {name!r} has missing values in {place.of_first_missing(column)}: fill them, or read with "
            "frames=True and make a pipeline with prepare, which fills them."
        )
    return column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)


def _decoded(table, name):
    """A column with its dictionary decoded; values may be missing."""
    types, column = pyarrow.types, table.column(name)
    if not types.is_dictionary(column.type):
        return column
    values = column.dictionary
    return (values.cast("large_string") if types.is_string_view(values.type) else values).take(column.indices)


def _target(column, name, place):
    """The target as numbers or words."""
    if _gaps(column).any():
        raise ValueError(
            f"the target {name!r} has missing values in {place.of_first_missing(column)}: leave these rows out."
        )
    if _holds_words(column.type):
        return np.array(column.to_pylist(), dtype=str)
    if pyarrow.types.is_decimal(column.type):
        y = _numbers(column, name, place)
        _check_exact(column, y, name, place)
        return y
    if kind_in_arrow(column.type) != NUMBERS:
        raise ValueError(f"the target {name!r} holds {column.type} in {place.where}: targets are numbers or words.")
    y = column.to_numpy(zero_copy_only=False)
    if y.dtype.kind == "f" and (infinite := np.isinf(y)).any():
        row = place.numbers[int(np.argmax(infinite))] + 1
        raise ValueError(f"the target {name!r} is infinite in {place.where}, data row {row}: targets must be finite.")
    return y


def _side_by_side(targets, names, place):
    """Several targets as columns of one array; raise if this would change a value."""
    are_words = [y.dtype.kind == "U" for y in targets]
    if any(are_words) and not all(are_words):
        words, numbers = names[are_words.index(True)], names[are_words.index(False)]
        raise ValueError(
            f"the target {words!r} holds words and {numbers!r} numbers in {place.where}: several targets must be all "
            "words or all numbers."
        )
    columns = np.column_stack(targets)
    for y, column, name in zip(targets, columns.T, names):
        if y.dtype.kind in "iu" and columns.dtype.kind == "f":  # integers next to floats
            _check_exact(y, column, name, place)
    return columns


def _check_exact(values, y, name, place):
    """Raise for a whole number in ``values`` that differs from its float64 in ``y``."""
    for i in np.flatnonzero(np.abs(y) >= EXACT):
        value = values[i]
        what = f"{place.where}, data row {place.numbers[i] + 1}, has the target {name!r}"
        check_exact(value.as_py() if hasattr(value, "as_py") else int(value), y[i], what)
