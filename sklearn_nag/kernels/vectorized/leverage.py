"""How far rows are from those that a model has learnt, in scales of its columns."""

import numpy as np
from scipy import sparse

from ..state.lifts import positive
from .blocks import dense_blocks
from .prediction import part_of_rows

FAR = 3.0  # scales; by Chebyshev's inequality, at most a ninth of the rows are farther from the mean of a column
FARTHEST = 1e140  # scales; larger distances count as this, so that sums of squares are finite


def excess_leverage(state, X):
    """See `sklearn_nag.kernels.excess_leverage`; for a model that stores a scale for each column."""
    if state.t == 0.0 or state.rule.normalization is None:
        return np.zeros(X.shape[0])
    with np.errstate(all="ignore"):
        if not isinstance(X, np.ndarray) and state.alone:
            return _of_entries(*part_of_rows(state, sparse.csr_array(X))) / state.t
        far, excess = _measure(state, X.shape[1]), np.empty(X.shape[0])
        for rows, x in dense_blocks(X):
            excess[rows] = np.add.reduce(far(x), axis=1)
        return excess / state.t


def beyond(squared, typical=1.0):
    """How much a squared distance exceeds that of what is far; ``typical`` is its mean."""
    return np.maximum(np.fmin(squared, FARTHEST**2) - FAR**2 * typical, 0.0)


def _of_entries(state, X):
    """For CSR rows: the sum for a row of zeros, and what the entries change."""
    if not X.has_canonical_format:
        X = X.copy()  # values are those of the caller
        X.sum_duplicates()
    far = _measure(state, X.shape[1])
    of_zero = far(0.0)
    change = sparse.csr_array((far(X.data, X.indices) - of_zero[X.indices], X.indices, X.indptr), X.shape)
    return np.maximum(of_zero.sum() + change.sum(axis=1), 0.0)


def _measure(state, n_features):
    """Function of values and their columns that returns how far `beyond` they are; 0 if nothing has varied."""
    columns, size = state.columns, state.size()
    origin = np.zeros_like(size) if columns.origin is None else columns.origin
    unit = np.where(size > 0.0, 1.0 / positive(size), 0.0)
    lift, origin, mean, unit = (
        values[:n_features] for values in (columns.lift, origin, state.mean_from_origin(), unit)
    )
    return lambda x, which=slice(None): beyond(((x * lift[which] - origin[which] - mean[which]) * unit[which]) ** 2)
