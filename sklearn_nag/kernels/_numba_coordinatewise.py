"""The updates of `_numpy_coordinatewise` as compiled loops, held equal to them by test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from . import _numpy
from ._invariant import LARGEST_POWER, MOST_WEALTH
from ._numba import (
    HIGH,
    LAST,
    LOW,
    ORIGIN,
    RATIO,
    SHOWN,
    SLOPE,
    SOFTMAX,
    SPREAD,
    SUM,
    UNIT,
    add_deviations,
    add_squares,
    all_finite,
    centre,
    clear_last,
    compiled_loss,
    contracted,
    entry,
    fast,
    finite,
    gather,
    grow,
    inverse_sqrt,
    inverse_sqrt_of_any,
    lift_of,
    loss_and_gradient,
    margins,
    padded,
    put_back,
    run,
    scatter,
    slow,
    targets,
    workspace,
)
from ._numba import P as PREDICTED
from ._numba import Y as TARGET
from ._state import HIGHEST, LARGEST, LOWEST, TINY

POTENTIAL, SCINOL1, SCINOL2 = range(3)
UPDATES = ("potential", "scinol1", "scinol2")
T, HEAVIEST = range(2)  # entries of ``clock``
SCRATCH = ("x", "z", "size", "inverse", "part")  # rows below the fields of a table, the last of them one for each head
TO_BITS = 1.5 * 2.0**52  # added to a double, it leaves the nearest integer in the last bits
PER_LOG2, LOG2_HIGH, LOG2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10


@contracted
def exp(x):
    """Exponential for ``|x| <= 708``, to 3e-13; unlike NumPy's it becomes vector instructions."""
    shifted = x * PER_LOG2 + TO_BITS
    n = shifted - TO_BITS
    r = (x - n * LOG2_HIGH) - n * LOG2_LOW
    p = 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    p = p * r + 1.0
    p = p * r + 1.0
    power = (np.float64(shifted).view(np.int64) + 1023) << 52
    return p * np.int64(power).view(np.float64)


@fast
def exp_minus_1(x):
    """``exp(x) - 1`` for ``0 <= x <= 708``."""
    return exp(x) - 1.0 if x > 1e-3 else x * (1.0 + x * (0.5 + x * (1.0 / 6.0 + x / 24.0)))


@slow
def raise_lifts(table, f, n_heads, n):
    """After `grow`, which left the largest values of before in ``z``: adapt the lifts, as `Columns.relift`."""
    for i in range(n):
        size, before = abs(table[f.x, i]), table[f.z, i]
        lifted = size * table[f.lift, i]
        if not (lifted >= HIGHEST or (before == 0.0 and size > 0.0 and lifted < LOWEST)):
            continue
        new = lift_of(size)
        ratio = min(new / table[f.lift, i], 1.0)
        table[f.lift, i] = new
        table[f.credit, i] *= ratio * ratio
        if f.origin > 0:
            table[f.origin, i] *= ratio
            table[f.sum, i] *= ratio
        if f.deviation > 0:
            table[f.deviation, i] *= ratio
        if f.squares > 0:
            table[f.squares, i] *= ratio * ratio
        for k in range(n_heads):
            table[f.weight + k, i] *= ratio
            table[f.past + k, i] *= ratio
            if f.G > 0:
                table[f.G + k, i] = max(table[f.G + k, i] * (ratio * ratio), TINY)


@fast
def normalise(table, f, clock, before, c, n, bias):
    """Lift and centre the row ``x``; fill and count ``size``, and for the potential ``inverse`` and ``z = x / s``."""
    centred, counts = f.origin > 0, c * clock[T]
    if centred:
        centre(table, f, clock, before, c, n, bias)
    if f.squares > 0:
        if centred:
            add_deviations(table, f, n, c, before / clock[T])
            if bias >= 0:
                table[f.squares, bias] = clock[T]
        else:
            add_squares(table, f, n, c)
        root = np.sqrt(clock[T])
        for i in range(n):
            squares = table[f.squares, i]
            inverse = root * inverse_sqrt_of_any(squares) if squares > 0 else 0.0
            size = squares * inverse / clock[T]
            table[f.size, i] = size
            table[f.inverse, i] = inverse
            table[f.z, i] = table[f.x, i] * inverse
            table[f.credit, i] += counts * size * size if table[f.x, i] != 0.0 else 0.0
    elif centred:
        for i in range(n):
            x = table[f.x, i]
            size = max(table[f.deviation, i], abs(x))
            table[f.deviation, i] = size
            table[f.size, i] = size
            table[f.credit, i] += counts * size * size if x != 0.0 else 0.0
    else:
        for i in range(n):
            x = table[f.x, i] * table[f.lift, i]
            size = table[f.largest, i] * table[f.lift, i]
            table[f.x, i] = x
            table[f.size, i] = size
            table[f.credit, i] += counts * size * size if x != 0.0 else 0.0


