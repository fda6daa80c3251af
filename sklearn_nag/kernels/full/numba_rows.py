"""The update of `numpy_rows` as compiled loops; tests check that both agree.

The rotations of a row do not depend on weights, so several rows are rotated into the factor together: column by column,
and for each column row by row. Each number goes through the same operations in the same order as row by row, but the
factor is read and written once for all of them. Rows are then learnt one after another.
"""

from typing import NamedTuple

import numpy as np

from ..compiled.arithmetic import length
from ..compiled.columns import finite, lift_of
from ..compiled.constants import FADES_ON_THE_WAY, HAS_TARGET_UNIT, UPDATE, constants_of
from ..compiled.fading import factor_due
from ..compiled.handover import AT_ONCE, T, distance_of, layout_of, run
from ..compiled.heads import CLIPPED, GRADIENT, PLAYED, PREDICTION, TARGET, UNIT, held, new_heads
from ..compiled.jit import entry, fast, for_rule, slow, strict, strict_slow
from ..compiled.losses import compiled_loss, loss_constants, loss_of, total_loss
from ..compiled.targets import (
    FREE,
    LARGEST_WEIGHT,
    SUM,
    clip_alone,
    compiled_bound,
    compiled_clip,
    fade_targets,
    make_absolute,
    read_row,
    read_targets,
    suffer_bounded,
)
from ..compiled.vectors import WIDTH
from ..state.fading import fades_per_weight
from ..state.lifts import HIGHEST, LARGEST, LARGEST_LIFT, LARGEST_POWER, LOWEST, TINY
from ..state.model import Diverged
from .rule import FAINT, ROUNDING, SOME, Rule

POTENTIAL, LEAST_SQUARES = range(2)
AGE, FADED = 3, 4  # further entries of ``clock``; `factor_due` reads the last
TOGETHER, FOUR = np.int64(8), np.int64(4)  # rows that are rotated in together, and those of them in one loop


@slow
def relift(table, f, factor, i, size):
    """Like `State.relift`, for one column."""
    new = lift_of(size)
    ratio = min(new / table[f.lift, i], 1.0)
    table[f.lift, i] = new
    table[f.origin, i] *= ratio
    table[f.deviation, i] *= ratio
    for j in range(i + 1):
        factor[j, i] *= ratio


@strict
def prepare(X, weights, order, step, table, f, factor, bias, rows, noise):
    """Read the rows from ``step`` on, as `numpy_rows.relative` has them, times the roots of their weights.

    ``noise`` is how far rounding may have moved them (`rule.rank_tolerance`). A new lift also changes the factor, which
    must include all rows before, so a row that needs one can only be the first.

    Returns the number of rows, or 0 if a number is not finite.
    """
    n, n_rows = table.shape[1], min((order.size if order.size > 0 else X.shape[0]) - step, TOGETHER)
    for b in range(n_rows):
        row = order[step + b] if order.size > 0 else step + b
        wrong = 0
        for i in range(X.shape[1]):
            rows[b, i] = X[row, i]
            wrong |= not abs(rows[b, i]) <= LARGEST  # because a prediction may leave out a column
        if wrong:
            return 0
        if bias >= 0:
            rows[b, bias] = 1.0
        for i in range(n):
            size, lift = abs(rows[b, i]), table[f.lift, i]
            rises = size > 0.0 and size * lift < LOWEST and table[f.largest, i] == 0.0
            if rises or (size * lift >= HIGHEST and lift > 1.0 / LARGEST_LIFT):
                if b > 0:
                    return b
                relift(table, f, factor, i, size)
        if bias >= 0 and table[f.largest, bias] == 0.0:
            for i in range(bias):
                table[f.origin, i] = rows[b, i] * table[f.lift, i]
        root = np.sqrt(weights[row] if weights.size > 0 else 1.0)
        for i in range(n):
            lift = table[f.lift, i]
            largest = max(table[f.largest, i], abs(rows[b, i]))
            value = rows[b, i] * lift - table[f.origin, i]
            deviation = max(table[f.deviation, i], abs(value))
            table[f.largest, i] = largest
            table[f.deviation, i] = deviation
            rows[b, i] = root * value
            noise[b, i] = root * (SOME * n * deviation + 2.0 * ROUNDING * largest * lift)
    return n_rows


