"""The rules of `_numpy` as compiled loops.

Held equal to `_numpy` by test, to rounding; scales and ``t`` bit for bit. A row is learnt on a small table of columns:
for dense rows that is the whole table of the model, for sparse ones a copy of the columns that the row names.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from . import _numpy
from ._state import HIGHEST, LARGEST, LARGEST_LIFT, LIFT_STEP, LOWEST, STEEPEST, TINY

# Sums may be reordered and products contracted, but NaN and infinity are kept, as divergence is told by them.
FAST = {"reassoc", "contract", "arcp", "nsz"}
LOSSES = (
    "log_loss",
    "hinge",
    "squared_hinge",
    "modified_huber",
    "perceptron",
    "squared_error",
    "quantile",
    "absolute_error",
    "huber",
    "epsilon_insensitive",
    "squared_epsilon_insensitive",
)
LOG, HINGE, SQUARED_HINGE, MODIFIED_HUBER, PERCEPTRON, SQUARED, QUANTILE, ABSOLUTE, HUBER, INSENSITIVE, _ = range(11)
NONE, MAX, RMS = range(3)
PADDING, APART = 8, 64
T, N, SHRINKAGE, PLAYTIME, AVERAGED = range(5)  # entries of ``clock``


def compiled(**options):
    """`numba.njit` with a cache on disk where there can be one."""

    def decorate(function):
        try:
            return njit(cache=True, nogil=True, error_model="numpy", **options)(function)
        except RuntimeError:  # no folder to write to
            return njit(nogil=True, error_model="numpy", **options)(function)

    return decorate


fast, exact = compiled(fastmath=FAST, forceinline=True), compiled(forceinline=True)
entry, slow = compiled(fastmath=FAST), compiled(fastmath=FAST)


@fast
def loss_and_gradient(loss, parameter, p, y):
    """Value of a loss and its derivative by ``p``; see `sklearn_nag._losses`."""
    margin = y * p
    if loss == LOG:
        e = np.exp(-abs(margin))
        share = e / (1.0 + e) if margin > 0 else 1.0 / (1.0 + e)
        return np.log1p(e) + max(0.0, -margin), -y * share
    if loss == HINGE:
        return (1.0 - margin, -y) if margin < 1.0 else (0.0, 0.0)
    if loss == SQUARED_HINGE:
        gap = max(0.0, 1.0 - margin)
        return gap * gap, -2.0 * y * gap
    if loss == MODIFIED_HUBER:
        gap = max(0.0, 1.0 - margin)
        return (-4.0 * margin if margin < -1.0 else gap * gap), -2.0 * y * min(gap, 2.0)
    if loss == PERCEPTRON:
        return (-margin, -y) if margin <= 0.0 else (0.0, 0.0)
    residual = p - y
    distance = abs(residual)
    sign = 1.0 if residual > 0 else -1.0 if residual < 0 else 0.0
    if loss == SQUARED:
        return 0.5 * residual * residual, residual
    if loss == QUANTILE:
        slope = 1.0 - parameter if residual > 0 else -parameter if residual < 0 else 0.0
        return slope * residual, slope
    if loss == ABSOLUTE:
        return distance, sign
    if loss == HUBER:
        near = min(distance, parameter)
        return near * (distance - 0.5 * near), min(max(residual, -parameter), parameter)
    beyond = max(0.0, distance - parameter)
    if loss == INSENSITIVE:
        return beyond, sign if distance > parameter else 0.0
    return beyond * beyond, 2.0 * beyond * sign


@exact
def lift_of(largest):
    """As `_state.lift`."""
    power = 1.0
    while largest * power >= HIGHEST and power > 1.0 / LARGEST_LIFT:
        power /= LIFT_STEP
    while largest * power < LOWEST and power < LARGEST_LIFT:
        power *= LIFT_STEP
    return power


@exact
def add_squares(table, f, n, c):
    """Lift ``x``; ``squares += c x'^2``, in two loops so that it rounds as in `_numpy`, not as a fused operation."""
    for i in range(n):
        x = table[f.x, i] * table[f.lift, i]
        table[f.x, i] = x
        table[f.z, i] = c * (x * x)
    for i in range(n):
        table[f.squares, i] += table[f.z, i]


