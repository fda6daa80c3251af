"""Rows, dense or CSR, as transformers take them apart and put columns beside them."""

from __future__ import annotations

import importlib
from functools import cache

import numpy as np
from scipy import sparse

from ..estimators._validation import check_repeated
from ..kernels._backend import is_compiled
from ._numpy_rows import as_csr_parts


def loops():
    """The loops over rows that run: compiled ones where that is chosen."""
    return _loops("numba" if is_compiled() else "numpy")


@cache
def _loops(kernel):
    return importlib.import_module(f"._{kernel}_rows", __package__)


def in_order(X):
    """Rows as they are if dense; CSR rows with ascending indices, each once, as an array of its own."""
    if not sparse.issparse(X):
        return X
    ordered = sparse.csr_array((X.data, X.indices, X.indptr), shape=X.shape)  # which looks anew at the order
    if not ordered.has_canonical_format:
        check_repeated(ordered)
        ordered = ordered.copy()
        ordered.sum_duplicates()
    return ordered


def dense(rows, columns):
    """Some columns of rows as a dense array in C order."""
    if sparse.issparse(rows):
        return np.ascontiguousarray(rows[:, columns].toarray())
    return rows if len(columns) == rows.shape[1] else np.ascontiguousarray(rows[:, columns])


def filled(rows, columns, values, stand_ins):
    """Rows, dense or CSR, in which something stands for the missing values of some ``columns``, given by their places.

    ``values`` are these columns, dense; ``stand_ins`` has an entry for each row in which some are missing. ``rows`` do
    not change, and are returned where nothing is missing.
    """
    with_gaps = np.isnan(values).any(axis=1)
    if not with_gaps.any():
        return rows
    row_of, stand_ins = np.cumsum(with_gaps) - 1, np.asarray(stand_ins)  # place among the rows with gaps
    if not sparse.issparse(rows):
        changed = rows.copy()
        row, column = np.nonzero(np.isnan(values))
        changed[row, columns[column]] = stand_ins[row_of[row], column]
        return changed
    place = np.full(rows.shape[1], -1)
    place[columns] = np.arange(len(columns))
    missing = np.flatnonzero(np.isnan(rows.data) & (place[rows.indices] >= 0))
    row = np.searchsorted(rows.indptr, missing, side="right") - 1
    data = rows.data.copy()
    data[missing] = stand_ins[row_of[row], place[rows.indices[missing]]]
    return sparse.csr_array((data, rows.indices, rows.indptr), shape=rows.shape)


def as_csr(rows, n_columns):
    """Rows as a CSR array of so many columns, with int32 indices where these fit and without zeros of dense rows."""
    data, indices, indptr = as_csr_parts(rows) if sparse.issparse(rows) else loops().joined([rows])
    kind = np.int32 if max(int(indptr[-1]), n_columns) < 2**31 else np.int64
    parts = data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)
    return sparse.csr_array(parts, shape=(rows.shape[0], n_columns))


def put_beside(rows, block, n_columns):
    """CSR rows and, in their columns from ``n_columns`` on, others, given as arrays."""
    return sparse.csr_array(loops().beside((rows.data, rows.indices, rows.indptr), block, n_columns), shape=rows.shape)