@strict
def rotate(factor, x, i, start, b, cos, sin):
    """Rotate row ``i`` of the factor and row ``b`` of ``x``; loops over unsigned places become vector instructions."""
    c, s = cos[b, i], sin[b, i]
    for j in range(np.uint64(start), np.uint64(factor.shape[0])):
        own, new = factor[i, j], x[b, j]
        factor[i, j] = c * own + s * new
        x[b, j] = c * new - s * own


@strict
def rotate_four(factor, x, i, start, b, cos, sin):
    """`rotate` for four rows from ``b`` on, with the same bits, in one pass through the row of the factor."""
    c0, c1 = cos[b, i], cos[b + 1, i]
    c2, c3 = cos[b + 2, i], cos[b + 3, i]
    s0, s1 = sin[b, i], sin[b + 1, i]
    s2, s3 = sin[b + 2, i], sin[b + 3, i]
    for j in range(np.uint64(start), np.uint64(factor.shape[0])):
        own, new = factor[i, j], x[b, j]
        own, x[b, j] = c0 * own + s0 * new, c0 * new - s0 * own
        new = x[b + 1, j]
        own, x[b + 1, j] = c1 * own + s1 * new, c1 * new - s1 * own
        new = x[b + 2, j]
        own, x[b + 2, j] = c2 * own + s2 * new, c2 * new - s2 * own
        new = x[b + 3, j]
        factor[i, j], x[b + 3, j] = c3 * own + s3 * new, c3 * new - s3 * own


@strict_slow
def is_rounding(factor, noise, share, b, size, i):
    """Like `numpy_rows.is_rounding`, for a size above that of rounding in column ``i`` itself."""
    least = noise[b, i]
    for j in range(i - 1, -1, -1):
        share[j] = 0.0
        if factor[j, j] != 0.0:
            value = factor[j, i]
            for other in range(j + 1, i):
                value -= factor[j, other] * share[other]
            share[j] = value / factor[j, j]
            least += abs(share[j]) * noise[b, j]
    return size <= least


@strict_slow
def try_together(factor, rows, noise, first, count, x, cos, sin, share):
    """Rotate in ``count`` rows from ``first`` on; ``cos`` and ``sin`` keep the rotations.

    What is left of a row in a column that depends on others may have to be compared with the factor after this row. Of
    rows that go together, the factor is that after the last one.

    Returns
    -------
    int
        ``count``; if less, nothing of the factor is right, but can be if this many rows go together.
    bool
        Whether the last of these had to be compared.
    bool
        Whether it is independent of all before.
    """
    n, last, compared, is_new = factor.shape[0], count, False, False
    for b in range(count):
        for i in range(n):
            x[b, i] = rows[first + b, i]
            cos[b, i], sin[b, i] = 1.0, 0.0
    for i in range(n):
        diagonal = factor[i, i]
        # Whole vectors up to the end, because entries before ``i`` are 0 in all rows.
        start = i if i < n % WIDTH else i - (i - n) % WIDTH
        for four in range(0, last, FOUR):
            end, turned = min(four + FOUR, last), 0
            for b in range(four, end):
                value = x[b, i]
                if value == 0.0 or (FADES_ON_THE_WAY and abs(value) <= SOME * n * abs(rows[first + b, i])):
                    continue
                if diagonal == 0.0:
                    if abs(value) <= noise[first + b, i]:
                        continue
                    if b < count - 1:
                        return b + 1, True, False
                    compared = True
                    if is_rounding(factor, noise, share, first + b, abs(value), i):
                        continue
                    is_new = True
                longer = length(diagonal, value)
                if value / longer != 0.0:  # else it is nothing compared to what was there
                    cos[b, i], sin[b, i] = diagonal / longer, value / longer
                    diagonal = longer
                    turned += 1
            if turned == FOUR:
                rotate_four(factor, x, i, start, four, cos, sin)
            else:
                for b in range(four, end):
                    if sin[b, i] != 0.0:
                        rotate(factor, x, i, start, b, cos, sin)
        factor[i, i] = diagonal
        for b in range(last):
            x[b, i] = 0.0
        if is_new:  # nothing is left of this row
            last = count - 1
    return count, compared, is_new