@slow
def raise_lift(table, f, rule, heads, i, largest):
    """Adapt the lift of column ``i`` to its largest value."""
    new = lift_of(largest)
    ratio = min(new / table[f.lift, i], 1.0)  # a lift that rises does so before there is anything to rescale
    table[f.lift, i] = new
    if rule.norm == RMS:
        table[f.squares, i] *= ratio * ratio
    for k in range(heads):
        if rule.adaptive:
            table[f.G + k, i] = max(table[f.G + k, i] * (ratio * ratio), TINY)
        else:
            table[f.weight + k, i] *= ratio


@fast
def resting_size(table, f, rule, i):
    """As `Columns.resting_size`, of one column."""
    if rule.norm == MAX:
        return table[f.largest, i] * table[f.lift, i]
    if rule.norm == RMS:
        return np.sqrt(table[f.squares, i])
    return table[f.lift, i]


@slow
def before_play(table, f, rule, eta, gradient_lift, clock, n, bias):
    """Bring weights and averages up to the row before this one, by the scales that held then."""
    heads = eta.size
    root = 1.0 / np.sqrt(max(clock[T], TINY)) if rule.norm == RMS else 1.0
    for i in range(n):
        rest = resting_size(table, f, rule, i)
        if rule.averaged:
            due = clock[PLAYTIME] - table[f.averaged, i]
            if due != 0.0:
                divisor = 1.0 if rule.adaptive or rest == 0.0 else rest
                for k in range(heads):
                    table[f.total + k, i] += table[f.weight + k, i] / divisor * due
                table[f.averaged, i] = clock[PLAYTIME]
        if rule.penalised:
            due = clock[SHRINKAGE] - table[f.shrunk, i]
            table[f.shrunk, i] = clock[SHRINKAGE]
            if due == 0.0 or i == bias:
                continue
            for k in range(heads):
                w = table[f.weight + k, i]
                if w == 0.0:
                    continue
                rate = eta[k] * due
                if rule.adaptive:
                    rate *= min(gradient_lift[k] * rest / np.sqrt(table[f.G + k, i]), STEEPEST)
                gone = -np.expm1(-rule.l2 * rate)
                threshold = gone * (rule.l1 / rule.l2) if rule.l2 > 0 else rule.l1 * rate
                if not rule.adaptive:
                    threshold *= rest * root
                size = max(abs(w) * (1.0 - gone) - threshold, 0.0)
                table[f.weight + k, i] = size if w > 0 else -size


@fast
def grow(table, f, rule, n):
    """Update the largest values; tell whether any asks for another lift."""
    asks = 0
    for i in range(n):
        size, before = abs(table[f.x, i]), table[f.largest, i]
        lifted = size * table[f.lift, i]
        table[f.largest, i] = max(size, before)
        asks |= (lifted >= HIGHEST) | ((before == 0.0) & (size > 0.0) & (lifted < LOWEST))
        table[f.z, i] = before
    return asks != 0 and rule.lifted


@slow
def raise_lifts(table, f, rule, heads, n):
    """After `grow`, which left the largest values of before in ``z``: adapt the lifts."""
    for i in range(n):
        size, before = abs(table[f.x, i]), table[f.z, i]
        lifted = size * table[f.lift, i]
        if lifted >= HIGHEST or (before == 0.0 and size > 0.0 and lifted < LOWEST):
            raise_lift(table, f, rule, heads, i, size)


@fast
def invert_sizes(table, f, n):
    """Fill the row ``inverse`` with ``1 / s'``, for "max"."""
    for i in range(n):
        size = table[f.largest, i] * table[f.lift, i]
        table[f.inverse, i] = 1.0 / size if size > 0 else 1.0


