"""What a table becomes: features, targets and weights, as arrays."""

from __future__ import annotations

import re

import numpy as np
from scipy import sparse
from sklearn.feature_extraction import FeatureHasher

from ._sources import import_pyarrow

_TILE = 512  # rows
_PANDAS_INDEX = re.compile(r"__index_level_\d+__")  # what pandas calls an index without a name in a file


class TableReader:
    """Makes ``(X, y)`` or ``(X, y, sample_weight)`` of record batches.

    Parameters
    ----------
    target : str, list of str or None
        The column, or columns, to predict.
    columns : list of str or None
        The columns that are features; by default all others.
    sample_weight : str or None
        The column with weights of rows.
    n_hashed : int
        Columns to which words are hashed.
    transformer : object or None
        Fitted transformer, which makes ``X`` of a pandas data frame instead.
    """

    def __init__(self, target, columns, sample_weight, n_hashed, transformer):
        self.target, self.columns, self.sample_weight = target, columns, sample_weight
        self.targets = [target] if isinstance(target, str) else list(target or ())
        self.transformer = transformer
        self.hasher = FeatureHasher(n_hashed, input_type="string", alternate_sign=False)

    def names(self):
        """Columns to read; None for all."""
        if self.columns is None:
            return None
        weights = [] if self.sample_weight is None else [self.sample_weight]
        return list(dict.fromkeys([*self.columns, *self.targets, *weights]))

    def read(self, table):
        """Features, targets and, where there is a column of them, weights of a record batch."""
        other = {*self.targets, self.sample_weight}
        names = table.schema.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"there are {names.count(twice)} columns {twice!r}; names must differ.")
        for name in (*self.targets, *([] if self.sample_weight is None else [self.sample_weight])):
            if name not in names:
                raise ValueError(f"there is no column {name!r}; columns are {', '.join(map(repr, names))}.")
        features = self.columns or [name for name in names if name not in other and not _PANDAS_INDEX.fullmatch(name)]
        X = self._features(table.select(features))
        y = [_target(table.column(name), name) for name in self.targets]
        y = None if not y else y[0] if isinstance(self.target, str) else np.column_stack(y)
        if self.sample_weight is None:
            return X, y
        return X, y, _numbers(table.column(self.sample_weight), self.sample_weight)

    def _features(self, table):
        if self.transformer is not None:
            return self.transformer.transform(table.to_pandas())
        holds_words = {kind: _holds_words(kind) for kind in set(table.schema.types)}
        words = [field.name for field in table.schema if holds_words[field.type]]
        numbers = [name for name in table.schema.names if name not in words]
        X = _rows([_numbers(table.column(name), name) for name in numbers], table.num_rows)
        if not words:
            return X
        hashed = [self._hash(table.column(name), name) for name in words]
        total = sum(hashed[1:], start=hashed[0])
        return sparse.hstack([sparse.csr_array(X), total], format="csr") if numbers else total

    def _hash(self, column, name):
        """Indicators of words, hashed; each word that a batch has is hashed once."""
        pyarrow = import_pyarrow()
        if not pyarrow.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        codes = column.indices.to_numpy(zero_copy_only=False)
        words = column.dictionary.to_pylist()
        if column.null_count:  # a missing word is a word of its own
            codes = np.where(np.isnan(codes), len(words), codes).astype(np.int64)
        table = self.hasher.transform([[f"{name}={word}"] for word in [*words, None]])
        return sparse.csr_array(table[codes])


def _rows(columns, n_rows):
    """Columns side by side, in C order, some rows at a time: writing by columns misses the cache at every row."""
    X = np.empty((n_rows, len(columns)))
    for start in range(0, n_rows, _TILE):
        tile = X[start : start + _TILE]
        for i, column in enumerate(columns):
            tile[:, i] = column[start : start + _TILE]
    return X


def _holds_words(kind):
    types = import_pyarrow().types
    kinds = (types.is_dictionary, types.is_string, types.is_large_string, types.is_string_view)
    return any(is_kind(kind) for is_kind in kinds)


def _numbers(column, name):
    """A column of numbers as float64."""
    types = import_pyarrow().types
    kind = column.type
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind)):
        raise ValueError(f"column {name!r} holds {kind}: features are numbers or words; give transformer for others.")
    if column.null_count:
        raise ValueError(f"column {name!r} has missing values: fill them, or give a transformer that does.")
    return column.to_numpy(zero_copy_only=False).astype(np.float64, copy=False)


def _target(column, name):
    """The target as numbers, or as words."""
    types = import_pyarrow().types
    if column.null_count:
        raise ValueError(f"the target {name!r} has missing values; leave these rows out.")
    if _holds_words(column.type):
        return np.array(column.to_pylist(), dtype=str)
    if types.is_decimal(column.type):
        return _numbers(column, name)
    return column.to_numpy(zero_copy_only=False)
