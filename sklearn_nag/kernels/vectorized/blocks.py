"""Rows in blocks: dense ones, as many as fit a cache; sparse ones, few at a time, or one."""

from functools import partial

import numpy as np

from ..state.columns import renumbered
from ..state.lifts import all_finite
from ..state.model import Diverged
from .columns import raise_lifts, read_inputs, switch_frequent, write_back
from .targets import count_losses, read_classes, read_targets

_BLOCK = 2**15  # entries of a dense block: 256 KiB
_SPARSE_ROWS = 1024


def learn_in_blocks(learn_block, state, loss, X, y, sample_weight, order, predictions, learn_together=None):
    """Learn rows of positive weight in blocks; the arguments are those of `sklearn_nag.kernels.learn`.

    ``learn_block(state, columns, loss, x, y, c, played)`` learns dense float64 rows ``x``, of shape (n_rows,
    n_columns), on some or all columns, and fills ``played`` with their predictions. ``learn_together`` does the same
    for sparse rows, as a dense block of all columns that any of them names. What it makes of a row must be the same,
    bit for bit, whatever rows share the block. Without it, sparse rows are learnt one by one.
    """
    with np.errstate(all="ignore"):
        by_row = not isinstance(X, np.ndarray) and state.rule.lazy
        state.columns.settle()
        state.columns.arrange("F" if by_row else "C")  # so that all data of a column are contiguous
        if by_row:
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
                for some in _few(X, rows, learn_together):
                    learn = learn_block if learn_together is None else learn_together
                    _learn_sparse(learn, state, loss, X, _range(rows)[some], targets[some], weight[some], played[some])
            else:
                state.frequent = None
                if state.rule.intercept:
                    x = np.hstack([x, np.ones((len(x), 1))])
                learn_block(state, state.columns, loss, x.astype(np.float64, copy=False), targets, weight, played)
            if not (all_finite(played) and np.isfinite(sum(state.clocks().values()))):
                raise Diverged


def learn_row_by_row(play_and_learn, *args):
    """Like `learn_in_blocks`, but sparse rows share blocks.

    ``play_and_learn(state, columns, loss, inputs, target_rows, c, played)`` plays each row of a segment, within the
    range of predictions, and then learns it.
    """
    learn, together = (
        partial(learn_by_segments, partial(learn_segment, play_and_learn, by_column=own)) for own in (False, True)
    )
    learn_in_blocks(learn, *args, together)


def learn_segment(play_and_learn, state, columns, loss, x, absolute, y, c, played, by_column=False):
    """Learn rows that need no new lift; with ``by_column``, only on the columns that each visits."""
    inputs = read_inputs(state, columns, x, absolute, c, by_column)
    first = state.rule.target_unit and state.t == 0
    target_rows = read_targets(state, y, c, inputs.t)
    play_and_learn(state, columns, loss, inputs, target_rows, c, played)
    write_back(columns, inputs.before, -1)
    state.t = float(inputs.t[-1])
    if not columns.finite():
        raise Diverged
    count_losses(state, loss, target_rows, c, played, first)


def dense_blocks(X, order=None):
    """Yield blocks of bounded size, in order: what selects the rows in ``X``, and the rows in C order."""
    n = X.shape[0] if order is None else len(order)
    height = max(1, _BLOCK // max(X.shape[1], 1))
    for start in range(0, n, height):
        rows = _rows(order, start, min(start + height, n))
        yield rows, np.ascontiguousarray(X[rows] if isinstance(X, np.ndarray) else X[rows].toarray())


def _rows(order, start, stop):
    return slice(start, stop) if order is None else order[start:stop]


def _range(rows):
    return range(rows.start, rows.stop) if isinstance(rows, slice) else rows


def _few(X, rows, learn_together):
    """Yield slices of the rows that are learnt together."""
    index = np.asarray(_range(rows))
    n = len(index)
    if learn_together is None:
        yield from (slice(i, i + 1) for i in range(n))
        return
    entries = X.indptr[index + 1] - X.indptr[index]
    start = 0
    while start < n:
        most = np.arange(1, n - start + 1) * np.add.accumulate(entries[start:])  # entries of dense blocks
        stop = start + max(int(np.searchsorted(most, _BLOCK, side="right")), 1)
        yield slice(start, stop)
        start = stop


def gather_rows(state, places, values):
    """CSR rows as dense ones on the columns that any of them names, the frequent ones, and the constant 1.

    ``places`` are the columns that each row names, in any order, possibly repeated. Returns the columns, in order, and
    the rows.
    """
    intercept, lengths = state.rule.intercept, [len(row) for row in places]
    places, values = np.concatenate(places), np.concatenate(values)
    followed = state.followed(max(lengths)) if state.rule.selective else places[:0]
    n_columns = state.columns.lift.size
    features, where = renumbered(np.concatenate([places, followed]), n_columns)
    n = len(features)
    index = np.full(n + intercept, n_columns - 1)
    index[:n] = features
    x = np.ones((len(lengths), n + intercept))
    where = where[: len(places)] + np.repeat(np.arange(len(lengths)) * n, lengths)
    x[:, :n] = np.bincount(where, values, len(lengths) * n).reshape(len(lengths), n)  # adds up what is named twice
    return index, x


def _learn_sparse(learn, state, loss, X, rows, *args):
    """Learn CSR rows as dense ones."""
    named = [slice(X.indptr[row], X.indptr[row + 1]) for row in rows]
    places, values = [X.indices[some] for some in named], [X.data[some] for some in named]
    change_columns(state, places, values, lambda columns, x: learn(state, columns, loss, x, *args))


def change_columns(state, places, values, change):
    """Let ``change(columns, x)`` change the columns that CSR rows visit; the arguments are those of `gather_rows`."""
    index, x = gather_rows(state, places, values)
    selective, features = state.rule.selective, index[: len(index) - state.rule.intercept]
    subset = state.columns.take(index)
    before = subset.frequent.copy() if selective else None
    change(subset, x)
    state.columns.put(index, subset)
    if selective and (before != subset.frequent).any():
        state.follow(features[subset.frequent[: len(features)] > 0])  # all that were frequent are among them


def learn_by_segments(learn_segment, state, columns, loss, x, y, c, played, settle=None):
    """Learn a block in segments of rows with the same lifts and frequent columns.

    ``learn_segment`` also gets ``|x|``. ``settle(state, columns, named)`` applies what is due, with the scales of
    before, to the columns that a row visits.
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