@fast
def play(table, f, rule, eta, clock, loss, y, c, g, losses, played, n):
    """Normalise the row, predict for each head, suffer the loss; return the factor of eta.

    The row ``x`` of the table is lifted in place, ``z`` becomes what weights are multiplied by; ``inverse`` holds
    ``1 / s'`` for "max", and is filled here for "rms".
    """
    clock[T] += c
    squared = 0.0
    if rule.norm == RMS:
        root = np.sqrt(clock[T])
        add_squares(table, f, n, c)
        for i in range(n):
            size = np.sqrt(table[f.squares, i])
            inverse = root / size if size > 0 else 1.0
            z = table[f.x, i] * inverse
            table[f.inverse, i] = inverse
            table[f.z, i] = z
            squared += z * z
    elif rule.norm == MAX:
        for i in range(n):
            x = table[f.x, i] * table[f.lift, i]
            z = x * table[f.inverse, i]
            table[f.x, i] = x
            table[f.z, i] = z
            squared += z * z
    else:
        for i in range(n):
            x = table[f.x, i]
            table[f.z, i] = x
            table[f.x, i] = x * table[f.lift, i]
    rate = clock[T] ** -rule.power_t if rule.power_t > 0 else 1.0
    rest = np.sqrt(clock[T]) if rule.norm == RMS else 1.0
    if rule.norm != NONE:
        clock[N] += c * squared
        per_row = clock[T] / clock[N] if clock[N] > 0 else clock[T]
        rate *= np.sqrt(per_row) if rule.adaptive else per_row
    clock[SHRINKAGE] += c * rate / rest if rule.adaptive else c * rate
    if rule.averaged and clock[T] >= rule.average_from:
        clock[PLAYTIME] += c if rule.adaptive else c * rest
        clock[AVERAGED] += c
        for i in range(n):
            factor = c if rule.adaptive or rule.norm == NONE else c * table[f.inverse, i]
            for k in range(eta.size):
                table[f.total + k, i] += table[f.weight + k, i] * factor
            table[f.averaged, i] = clock[PLAYTIME]
    if not rule.adaptive and rule.norm != NONE:
        for i in range(n):
            table[f.z, i] *= table[f.inverse, i]
    for k in range(eta.size):
        p = 0.0
        for i in range(n):
            p += table[f.weight + k, i] * table[f.z, i]
        played[k] = p
        value, slope = loss_and_gradient(loss.code, loss.parameter, p, y[k])
        losses[k] = min(losses[k] + min(value * c, LARGEST), LARGEST)
        g[k] = slope * c
    return rate


@fast
def descend(table, f, rule, eta, gradient_lift, g, rate, n):
    """One step of each head."""
    for k in range(eta.size):
        if g[k] == 0.0:
            continue
        step = rate * eta[k]
        if rule.adaptive:
            slope = g[k] * gradient_lift[k]
            for i in range(n):
                gradient = slope * table[f.x, i]
                G = table[f.G + k, i] + gradient * gradient
                table[f.G + k, i] = G
                table[f.weight + k, i] -= step * gradient / np.sqrt(G)
        else:
            step *= g[k]
            for i in range(n):
                table[f.weight + k, i] -= step * table[f.x, i]


@fast
def new_gradient_lifts(gradient_lift, g, ratios):
    """Adapt the lifts of gradients; tell whether any changed, and the factors on ``G``."""
    changed = False
    for k in range(g.size):
        ratios[k] = 1.0
        if abs(g[k]) * gradient_lift[k] >= HIGHEST:
            new = min(gradient_lift[k], lift_of(abs(g[k])))
            ratios[k] = (new / gradient_lift[k]) ** 2
            changed = changed or new != gradient_lift[k]
            gradient_lift[k] = new
    return changed


@fast
def rescale_G(table, f, ratios, n):
    """As `Columns.rescale_G`."""
    for k in range(ratios.size):
        for i in range(n):
            table[f.G + k, i] = max(table[f.G + k, i] * ratios[k], TINY)


@exact
def finite(values):
    """Whether no entry is NaN or infinite."""
    for value in values:  # noqa: SIM110 (a generator does not compile)
        if not abs(value) <= LARGEST:
            return False
    return True


@exact
def targets(y, codes, row, out):
    """Targets of the heads: as given, or 1 for the class of a head and -1 for others."""
    heads = out.size
    for k in range(heads):
        if codes.size == 0:
            out[k] = y[row, k]
        else:
            out[k] = 1.0 if codes[row] == (k if heads > 1 else 1) else -1.0


@exact
def padded(n):
    """``n`` rounded up, so that loops over columns have no scalar rest."""
    return (n + PADDING - 1) // PADDING * PADDING


@exact
def work_table(fields, n):
    """A table with room for ``x``, ``z`` and ``inverse`` below the fields of the model.

    Rows are far enough apart for compiled loops, which compare distances, to run the same way whatever the batch.
    """
    return np.zeros((fields + 3, max(n, APART)))


@exact
def clear_padding(table, f, rule, heads, start, stop):
    """Make columns that are always 0, and stay as they are."""
    for field in range(table.shape[0]):
        for i in range(start, stop):
            table[field, i] = 0.0
    for i in range(start, stop):
        table[f.lift, i] = table[f.inverse, i] = 1.0
        if rule.adaptive:
            for k in range(heads):
                table[f.G + k, i] = 1.0


