"""`numpy_rows` as compiled loops; tests check that both agree to rounding, scales and ``t`` bit for bit."""

import functools
import math
import operator
from typing import NamedTuple
from weakref import ref

import numpy as np

from ..._beside import Beside
from ..compiled.arithmetic import inverse_sqrt
from ..compiled.columns import (
    fill_roots,
    inverse_scale,
    relative,
    relative_of_rare,
    roots_of,
    times_of,
)
from ..compiled.constants import (
    AUTO,
    COUNTS_ENTRIES,
    FADES_ON_THE_WAY,
    HAS_BOUNDS,
    HAS_CONSTRAINT,
    HAS_L1,
    HAS_L2,
    HAS_ONE_HEAD,
    HAS_RARE,
    HAS_TARGET_UNIT,
    HAS_TARGETS,
    HOLDS_SCALES,
    IS_ADAPTIVE,
    IS_AVERAGED,
    IS_CENTRED,
    IS_COUPLED,
    IS_DAMPED,
    IS_IMPORTANCE_AWARE,
    IS_LAZY,
    IS_SELECTIVE,
    MAX,
    NONE,
    NORM,
    OF_RATE,
    RMS,
    SHARES_G,
    column_constants,
    constants_of,
)
from ..compiled.driver import bind
from ..compiled.fading import LEAST, Fading, factor_due, fade_table, fading_by
from ..compiled.handover import (
    PENDING,
    Preparation,
    T,
    columns_of,
    constant,
    entries_of_row,
    has_rare,
    in_own_lines,
    layout_of,
    plain,
    put_back,
    run,
    table_layout,
    workspace,
)
from ..compiled.heads import (
    AVERAGE,
    FACTOR,
    GRADIENT,
    IS_PREDICTED,
    LATEST,
    LOWEST,
    PREDICTION,
    UNIT,
    compared,
    new_heads,
)
from ..compiled.jit import fast, for_rule, slow, strict, strict_slow
from ..compiled.losses import (
    CompiledLoss,
    compiled_loss,
    fill_losses,
    fill_moves_of_classes,
    importance_aware_move,
    loss_constants,
)
from ..compiled.projections import compiled_constraint, project
from ..compiled.targets import clip_alone, compiled_clip, fade_targets, read_rates, read_targets
from ..compiled.vectors import WIDTH, eight, load, maximum, minimum, store, total, where
from ..state.columns import PLAIN, rows_of_fields, smallest_unit
from ..state.fading import fades_per_weight
from ..state.lifts import HIGHEST, LARGEST, LARGEST_LIFT, TINY
from ..state.model import Diverged
from .forgetting import HELD, OF_AVERAGE, OF_SQUARES, fading_powers, lasting
from .numba_played import Player, at_once, has_one_head, note, sizes_of
from .numpy_rows import raise_gradient_lift, root_mean_square
from .rule import DAMPING, MOST_DAMPED, STEEPEST, Rule

# Further entries of ``clock``. `factor_due` reads ``FADED``, and `Columns.units` come after it. The last are of a row:
# ``T`` and ``AVERAGED`` before it, 1 over the latter, ``AVERAGED`` when it moves the weights, and the factor of eta.
N, SHRINKAGE, AVERAGED, AGE, FADED, OF_SUMS, OF_WEIGHTS, OF_PAST, IN_PAST = range(2, 11)
UNITS = slice(OF_SUMS, OF_SUMS + len(PLAIN))
BEFORE, AVERAGED_BEFORE, INVERSE, AVERAGED_AFTER, RATE = range(UNITS.stop, UNITS.stop + 5)
SCRATCH = ("x", "z", "inverse", "direction")  # rows below the fields of a table
LEAST_GAIN = 1e-280  # between this and its inverse, a gain may be inverted
SMALL = 2**16  # numbers of a table up to which a `Bench` is kept from call to call
FOR_CONSTRAINTS, FOR_BOUNDS = ("start", "own"), ("least", "most")  # further rows


@fast
def scale_but_for_time(table, f, i, t):
    """Scale of a column without its time factor; see `Columns.scale_but_for_time`."""
    if NORM == MAX:
        return table[f.deviation, i] if IS_CENTRED else table[f.largest, i] * table[f.lift, i]
    if NORM == RMS:
        return np.sqrt(table[f.squares, i])
    if NORM == AUTO:
        rows = t if table[f.frequent, i] > 0.0 else table[f.tally, i]
        root = np.sqrt(rows)
        return np.sqrt(table[f.squares, i] / (root * np.sqrt(root))) if rows > 0.0 else 0.0
    return table[f.lift, i]


@fast
def time_factor(t):
    """What the scale of a column falls by while it is not named; see `LinearRule.time_factor`."""
    if NORM == RMS:
        return np.sqrt(t)
    return np.sqrt(np.sqrt(np.sqrt(t))) if NORM == AUTO else 1.0