@fast
def play_potential(table, f, k, alpha, n_columns, t, heaviest, c, n):
    """Weights of one head by the potential; its prediction, and what the weights add to their average."""
    of_h, of_x = 1.0 / (2.0 * alpha * t * heaviest), c / (2.0 * alpha * t)
    outer, share = np.log(alpha * n_columns * t / heaviest), 1.0 / t
    counts, p = c * t, 0.0
    for i in range(n):
        size, z = table[f.size, i], table[f.z, i]
        ratio = table[f.weight + k, i] * table[f.inverse, i]
        power = min(ratio * ratio * of_h + z * z * of_x - outer, LARGEST_POWER)
        u = ratio * share * exp(power)
        table[f.past + k, i] += counts * size * u if z != 0.0 else 0.0
        p += u * z
    return p


@fast
def play_scinol1(table, f, k, heaviest, rest, counts, n):
    """As `play_potential`, for ScInOL 1; with ``u z = (u / s) x``, as only the product is needed."""
    p, half = 0.0, 0.5 / heaviest
    for i in range(n):
        x, size = table[f.x, i], table[f.size, i]
        inverse = heaviest * inverse_sqrt(max(table[f.G + k, i] + (heaviest * size) ** 2, TINY))
        own = inverse * x
        beta = table[f.beta + k, i]
        beta = min(beta, rest / (own * own)) if own != 0.0 else beta
        table[f.beta + k, i] = beta
        theta = table[f.weight + k, i] * (inverse * half)
        w = 0.5 * beta * inverse * np.copysign(exp_minus_1(min(abs(theta), LARGEST_POWER)), theta)
        table[f.past + k, i] += counts * (size * size) * w if x != 0.0 else 0.0
        p += w * x
    return p


@fast
def play_scinol2(table, f, k, heaviest, counts, n):
    """As `play_scinol1`, for ScInOL 2; ``part`` keeps ``w x``."""
    p, half = 0.0, 0.5 * heaviest
    for i in range(n):
        x, size = table[f.x, i], table[f.size, i]
        inverse = inverse_sqrt(max(table[f.G + k, i] + (heaviest * size) ** 2, TINY))
        theta = min(max(table[f.weight + k, i] * inverse, -1.0), 1.0)
        w = table[f.beta + k, i] * theta * (half * inverse)
        table[f.past + k, i] += counts * (size * size) * w if x != 0.0 else 0.0
        part = w * x
        table[f.part + k, i] = part
        p += part
    return p


@slow
def read_targets(heads, target, intercept, clock, before, c):
    """As `_numpy.read_targets` and the first lines of `suffer`, for one row; ``RATIO`` has ``sum u z``."""
    for j in range(target.shape[1]):
        if before == 0 and intercept:
            target[ORIGIN, j] = heads[TARGET, j]
        y = heads[TARGET, j] - target[ORIGIN, j]
        heads[TARGET, j] = y
        old = target[SUM, j] / max(before, TINY)
        if intercept:
            target[SUM, j] += c * y
        mean = target[SUM, j] / clock[T]
        deviation = np.sqrt(c * (before / clock[T]) if intercept else c) * abs(y - old)
        target[SPREAD, j] = np.hypot(target[SPREAD, j], deviation)
        low, high = target[LOW, j], target[HIGH, j]
        width = high - low
        heads[SHOWN, j] = min(max(old + heads[UNIT, j] * heads[RATIO, j], low - width), high + width)
        heads[UNIT, j] = target[SPREAD, j] / np.sqrt(clock[T])
        heads[PREDICTED, j] = mean + heads[UNIT, j] * heads[RATIO, j]
        target[LOW, j], target[HIGH, j] = min(low, y), max(high, y)