@entry
def learn_dense(X, y, codes, weights, order, table, f, rule, eta, gradient_lift, clock, loss, losses, played):
    """Learn the rows in order; return whether all numbers stayed in range."""
    d, width, heads = X.shape[1], table.shape[1], eta.size
    n = padded(width)
    bias = width - 1 if rule.intercept else -1
    model = table
    table = work_table(model.shape[0], n)
    table[: model.shape[0], :width] = model
    clear_padding(table, f, rule, heads, width, n)
    g, target, ratios, last = np.empty(heads), np.empty(heads), np.empty(heads), np.empty(heads)
    keep = played.shape[0] > 0
    refresh = True
    for step in range(order.size if order.size > 0 else X.shape[0]):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        targets(y, codes, row, target)
        if rule.penalised or rule.averaged:
            before_play(table, f, rule, eta, gradient_lift, clock, width, bias)
        grows = 0
        for i in range(d):
            value = X[row, i]
            table[f.x, i] = value
            grows |= abs(value) > table[f.largest, i]
        if bias >= 0:
            table[f.x, bias] = 1.0
            grows |= table[f.largest, bias] < 1.0
        if grows:
            if grow(table, f, rule, n):
                raise_lifts(table, f, rule, heads, width)
            refresh = True
        if refresh and rule.norm == MAX:
            invert_sizes(table, f, n)
            refresh = False
        rate = play(table, f, rule, eta, clock, loss, target, c, g, losses, last, n)
        if not finite(last):
            return False
        if keep:
            for k in range(heads):
                played[step, k] = last[k]
        if rule.adaptive and new_gradient_lifts(gradient_lift, g, ratios):
            rescale_G(table, f, ratios, n)
        descend(table, f, rule, eta, gradient_lift, g, rate, n)
    for field in range(model.shape[0]):
        for i in range(width):
            model[field, i] = table[field, i]
        if not finite(model[field]):
            return False
    return True


@entry
def learn_sparse(
    data, indices, indptr, y, codes, weights, order, columns, f, rule, eta, gradient_lift, clock, loss, losses, played
):
    """As `learn_dense`, for CSR rows; ``columns`` is the transposed table, with all of a column side by side.

    Returns with it ``G`` as it was before all of it was rescaled, transposed, or an array without entries.
    """
    G_before = np.empty((0, 0))
    fields, heads = columns.shape[1], eta.size
    most = 0
    for row in range(indptr.size - 1):
        most = max(most, indptr[row + 1] - indptr[row])
    most = padded(most + rule.intercept)
    index = np.empty(most, np.uint64)
    part = work_table(fields, most)
    changed = np.ones(fields, np.bool_)
    changed[f.lift] = False
    g, target, ratios, last = np.empty(heads), np.empty(heads), np.empty(heads), np.empty(heads)
    keep = played.shape[0] > 0
    for step in range(order.size if order.size > 0 else indptr.size - 1):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        targets(y, codes, row, target)
        start = indptr[row]
        n = indptr[row + 1] - start
        for i in range(n):
            index[i], part[f.x, i] = indices[start + i], data[start + i]
        bias = -1
        if rule.intercept:
            index[n], part[f.x, n] = columns.shape[0] - 1, 1.0
            bias = n
            n += 1
        width, n = n, padded(n)
        clear_padding(part, f, rule, heads, width, n)
        for i in range(width):
            column = index[i]
            part[0, i], part[1, i], part[2, i] = columns[column, 0], columns[column, 1], columns[column, 2]
        for field in range(3, fields):
            for i in range(width):
                part[field, i] = columns[index[i], field]
        if rule.penalised or rule.averaged:
            before_play(part, f, rule, eta, gradient_lift, clock, width, bias)
        lifts = grow(part, f, rule, n)
        if lifts:
            raise_lifts(part, f, rule, heads, width)
        if rule.norm == MAX:
            invert_sizes(part, f, n)
        rate = play(part, f, rule, eta, clock, loss, target, c, g, losses, last, n)
        if not finite(last):
            return False, G_before
        if keep:
            for k in range(heads):
                played[step, k] = last[k]
        if rule.adaptive and new_gradient_lifts(gradient_lift, g, ratios):
            if G_before.size == 0:
                G_before = columns[:, f.G : f.G + heads].copy()
            for k in range(heads):
                for i in range(columns.shape[0]):
                    columns[i, f.G + k] = max(columns[i, f.G + k] * ratios[k], TINY)
            rescale_G(part, f, ratios, n)
        descend(part, f, rule, eta, gradient_lift, g, rate, n)
        for field in range(fields):
            if changed[field] or lifts:
                total = 0.0
                for i in range(width):
                    columns[index[i], field] = part[field, i]
                    total += part[field, i]
                if field != f.largest and not abs(total) <= LARGEST:
                    return False, G_before
    return True, G_before