@strict_slow
def rotate_in(table, f, factor, kept, rows, noise, first, count, x, cos, sin, share):
    """Like `try_together`, for as many of ``count`` rows as can go together; ``kept`` has room for the factor."""
    n, end = np.uint64(factor.shape[0]), 0
    if count > 1:
        for i in range(factor.shape[0]):
            if factor[i, i] == 0.0 and table[f.deviation, i] > 0.0:
                end = i
    for i in range(end):
        for j in range(np.uint64(i), n):
            kept[i, j] = factor[i, j]
    while True:
        right, compared, is_new = try_together(factor, rows, noise, first, count, x, cos, sin, share)
        if right == count:
            return count, compared, is_new
        count = right
        for i in range(end):
            for j in range(np.uint64(i), n):
                factor[i, j] = kept[i, j]


@strict
def in_range(p):
    """A prediction, as `predict` has it if it would leave the range of float64."""
    return min(max(p, -LARGEST), LARGEST) if p == p else 0.0


@fast
def dot(a, v):
    """Product of ``v`` and the first numbers of another vector."""
    inner = 0.0
    for i in range(v.size):
        inner += a[i] * v[i]
    return inner


@slow
def solve(table, f, factor, k, w):
    """Like `rule.solve`, for a head."""
    n = factor.shape[0]
    for i in range(n - 1, -1, -1):
        w[i] = 0.0
        if factor[i, i] != 0.0:
            value = table[f.weight + k, i]
            for j in range(i + 1, n):
                value -= factor[i, j] * w[j]
            w[i] = value / factor[i, i]


@fast
def turn(table, f, cos, sin, b, v, averaged, is_new):
    """Like `numpy_rows.rotate_in`, for weights and their average, once row ``b`` is in the factor; returns ``rest``."""
    rest = 1.0
    for i in range(v.size):
        v[i], rest = sin[b, i] * rest, cos[b, i] * rest
    for k in range(averaged.size):
        rest_q = rest_past = 0.0
        for i in range(v.size):
            if sin[b, i] != 0.0:
                q, past, c, s = table[f.weight + k, i], table[f.past + k, i], cos[b, i], sin[b, i]
                table[f.weight + k, i], rest_q = c * q + s * rest_q, c * rest_q - s * q
                table[f.past + k, i], rest_past = c * past + s * rest_past, c * rest_past - s * past
        if not FADES_ON_THE_WAY:  # else it is already known
            averaged[k] = 0.0 if is_new else in_range(-(rest_q if UPDATE == LEAST_SQUARES else rest_past) / rest)
    return rest