@fast
def suffer(heads, rule, loss, clock, before, c, target, losses, steepest):
    """Count the losses; leave derivatives over their bound in ``SLOPE`` and predictions to show in ``LAST``."""
    n = losses.size
    if rule.target_unit:
        read_targets(heads, target, rule.intercept, clock, before, c)
    else:
        for j in range(n):
            heads[SHOWN, j] = heads[PREDICTED, j] = heads[RATIO, j]
    for j in range(n):
        heads[PREDICTED, j] = min(max(heads[PREDICTED, j], -LARGEST), LARGEST)
        heads[LAST, j] = heads[SHOWN, j]
    if loss.code == SOFTMAX:
        margins(heads, PREDICTED, 0, n)
        margins(heads, SHOWN, 0, n)
    for j in range(n):
        parameter = loss.parameter * heads[UNIT, j] if loss.scaled else loss.parameter
        _, g = loss_and_gradient(loss.code, parameter, heads[PREDICTED, j], heads[TARGET, j])
        value, _ = loss_and_gradient(loss.code, parameter, heads[SHOWN, j], heads[TARGET, j])
        losses[j] = min(losses[j] + min(value * c, LARGEST), LARGEST)
        bound = rule.bound * heads[UNIT, j] if rule.bound_scaled else rule.bound
        if bound < 0.0:
            steepest[j] = max(steepest[j], abs(g))
            bound = steepest[j]
        heads[SLOPE, j] = min(max(g / bound, -1.0), 1.0) if bound > 0 else g
        if rule.target_unit:
            heads[LAST, j] = heads[LAST, j] + target[ORIGIN, j] if before > 0 else 0.0
    return finite(heads, LAST, n)


@fast
def learn_row(table, heads, f, rule, clock, loss, losses, target, steepest, c, bias, n):
    """Learn the row ``x`` of the table, whose lifts are up to date; tell whether predictions are finite."""
    before = clock[T]
    clock[T] += c
    clock[HEAVIEST] = max(clock[HEAVIEST], c)
    t, heaviest = clock[T], clock[HEAVIEST]
    normalise(table, f, clock, before, c, n, bias)
    for k in range(losses.size):
        if rule.update == POTENTIAL:
            heads[RATIO, k] = play_potential(table, f, k, rule.alpha, rule.n_columns, t, heaviest, c, n)
        elif rule.update == SCINOL1:
            heads[RATIO, k] = play_scinol1(table, f, k, heaviest, heaviest / t, c * t, n)
        else:
            heads[RATIO, k] = play_scinol2(table, f, k, heaviest, c * t, n)
    if not suffer(heads, rule, loss, clock, before, c, target, losses, steepest):
        return False
    for k in range(losses.size):
        pull = c * heads[SLOPE, k]
        if pull == 0.0:
            continue
        if rule.update == POTENTIAL:
            for i in range(n):
                table[f.weight + k, i] -= pull * table[f.x, i]
            continue
        for i in range(n):
            step = pull * table[f.x, i]
            table[f.weight + k, i] -= step
            table[f.G + k, i] += step * step
        if rule.update == SCINOL2:
            share = pull / heaviest
            for i in range(n):
                table[f.beta + k, i] = min(table[f.beta + k, i] - share * table[f.part + k, i], MOST_WEALTH)
    return True


@entry
def learn_dense(X, y, codes, weights, order, table, f, rule, heads, clock, loss, losses, target, steepest, played):
    """Learn the rows in order; return whether all numbers stayed in range."""
    d, n_heads = X.shape[1], losses.size
    width = d + rule.intercept
    n = padded(width)
    bias = width - 1 if rule.intercept else -1
    keep = played.shape[0] > 0
    for step in range(order.size if order.size > 0 else X.shape[0]):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        targets(y, codes, row, heads, n_heads)
        grows = 0
        for i in range(d):
            value = X[row, i]
            table[f.x, i] = value
            grows |= abs(value) > table[f.largest, i]
        if bias >= 0:
            table[f.x, bias] = 1.0
            grows |= table[f.largest, bias] < 1.0
        if grows and grow(table, f, n, False):
            raise_lifts(table, f, n_heads, width)
        if not learn_row(table, heads, f, rule, clock, loss, losses, target, steepest, c, bias, n):
            return False
        if keep:
            for j in range(n_heads):
                played[step, j] = heads[LAST, j]
    return all_finite(table, f.lift, f.x, n)