# -- from arrays and names to what compiled code takes


class Fields(NamedTuple):
    """First row of each field in the table; 0 for those that are absent."""

    largest: int = 0
    lift: int = 0
    shrunk: int = 0
    squares: int = 0
    averaged: int = 0
    weight: int = 0
    G: int = 0
    total: int = 0
    x: int = 0
    z: int = 0
    inverse: int = 0


class CompiledRule(NamedTuple):
    """`Rule`, without None and without heads."""

    norm: int
    adaptive: bool
    intercept: bool
    lifted: bool
    penalised: bool
    averaged: bool
    power_t: float
    l1: float
    l2: float
    average_from: float


class CompiledLoss(NamedTuple):
    """A loss by its place in ``LOSSES``, and its parameter if it has one."""

    code: int
    parameter: float


def constant(array, dtype=None):
    """A view that is contiguous and read-only, so that compiled code sees one type whatever the caller has."""
    view = np.ascontiguousarray(array, dtype=dtype).view(np.ndarray)
    if view is array:
        view = view[...]
    view.flags.writeable = False
    return view


NO_CLASSES, NO_INTEGERS = constant(np.empty(0, np.int32)), constant(np.empty(0, np.int64))
NO_FLOATS, NO_TABLE = constant(np.empty(0)), constant(np.empty((0, 0)))
NOTHING_KEPT = np.empty((0, 0))


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """As `_numpy.learn_rows`."""
    if order is not None and len(order) == 0:  # below, an empty order stands for all rows
        return None
    if loss.name not in LOSSES:
        return _numpy.learn_rows(state, loss, X, y, sample_weight, order, predictions)
    rule = state.rule
    sparse = not isinstance(X, np.ndarray)
    by_row = sparse and rule.lazy
    state.columns.arrange("F" if by_row else "C")
    clock = np.array([state.t, state.N, state.shrinkage, state.playtime, state.averaged])
    model = (
        state.columns.table.T if by_row else state.columns.table,
        fields(state.columns),
        compiled_rule(rule),
        np.array(rule.eta),
        state.gradient_lift,
        clock,
        compiled_loss(loss),
        state.loss,
    )
    targets = (
        constant(y, np.float64) if y.ndim == 2 else NO_TABLE,
        constant(y, np.int32) if y.ndim == 1 else NO_CLASSES,
        NO_FLOATS if sample_weight is None else constant(sample_weight),
    )
    order = NO_INTEGERS if order is None else constant(order, np.int64)
    kept = NOTHING_KEPT if predictions is None else predictions
    if by_row:
        csr = constant(X.data), constant(X.indices), constant(X.indptr)
        ok, G_before = learn_sparse(*csr, *targets, order, *model, kept)
        if G_before.size:
            state.G_before = G_before.T
    elif not sparse and X.flags.c_contiguous:
        ok = learn_dense(constant(X), *targets, order, *model, kept)
    else:
        ok = True
        for rows, block in _numpy.dense_blocks(X, order if len(order) else None):
            parts = (a[rows] if len(a) else a for a in targets)
            first, kept = kept[: len(block)], kept[len(block) :]
            ok = ok and learn_dense(constant(block), *map(constant, parts), NO_INTEGERS, *model, first)
    state.t, state.N, state.shrinkage, state.playtime, state.averaged = clock.tolist()
    if not (ok and np.isfinite(clock).all()):
        raise _numpy.Diverged


def compiled_loss(loss):
    """`CompiledLoss` of a loss, which has one parameter at most."""
    parameters = [float(getattr(loss, name)) for name in loss.parameters]
    return CompiledLoss(LOSSES.index(loss.name), *(parameters or [0.0]))


def fields(columns):
    """`Fields` of `Columns`, with the scratch rows below them."""
    n = len(columns.table)
    return Fields(**columns.rows(), x=n, z=n + 1, inverse=n + 2)


def compiled_rule(rule):
    """`CompiledRule` of a `Rule`."""
    return CompiledRule(
        norm=(None, "max", "rms").index(rule.normalization),
        **{name: getattr(rule, name) for name in CompiledRule._fields[1:]},
    )