@slow
def regress(table, heads, f, rule, clock, before, c, loss, losses, target, v, solved, is_new, residual, rest):
    """Like `numpy_rows._regress_row`, once the row is rotated in; returns whether predictions are finite."""
    root, leverage = np.sqrt(c), dot(v, v)
    for k in range(losses.size):
        mean = target[SUM, k] / max(before, TINY)
        p = dot(table[f.weight + k], v) / root + leverage * mean if rule.forecasts else solved[k] / root
        heads[PREDICTION, k] = 0.0 if is_new else p - mean
        heads[CLIPPED, k] = heads[PREDICTION, k]
    if HAS_TARGET_UNIT:
        read_targets(heads, target, rule.intercept, rule.clip, clock, before, c, losses.size, losses.size, False)
    elif rule.clip != FREE:
        clip_alone(heads, target, rule.intercept, rule.clip, before, losses.size)
    for k in range(losses.size):
        y = heads[TARGET, k]
        heads[PLAYED, k] = held(heads, CLIPPED, k, k)
        value = loss_of(heads, PLAYED, loss, heads[UNIT, k], 1.0, k, losses.size)
        losses[k] = total_loss(losses[k], value, c)
        for i in range(v.size):
            table[f.weight + k, i] += root * y * v[i]
        if not FADES_ON_THE_WAY:
            residual[k] = min(length(residual[k], rest * (root * y - solved[k])), LARGEST)
    make_absolute(heads, target, rule, before, losses.size)
    return finite(heads, PLAYED, losses.size)


@fast
def potential(table, f, rule, clock, Gamma, k):
    """Like `State.potential`, for a head."""
    q = table[f.weight + k]
    power = (dot(q, q) - Gamma[k]) / (2.0 * rule.alpha * clock[LARGEST_WEIGHT])
    return np.exp(min(power, LARGEST_POWER)) / rule.alpha


@fast
def average(table, f, rule, clock, Gamma, c, v, k):
    """Like `numpy_rows.average`, for a head."""
    share, inner = c / clock[T] * (2.0 - c / clock[T]), 0.0
    factor = potential(table, f, rule, clock, Gamma, k)
    for i in range(v.size):
        inner += factor * table[f.weight + k, i] * v[i]
    for i in range(v.size):
        past = table[f.past + k, i] + inner * v[i]
        table[f.past + k, i] = (1.0 - share) * past + share * factor * table[f.weight + k, i]


@slow
def fade(table, f, clock, target, factor, n_heads, passed):
    """Like `rule.fade`."""
    root = np.sqrt(passed)
    for i in range(factor.shape[0]):
        largest = 0.0
        for j in range(factor.shape[1]):
            factor[i, j] *= root
            largest = max(largest, abs(factor[i, j]))
        faint = largest < FAINT
        for j in range(factor.shape[1]):
            factor[i, j] = 0.0 if faint else factor[i, j]
        for k in range(n_heads):
            table[f.weight + k, i] = 0.0 if faint else table[f.weight + k, i] * root
    clock[T] *= passed
    fade_targets(target, passed, clock[T])


