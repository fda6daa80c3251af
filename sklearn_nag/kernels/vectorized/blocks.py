"""Rows in blocks: as many at a time as fit a cache, or one at a time where they are sparse."""

from __future__ import annotations

from functools import partial

import numpy as np

from ..state.model import Diverged
from .columns import raise_lifts, switch_frequent
from .targets import read_classes

_BLOCK = 2**15  # entries of a dense block: 256 KiB
_SPARSE_ROWS = 1024


def learn_in_blocks(learn_block, state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight, some at a time.

    Parameters
    ----------
    learn_block : callable
        ``learn_block(state, columns, loss, x, y, c, played)`` learns the dense rows ``x`` of shape (n_rows, n_columns),
        in float64, on some or all columns of the state, and fills ``played`` with the predictions made for them.
    state : LinearState
        Changed in place.
    loss, X, y, sample_weight, order, predictions
        As `sklearn_nag.kernels.learn` has them.

    Raises
    ------
    Diverged
        When a prediction or a clock overflows.
    """
    with np.errstate(all="ignore"):
        if not isinstance(X, np.ndarray) and state.rule.lazy:
            n = X.shape[0] if order is None else len(order)
            blocks = ((_rows(order, start, min(start + _SPARSE_ROWS, n)), None) for start in range(0, n, _SPARSE_ROWS))
        else:
            blocks = dense_blocks(X, order)
        done = 0
        for rows, x in blocks:
            targets = read_classes(y[rows], state.rule.n_targets)
            weight = np.ones(len(targets)) if sample_weight is None else sample_weight[rows]
            if predictions is None:
                played = np.empty((len(targets), state.rule.n_played))
            else:
                played = predictions[done : done + len(targets)]
            done += len(targets)
            if x is None:
                _learn_sparse(learn_block, state, loss, X, _range(rows), targets, weight, played)
            else:
                state.frequent = None
                if state.rule.intercept:
                    x = np.hstack([x, np.ones((len(x), 1))])
                learn_block(state, state.columns, loss, x.astype(np.float64, copy=False), targets, weight, played)
            if not (np.isfinite(played).all() and np.isfinite(sum(state.clocks().values()))):
                raise Diverged


def dense_blocks(X, order=None):
    """Yield the rows in order, in blocks of bounded size: what selects them in ``X``, and the rows in C order."""
    n = X.shape[0] if order is None else len(order)
    height = max(1, _BLOCK // max(X.shape[1], 1))
    for start in range(0, n, height):
        rows = _rows(order, start, min(start + height, n))
        yield rows, np.ascontiguousarray(X[rows] if isinstance(X, np.ndarray) else X[rows].toarray())


def _rows(order, start, stop):
    return slice(start, stop) if order is None else order[start:stop]


def _range(rows):
    return range(rows.start, rows.stop) if isinstance(rows, slice) else rows


def _learn_sparse(learn_block, state, loss, X, rows, y, weight, played):
    """Learn CSR rows, each as a dense one on the columns that it names, and on the frequent ones."""
    width = state.columns.largest.size
    intercept, selective = state.rule.intercept, state.rule.selective
    for i, row in enumerate(rows):
        named = slice(X.indptr[row], X.indptr[row + 1])
        places, values = X.indices[named], X.data[named].astype(np.float64, copy=False)
        if (places[1:] <= places[:-1]).any():  # in another order, or some columns more than once
            places, which = np.unique(places, return_inverse=True)
            values = np.bincount(which, values)
        if selective:
            followed = state.followed(len(places))
            unnamed = followed[~np.isin(followed, places)]
            places, values = np.append(places, unnamed), np.append(values, np.zeros(len(unnamed)))
        n = len(places)
        index = np.empty(n + intercept, dtype=np.intp)
        x = np.ones((1, n + intercept))
        index[:n], x[0, :n] = places, values
        index[n:] = width - 1
        subset = state.columns.take(index)
        before = subset.frequent.copy() if selective else None
        learn_block(state, subset, loss, x, y[i : i + 1], weight[i : i + 1], played[i : i + 1])
        state.columns.put(index, subset)
        if selective and (before != subset.frequent).any():
            state.follow(index[:n], subset.frequent[:n] > 0)


def learn_by_segments(learn_segment, state, columns, loss, x, y, c, played, settle=None):
    """Learn a block in segments of rows with the same lifts and frequent columns; ``learn_segment`` also gets ``|x|``.

    ``settle(state, columns, named)`` applies what is due by the scales of before, to the columns that a row visits.
    """
    absolute = np.abs(x)
    start = 0
    while start < len(x):
        visited = absolute[start] > 0
        if state.rule.selective:
            visited |= columns.frequent > 0
        before = None if settle is None else partial(settle, state, columns, visited)
        stop = switch_frequent(state, columns, x, c, start, before)
        stop = min(stop, raise_lifts(state.rule, columns, absolute, start, before))
        rows = slice(start, stop)
        learn_segment(state, columns, loss, x[rows], absolute[rows], y[rows], c[rows], played[rows])
        start = stop
