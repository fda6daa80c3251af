"""The definition of the update, in NumPy.

A row is handled in two parts. What depends on inputs alone (scales, ``z``, ``N``) is computed for a block of rows at
once; what depends on the targets goes row by row, vectorised over columns and heads. A sparse row is a dense one on the
columns that it names. No sum is left to BLAS, whose order of summation depends on the number of rows and of threads:
how a stream is cut, how many heads there are and how many threads run changes no bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ._state import HIGHEST, LARGEST, LOWEST, TINY, lift, positive, shrink

_BLOCK = 2**15  # entries of a dense block: 256 KiB
_SPARSE_ROWS = 1024


class Diverged(ArithmeticError):
    """Some number of the model has left the range of float64; the state is not to be used."""


def learn_rows(state, loss, X, y, sample_weight, order, predictions, descend=None):
    """Learn rows of positive weight, by steps of the NAG family or others; see `sklearn_nag.kernels.learn`."""
    descend = descend or _descend
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
                _learn_sparse(state, loss, X, _range(rows), targets, weight, played, descend)
            else:
                if state.rule.intercept:
                    x = np.hstack([x, np.ones((len(x), 1))])
                x = x.astype(np.float64, copy=False)
                _learn_block(state, state.columns, loss, x, targets, weight, played, descend)
            sums = state.t + state.N + state.shrinkage + state.averaged
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


def read_classes(y, n_heads):
    if y.ndim == 2:
        return y
    classes = np.arange(n_heads) if n_heads > 1 else np.ones(1, dtype=int)
    return np.where(y[:, None] == classes, 1.0, -1.0)


def _learn_sparse(state, loss, X, rows, y, weight, played, descend):
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
        _learn_block(state, part, loss, x, y[i : i + 1], weight[i : i + 1], played[i : i + 1], descend)
        state.columns.put(index, part)


def _learn_block(state, columns, loss, x, y, c, played, descend):
    """Learn the rows ``x`` of shape (n_rows, n_columns), all in float64, on some or all columns of the state."""
    absolute = np.abs(x)
    start = 0
    while start < len(x):
        stop = _raise_lifts(state.rule, columns, absolute, start)
        rows = slice(start, stop)
        _learn_segment(state, columns, loss, x[rows], absolute[rows], y[rows], c[rows], played[rows], descend)
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
    if (needs := need_lifts(values[0], lifted[0], seen[0])).any():
        changed = suspects[needs]
        part = columns.take(changed)
        part.relift(rule, lift(values[0, needs]))
        columns.put(changed, part)
        lifted = values * columns.lift[suspects]
    later = np.flatnonzero(need_lifts(values[1:], lifted[1:], seen[1:]).any(axis=1))
    return start + 1 + later[0] if later.size else len(absolute)


def need_lifts(values, lifted, seen):
    return (lifted >= HIGHEST) | (~seen & (values > 0) & (lifted < LOWEST))


class _Inputs(NamedTuple):
    """What depends on the inputs alone, for each row of a segment; with a row more, for what was before, in ``before``.

    ``x`` is lifted and, where the rule says so, centred; ``features`` are what the weights that are kept are multiplied
    by: ``z``, or ``z`` over the scale where these are ``theta``; ``sizes`` are the scales with the row, lifted.
    """

    t: np.ndarray
    x: np.ndarray
    features: np.ndarray
    sizes: np.ndarray
    rate: np.ndarray
    N: float
    shrinkage: np.ndarray
    before: dict


def _read_inputs(state, columns, x, absolute, c):
    """`_Inputs` of rows that need no new lift."""
    rule = state.rule
    n = len(x)
    t = np.add.accumulate(np.append(state.t, c))
    before = {"largest": np.maximum.accumulate(np.vstack([columns.largest, absolute]))}
    lifted = x * columns.lift if rule.lifted else x
    deviation, factor = lifted, c
    if rule.centred:
        bias = slice(-1, None) if rule.intercept else slice(0, 0)
        if state.t == 0:
            columns.origin[:] = lifted[0]
            columns.origin[bias] = 0.0
        lifted = lifted - columns.origin
        before["sum"] = sums = np.add.accumulate(np.vstack([columns.sum, c[:, None] * lifted]))
        sums[:, bias] = 0.0
        deviation = lifted - sums[:-1] * (1.0 / np.maximum(t[:-1, None], TINY))
        kept = t[:-1] / t[1:]
        lifted, factor = deviation * kept[:, None], c * kept
        lifted[:, bias] = 1.0
    if rule.normalization == "rms":
        before["squares"] = np.vstack([columns.squares, factor[:, None] * deviation**2])
        if rule.centred:
            before["squares"][1:, bias] = c[:, None]
        np.add.accumulate(before["squares"], out=before["squares"])
        sizes = np.sqrt(before["squares"][1:]) / np.sqrt(t[1:, None])
        z = lifted / positive(sizes)
        rest = np.sqrt(t[1:])
    else:
        rest = np.ones(n)
        if rule.normalization is None:
            sizes = np.broadcast_to(columns.lift, x.shape)
            z = lifted / sizes if rule.centred else x
        elif rule.centred:
            before["deviation"] = np.maximum.accumulate(np.vstack([columns.deviation, np.abs(lifted)]))
            sizes = before["deviation"][1:]
            z = lifted / positive(sizes)
        else:
            sizes = before["largest"][1:] * columns.lift
            z = x / positive(before["largest"][1:])
    features = z if rule.adaptive or rule.normalization is None else z / positive(sizes)
    rate = t[1:] ** -rule.power_t if rule.power_t else np.ones(n)
    N = state.N
    if rule.normalization is not None:
        N = np.add.accumulate(np.append(N, c * np.add.reduce(z * z, axis=1)))
        per_row = t[1:] / positive(N[1:])
        rate = rate * (np.sqrt(per_row) if rule.adaptive else per_row)
        N = N[-1]
    shrinkage = np.add.accumulate(np.append(state.shrinkage, c * rate / rest if rule.adaptive else c * rate))
    return _Inputs(t, lifted, features, sizes, rate, float(N), shrinkage, before)


class _Goals(NamedTuple):
    """What depends on the targets alone, for each row of a segment, relative to their origin.

    ``mean`` is that before the row, ``moved`` by how much the row moves it; ``unit`` is that with the row,
    ``unit_before`` without it; predictions are held between ``least`` and ``most``. ``spread`` is that of the targets,
    before each row and after the last; None where it is not learnt.
    """

    y: np.ndarray
    mean: np.ndarray
    moved: np.ndarray
    unit: np.ndarray
    unit_before: np.ndarray
    least: np.ndarray
    most: np.ndarray
    spread: np.ndarray | None = None


def read_targets(state, y, c, t):
    """`_Goals`, of arrays of shape (n_rows, n_targets); the targets of the state go on to the end of the rows."""
    targets, rule = state.targets, state.rule
    n = len(y)
    if not rule.target_unit:
        nothing, one = np.zeros(y.shape), np.ones(y.shape)
        return _Goals(y, nothing, nothing, one, one, nothing - np.inf, nothing + np.inf)
    if state.t == 0 and rule.intercept:
        targets.origin[:] = y[0]
    y = y - targets.origin
    sums = np.add.accumulate(np.vstack([targets.sum, c[:, None] * y * rule.intercept]))
    means = sums / np.maximum(t, TINY)[:, None]
    deviations = np.sqrt(c * (t[:-1] / t[1:]) if rule.intercept else c)[:, None] * np.abs(y - means[:-1])
    spread = np.hypot.accumulate(np.vstack([targets.spread, deviations]))
    low = np.minimum.accumulate(np.vstack([targets.low, y]))
    high = np.maximum.accumulate(np.vstack([targets.high, y]))
    width = high - low
    targets.sum[:], targets.spread[:], targets.low[:], targets.high[:] = sums[n], spread[n], low[n], high[n]
    unit = spread / np.sqrt(np.maximum(t, TINY))[:, None]
    moved = means[1:] - means[:-1]
    return _Goals(y, means[:-1], moved, unit[1:], unit[:-1], (low - width)[:-1], (high + width)[:-1], spread)


def _learn_segment(state, columns, loss, x, absolute, y, c, played, descend):
    """Learn rows that need no new lift."""
    inputs = _read_inputs(state, columns, x, absolute, c)
    first = state.rule.target_unit and state.t == 0
    goals = read_targets(state, y, c, inputs.t)
    descend(state, columns, loss, inputs, goals, c, played)
    for name, values in inputs.before.items():
        getattr(columns, name)[:] = values[-1]
    state.t, state.N, state.shrinkage = float(inputs.t[-1]), inputs.N, float(inputs.shrinkage[-1])
    if not columns.finite():
        raise Diverged
    count_losses(state, loss, goals, c, played, first)


def count_losses(state, loss, goals, c, played, first):
    """Add the losses of the predictions ``played``, which then are counted from 0; ``first`` if there was no target."""
    n_targets, apart = state.rule.n_targets, state.rule.n_played // state.rule.n_targets
    shown = loss.margins(played.reshape(-1, apart, n_targets)).reshape(played.shape) if loss.coupled else played
    losses = loss.value(shown, np.tile(goals.y, apart), np.tile(goals.unit, apart))
    losses = np.minimum(losses * c[:, None], LARGEST)
    state.loss[:] = np.minimum(np.add.accumulate(np.vstack([state.loss, losses]))[-1], LARGEST)
    if state.rule.target_unit:
        played += np.resize(state.targets.origin, state.rule.n_played)
        if first:  # before the first target there is nothing to predict by
            played[0] *= 0.0


def _descend(state, columns, loss, inputs, goals, c, played):
    """One step for each row, by the rules of the NAG family."""
    rule = state.rule
    shared = goals.y, goals.mean, goals.moved, goals.unit, goals.least, goals.most
    targets, means, moved, units, least, most = (np.tile(a, rule.experts) for a in shared)  # for each head
    step = np.multiply.outer(inputs.rate, rule.eta) * units ** (1 if rule.adaptive else 2 - rule.degree)
    single = len(rule.eta) == 1
    if single:  # by vectors and scalars, as they cost less
        means, moved, least, most, targets, units, step = (
            a[:, 0] for a in (means, moved, least, most, targets, units, step)
        )
    weight = columns.weight[0] if single else columns.weight
    G = None if not rule.adaptive else columns.G[0] if single else columns.G
    product, gradient = np.empty_like(weight), np.empty_like(weight)
    careful = rule.importance_aware and loss.move is not None
    some = bool if single else np.any
    column = (lambda a: a) if single else (lambda a: a[:, None])
    gradient_lift = state.gradient_lift[0] if single else state.gradient_lift
    for i in range(len(c)):
        if rule.penalised:
            _settle_penalty(state, columns, i, inputs, goals.spread)
        if inputs.t[i + 1] >= rule.average_from:
            state.averaged += c[i] * inputs.t[i + 1]
        features = inputs.features[i]
        np.multiply(weight, features, out=product)
        p = np.add.reduce(product, axis=-1)
        p += means[i]
        shown = np.minimum(np.maximum(p, least[i]), most[i]) + 0.0 * p  # which is NaN where p is not finite
        if rule.n_played < len(rule.eta):
            played[i] = _mix(state.mixture, loss, shown, targets[i], units[i], c[i])
        else:
            played[i] = shown
        p += moved[i]
        if loss.coupled:
            p = loss.margins(p.reshape(rule.experts, -1)).reshape(-1)
        g = loss.gradient(p, targets[i], units[i])
        if not some(g):
            continue
        pull = g * (np.sqrt(c[i]) if careful else c[i])
        if rule.adaptive:
            if some(abs(pull) >= HIGHEST / gradient_lift):
                _raise_gradient_lift(state, columns, np.abs(pull))
                gradient_lift = state.gradient_lift[0] if single else state.gradient_lift
            np.multiply(column(pull * gradient_lift), inputs.x[i], out=gradient)
            np.multiply(gradient, gradient, out=product)
            G += product
            np.sqrt(G, out=product)
            if careful:
                np.divide(inputs.x[i], product, out=gradient)
                gradient[G <= TINY] = 0.0
                pace = step[i] * c[i] * gradient_lift
            else:
                gradient /= product
                pace = step[i]
        elif careful:
            gradient[:] = inputs.x[i]
            pace = step[i] * c[i]
        else:
            np.multiply(column(pull), inputs.x[i], out=gradient)
            pace = step[i]
        if careful:
            np.multiply(gradient, features, out=product)
            reach = np.add.reduce(product, axis=-1)
            move = loss.move(p, targets[i], pace * reach, units[i])
            if not single:
                move[g == 0] = 0.0  # as if alone, where nothing would have been computed
            gradient *= column(move / np.where(reach == 0, 1.0, reach))
        else:
            gradient *= column(-pace)
        weight += gradient
        if rule.averaged:
            columns.past += state.averaged * gradient


def _mix(mixture, loss, p, y, unit, c):
    """Prediction of all experts together, from those of the heads; AdaHedge counts their losses."""
    n_groups, n_experts = mixture.excess.shape
    p = p.reshape(n_experts, -1)
    share = mixture.weights()
    unit = positive(unit.reshape(p.shape))
    losses = loss.value((loss.margins(p) if loss.coupled else p) / unit, y.reshape(p.shape) / unit) * c
    losses = np.minimum(np.add.reduce(losses.reshape(n_experts, n_groups, -1), axis=2).T, LARGEST)
    mixture.suffer(share, losses)
    return np.add.reduce(share.T * p, axis=0)


def _settle_penalty(state, columns, i, inputs, spread):
    """Shrink the weights by the penalty up to the row before ``i``, by the scales and units that held then."""
    for name, values in inputs.before.items():
        getattr(columns, name)[:] = values[i]
    state.t, state.shrinkage = inputs.t[i], inputs.shrinkage[i]
    if spread is not None:
        last, state.targets.spread[:] = state.targets.spread.copy(), spread[i]
    weight = shrink(state, columns)
    if state.rule.averaged:
        columns.past += state.averaged * (weight - columns.weight)
    columns.weight[:] = weight
    columns.shrunk[:] = state.shrinkage
    if spread is not None:
        state.targets.spread[:] = last


def _raise_gradient_lift(state, columns, largest):
    """Adapt the lifts of gradients to the ones at hand."""
    largest = np.reshape(largest, -1)
    new = np.where(largest == 0, state.gradient_lift, np.minimum(state.gradient_lift, lift(largest)))
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
    ndarray of shape (n_rows, n_played)
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
    rule, columns = state.rule, state.columns
    u = state.unit_free_weight()
    rest = u[:, n_features:].sum(axis=1)
    if rule.target_unit:
        rest = rest + np.resize(state.targets.mean(state.t), rule.n_played)
    relative = columns.origin is not None
    s = positive(state.size() if relative else state.scale())[:n_features]
    mean = state.mean_from_origin()[:n_features] if relative else None
    p = np.empty((X.shape[0], len(u)))
    for rows, x in dense_blocks(X):
        if relative:
            x = x * columns.lift[:n_features] - columns.origin[:n_features] - mean
        z = x / s
        for head, weight in enumerate(u[:, :n_features]):
            p[rows, head] = np.add.reduce(np.where(weight == 0, 0.0, z * weight), axis=1) + rest[head]
    return np.nan_to_num(p + np.resize(state.targets.origin, rule.n_played), nan=0.0, posinf=LARGEST, neginf=-LARGEST)