@fast
def inverse_root(table, f, rule, gradient_lift, heads, k, i, rest):
    """``1 / sqrt(H)`` of a column without its time factor, as in `rule._rates`; ``rest`` is the scale without it."""
    inverse = gradient_lift[k // rule.sharing] * rest / np.sqrt(table[f.G + k // rule.sharing, i])
    if rule.degree == 2:
        inverse = inverse * heads[UNIT, k] if heads[UNIT, k] > 0.0 else 0.0
    return min(inverse, STEEPEST)


@slow
def shrink(table, f, rule, eta, gradient_lift, clock, heads, n, bias):
    """Apply the L2 penalty that is due, by scales and units before the row; see `rule.settle`."""
    for i in range(n):
        rest = scale_but_for_time(table, f, i, clock[T])
        due = clock[SHRINKAGE] - table[f.shrunk, i]
        table[f.shrunk, i] = clock[SHRINKAGE]
        if due == 0.0 or i == bias:
            continue
        for k in range(eta.size):
            w = table[f.weight + k, i]
            if w == 0.0:
                continue
            rate = eta[k] * due
            if IS_ADAPTIVE:
                rate *= inverse_root(table, f, rule, gradient_lift, heads, k, i, rest)
            new = w * np.exp(-rule.l2 * rate)
            table[f.weight + k, i] = new
            if IS_AVERAGED:
                table[f.past + k, i] += clock[AVERAGED] * (new - w)


@fast
def pace(rule, t):
    """Factor of learning rates that depends on time alone; see `rule.pace`."""
    rate = t**-rule.power_t if rule.power_t > 0 else 1.0
    return rate * rule.slowed if t > rule.slowed_from else rate


@slow
def shrink_by_l1(table, f, rule, eta, gradient_lift, clock, heads, n, bias):
    """Apply the L1 penalty that is due, only to columns that the row visits if others can wait; see `rule.settle`."""
    t = clock[T]
    if t == 0.0:
        return
    root = 1.0 / time_factor(t)
    of_row = pace(rule, t)
    if NORM != NONE:
        per_row = t / clock[N] if clock[N] > 0 else t
        of_row *= np.sqrt(per_row) if IS_ADAPTIVE else per_row
    if IS_ADAPTIVE:
        of_row *= root
    for i in range(n):
        if IS_LAZY:
            if IS_SELECTIVE:
                if table[f.x, i] == 0.0 and table[f.frequent, i] == 0.0:
                    continue
            elif table[f.x, i] == 0.0:
                continue
        rest = scale_but_for_time(table, f, i, clock[T])
        elapsed = 0.0
        if HAS_L2:
            elapsed = t - table[f.shrunk, i]
            table[f.shrunk, i] = t
        if i == bias:
            continue
        for k in range(eta.size):
            w, a = table[f.weight + k, i], table[f.received + k, i]
            if w == 0.0 and a == 0.0:
                continue
            rate = eta[k] * of_row
            if IS_ADAPTIVE:
                rate *= inverse_root(table, f, rule, gradient_lift, heads, k, i, rest)
            rate = min(rate, LARGEST)
            pull = rule.l1 * rate * heads[UNIT, k]
            if not IS_ADAPTIVE:
                pull *= rest * root
            pull = min(pull, LARGEST)
            new = max(w - pull * (t - a), 0.0) + min(w + pull * (t + a), 0.0)
            if new > 0.0:
                a = t
            elif new < 0.0:
                a = -t
            elif w != 0.0:
                a = min(max(a + w / pull, -t), t)
            if HAS_L2:
                new /= 1.0 + min(rule.l2 * rate * elapsed, LARGEST)
            table[f.weight + k, i], table[f.received + k, i] = new, a
            if IS_AVERAGED:
                table[f.past + k, i] += clock[AVERAGED] * (new - w)


@fast
def normalise(table, f, i, moved, roots, are_rare):
    """Fill ``z``, by which weights are multiplied, in eight columns; return the squares of ``x`` over its scale.

    Scales are updated, except for "max" without centring, whose ``inverse`` the caller has filled.
    """
    x, squares = moved
    if NORM == NONE:
        z = x / load(table, f.lift, i)
        store(table, f.z, i, z)
        return z * z
    if NORM == MAX and not IS_CENTRED:
        inverse = load(table, f.inverse, i)
    elif NORM == MAX:
        size = maximum(load(table, f.deviation, i), abs(x))
        store(table, f.deviation, i, size)
        inverse = where(size > 0.0, 1.0 / size, 1.0)
    else:
        inverse = inverse_scale(table, f, i, squares, roots, are_rare)
        if IS_DAMPED and HAS_RARE:
            store(table, f.inverse, i, inverse)
    z = x * inverse
    store(table, f.z, i, z if IS_ADAPTIVE else z * inverse)
    return z * z


@fast
def predicted(table, f, i, w, past, inverse, of_latest, of_past):
    """Add the contribution of eight columns to a head's prediction, and how much lower that of the average is.

    Without bounds, the latter is still to be multiplied by ``inverse``, 1 over the weight of the average. Rounding must
    not depend on where in the code a row predicts, so that no cut of a stream changes a bit.
    """
    z = load(table, f.z, i)
    if not IS_AVERAGED:
        return of_latest + w * z, of_past
    if HAS_BOUNDS:  # the average is clipped, too: its weights were clipped by other scales
        past = w - minimum(maximum(w - past * inverse, load(table, f.least, i)), load(table, f.most, i))
    return of_latest + w * z, of_past + past * z


@fast
def products(table, f, k, i, inverse, of_latest, of_past):
    """`predicted` with the weights in the table."""
    past = load(table, f.past + k, i) if IS_AVERAGED else eight(0.0)
    return predicted(table, f, i, load(table, f.weight + k, i), past, inverse, of_latest, of_past)


@strict
def totals(of_latest, of_past):
    """The two sums of `predicted`, over all columns."""
    return total(of_latest), total(of_past)


@fast
def rate_of(rule, clock, c, squared):
    """Factor of eta after a row with this sum of ``z^2``; advances the clocks."""
    rate = pace(rule, clock[T])
    if NORM != NONE:
        clock[N] += c * squared
        per_row = clock[T] / clock[N] if clock[N] > 0 else clock[T]
        rate *= rule.radius if rule.radius > 0.0 else np.sqrt(per_row) if IS_ADAPTIVE else per_row
    if HAS_L2:
        clock[SHRINKAGE] += c * rate / time_factor(clock[T]) if IS_ADAPTIVE else c * rate
    if clock[T] >= rule.average_from:
        clock[AVERAGED] += c * clock[T]
    return rate


@fast
def takes_ahead():
    """Whether a row may enter the scales before the previous row has moved the weights."""
    return not (HAS_L1 or HAS_L2 or HAS_CONSTRAINT or HAS_BOUNDS)


@fast
def steps_at_once():
    """Whether `step` leaves nothing to `move`."""
    return IS_ADAPTIVE and not IS_IMPORTANCE_AWARE and not IS_AVERAGED and not SHARES_G


@fast
def take(table, heads, f, rule, clock, c, bias, rare, n, has_moved):
    """Normalise the row, and set ``clock[RATE]``; the first head predicts at once, if it can."""
    predicts = not HAS_BOUNDS and (has_moved or steps_at_once())
    clock[BEFORE], clock[AVERAGED_BEFORE] = clock[T], clock[AVERAGED]
    clock[INVERSE] = 1.0 / clock[AVERAGED] if clock[AVERAGED] > 0.0 else 0.0
    times = times_of(clock[T], c)
    clock[T] += c
    roots = roots_of(clock[T])
    fill_roots(table, f, rare, n, roots)
    squared = of_latest = of_past = eight(0.0)
    for i in range(0, rare if HAS_RARE else n, WIDTH):
        squared += normalise(table, f, i, relative(table, f, i, times, bias), roots, False)
        if predicts:
            of_latest, of_past = products(table, f, 0, i, clock[INVERSE], of_latest, of_past)
    if HAS_RARE:
        for i in range(rare, n, WIDTH):
            squared += normalise(table, f, i, relative_of_rare(table, f, i, c), roots, True)
            if predicts:
                of_latest, of_past = products(table, f, 0, i, clock[INVERSE], of_latest, of_past)
    clock[RATE] = rate_of(rule, clock, c, total(squared))
    if predicts:
        (heads[LATEST, 0], heads[AVERAGE, 0]), heads[IS_PREDICTED, 0] = totals(of_latest, of_past), 1.0


@fast
def predict(table, heads, f, rule, model, clock, c, bias, rare, width, n):
    """Predict for each head, and fill ``GRADIENT``; return whether predictions are finite."""
    loss, (n_heads, n_targets) = model.loss, sizes_of(rule)
    before, inverse = clock[BEFORE], clock[INVERSE]
    if HAS_BOUNDS:
        fill_ends(table, f, clock, model.constraint[1], n)
        hold(table, f, clock[AVERAGED_BEFORE], n_heads, n)
    for k in range(n_heads):
        if heads[IS_PREDICTED, k] != 0.0:
            value, behind, heads[IS_PREDICTED, k] = heads[LATEST, k], heads[AVERAGE, k], 0.0
        else:
            of_latest = of_past = eight(0.0)
            for i in range(0, n, WIDTH):
                of_latest, of_past = products(table, f, k, i, inverse, of_latest, of_past)
            value, behind = totals(of_latest, of_past)
        if not HAS_BOUNDS:
            behind *= inverse
        if not (abs(value) <= LARGEST and abs(value - behind) <= LARGEST):
            return False
        heads[PREDICTION, k] = heads[LATEST, k] = value
        heads[AVERAGE, k] = behind
    if OF_RATE:
        read_rates(heads, model.target, rule.clip, clock, before, c, n_heads)
    elif HAS_TARGET_UNIT:
        read_targets(heads, model.target, rule.intercept, rule.clip, clock, before, c, n_heads, n_targets, False)
    elif HAS_TARGETS:
        clip_alone(heads, model.target, rule.intercept, rule.clip, before, n_heads)
    fill_losses(heads, loss, n_heads, n_targets)
    if OF_RATE:
        stay(heads, rule, n_heads, n_targets)
    return True


@slow
def stay(heads, rule, n_heads, n_targets):
    """Clear derivatives for targets of 0 that may move no weight while a model forgets; see `TargetRows.lowest`."""
    if rule.fades > 0.0:
        for k in range(n_heads):
            if heads[PREDICTION, k] <= heads[LOWEST, k % n_targets]:
                heads[GRADIENT, k] = 0.0


@fast
def step(table, heads, f, rule, model, clock, c, bias, width, n):
    """Make one step of each head; those by the last ``G`` are left to `move`, as factors of ``direction``."""
    eta, gradient_lift, loss = model.eta, model.gradient_lift, model.loss
    sharing, (n_heads, n_targets) = heads_at_once(rule), sizes_of(rule)
    weighted, rate = np.sqrt(c) if IS_IMPORTANCE_AWARE else c, clock[RATE]
    clock[AVERAGED_AFTER] = clock[AVERAGED] if IS_AVERAGED else 0.0
    for r in range(1 if HAS_ONE_HEAD else n_heads // sharing):
        own, first = f.G + r, r * sharing
        for k in range(first, first + sharing):
            heads[FACTOR, k] = 0.0
        gradient_size = shared_gradient(heads, r, sharing)
        if gradient_size == 0.0:
            continue
        lift = gradient_lift[r] if IS_ADAPTIVE else 1.0
        slope = lifted(gradient_size, weighted, lift)
        damping = damping_of(lift, heads[UNIT, first] if rule.degree == 2 else 1.0)
        if IS_ADAPTIVE and not IS_IMPORTANCE_AWARE and not IS_AVERAGED and not SHARES_G:
            factor = rate * eta[r] * heads[UNIT, r]
            for i in range(0, n, WIDTH):
                gradient = slope * load(table, f.x, i)
                G = load(table, own, i) + gradient * gradient
                store(table, own, i, G)
                # 0 in columns that pad a vector
                moved = factor * gradient * inverse_sqrt(maximum(damped(table, f, i, G, damping), TINY))
                store(table, f.weight + r, i, load(table, f.weight + r, i) - moved)
            continue
        gains = eight(0.0)
        for i in range(0, n, WIDTH):
            direction = load(table, f.x, i)
            if IS_ADAPTIVE:
                gradient = slope * direction
                G = load(table, own, i) + gradient * gradient
                store(table, own, i, G)
                direction = where(G > TINY, direction * inverse_sqrt(damped(table, f, i, G, damping)), 0.0)
            store(table, f.direction, i, direction)
            gains += direction * load(table, f.z, i)
        gain = total(gains)
        inverse = 1.0 / gain  # this division overlaps with the computation of the move
        at_once = n_targets if IS_IMPORTANCE_AWARE and IS_COUPLED else 1  # the classes of an expert have one rate
        for k in range(first, first + sharing, at_once):
            g, unit = heads[GRADIENT, k], heads[UNIT, k]
            factor = rate * eta[k] * (unit if IS_ADAPTIVE or rule.degree == 1 else 1.0)
            if IS_IMPORTANCE_AWARE:
                if gain == 0.0:
                    continue
                a = reach(factor, lift, gain, c)
                if IS_COUPLED:
                    fill_moves_of_classes(heads, k, n_targets, a)
                elif g != 0.0:
                    parameter = loss.parameter * unit if loss.scaled else loss.parameter
                    p, y = heads[PREDICTION, k], compared(heads, k % n_targets)
                    heads[FACTOR, k] = importance_aware_move(loss.code, parameter, p, y, g, a)
            else:
                heads[FACTOR, k] = -factor * lifted(g, weighted, lift)
        if IS_IMPORTANCE_AWARE:
            for k in range(first, first + sharing):
                far = heads[FACTOR, k]
                if far != 0.0:
                    heads[FACTOR, k] = far * inverse if LEAST_GAIN < gain < 1.0 / LEAST_GAIN else far / gain
        if not HAS_ONE_HEAD and r + 1 < n_heads // sharing:
            add_steps(table, heads, f, clock, first, first + sharing, n, False)


@fast
def heads_at_once(rule):
    """Number of adjacent heads with one direction: sharing a ``G``, or coupled without one."""
    if SHARES_G:
        return rule.sharing
    return rule.n_heads if IS_COUPLED else 1


@strict
def damping_of(lift, unit):
    """What is added to ``G`` of a rare column with a lifted scale of 1; see `rule.damping`."""
    size = min(lift * unit, MOST_DAMPED)
    return DAMPING * (size * size)


@fast
def damped(table, f, i, G, damping):
    """``G`` of eight columns, with the damping of rare ones."""
    if IS_DAMPED and HAS_RARE:
        inverse = load(table, f.inverse, i)
        size = 1.0 / where(inverse > 0.0, inverse, LARGEST)  # 0 if all rows with the column are forgotten
        return G + where(load(table, f.frequent, i) > 0.0, 0.0, damping * (size * size))
    return G


@fast
def add_steps(table, heads, f, clock, start, stop, n, predicts):
    """Add the last steps of `step` to weights of some heads; with ``predicts``, these predict the row ``z``."""
    for k in range(start, stop):
        if heads[FACTOR, k] == 0.0:
            continue
        of_latest = of_past = eight(0.0)
        for i in range(0, n, WIDTH):
            w, past = after_step(table, f, k, i, heads[FACTOR, k], clock[AVERAGED_AFTER])
            if predicts:
                of_latest, of_past = predicted(table, f, i, w, past, 0.0, of_latest, of_past)
        if predicts:
            (heads[LATEST, k], heads[AVERAGE, k]), heads[IS_PREDICTED, k] = totals(of_latest, of_past), 1.0


# Strict: products are taken in the order written, because those of other pairs may leave the range.
@strict
def lifted(g, weighted, lift):
    """Lifted gradient of a row, times its weight or the root of it."""
    return g * weighted * lift


@strict
def reach(step, lift, gain, c):
    """How far a step would move a head's prediction at a constant slope of 1."""
    return step * lift * gain * c


@strict
def after_step(table, f, k, i, factor, averaged):
    """Add a step to the weights and ``past`` of eight columns; return both."""
    move = factor * load(table, f.direction, i)
    w = load(table, f.weight + k, i) + move
    store(table, f.weight + k, i, w)
    if not IS_AVERAGED:
        return w, eight(0.0)
    past = load(table, f.past + k, i) + averaged * move
    store(table, f.past + k, i, past)
    return w, past


@strict
def shared_gradient(heads, r, sharing):
    """Derivative of a single head, or root mean square of those of adjacent heads."""
    if not SHARES_G and not IS_COUPLED:
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
    """Project the weights of the heads that made a step; overwrite scratch rows except ``inverse``."""
    code, radius = constraint
    root = time_factor(clock[T])
    for k in range(n_heads):
        if heads[GRADIENT, k] == 0.0:
            continue
        weight = f.weight + k
        for i in range(n):
            size = scale_but_for_time(table, f, i, clock[T]) / root
            size = size if size > 0.0 else 1.0
            table[f.x, i] = np.sqrt(table[f.G + k // rule.sharing, i]) / size if IS_ADAPTIVE else 1.0
            table[f.start, i] = table[weight, i]
            table[f.own, i] = size if not IS_ADAPTIVE and NORM != NONE else 1.0
            table[weight, i] /= table[f.own, i]
        project(table, weight, f.x, f.z, f.direction, n, code, radius * heads[UNIT, k])
        for i in range(n):
            table[weight, i] *= table[f.own, i]
            if IS_AVERAGED:
                table[f.past + k, i] += clock[AVERAGED] * (table[weight, i] - table[f.start, i])


@strict_slow
def fill_ends(table, f, clock, target_lift, n):
    """Fill ``least`` and ``most`` as `rule.ends_of`; infinite in columns where the row is 0."""
    root = time_factor(clock[T])
    for i in range(n):
        low, high = -np.inf, np.inf
        if table[f.z, i] != 0.0:
            size = scale_but_for_time(table, f, i, clock[T]) / root
            size = size if size > 0.0 else 1.0
            factor = size / table[f.lift, i] * target_lift
            if not IS_ADAPTIVE and NORM != NONE:
                factor *= size
            factor = min(factor, LARGEST)
            low = table[f.low, i] * factor if table[f.low, i] > -LARGEST else low
            high = table[f.high, i] * factor if table[f.high, i] < LARGEST else high
        table[f.least, i], table[f.most, i] = low, high


@strict_slow
def hold(table, f, averaged, n_heads, n):
    """Clip weights to their bounds; the average of those played stays."""
    for k in range(n_heads):
        for i in range(n):
            w = table[f.weight + k, i]
            held = min(max(w, table[f.least, i]), table[f.most, i])
            table[f.weight + k, i] = held
            if IS_AVERAGED:
                table[f.past + k, i] += averaged * (held - w)


@fast
def settle(table, heads, f, rule, model, clock, width, bias):
    """Apply the penalty that is due; return whether there is one."""
    if HAS_L1:
        shrink_by_l1(table, f, rule, model.eta, model.gradient_lift, clock, heads, width, bias)
    elif HAS_L2:
        shrink(table, f, rule, model.eta, model.gradient_lift, clock, heads, width, bias)
    return HAS_L1 or HAS_L2


@fast
def must_wait(heads, rule, model, c):
    """Whether a gradient needs another lift, and can have one."""
    if not IS_ADAPTIVE:
        return False
    factor, lifts = np.sqrt(c) if IS_IMPORTANCE_AWARE else c, model.gradient_lift
    sharing = rule.sharing if SHARES_G else 1
    for r in range(1 if HAS_ONE_HEAD else lifts.size):
        lifted_gradient = abs(shared_gradient(heads, r, sharing) * factor) * lifts[r]
        if lifted_gradient >= HIGHEST and lifts[r] > 1.0 / LARGEST_LIFT:
            return True
    return False


@fast
def move(table, heads, f, rule, model, clock, width, n, is_taken):
    """Add the last steps, and enforce constraints; predict the next row if it is taken."""
    stop, _ = sizes_of(rule)
    add_steps(table, heads, f, clock, stop - heads_at_once(rule), stop, n, is_taken)
    if HAS_CONSTRAINT:
        inner = width - rule.intercept
        constrain(table, heads, f, rule, model.constraint, clock, model.eta.size, inner)
    if HAS_BOUNDS:
        hold(table, f, clock[AVERAGED], model.eta.size, n)


@fast
def due(rule, clock, c):
    """Factor by which everything fades after a row of weight ``c``."""
    return factor_due(clock, AGE, rule.fades, c)


@fast
def fade(table, n, f, rule, model, clock, factor, unseen):
    """Fade all but what concerns played predictions alone; see `forgetting.fade`."""
    if FADES_ON_THE_WAY:
        kept, of_average = factor ** (1.0 / rule.lasting), factor**OF_AVERAGE
        moved = clock[AVERAGED] * (1.0 - kept)
        if IS_AVERAGED:  # as in `forgetting.fade`
            for k in range(model.eta.size):
                for j in range(n):
                    table[f.past + k, j] -= moved * table[f.weight + k, j]
        fade_table(table, n, model.fading, factor, kept)
        if unseen:
            clock[IN_PAST] = of_average * (clock[IN_PAST] - moved * clock[OF_WEIGHTS])
            clock[OF_SUMS] *= factor
            clock[OF_WEIGHTS] *= kept
            clock[OF_PAST] *= of_average
        clock[T] *= factor
        if HOLDS_SCALES:
            hold_scales(table, n, f, clock[T], factor)
        clock[N] *= factor
        clock[AVERAGED] *= of_average
        fade_targets(model.target, factor, clock[T])


@strict_slow
def hold_scales(table, n, f, t, factor):
    """Keep scales of the first ``n`` columns from falling fast; see `forgetting`."""
    of_squares = factor**OF_SQUARES
    for j in range(n):
        if NORM == RMS or table[f.frequent, j] > 0.0:
            least = max(table[f.least_square, j] * of_squares, table[f.squares, j] / t * HELD)
            table[f.least_square, j], table[f.squares, j] = least, max(table[f.squares, j], least * t)


@fast
def revive(table, f, rule, model, clock, rare, n):
    """Convert copied columns from their units, as `Columns.take` does."""
    if FADES_ON_THE_WAY:
        of_sums, of_weights, of_past, in_past = clock[OF_SUMS], clock[OF_WEIGHTS], clock[OF_PAST], clock[IN_PAST]
        for i in range(rare, n, WIDTH):
            multiply_sums(table, f, i, of_sums)
            if IS_ADAPTIVE:
                for r in range(f.G, f.G + model.gradient_lift.size):
                    store(table, r, i, maximum(load(table, r, i) * of_sums, LEAST))
            for k in range(model.eta.size):
                w = load(table, f.weight + k, i)
                store(table, f.weight + k, i, w * of_weights)
                if IS_AVERAGED:
                    store(table, f.past + k, i, load(table, f.past + k, i) * of_past + w * in_past)


@fast
def suspend(table, f, rule, model, clock, rare, n):
    """Convert columns back to their units, as `Columns.put` does."""
    if FADES_ON_THE_WAY:
        of_sums, of_weights, of_past = 1.0 / clock[OF_SUMS], 1.0 / clock[OF_WEIGHTS], 1.0 / clock[OF_PAST]
        for i in range(rare, n, WIDTH):
            multiply_sums(table, f, i, of_sums)
            if IS_ADAPTIVE:
                for r in range(f.G, f.G + model.gradient_lift.size):
                    store(table, r, i, load(table, r, i) * of_sums)
            for k in range(model.eta.size):
                w = load(table, f.weight + k, i) * of_weights
                store(table, f.weight + k, i, w)
                if IS_AVERAGED:
                    store(table, f.past + k, i, (load(table, f.past + k, i) - w * clock[IN_PAST]) * of_past)


@fast
def multiply_sums(table, f, i, factor):
    """Multiply sums over rows of eight columns, except ``G``."""
    if NORM >= RMS:
        store(table, f.squares, i, load(table, f.squares, i) * factor)
    if COUNTS_ENTRIES:
        store(table, f.tally, i, load(table, f.tally, i) * factor)
    if IS_CENTRED:
        store(table, f.sum, i, load(table, f.sum, i) * factor)


compiled_smallest_unit = fast(smallest_unit)


@fast
def must_renew(clock, c):
    """Whether units are too small to go on with."""
    if FADES_ON_THE_WAY:
        return clock[OF_PAST] < compiled_smallest_unit(clock[T], clock[AVERAGED], c)
    return False


class NagPreparation(Preparation):
    """`Preparation` that also adapts lifts of gradients."""

    def __init__(self, state, tables, clock, heads, importance_aware):
        super().__init__(state, tables, clock)
        self.heads, self.importance_aware = heads, importance_aware

    def dense(self, X, row, c):
        """Prepare the columns; or, if the row waits for it, adapt the lifts of gradients."""
        if self.clock[PENDING] == 0.0:
            super().dense(X, row, c)
        else:
            self.raise_gradient_lift(self.columns(), c)

    def sparse(self, data, indices, indptr, row, c):
        """`dense` for a CSR row, whose columns have been copied."""
        if self.clock[PENDING] == 0.0:
            self.state.columns.set_units(tuple(self.clock[UNITS].tolist()))
            if self.clock[OF_PAST] < smallest_unit(self.clock[T], self.clock[AVERAGED], c):
                self.state.renew_columns()
            super().sparse(data, indices, indptr, row, c)
            self.clock[UNITS] = self.state.columns.units
        else:
            columns, (_, _, subset, *_) = self.state.columns, self.tables
            self.raise_gradient_lift(columns.with_table(subset[: columns.n_rows]), c)

    def raise_gradient_lift(self, columns, c):
        """Adapt the lifts of gradients as `numpy_rows` does."""
        with np.errstate(all="ignore"):
            gradients = self.heads[GRADIENT, : self.state.rule.n_heads] * (np.sqrt(c) if self.importance_aware else c)
            raise_gradient_lift(self.state, columns, root_mean_square(gradients, self.state.rule.sharing))


Fields = layout_of(__name__, Rule, SCRATCH + FOR_CONSTRAINTS + FOR_BOUNDS)


class CompiledRule(NamedTuple):
    """What rows read of a `Rule`, as numbers: no None, no strings, nothing of single heads."""

    intercept: bool
    power_t: float
    slowed: float
    slowed_from: float
    l1: float
    l2: float
    average_from: float
    n_heads: int
    n_targets: int
    sharing: int
    degree: int
    clip: int
    plays_eight: bool
    radius: float
    fades: float  # fadings per unit of weight
    lasting: float
    begins: float  # the share of the rows above which a column becomes frequent


class Model(NamedTuple):
    """What rows read or change of a model of this family alone."""

    eta: np.ndarray
    gradient_lift: np.ndarray
    loss: CompiledLoss
    target: np.ndarray
    constraint: tuple[int, float]
    fading: Fading


@fast
def named(f, rule, model):
    """`Fields`, `CompiledRule` and `Model` from plain tuples."""
    eta, gradient_lift, loss, target, constraint, fading = model
    model = Model(eta, gradient_lift, CompiledLoss(*loss), target, constraint, Fading(*fading))
    return Fields(*f), CompiledRule(*rule), model


learn_dense, learn_sparse = bind(
    __name__, settle=settle, take=take, predict=predict, must_wait=must_wait, step=step, move=move,
    takes_ahead=takes_ahead, note=note, named=named,
    due=due, fade=fade, revive=revive, suspend=suspend, must_renew=must_renew,
)  # fmt: skip


class Bench:
    """Working arrays of a model, and the arguments of compiled code made of them and of the rule.

    A model keeps small ones, for dense and for CSR rows, because single rows come faster than one is made. Only a bench
    for dense rows has a `workspace`; each call with CSR rows makes its own.
    """

    def __init__(self, state, loss, by_row):
        rule, columns = state.rule, state.columns
        # Columns may be large, and the model may get others before this bench is replaced.
        self.columns, self.made_of, self.is_whole = ref(columns), parts_of(state, loss), False
        self.rule, self.n_scratch = rule, len(scratch_rows(rule))
        self.tables = None if by_row else workspace(state, self.n_scratch, None)
        self.own = None if by_row else columns_of(state, self.tables[0])
        self.clock = in_own_lines(np.zeros(RATE + 1))
        self.losses, self.target = in_own_lines(state.loss), in_own_lines(state.targets.table)
        self.before = new_heads(state)
        self.heads = in_own_lines(self.before)
        self.importance_aware = rule.importance_aware and loss.move is not None
        shaped, eta, fading, self.sparse, *self.dense_by_rare = compiled(
            rule, type(loss), columns.shared, columns.per_head, by_row
        )
        model = Model(eta, state.gradient_lift, compiled_loss(loss), self.target, compiled_constraint(state), fading)
        if self.own is not None:  # the loop for sparse rows takes named tuples
            shaped, model = plain(shaped), plain(model)
        self.model = (*shaped, self.heads, self.clock, model)
        self.player = Player(state, loss, self.losses, self.target, self.heads)

    def serves(self, state, loss):
        """Whether its parts are still those of a model and loss, and its last call went well."""
        is_of_columns = self.columns() is state.columns
        return self.is_whole and is_of_columns and all(map(operator.is_, self.made_of, parts_of(state, loss)))

    def lay_out(self, state, indptr, of_rows):
        """Copy what rows change, CSR rows with ``indptr``; return the `workspace`.

        Losses of rows will go to ``of_rows``, if given.
        """
        if self.is_whole and self.own is not None:  # a new bench has them already
            self.own.table[:] = state.columns.table
        self.is_whole = False
        clock = state.t, 0.0, state.N, state.shrinkage, state.averaged, state.age, state.faded
        self.clock[: UNITS.stop] = *clock, *state.columns.units[:-1], state.rule.intercept
        self.losses[:], self.target[:], self.heads[:] = state.loss, state.targets.table, self.before
        if state.rule.target_unit:
            self.heads[UNIT, : state.rule.n_heads] = state.unit()
        self.player.begin(state, of_rows)
        return self.tables or workspace(state, self.n_scratch, indptr)

    def take_over(self, state, tables, ok):
        """Give the model what was learnt on ``tables``; return whether its numbers are in range."""
        if ok:
            put_back(state, tables)
        state.loss[:], state.targets.table[:] = self.losses, self.target
        clock = self.clock.tolist()
        state.t, _, state.N, state.shrinkage, state.averaged, state.age, state.faded, *units = clock[: UNITS.stop]
        if self.own is None and state.rule.forgets:
            state.columns.set_units(tuple(units))
        state.waiting = float(self.player.waiting[0])
        self.is_whole = ok and all(map(math.isfinite, clock))
        return self.is_whole

    def learn_dense(self, *args):
        """Run the dense loop that fits: with or without rare columns."""
        return self.dense_by_rare[has_rare(self.rule, self.own)](*args)


def parts_of(state, loss):
    """The objects that a `Bench` is made of, besides the columns."""
    return state.rule, loss, state.targets, state.mixture, state.trust, state.due, state.gradient_lift


_benches = Beside(), Beside()  # for dense rows and for CSR rows, by model


def bench_of(state, loss, by_row):
    """`Bench` for dense rows or, ``by_row``, CSR rows; a new one unless the last still serves."""
    bench = _benches[by_row].get(state)
    if bench is None or not bench.serves(state, loss):
        bench = Bench(state, loss, by_row)
        if (bench.heads if by_row else bench.tables[0]).size <= SMALL:
            _benches[by_row][state] = bench
    return bench


def learn_rows(state, loss, X, y, sample_weight, order, predictions, losses=None):
    """Compiled `numpy_rows.learn_rows`; losses of predictions go to ``losses``, of the same shape, if given."""
    rule = state.rule
    by_row = not isinstance(X, np.ndarray) and rule.lazy
    state.columns.arrange("F" if by_row else "C")
    bench = bench_of(state, loss, by_row)
    tables = bench.lay_out(state, X.indptr if by_row else None, losses)
    ok = run(
        bench.sparse if by_row else None, bench.learn_dense, X, y, sample_weight, order, (*tables, *bench.model),
        predictions, row_cost=entries_of_row(X) * rule.n_heads, player=bench.player,
        prepare=NagPreparation(state, tables, bench.clock, bench.heads, bench.importance_aware),
    )  # fmt: skip
    if not bench.take_over(state, tables, ok):
        raise Diverged


def scratch_rows(rule):
    """Names of the rows below the fields of a table."""
    return SCRATCH + (FOR_CONSTRAINTS if rule.projected else FOR_BOUNDS if rule.bounded else ())


def compiled_constants(rule, loss):
    """Compile-time constants of a rule and a class of losses, with rare columns if there may be any."""
    return constants_of(
        is_adaptive=rule.adaptive,
        is_lazy=rule.lazy,
        is_averaged=rule.averaged,
        is_importance_aware=rule.importance_aware and loss.move is not None,
        has_l1=rule.l1 > 0,
        has_l2=rule.l2 > 0,
        has_one_head=has_one_head(rule, loss),
        shares_g=rule.sharing > 1,
        has_targets=rule.target_unit or rule.clip is not None,
        fades_on_the_way=rule.fades_on_the_way,
        holds_scales=rule.holds_scales,
        is_damped=rule.damps,
        **column_constants(rule),
        **loss_constants(loss),
    )


@functools.lru_cache
def compiled(rule, loss, shared, per_head, by_row):
    """Arguments of compiled code for a rule, and its loops for a class of losses.

    Arguments are `Fields`, `CompiledRule`, learning rates, and `Fading`. Loops are for sparse rows, for dense rows of
    which all columns are frequent, and for other dense rows.
    """
    derived = {
        "clip": compiled_clip(rule),
        "plays_eight": at_once(rule, loss) > 1,
        "fades": fades_per_weight(rule),
        "lasting": lasting(rule),
    }
    values = {name: derived.get(name, getattr(rule, name, None)) for name in CompiledRule._fields}
    constants = compiled_constants(rule, loss)
    several = constants._replace(has_one_head=False)  # rows here cost so much that this makes no difference
    fields = table_layout(Fields, scratch_rows(rule), rule, shared, per_head, by_row)
    dense = for_rule(learn_dense, constants._replace(has_rare=False, are_mixed=False))
    with_rare = for_rule(learn_dense, several) if rule.counts_entries else dense
    fading = fading_by(rows_of_fields(shared, per_head, rule.n_heads, rule.sharing), fading_powers(rule))
    sparse = for_rule(learn_sparse, several._replace(are_mixed=False))
    return (fields, CompiledRule(**values)), constant(rule.eta), fading, sparse, dense, with_rare
