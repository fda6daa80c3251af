"""The update of `numpy_rows` as compiled loops, held equal to it by test."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled.bounded import LARGEST_WEIGHT, compiled_bound, suffer
from ..compiled.columns import PADDING, finite, lift_of, padded
from ..compiled.constants import HAS_TARGET_UNIT, UPDATE
from ..compiled.handover import T, layout_of, run
from ..compiled.heads import CLIPPED, GRADIENT, PLAYED, PREDICTION, TARGET, UNIT, held, new_heads
from ..compiled.jit import entry, fast, for_rule, slow, strict, strict_slow
from ..compiled.losses import compiled_loss, loss_constants, loss_of
from ..compiled.targets import FREE, SUM, clip_alone, compiled_clip, make_absolute, read_row, read_targets
from ..state.bounded import LARGEST_POWER
from ..state.lifts import HIGHEST, LARGEST, LOWEST, TINY
from ..state.model import Diverged
from .rule import ROUNDING, Rule

LEAST, MOST = 1e-280, 1e280  # a sum of squares between these has lost no digits
POTENTIAL, LEAST_SQUARES = range(2)


@slow
def relift(table, f, factor, i, size):
    """As `State.relift`, of one column."""
    new = lift_of(size)
    ratio = min(new / table[f.lift, i], 1.0)
    table[f.lift, i] = new
    table[f.origin, i] *= ratio
    table[f.deviation, i] *= ratio
    for j in range(i + 1):
        factor[j, i] *= ratio


@strict
def relative(table, f, factor, x, bias):
    """As `numpy_rows.relative`: the row ``x`` becomes lifted and relative to the first one."""
    first = table[f.largest, bias] == 0.0 if bias >= 0 else False
    for i in range(table.shape[1]):
        size = abs(x[i])
        lifted = size * table[f.lift, i]
        if lifted >= HIGHEST or (table[f.largest, i] == 0.0 and size > 0.0 and lifted < LOWEST):
            relift(table, f, factor, i, size)
        table[f.largest, i] = max(table[f.largest, i], size)
        value = x[i] * table[f.lift, i]
        if first and i != bias:
            table[f.origin, i] = value
        value -= table[f.origin, i]
        table[f.deviation, i] = max(table[f.deviation, i], abs(value))
        x[i] = value


@fast
def rotate(factor, x, i, cos, sin):
    """Rotate row ``i`` of the factor and ``x``, by whole vectors: entries before ``i`` are 0 in both."""
    for start in range(i // PADDING * PADDING, x.size, PADDING):
        for j in range(start, start + PADDING):
            own, new = factor[i, j], x[j]
            factor[i, j] = cos * own + sin * new
            x[j] = cos * new - sin * own
    x[i] = 0.0


@strict
def rounding(table, f, i):
    """As `rule.rank_tolerance`, of one column, over the relative error of a rounding."""
    return 16.0 * table.shape[1] * table[f.deviation, i] + 2.0 * table[f.largest, i] * table[f.lift, i]


@strict_slow
def is_rounding(table, f, factor, size, share, i):
    """As `numpy_rows.is_rounding`, for a size over that of a rounding."""
    least = rounding(table, f, i)
    if size <= least:
        return True
    for j in range(i - 1, -1, -1):
        share[j] = 0.0
        if factor[j, j] != 0.0:
            value = factor[j, i]
            for other in range(j + 1, i):
                value -= factor[j, other] * share[other]
            share[j] = value / factor[j, j]
            least += abs(share[j]) * rounding(table, f, j)
    return size <= least


@strict
def in_range(p):
    """A prediction as `predict` has it where it would leave the range of float64."""
    return min(max(p, -LARGEST), LARGEST) if p == p else 0.0


@fast
def rotate_in(table, f, factor, x, v, w, rests, root):
    """As `numpy_rows.rotate_in`; ``rests`` has rows for ``rest_q``, ``rest_past`` and the prediction of the average."""
    n, n_heads, rest, is_new = table.shape[1], rests.shape[1], 1.0, False
    for k in range(n_heads):
        rests[0, k] = rests[1, k] = 0.0
    for i in range(n):
        v[i] = 0.0
        value, diagonal = x[i], factor[i, i]
        if value == 0.0 or is_new:
            continue
        if diagonal == 0.0:
            if is_rounding(table, f, factor, abs(value) / (root * ROUNDING), w, i):
                continue
            is_new = True
        squared = diagonal * diagonal + value * value
        inverse = 1.0 / (np.sqrt(squared) if LEAST < squared < MOST else np.hypot(diagonal, value))
        cos, sin = diagonal * inverse, value * inverse
        rotate(factor, x, i, cos, sin)
        for k in range(n_heads):
            own, new = table[f.weight + k, i], rests[0, k]
            table[f.weight + k, i] = cos * own + sin * new
            rests[0, k] = cos * new - sin * own
            own, new = table[f.past + k, i], rests[1, k]
            table[f.past + k, i] = cos * own + sin * new
            rests[1, k] = cos * new - sin * own
        v[i], rest = sin * rest, cos * rest
    for k in range(n_heads):
        rests[2, k] = 0.0 if is_new else in_range(-rests[1, k] / rest)
    return is_new


@slow
def regress(table, heads, f, rule, clock, before, c, loss, losses, target, v, is_new):
    """As `numpy_rows._regress_row`, once the row is rotated in; tells whether predictions are finite."""
    n, root, leverage = table.shape[1], np.sqrt(c), 0.0
    for i in range(n):
        leverage += v[i] * v[i]
    for k in range(losses.size):
        inner = 0.0
        for i in range(n):
            inner += table[f.weight + k, i] * v[i]
        mean = target[SUM, k] / max(before, TINY)
        heads[PREDICTION, k] = 0.0 if is_new else inner / root + (leverage - 1.0) * mean
        heads[CLIPPED, k] = heads[PREDICTION, k]
    if HAS_TARGET_UNIT:
        read_targets(heads, target, rule.intercept, rule.clip, clock, before, c, losses.size)
    elif rule.clip != FREE:
        clip_alone(heads, target, rule.intercept, rule.clip, before, losses.size)
    for k in range(losses.size):
        y = heads[TARGET, k]
        heads[PLAYED, k] = held(heads, CLIPPED, k, k)
        value = loss_of(heads, PLAYED, loss, heads[UNIT, k], 1.0, k, losses.size)
        losses[k] = min(losses[k] + min(value * c, LARGEST), LARGEST)
        for i in range(n):
            table[f.weight + k, i] += root * y * v[i]
    make_absolute(heads, target, rule, before, losses.size)
    return finite(heads, PLAYED, losses.size)


@fast
def potential(table, f, rule, clock, Gamma, k):
    """As `State.potential`, of a head."""
    squared = 0.0
    for i in range(table.shape[1]):
        squared += table[f.weight + k, i] * table[f.weight + k, i]
    power = (squared - Gamma[k]) / (2.0 * rule.alpha * clock[LARGEST_WEIGHT])
    return np.exp(min(power, LARGEST_POWER)) / rule.alpha


@fast
def average(table, f, rule, clock, Gamma, c, v, k):
    """As `numpy_rows.average`, of a head."""
    share, inner = c / clock[T] * (2.0 - c / clock[T]), 0.0
    factor = potential(table, f, rule, clock, Gamma, k)
    for i in range(v.size):
        inner += factor * table[f.weight + k, i] * v[i]
    for i in range(v.size):
        past = table[f.past + k, i] + inner * v[i]
        table[f.past + k, i] = (1.0 - share) * past + share * factor * table[f.weight + k, i]


@entry
def learn_dense(
    X, y, codes, weights, order, table, f, rule, heads, clock, loss, losses, target, largest_gradient, model, Gamma,
    played,
):  # fmt: skip
    """Learn the rows in order; return whether all numbers stayed in range."""
    d, n, n_heads = X.shape[1], table.shape[1], losses.size
    bias = n - 1 if rule.intercept else -1
    v, w, rests = np.empty(n), np.empty(n), np.empty((3, n_heads))
    x, factor = np.zeros(padded(n)), np.zeros((n, padded(n)))
    for i in range(n):
        for j in range(i, n):
            factor[i, j] = model[i, j]
    keep = played.shape[0] > 0
    for step in range(order.size if order.size > 0 else X.shape[0]):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        read_row(y, codes, row, heads, n_heads)
        wrong = 0
        for i in range(d):
            x[i] = X[row, i]
            wrong |= not abs(x[i]) <= LARGEST  # as a prediction may leave out a column
        if wrong:
            return False
        if bias >= 0:
            x[bias] = 1.0
        relative(table, f, factor, x, bias)
        root = np.sqrt(c)
        for i in range(n):
            x[i] *= root
        is_new = rotate_in(table, f, factor, x, v, w, rests, root)
        before = clock[T]
        clock[T] += c
        clock[LARGEST_WEIGHT] = max(clock[LARGEST_WEIGHT], c)
        if UPDATE == LEAST_SQUARES:
            if not regress(table, heads, f, rule, clock, before, c, loss, losses, target, v, is_new):
                return False
            if keep:
                for j in range(n_heads):
                    played[step, j] = heads[PLAYED, j]
            continue
        length = 0.0
        for i in range(n):
            length += v[i] * v[i]
        for k in range(n_heads):
            inner = 0.0
            for i in range(n):
                inner += table[f.weight + k, i] * v[i]
            inner *= potential(table, f, rule, clock, Gamma, k)
            heads[PREDICTION, k] = 0.0 if is_new else inner / root
            heads[CLIPPED, k] = rests[2, k] / root if rule.averaged else heads[PREDICTION, k]
        if not suffer(heads, rule, loss, clock, before, c, target, losses, largest_gradient):
            return False
        for k in range(n_heads):
            g = heads[GRADIENT, k]
            for i in range(n):
                table[f.weight + k, i] -= root * g * v[i]
            Gamma[k] += c * g * g * length
            average(table, f, rule, clock, Gamma, c, v, k)
        if keep:
            for j in range(n_heads):
                played[step, j] = heads[PLAYED, j]
    for i in range(n):
        for j in range(i, n):
            model[i, j] = factor[i, j]
    for field in range(table.shape[0]):  # noqa: SIM110 (a generator does not compile)
        if not finite(table, field, n):
            return False
    return True


Fields = layout_of(__name__, Rule, ())


class CompiledRule(NamedTuple):
    """`Rule`, with the bound of the loss: negative where it is the largest so far."""

    alpha: float
    intercept: bool
    averaged: bool
    clip: int
    bound: float
    bound_scaled: bool


class Constants(NamedTuple):
    """What code is compiled for; see `compiled.constants`."""

    update: int
    has_target_unit: bool
    of_margin: bool
    of_rate: bool
    is_coupled: bool


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """As `numpy_rows.learn_rows`."""
    if order is not None and len(order) == 0:  # below, an empty order stands for all rows
        return
    state.columns.arrange("C")
    clock = np.array([state.t, 0.0, state.largest_weight])
    heads = new_heads(state)
    model = (
        state.columns.table,
        Fields(**state.columns.rows()),
        compiled_rule(state.rule, loss),
        heads,
        clock,
        compiled_loss(loss),
        state.loss,
        state.targets.table,
        state.largest_gradient,
        state.factor,
        state.Gamma,
    )
    row_cost = state.columns.lift.size**2
    update = LEAST_SQUARES if state.rule.update == "least_squares" else POTENTIAL
    dense = for_rule(learn_dense, Constants(update, state.rule.target_unit, **loss_constants(loss)))
    ok = run(None, dense, X, y, sample_weight, order, model, predictions, row_cost=row_cost)
    state.t, _, state.largest_weight = clock.tolist()
    if not (ok and np.isfinite(clock).all()):
        raise Diverged


def compiled_rule(rule, loss):
    """`CompiledRule` of a rule and the bound of a loss."""
    return CompiledRule(rule.alpha, rule.intercept, rule.averaged, compiled_clip(rule), *compiled_bound(loss))