@entry
def learn_sparse(
    data, indices, indptr, y, codes, weights, order, columns, part, index, f, rule, heads, clock, loss, losses, target,
    steepest, played,
):  # fmt: skip
    """As `learn_dense`, for CSR rows; see `_numba.learn_sparse`."""
    fields, n_heads = columns.shape[1], losses.size
    keep = played.shape[0] > 0
    for step in range(order.size if order.size > 0 else indptr.size - 1):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        targets(y, codes, row, heads, n_heads)
        start, stop = indptr[row], indptr[row + 1]
        width = stop - start + rule.intercept
        bias = width - 1 if rule.intercept else -1
        n = padded(width)
        clear_last(part, f, n)
        gather(part, f.x, columns, index, data, indices, start, stop, rule.intercept)
        asks = grow(part, f, n, False)
        if asks:
            raise_lifts(part, f, n_heads, width)
        if not learn_row(part, heads, f, rule, clock, loss, losses, target, steepest, c, bias, n):
            return False
        if keep:
            for j in range(n_heads):
                played[step, j] = heads[LAST, j]
        if not all_finite(part, f.largest + 1, fields, n):
            return False
        scatter(part, columns, index, width, f.lift if asks else f.largest, fields)
    return True


# -- from arrays and names to what compiled code takes


class Fields(NamedTuple):
    """First row of each field in the table; 0 for those that are absent."""

    largest: int = 0
    lift: int = 0
    credit: int = 0
    squares: int = 0
    origin: int = 0
    sum: int = 0
    deviation: int = 0
    weight: int = 0
    G: int = 0
    beta: int = 0
    past: int = 0
    x: int = 0
    z: int = 0
    size: int = 0
    inverse: int = 0
    part: int = 0


class CompiledRule(NamedTuple):
    """`InvariantRule`, with the bound of the loss: negative where it is the largest so far."""

    update: int
    alpha: float
    n_columns: int
    intercept: bool
    target_unit: bool
    bound: float
    bound_scaled: bool


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """As `_numpy.learn_rows`."""
    if order is not None and len(order) == 0:  # below, an empty order stands for all rows
        return
    by_row = not isinstance(X, np.ndarray) and state.rule.lazy
    columns = state.columns
    columns.arrange("F" if by_row else "C")
    n = len(columns.table)
    tables = workspace(columns, len(SCRATCH) - 1 + state.rule.n_heads, X.indptr if by_row else None)
    clock = np.array([state.t, state.heaviest])
    heads = np.zeros((RATIO + 1, state.rule.n_heads))
    heads[UNIT] = state.unit()
    model = (
        *tables,
        Fields(**columns.rows(), **{name: n + i for i, name in enumerate(SCRATCH)}),
        compiled_rule(state.rule, loss, columns.lift.size),
        heads,
        clock,
        compiled_loss(loss),
        state.loss,
        state.targets.table,
        state.steepest,
    )
    ok = run(learn_sparse if by_row else None, learn_dense, X, y, sample_weight, order, model, predictions)
    if ok and not by_row:
        put_back(columns, *tables)
    state.t, state.heaviest = clock.tolist()
    if not (ok and np.isfinite(clock).all()):
        raise _numpy.Diverged


def compiled_rule(rule, loss, n_columns):
    """`CompiledRule` of a rule and the bound of a loss."""
    bound = loss.steepest(1.0)
    return CompiledRule(
        update=UPDATES.index(rule.update),
        alpha=rule.alpha,
        n_columns=n_columns,
        intercept=rule.intercept,
        target_unit=rule.target_unit,
        bound=-1.0 if bound is None else float(bound),
        bound_scaled=bound is not None and loss.steepest(2.0) != bound,
    )