@entry
def learn_dense(
    X, y, codes, weights, order, room, room_of_row, table, f, rule, heads, clock, loss, losses, target,
    largest_gradient, factor, Gamma, residual, played,
):  # fmt: skip
    """Learn the rows in order; return whether all numbers stayed in range."""
    n, n_heads = table.shape[1], losses.size
    bias = n - 1 if rule.intercept else -1
    rows, noise, x, cos, sin = room
    kept, share, v, averaged = room_of_row
    keep = played.shape[0] > 0
    ready, done = np.int64(0), np.int64(0)  # rows that are prepared, and those of them that are learnt
    most, step = TOGETHER, np.int64(0)  # rows that may go together; rows learnt in all
    while step < (order.size if order.size > 0 else X.shape[0]):
        if done == ready:
            ready, done = prepare(X, weights, order, step, table, f, factor, bias, rows, noise), np.int64(0)
            if ready == 0:
                return False
        count = 1 if FADES_ON_THE_WAY else min(most, ready - done)
        if FADES_ON_THE_WAY:  # predicted before rotations, which leave out what may be rounding
            for k in range(n_heads):
                solve(table, f, factor, k, share)
                averaged[k] = in_range(dot(rows[done], share))
        count, compared, is_new = rotate_in(table, f, factor, kept, rows, noise, done, count, x, cos, sin, share)
        done += count
        most = 1 if compared else min(2 * most, TOGETHER)  # after one that is compared, the next ones may have to be
        for b in range(count):
            row = order[step] if order.size > 0 else step
            c = weights[row] if weights.size > 0 else 1.0
            new = is_new and b == count - 1
            read_row(y, codes, row, heads, n_heads)
            rest = turn(table, f, cos, sin, b, v, averaged, new)
            before = clock[T]
            clock[T] += c
            clock[LARGEST_WEIGHT] = max(clock[LARGEST_WEIGHT], c)
            if UPDATE == LEAST_SQUARES:
                if not regress(
                    table, heads, f, rule, clock, before, c, loss, losses, target, v, averaged, new, residual, rest
                ):
                    return False
            else:
                root, leverage = np.sqrt(c), dot(v, v)
                for k in range(n_heads):
                    inner = dot(table[f.weight + k], v) * potential(table, f, rule, clock, Gamma, k)
                    heads[PREDICTION, k] = 0.0 if new else inner / root
                    heads[CLIPPED, k] = in_range(averaged[k] / root) if rule.averaged else heads[PREDICTION, k]
                if not suffer_bounded(heads, rule, loss, clock, before, c, target, losses, largest_gradient):
                    return False
                for k in range(n_heads):
                    g = heads[GRADIENT, k]
                    for i in range(n):
                        table[f.weight + k, i] -= root * g * v[i]
                    Gamma[k] += c * g * g * leverage
                    average(table, f, rule, clock, Gamma, c, v, k)
            if keep:
                for j in range(n_heads):
                    played[step, j] = heads[PLAYED, j]
            if FADES_ON_THE_WAY:
                passed = factor_due(clock, AGE, rule.fades, c)
                if passed != 1.0:
                    fade(table, f, clock, target, factor, n_heads, passed)
            step += 1
    for field in range(table.shape[0]):  # noqa: SIM110 (a generator does not compile)
        if not finite(table, field, n):
            return False
    return True


Fields = layout_of(__name__, Rule, ())


class CompiledRule(NamedTuple):
    """`Rule`, with the bound of the loss, negative if that is the largest derivative so far."""

    alpha: float
    intercept: bool
    averaged: bool
    clip: int
    bound: float
    bound_scaled: bool
    fades: float  # number of fadings for a weight of 1
    forecasts: bool


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """Like `numpy_rows.learn_rows`."""
    state.columns.arrange("C")
    clock = np.array([state.t, 0.0, state.largest_weight, state.age, state.faded])
    heads = new_heads(state)
    n = state.columns.lift.size
    model = (
        tuple(np.empty((5, TOGETHER, distance_of(n)))),
        (np.empty((n, n)), np.empty(n), np.empty(n), np.empty(state.loss.size)),
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
        state.residual,
    )
    # The factor is processed by whole vectors, and a call is not to end before a block of rows does.
    row_cost = min(n + n * n // (2 * WIDTH), AT_ONCE // int(TOGETHER))
    dense = for_rule(learn_dense, compiled_constants(state.rule, type(loss)))
    ok = run(None, dense, X, y, sample_weight, order, model, predictions, row_cost=row_cost)
    state.t, _, state.largest_weight, state.age, state.faded = clock.tolist()
    if not (ok and np.isfinite(clock).all()):
        raise Diverged


def compiled_constants(rule, loss):
    """Constants of a rule and a class of losses."""
    update = LEAST_SQUARES if rule.update == "least_squares" else POTENTIAL
    return constants_of(
        update=update,
        fades_on_the_way=rule.forgets,
        has_target_unit=rule.target_unit,
        **loss_constants(loss),
    )


def compiled_rule(rule, loss):
    """`CompiledRule` of a rule and the bound of a loss."""
    clip, fades = compiled_clip(rule), fades_per_weight(rule)
    return CompiledRule(rule.alpha, rule.intercept, rule.averaged, clip, *compiled_bound(loss), fades, rule.forecasts)
