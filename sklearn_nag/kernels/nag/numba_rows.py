"""The rules of `numpy_rows` as compiled loops.

Held equal to `numpy_rows` by test, to rounding; scales and ``t`` bit for bit.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from ..compiled.arithmetic import inverse_sqrt, inverse_sqrt_of_any
from ..compiled.columns import (
    T,
    add_deviations,
    add_squares,
    all_finite,
    all_frequent,
    centre,
    centre_frequent,
    count_and_switch,
    fill_inverse_sizes,
    finite,
    follow,
    gather,
    inverse_size,
    is_unusual,
    lift_of,
    padded,
    raise_lifts,
    read_entries,
    scatter,
    update_maxima,
)
from ..compiled.handover import constant, entries_of_row, in_own_lines, put_back, run, table_layout, workspace
from ..compiled.heads import CLIPPED, GRADIENT, PLAYED, PREDICTION, RESCALING, TARGET, UNIT, new_heads
from ..compiled.jit import entry, fast, slow, strict
from ..compiled.losses import CODES, SOFTMAX, compiled_loss, importance_aware_move, loss_and_gradient, margins
from ..compiled.mixture import mix
from ..compiled.projections import compiled_constraint, project
from ..compiled.targets import clip_alone, compiled_clip, make_absolute, read_row, read_targets
from ..state.lifts import HIGHEST, LARGEST, TINY
from ..state.model import Diverged
from . import numpy_rows
from .rule import STEEPEST

NONE, MAX, RMS, AUTO = range(4)
N, SHRINKAGE, AVERAGED = range(1, 4)  # entries of ``clock`` after ``T``
SCRATCH = ("x", "z", "inverse", "direction")  # rows below the fields of a table
FOR_CONSTRAINTS = ("start", "own")  # further ones


@fast
def scale_but_for_time(table, f, rule, i, t):
    """As `Columns.scale_but_for_time`, of one column."""
    if rule.norm == MAX:
        return table[f.deviation, i] if rule.centred else table[f.largest, i] * table[f.lift, i]
    if rule.norm == RMS:
        return np.sqrt(table[f.squares, i])
    if rule.norm == AUTO:
        rows = t if table[f.frequent, i] > 0.0 else table[f.tally, i]
        root = np.sqrt(rows)
        return np.sqrt(table[f.squares, i] / (root * np.sqrt(root))) if rows > 0.0 else 0.0
    return table[f.lift, i]


@fast
def time_factor(rule, t):
    """As `LinearRule.time_factor`."""
    if rule.norm == RMS:
        return np.sqrt(t)
    return np.sqrt(np.sqrt(np.sqrt(t))) if rule.norm == AUTO else 1.0


@slow
def shrink(table, f, rule, eta, gradient_lift, clock, heads, n, bias):
    """As `rule.settle`, by L2 alone: by the scales and units that held before the row at hand."""
    for i in range(n):
        rest = scale_but_for_time(table, f, rule, i, clock[T])
        due = clock[SHRINKAGE] - table[f.shrunk, i]
        table[f.shrunk, i] = clock[SHRINKAGE]
        if due == 0.0 or i == bias:
            continue
        for k in range(eta.size):
            w = table[f.weight + k, i]
            if w == 0.0:
                continue
            rate = eta[k] * due
            if rule.adaptive:
                inverse = gradient_lift[k // rule.sharing] * rest / np.sqrt(table[f.G + k // rule.sharing, i])
                if rule.degree == 2:
                    inverse = inverse * heads[UNIT, k] if heads[UNIT, k] > 0.0 else 0.0
                rate *= min(inverse, STEEPEST)
            new = w * np.exp(-rule.l2 * rate)
            table[f.weight + k, i] = new
            if rule.averaged:
                table[f.past + k, i] += clock[AVERAGED] * (new - w)


@slow
def shrink_by_l1(table, f, rule, eta, gradient_lift, clock, heads, n, bias):
    """As `rule.settle`, with an L1 penalty; of the columns that the row ``x`` names, where others can wait."""
    t = clock[T]
    if t == 0.0:
        return
    root = 1.0 / time_factor(rule, t)
    of_row = t**-rule.power_t if rule.power_t > 0 else 1.0
    if rule.norm != NONE:
        per_row = t / clock[N] if clock[N] > 0 else t
        of_row *= np.sqrt(per_row) if rule.adaptive else per_row
    if rule.adaptive:
        of_row *= root
    for i in range(n):
        if rule.lazy and table[f.x, i] == 0.0 and not (rule.selective and table[f.frequent, i] > 0.0):
            continue
        rest = scale_but_for_time(table, f, rule, i, clock[T])
        elapsed = 0.0
        if rule.l2 > 0:
            elapsed = t - table[f.shrunk, i]
            table[f.shrunk, i] = t
        if i == bias:
            continue
        for k in range(eta.size):
            w, a = table[f.weight + k, i], table[f.received + k, i]
            if w == 0.0 and a == 0.0:
                continue
            rate = eta[k] * of_row
            if rule.adaptive:
                inverse = gradient_lift[k // rule.sharing] * rest / np.sqrt(table[f.G + k // rule.sharing, i])
                if rule.degree == 2:
                    inverse = inverse * heads[UNIT, k] if heads[UNIT, k] > 0.0 else 0.0
                rate *= min(inverse, STEEPEST)
            rate = min(rate, LARGEST)
            pull = rule.l1 * rate * heads[UNIT, k]
            if not rule.adaptive:
                pull *= rest * root
            pull = min(pull, LARGEST)
            new = max(w - pull * (t - a), 0.0) + min(w + pull * (t + a), 0.0)
            if new > 0.0:
                a = t
            elif new < 0.0:
                a = -t
            elif w != 0.0:
                a = min(max(a + w / pull, -t), t)
            if rule.l2 > 0:
                new /= 1.0 + min(rule.l2 * rate * elapsed, LARGEST)
            table[f.weight + k, i], table[f.received + k, i] = new, a
            if rule.averaged:
                table[f.past + k, i] += clock[AVERAGED] * (new - w)


@fast
def normalise(table, f, rule, clock, before, c, bias, some_rare, n):
    """Leave in ``x`` what gradients are made of, in ``z`` what weights are multiplied by; return the factor of eta.

    ``inverse`` holds ``1 / s'``. The caller has filled it for "max" without centring; otherwise it is filled here. For
    "auto", ``some_rare`` tells that not all columns are frequent; without rare ones it is "rms".
    """
    clock[T] += c
    squared = 0.0
    if rule.centred and some_rare:
        centre_frequent(table, f, clock, before, c, n, bias)
    elif rule.centred:
        centre(table, f, clock, before, c, n, bias)
    if some_rare:
        if not rule.centred:
            add_squares(table, f, n, c)
        fill_inverse_sizes(table, f, clock[T], n)
        for i in range(n):
            z = table[f.x, i] * table[f.inverse, i]
            table[f.z, i] = z
            squared += z * z
    elif rule.norm == RMS or rule.norm == AUTO:
        root = np.sqrt(clock[T])
        if rule.centred:
            add_deviations(table, f, n, c, before / clock[T])
            if bias >= 0:
                table[f.squares, bias] = clock[T]
        else:
            add_squares(table, f, n, c)
        for i in range(n):
            squares = table[f.squares, i]
            inverse = root * inverse_sqrt_of_any(squares) if squares > 0 else 1.0
            z = table[f.x, i] * inverse
            table[f.inverse, i] = inverse
            table[f.z, i] = z
            squared += z * z
    elif rule.norm == MAX and rule.centred:
        for i in range(n):
            x = table[f.x, i]
            size = max(table[f.deviation, i], abs(x))
            inverse = 1.0 / size if size > 0 else 1.0
            z = x * inverse
            table[f.deviation, i] = size
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
    elif rule.centred:
        for i in range(n):
            table[f.z, i] = table[f.x, i] / table[f.lift, i]
    else:
        for i in range(n):
            x = table[f.x, i]
            table[f.z, i] = x
            table[f.x, i] = x * table[f.lift, i]
    rate = clock[T] ** -rule.power_t if rule.power_t > 0 else 1.0
    rest = time_factor(rule, clock[T])
    if rule.norm != NONE:
        clock[N] += c * squared
        per_row = clock[T] / clock[N] if clock[N] > 0 else clock[T]
        rate *= rule.radius if rule.radius > 0.0 else np.sqrt(per_row) if rule.adaptive else per_row
    clock[SHRINKAGE] += c * rate / rest if rule.adaptive else c * rate
    if clock[T] >= rule.average_from:
        clock[AVERAGED] += c * clock[T]
    if not rule.adaptive and rule.norm != NONE:
        for i in range(n):
            table[f.z, i] *= table[f.inverse, i]
    return rate


@fast
def play(table, heads, f, rule, loss, clock, target, losses, mixture, c, bias, some_rare, n_heads, n):
    """Normalise the row, predict for each head and each target, suffer the losses.

    Derivatives are left in the row ``GRADIENT``. Returns the factor of eta, and whether predictions are finite.
    """
    n_targets, n_played, before = rule.n_targets, losses.size, clock[T]
    rate = normalise(table, f, rule, clock, before, c, bias, some_rare, n)
    for k in range(n_heads):
        value = 0.0
        for i in range(n):
            value += table[f.weight + k, i] * table[f.z, i]
        if not abs(value) <= LARGEST:
            return rate, False
        heads[PREDICTION, k] = value
        heads[CLIPPED, k] = value
    if target is not None:
        if rule.target_unit:
            read_targets(heads, target, rule.intercept, rule.clip, clock, before, c, n_heads)
        else:
            clip_alone(heads, target, rule.intercept, rule.clip, before, n_heads)
    row = CLIPPED
    if mixture is not None:
        mix(heads, loss, c, mixture, n_heads, n_targets)
        row = PLAYED
    for j in range(n_played):
        heads[PLAYED, j] = heads[CLIPPED, j] = heads[row, j]
    if loss.code == SOFTMAX:
        for k in range(0, n_heads, n_targets):
            margins(heads, PREDICTION, k, k + n_targets)
        if mixture is not None:
            for k in range(0, n_played, n_targets):  # once; with a literal 0 Numba would compile `margins` again
                margins(heads, CLIPPED, k, k + n_targets)
    for k in range(n_heads):
        y = heads[TARGET, k % n_targets]
        parameter = loss.parameter * heads[UNIT, k] if loss.scaled else loss.parameter
        value, heads[GRADIENT, k] = loss_and_gradient(loss.code, parameter, heads[PREDICTION, k], y)
        if k < n_played:
            if target is not None or mixture is not None:
                value, _ = loss_and_gradient(loss.code, parameter, heads[CLIPPED, k], y)
            losses[k] = min(losses[k] + min(value * c, LARGEST), LARGEST)
    if target is not None:
        make_absolute(heads, target, rule, before, n_played)
    return rate, finite(heads, PLAYED, n_played)


@fast
def descend(table, heads, f, rule, eta, gradient_lift, clock, loss, c, rate, n_targets, n):
    """One step of each head; see `numpy_rows`."""
    importance_aware, sharing = rule.importance_aware, rule.sharing
    weighted = np.sqrt(c) if importance_aware else c
    averaged = clock[AVERAGED] if rule.averaged else 0.0
    for r in range(gradient_lift.size):
        own, first = f.G + r, r * sharing
        gradient_size = shared_gradient(heads, r, sharing)
        if gradient_size == 0.0:
            continue
        lift = gradient_lift[r] if rule.adaptive else 1.0
        slope = lifted(gradient_size, weighted, lift)
        if rule.adaptive and not importance_aware and not rule.averaged and sharing == 1:
            step = rate * eta[r] * heads[UNIT, r]
            for i in range(n):
                gradient = slope * table[f.x, i]
                G = table[own, i] + gradient * gradient
                table[own, i] = G
                table[f.weight + r, i] -= step * gradient * inverse_sqrt(G)
            continue
        gain = 0.0
        if rule.adaptive:
            for i in range(n):
                x = table[f.x, i]
                gradient = slope * x
                G = table[own, i] + gradient * gradient
                direction = x * inverse_sqrt(G) if G > TINY else 0.0
                table[own, i] = G
                table[f.direction, i] = direction
                gain += direction * table[f.z, i]
        else:
            for i in range(n):
                direction = table[f.x, i]
                table[f.direction, i] = direction
                gain += direction * table[f.z, i]
        for k in range(first, first + sharing):
            g, unit = heads[GRADIENT, k], heads[UNIT, k]
            step = rate * eta[k] * (unit if rule.adaptive or rule.degree == 1 else 1.0)
            if importance_aware:
                if g == 0.0 or gain == 0.0:
                    continue
                parameter = loss.parameter * unit if loss.scaled else loss.parameter
                p, y = heads[PREDICTION, k], heads[TARGET, k % n_targets]
                far = importance_aware_move(loss.code, parameter, p, y, reach(step, lift, gain, c))
                factor = over(far, gain)
            else:
                factor = -step * lifted(g, weighted, lift)
            add_step(table, f.weight + k, f.past + k, f.direction, factor, averaged, n)


# In the order in which they are written: products of other pairs may leave the range, and so may ``1 / gain``.
@strict
def lifted(g, weighted, lift):
    """The gradient of a row of some weight, lifted."""
    return g * weighted * lift


@strict
def reach(step, lift, gain, c):
    """How far a step of a head would move its prediction at the slope of the moment, were that 1."""
    return step * lift * gain * c


@strict
def over(far, gain):
    """What the direction is to be multiplied by, to move the prediction so far."""
    return far / gain


@strict
def add_step(table, weight, past, direction, factor, averaged, n):
    """Add a step to the weights of a head and, unless ``averaged`` is 0, to ``past``."""
    if averaged == 0.0:
        for i in range(n):
            table[weight, i] += factor * table[direction, i]
        return
    for i in range(n):
        move = factor * table[direction, i]
        table[weight, i] += move
        table[past, i] += averaged * move


@strict
def shared_gradient(heads, r, sharing):
    """Derivative of a head with a ``G`` of its own, or root mean square of those of the heads that share one."""
    if sharing == 1:
        return heads[GRADIENT, r]
    most, total = 0.0, 0.0
    for k in range(r * sharing, (r + 1) * sharing):
        most = max(most, abs(heads[GRADIENT, k]))
    if most == 0.0:
        return 0.0
    for k in range(r * sharing, (r + 1) * sharing):
        total += (heads[GRADIENT, k] / most) ** 2
    return most * np.sqrt(total / sharing)


@slow
def constrain(table, heads, f, rule, constraint, clock, n_heads, n):
    """As `rule.constrain`, for the heads that made a step; scratch rows but ``inverse`` are overwritten."""
    code, radius = constraint
    root = time_factor(rule, clock[T])
    squashed = not rule.adaptive and rule.norm != NONE
    for k in range(n_heads):
        if heads[GRADIENT, k] == 0.0:
            continue
        weight = f.weight + k
        for i in range(n):
            size = scale_but_for_time(table, f, rule, i, clock[T]) / root
            size = size if size > 0.0 else 1.0
            table[f.x, i] = np.sqrt(table[f.G + k // rule.sharing, i]) / size if rule.adaptive else 1.0
            table[f.start, i] = table[weight, i]
            table[f.own, i] = size if squashed else 1.0
            table[weight, i] /= table[f.own, i]
        project(table, weight, f.x, f.z, f.direction, n, code, radius * heads[UNIT, k])
        for i in range(n):
            table[weight, i] *= table[f.own, i]
            if rule.averaged:
                table[f.past + k, i] += clock[AVERAGED] * (table[weight, i] - table[f.start, i])


@fast
def new_gradient_lifts(gradient_lift, heads, rule, c):
    """Adapt the lifts of gradients; leave in ``RESCALING`` the factors of ``G``, and tell whether any lift changed."""
    changed, factor, sharing = False, np.sqrt(c) if rule.importance_aware else c, rule.sharing
    for r in range(gradient_lift.size):
        heads[RESCALING, r] = 1.0
        weighted_gradient = abs(shared_gradient(heads, r, sharing) * factor)
        if weighted_gradient * gradient_lift[r] >= HIGHEST:
            new = min(gradient_lift[r], lift_of(weighted_gradient))
            heads[RESCALING, r] = (new / gradient_lift[r]) ** 2
            changed = changed or new != gradient_lift[r]
            gradient_lift[r] = new
    return changed


@slow
def rescale_G(table, heads, f, n_rates, n):
    """As `Columns.rescale_G`."""
    for r in range(n_rates):
        for i in range(n):
            table[f.G + r, i] = max(table[f.G + r, i] * heads[RESCALING, r], TINY)


@entry
def learn_dense(
    X, y, codes, weights, order, table, f, powers, rule, eta, heads, gradient_lift, clock, loss, losses, target,
    mixture, constraint, played,
):  # fmt: skip
    """Learn the rows in order; return whether all numbers stayed in range.

    ``target``, ``mixture`` and ``constraint`` are None for models that neither learn the unit of targets nor clip
    predictions, mix no experts, or have no constraint, so that what is for these alone is not compiled.
    """
    d, n_targets = X.shape[1], rule.n_targets
    width = d + rule.intercept
    n = padded(width)
    bias = width - 1 if rule.intercept else -1
    keep = played.shape[0] > 0
    keeps_inverse = rule.norm == MAX and not rule.centred  # for the other rules each row fills ``inverse`` anew
    if keeps_inverse:
        for i in range(n):
            table[f.inverse, i] = inverse_size(table[f.largest, i], table[f.lift, i])
    some_rare = rule.norm == AUTO and not all_frequent(table, f, width)
    for step in range(order.size if order.size > 0 else X.shape[0]):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        read_row(y, codes, row, heads, n_targets)
        grew = 0
        for i in range(d):
            value = X[row, i]
            table[f.x, i] = value
            grew |= abs(value) > table[f.largest, i]
        if bias >= 0:
            table[f.x, bias] = 1.0
            grew |= table[f.largest, bias] < 1.0
        if rule.l1 > 0:
            shrink_by_l1(table, f, rule, eta, gradient_lift, clock, heads, width, bias)
        elif rule.l2 > 0:
            shrink(table, f, rule, eta, gradient_lift, clock, heads, width, bias)
        unusual = rule.norm == AUTO and is_unusual(table, f, width)
        if unusual and count_and_switch(
            table, f, rule.centred, rule.weight_power, eta.size, clock[T], c, width, n, bias
        ):
            some_rare = not all_frequent(table, f, width)
        if grew and update_maxima(table, f, n, keeps_inverse) and rule.lifted:
            raise_lifts(table, f, powers, gradient_lift.size, width)
        rate, ok = play(table, heads, f, rule, loss, clock, target, losses, mixture, c, bias, some_rare, eta.size, n)
        if not ok:
            return False
        if keep:
            for j in range(losses.size):
                played[step, j] = heads[PLAYED, j]
        if rule.adaptive and new_gradient_lifts(gradient_lift, heads, rule, c):
            rescale_G(table, heads, f, gradient_lift.size, n)
        descend(table, heads, f, rule, eta, gradient_lift, clock, loss, c, rate, n_targets, n)
        if constraint is not None:
            constrain(table, heads, f, rule, constraint, clock, eta.size, width - rule.intercept)
    return all_finite(table, f.lift, f.x, n)


@entry
def learn_sparse(
    data, indices, indptr, y, codes, weights, order, columns, subset, index, places, followed, f, powers, rule, eta,
    heads, gradient_lift, clock, loss, losses, target, mixture, constraint, played,
):  # fmt: skip
    """As `learn_dense`, for CSR rows; ``columns`` is the transposed table, with all of a column side by side.

    ``subset`` has room for the columns of a row, ``index`` for their places. Besides the flag it returns ``G``,
    transposed, as it was before all of it was rescaled; an array without entries if it was not.
    """
    G_before = np.empty((0, 0))
    fields, n_targets = columns.shape[1], rule.n_targets
    keep = played.shape[0] > 0
    for step in range(order.size if order.size > 0 else indptr.size - 1):
        row = order[step] if order.size > 0 else step
        c = weights[row] if weights.size > 0 else 1.0
        seldom = clock[T] == 0.0  # whether fields change that few rows change
        read_row(y, codes, row, heads, n_targets)
        start, stop = indptr[row], indptr[row + 1]
        width = read_entries(subset, f, index, places, data, indices, start, stop, columns, followed, rule.intercept)
        bias = width - 1 if rule.intercept else -1
        n = padded(width)
        gather(subset, f, columns, index, width, n)
        if rule.l1 > 0:
            shrink_by_l1(subset, f, rule, eta, gradient_lift, clock, heads, width, bias)
        elif rule.l2 > 0:
            shrink(subset, f, rule, eta, gradient_lift, clock, heads, width, bias)
        if rule.norm == AUTO and count_and_switch(
            subset, f, rule.centred, rule.weight_power, eta.size, clock[T], c, width, n, bias
        ):
            follow(subset, f, index, width, columns, followed)
            seldom = True
        if update_maxima(subset, f, n, rule.norm == MAX) and rule.lifted:
            seldom = True
            raise_lifts(subset, f, powers, gradient_lift.size, width)
        some_rare = rule.norm == AUTO
        rate, ok = play(subset, heads, f, rule, loss, clock, target, losses, mixture, c, bias, some_rare, eta.size, n)
        if not ok:
            return False, G_before
        if keep:
            for j in range(losses.size):
                played[step, j] = heads[PLAYED, j]
        if rule.adaptive and new_gradient_lifts(gradient_lift, heads, rule, c):
            if G_before.size == 0:
                G_before = columns[:, f.G : f.G + gradient_lift.size].copy()
            for r in range(gradient_lift.size):
                for i in range(columns.shape[0]):
                    columns[i, f.G + r] = max(columns[i, f.G + r] * heads[RESCALING, r], TINY)
            rescale_G(subset, heads, f, gradient_lift.size, n)
        descend(subset, heads, f, rule, eta, gradient_lift, clock, loss, c, rate, n_targets, n)
        if not all_finite(subset, f.squares if f.squares > 0 else f.weight, fields, n):
            return False, G_before
        scatter(subset, columns, index, width, f.lift if seldom else f.largest, fields)
    return True, G_before


class Fields(NamedTuple):
    """First row of each field in the table; 0 for those that are absent."""

    largest: int = 0
    lift: int = 0
    shrunk: int = 0
    squares: int = 0
    tally: int = 0
    frequent: int = 0
    origin: int = 0
    sum: int = 0
    deviation: int = 0
    weight: int = 0
    G: int = 0
    past: int = 0
    received: int = 0
    x: int = 0
    z: int = 0
    inverse: int = 0
    direction: int = 0
    start: int = 0
    own: int = 0


class CompiledRule(NamedTuple):
    """`Rule` as numbers: no None, no strings, and nothing of single heads."""

    norm: int
    adaptive: bool
    intercept: bool
    lifted: bool
    lazy: bool
    averaged: bool
    power_t: float
    l1: float
    l2: float
    average_from: float
    centred: bool
    selective: bool
    weight_power: int
    importance_aware: bool
    n_targets: int
    sharing: int
    degree: int
    target_unit: bool
    clip: int
    radius: float


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """As `numpy_rows.learn_rows`."""
    if order is not None and len(order) == 0:  # below, an empty order stands for all rows
        return None
    if loss.name not in CODES:
        return numpy_rows.learn_rows(state, loss, X, y, sample_weight, order, predictions)
    rule = state.rule
    by_row = not isinstance(X, np.ndarray) and rule.lazy
    state.columns.arrange("F" if by_row else "C")
    tables = workspace(state, len(scratch_rows(rule)), X.indptr if by_row else None)
    clock = in_own_lines(np.array([state.t, state.N, state.shrinkage, state.averaged]))
    needs_targets = rule.target_unit or rule.clip is not None
    losses, target = in_own_lines(state.loss), in_own_lines(state.targets.table) if needs_targets else None
    heads = in_own_lines(new_heads(state))
    model = (
        *tables,
        *compiled_rule(rule, loss.move is not None, state.columns.shared, state.columns.per_head),
        heads,
        state.gradient_lift,
        clock,
        compiled_loss(loss),
        losses,
        target,
        (state.mixture.excess, state.mixture.gap) if rule.n_played < rule.n_heads else None,
        compiled_constraint(rule.constraint),
    )

    def learn_some_sparse(*args):
        ok, G_before = learn_sparse(*args)
        if G_before.size and state.G_before is None:
            state.G_before = G_before.T
        return ok

    sparse, row_cost = learn_some_sparse if by_row else None, entries_of_row(X) * rule.n_heads
    ok = run(sparse, learn_dense, X, y, sample_weight, order, model, predictions, row_cost=row_cost)
    if ok:
        put_back(state, tables)
    state.loss[:] = losses
    if target is not None:
        state.targets.table[:] = target
    state.t, state.N, state.shrinkage, state.averaged = clock.tolist()
    if not (ok and np.isfinite(clock).all()):
        raise Diverged


def scratch_rows(rule):
    """Names of the rows below the fields of a table."""
    return SCRATCH if rule.constraint is None else SCRATCH + FOR_CONSTRAINTS


@functools.lru_cache
def compiled_rule(rule, has_move, shared, per_head):
    """What compiled code takes for a rule, with a loss that has an importance-aware move or has none.

    That is what `table_layout` returns, `CompiledRule`, and the learning rates.
    """
    values = {name: getattr(rule, name) for name in CompiledRule._fields[1:]}
    values["clip"] = compiled_clip(rule)
    values["importance_aware"] = rule.importance_aware and has_move
    norm = (None, "max", "rms", "auto").index(rule.normalization)
    layout = table_layout(Fields, scratch_rows(rule), rule, shared, per_head)
    return *layout, CompiledRule(norm=norm, **values), constant(rule.eta)
