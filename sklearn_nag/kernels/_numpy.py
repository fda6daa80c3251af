"""The definition of the update, in NumPy.

A row is handled in two parts. What depends on inputs alone (scales, ``z``, ``N``) is computed for a block of rows at
once; what depends on the targets goes row by row, vectorised over columns and heads. A sparse row is a dense one on the
columns that it names. No sum is left to BLAS, whose order of summation depends on the number of rows and of threads:
how a stream is cut, how many heads there are and how many threads run changes no bit.
"""

from __future__ import annotations

import numpy as np

from ._state import HIGHEST, LARGEST, LOWEST, lift, positive, shrink

_BLOCK = 2**15  # entries of a dense block: 256 KiB
_SPARSE_ROWS = 1024


class Diverged(ArithmeticError):
    """Some number of the model has left the range of float64; the state is not to be used."""


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight; for the arguments see `sklearn_nag.kernels.learn`."""
    with np.errstate(all="ignore"):
        if not isinstance(X, np.ndarray) and state.rule.lazy:
            n = X.shape[0] if order is None else len(order)
            blocks = ((_rows(order, start, min(start + _SPARSE_ROWS, n)), None) for start in range(0, n, _SPARSE_ROWS))
        else:
            blocks = dense_blocks(X, order)
        done = 0
        for rows, x in blocks:
            targets = _targets(y[rows], len(state.loss))
            weight = np.ones(len(targets)) if sample_weight is None else sample_weight[rows]
            played = np.empty(targets.shape) if predictions is None else predictions[done : done + len(targets)]
            done += len(targets)
            if x is None:
                _learn_sparse(state, loss, X, _range(rows), targets, weight, played)
            else:
                if state.rule.intercept:
                    x = np.hstack([x, np.ones((len(x), 1))])
                _learn_block(state, state.columns, loss, x.astype(np.float64, copy=False), targets, weight, played)
            losses = np.minimum(loss.value(played, targets) * weight[:, None], LARGEST)
            state.loss[:] = np.minimum(np.add.accumulate(np.vstack([state.loss, losses]))[-1], LARGEST)
            sums = state.t + state.N + state.shrinkage + state.playtime + state.averaged
            if not (np.isfinite(played).all() and np.isfinite(sums)):
                raise Diverged


def dense_blocks(X, order=None):
    """Rows of ``X`` in order, in blocks of bounded size: what names them, and a C-ordered array of them."""
    n = X.shape[0] if order is None else len(order)
    height = max(1, _BLOCK // max(X.shape[1], 1))
    for start in range(0, n, height):
        rows = _rows(order, start, min(start + height, n))
        yield rows, np.ascontiguousarray(X[rows] if isinstance(X, np.ndarray) else X[rows].toarray())


def _rows(order, start, stop):
    return slice(start, stop) if order is None else order[start:stop]


def _range(rows):
    return range(rows.start, rows.stop) if isinstance(rows, slice) else rows


def _targets(y, n_heads):
    if y.ndim == 2:
        return y
    classes = np.arange(n_heads) if n_heads > 1 else np.ones(1, dtype=int)
    return np.where(y[:, None] == classes, 1.0, -1.0)


def _learn_sparse(state, loss, X, rows, y, weight, played):
    width = state.columns.largest.size
    intercept = state.rule.intercept
    for i, row in enumerate(rows):
        named = slice(X.indptr[row], X.indptr[row + 1])
        n = named.stop - named.start
        index = np.empty(n + intercept, dtype=np.intp)
        x = np.ones((1, n + intercept))
        index[:n], x[0, :n] = X.indices[named], X.data[named]
        index[n:] = width - 1
        part = state.columns.take(index)
        _learn_block(state, part, loss, x, y[i : i + 1], weight[i : i + 1], played[i : i + 1])
        state.columns.put(index, part)


def _learn_block(state, columns, loss, x, y, c, played):
    """Learn the rows ``x`` of shape (n_rows, n_columns), all in float64, on some or all columns of the state."""
    absolute = np.abs(x)
    start = 0
    while start < len(x):
        stop = _raise_lifts(state.rule, columns, absolute, start)
        rows = slice(start, stop)
        _learn_segment(state, columns, loss, x[rows], absolute[rows], y[rows], c[rows], played[rows])
        start = stop


def _raise_lifts(rule, columns, absolute, start):
    """Adapt the lifts to row ``start``; return the first row after it that needs others."""
    if not rule.lifted:
        return len(absolute)
    peak = absolute[start:].max(axis=0)
    suspects = np.flatnonzero((peak * columns.lift >= HIGHEST) | ((columns.largest == 0) & (peak > 0)))
    if suspects.size == 0:
        return len(absolute)
    values = absolute[start:, suspects]
    lifted = values * columns.lift[suspects]
    seen = np.logical_or.accumulate(np.vstack([columns.largest[suspects] > 0, values > 0]))[:-1]
    if (needs := _need_lifts(values[0], lifted[0], seen[0])).any():
        changed = suspects[needs]
        part = columns.take(changed)
        part.lift[:] = lift(values[0, needs])
        ratio = np.minimum(part.lift / columns.lift[changed], 1.0)  # one that rises has nothing to rescale yet
        if part.squares is not None:
            part.squares *= ratio**2
        if rule.adaptive:
            part.rescale_G(ratio**2)
        else:
            part.weight *= ratio
        columns.put(changed, part)
        lifted = values * columns.lift[suspects]
    later = np.flatnonzero(_need_lifts(values[1:], lifted[1:], seen[1:]).any(axis=1))
    return start + 1 + later[0] if later.size else len(absolute)


def _need_lifts(values, lifted, seen):
    return (lifted >= HIGHEST) | (~seen & (values > 0) & (lifted < LOWEST))


def _learn_segment(state, columns, loss, x, absolute, y, c, played):
    """Learn rows that need no new lift. Arrays with a row more than ``x`` begin with what was before."""
    rule = state.rule
    n, n_heads = y.shape
    single = n_heads == 1

    # -- what depends on inputs alone
    t = np.add.accumulate(np.append(state.t, c))
    lifted = x * columns.lift if rule.lifted else x
    largest = squares = None
    if rule.normalization == "max":
        largest = np.maximum.accumulate(np.vstack([columns.largest, absolute]))
        z = x / positive(largest[1:])
        sizes = largest[1:] * columns.lift
        rest = np.ones(n)
    elif rule.normalization == "rms":
        largest = np.maximum(columns.largest, absolute.max(axis=0))[None]
        squares = np.add.accumulate(np.vstack([columns.squares, c[:, None] * lifted**2]))
        sizes = np.sqrt(squares[1:]) / np.sqrt(t[1:, None])
        z = lifted / positive(sizes)
        rest = np.sqrt(t[1:])
    else:
        largest = np.maximum(columns.largest, absolute.max(axis=0))[None]
        z, sizes, rest = x, np.broadcast_to(columns.lift, x.shape), np.ones(n)
    features = z if rule.adaptive or rule.normalization is None else z / positive(sizes)
    rate = t[1:] ** -rule.power_t if rule.power_t else np.ones(n)
    N = state.N
    if rule.normalization is not None:
        N = np.add.accumulate(np.append(N, c * np.add.reduce(z * z, axis=1)))
        per_row = t[1:] / positive(N[1:])
        rate = rate * (np.sqrt(per_row) if rule.adaptive else per_row)
        N = N[-1]
    shrinkage = np.add.accumulate(np.append(state.shrinkage, c * rate / rest if rule.adaptive else c * rate))

    # -- what depends on the targets, row by row; one head goes by vectors and scalars, as they cost less
    heads, some = (0, bool) if single else (slice(None), np.any)
    weight = columns.weight[heads]
    G = columns.G[heads] if rule.adaptive else None
    step = np.multiply.outer(rate, rule.eta)
    if single:
        step, y = step[:, 0], y[:, 0]
    else:
        step, y = step[:, :, None], y[:, :, None]
    product, gradient = np.empty_like(weight), np.empty_like(weight)
    gradient_lift = _gradient_lift(state, single)
    for i in range(n):
        if rule.penalised or rule.averaged:
            _before_play(state, columns, i, t[i], shrinkage[i], largest, squares)
        if rule.averaged and t[i + 1] >= rule.average_from:
            columns.total += (columns.weight if rule.adaptive else columns.weight / positive(sizes[i])) * c[i]
            state.playtime += c[i] if rule.adaptive else c[i] * rest[i]
            state.averaged += c[i]
            columns.averaged[:] = state.playtime
        np.multiply(weight, features[i], out=product)
        p = np.add.reduce(product, axis=-1, keepdims=not single)
        played[i] = p if single else p[:, 0]
        g = loss.gradient(p, y[i]) * c[i]
        if not some(g):
            continue
        if rule.adaptive:
            if some(abs(g) >= HIGHEST / gradient_lift):
                _raise_gradient_lift(state, columns, np.abs(g))
                gradient_lift = _gradient_lift(state, single)
            np.multiply(g * gradient_lift, lifted[i], out=gradient)
            np.multiply(gradient, gradient, out=product)
            G += product
            np.sqrt(G, out=product)
            gradient /= product
            gradient *= step[i]
        else:
            np.multiply(step[i] * g, lifted[i], out=gradient)
        weight -= gradient
    columns.largest[:] = largest[-1]
    if squares is not None:
        columns.squares[:] = squares[-1]
    state.t, state.N, state.shrinkage = float(t[-1]), float(N), float(shrinkage[-1])
    if not columns.finite():
        raise Diverged


def _before_play(state, columns, i, t, shrinkage, largest, squares):
    """Bring weights and averages up to the row before ``i``, by the scales that held then."""
    if state.rule.normalization == "max":
        columns.largest[:] = largest[i]
    elif squares is not None:
        columns.squares[:] = squares[i]
    state.t, state.shrinkage = t, shrinkage
    if state.rule.averaged and (columns.averaged != state.playtime).any():
        columns.total += columns.resting_weight(state.rule) * (state.playtime - columns.averaged)
        columns.averaged[:] = state.playtime
    if state.rule.penalised:
        columns.weight[:] = shrink(state, columns)
        columns.shrunk[:] = shrinkage


def _gradient_lift(state, single):
    return state.gradient_lift[0] if single else state.gradient_lift[:, None]


def _raise_gradient_lift(state, columns, largest):
    """Adapt the lifts of gradients to the ones at hand."""
    largest = np.reshape(largest, -1)
    new = np.minimum(state.gradient_lift, lift(largest))
    ratio = (new / state.gradient_lift)[:, None]
    state.gradient_lift[:] = new
    if state.G_before is None:
        state.G_before = state.columns.G.copy()
    state.columns.rescale_G(ratio**2)
    if columns is not state.columns:
        columns.rescale_G(ratio**2)


def predict(state, X):
    """Decision values for rows of raw features.

    Parameters
    ----------
    state : State
        Left as it is.
    X : ndarray or CSR array of shape (n_rows, n_features)
        Finite float32 or float64.

    Returns
    -------
    ndarray of shape (n_rows, n_heads)
        ``X coef^T + intercept``. Where that leaves the range of float64, in either factor or in the product, the sum is
        taken over ``u x / s`` and ends at the largest double.
    """
    coef, intercept, exact = state.linear()
    with np.errstate(all="ignore"):
        if exact:
            p = X @ coef.T + intercept
            if np.isfinite(p).all():
                return p
        return predict_unit_free(state, X)


def predict_unit_free(state, X):
    """As `predict`, by ``sum u x / s``: slower, but in range, and the same bits however the rows are cut."""
    n_features = X.shape[1]
    s = positive(state.scale())[:n_features]
    u = state.unit_free_weight()
    intercept = u[:, n_features:].sum(axis=1)
    p = np.empty((X.shape[0], len(u)))
    for rows, x in dense_blocks(X):
        z = x / s
        for head, weight in enumerate(u[:, :n_features]):
            p[rows, head] = np.add.reduce(z * weight, axis=1) + intercept[head]
    return np.nan_to_num(p, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
