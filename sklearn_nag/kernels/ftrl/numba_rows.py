"""The updates of `numpy_rows` as compiled loops; tests check that both agree."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..compiled.columns import inverse_scale, lift_of, normalise_columns
from ..compiled.constants import (
    FADES_ON_THE_WAY,
    HAS_BOUNDS,
    HAS_CONSTRAINT,
    HAS_TARGET_UNIT,
    IS_CENTRED,
    MAX,
    NORM,
    OF_RATE,
    REGULARIZER,
    RMS,
    column_constants,
    constants_of,
)
from ..compiled.driver import bind, learn
from ..compiled.fading import Fading, factor_due, fade_table, fading_by
from ..compiled.handover import T, columns_of, has_rare, layout_of
from ..compiled.heads import CLIPPED, GRADIENT, PREDICTION, UNIT
from ..compiled.jit import bound, fast, for_rule, slow, strict_slow
from ..compiled.losses import CompiledLoss, compiled_loss, loss_constants
from ..compiled.projections import compiled_constraint, project
from ..compiled.targets import SPREAD, compiled_clip, fade_targets, suffer
from ..compiled.vectors import WIDTH, copysign, eight, lane, load, maximum, minimum, sqrt, store, total, where
from ..state.columns import rows_of_fields
from ..state.fading import fades_per_weight
from ..state.lifts import LARGEST, TINY
from ..state.model import Diverged
from .numpy_rows import FAR
from .rule import Rule, fading_powers

REGULARIZERS = ("proximal", "l2", "entropy")
PROXIMAL, L2, ENTROPY = range(3)
N, AGE, FADED = 2, 3, 4  # further entries of ``clock``; `factor_due` reads the last
# Rows below the fields of a table; each head has its own last one.
SCRATCH = ("x", "z", "size", "inverse", "metric", "key", "other", "v")


@fast
def normalise(table, f, i, moved, roots, are_rare):
    """Fill ``size``, the scale of eight columns, and ``z = x / s``; return the squares of ``z``.

    For "max" without centring, the caller has filled ``inverse`` with ``1 / size``.
    """
    x, squares = moved
    if NORM >= RMS:  # or "auto"
        inverse = inverse_scale(table, f, i, squares, roots, are_rare)
        size, z = where(squares > 0.0, 1.0 / inverse, 0.0), x * inverse
    elif NORM == MAX and IS_CENTRED:
        size = maximum(load(table, f.deviation, i), abs(x))
        store(table, f.deviation, i, size)
        z = where(size > 0.0, x / size, 0.0)
    elif NORM == MAX:
        size, z = load(table, f.largest, i) * load(table, f.lift, i), x * load(table, f.inverse, i)
    else:
        size = load(table, f.lift, i)
        z = x / size
    store(table, f.size, i, size)
    store(table, f.z, i, z)
    return z * z


normalise_row = bound(normalise_columns, __name__, {"normalise": normalise})


@fast
def play_quadratic(table, f, k, rule, factor, growth, bias, n):
    """Like `rule.quadratic_leader`, for one head; return its prediction times the length of rows."""
    p, inverse_eta = eight(0.0), 1.0 / rule.eta
    for i in range(0, n, WIDTH):
        own, z, size = lane(bias - i), load(table, f.weight + k, i), load(table, f.size, i) * factor
        beyond = abs(z) - where(own, 0.0, rule.l1) * size
        if REGULARIZER == PROXIMAL:
            strength = (size * rule.beta + load(table, f.root + k, i)) * inverse_eta
        else:
            strength = size * growth * inverse_eta
        strength += where(own, 0.0, rule.l2) * size
        v = where((beyond > 0.0) & (strength > 0.0), -copysign(beyond, z) / strength, 0.0)
        store(table, f.v + k, i, v)
        p += v * load(table, f.z, i)
    return total(p)


@strict_slow
def play_bounded(table, f, k, length, unit, target_lift, n):
    """Clip what `play_quadratic` has left to its bounds, and return the prediction."""
    p, rest = 0.0, target_lift / (unit if unit > 0.0 else 1.0)
    for i in range(n):
        v = table[f.v + k, i]
        factor = min(table[f.size, i] * length / table[f.lift, i] * rest, LARGEST)
        if table[f.low, i] > -LARGEST:
            v = max(v, table[f.low, i] * factor)
        if table[f.high, i] < LARGEST:
            v = min(v, table[f.high, i] * factor)
        table[f.v + k, i] = v
        p += v * table[f.z, i]
    return p


@slow
def play_constrained(table, f, k, rule, length, bias, width):
    """Project what `play_quadratic` has left onto the set of the rule, and return the prediction."""
    inner, p = width - 1 if bias >= 0 else width, 0.0
    for i in range(inner):
        table[f.metric, i] = 1.0
    project(table, f.v + k, f.metric, f.key, f.other, inner, rule.constraint, rule.bound * length)
    for i in range(width):
        p += table[f.v + k, i] * table[f.z, i]
    return p


@slow
def play_entropy(table, f, k, rule, factor, growth, bias, width):
    """Like `play_quadratic`, for weights that share their sum."""
    inner = width - 1 if bias >= 0 else width
    rate, top = -rule.eta / growth, -np.inf
    for i in range(inner):
        size = table[f.size, i] * factor
        power = rate * (table[f.weight + k, i] / size) if size > 0 else 0.0
        table[f.v + k, i] = power
        top = max(top, power if rule.positive else abs(power))
    total = 0.0
    for i in range(inner):
        power = table[f.v + k, i]
        share = np.exp(power - top)
        other = 0.0 if rule.positive else np.exp(-power - top)
        total += share + other
        table[f.v + k, i] = share - other
    p = 0.0
    for i in range(inner):
        v = rule.radius * (table[f.v + k, i] / total)
        table[f.v + k, i] = v
        p += v * table[f.z, i]
    if bias >= 0:
        size = table[f.size, bias] * factor
        v = rate * table[f.weight + k, bias] / (size if size > 0 else 1.0)
        table[f.v + k, bias] = v
        p += v
    return p


@fast
def growth_of_root(root, gradient, power, inverse):
    """Like `numpy_rows.growth_of_root`, for a gradient lifted by ``power``, whose inverse is ``inverse``."""
    near, squared = minimum(root * power, FAR), gradient * gradient
    return squared / (sqrt(near * near + squared) + near + TINY) * inverse


@fast
def add_row(table, f, k, rule, slope, n):
    """Add the gradient of one head to the sums that determine its weights."""
    if REGULARIZER != PROXIMAL:
        for i in range(0, n, WIDTH):
            store(table, f.weight + k, i, load(table, f.weight + k, i) + slope * load(table, f.x, i))
        return
    power = lift_of(abs(slope))
    lifted, inverse, inverse_eta = slope * power, 1.0 / power, 1.0 / rule.eta
    for i in range(0, n, WIDTH):
        x, root = load(table, f.x, i), load(table, f.root + k, i)
        more = growth_of_root(root, lifted * x, power, inverse)
        store(table, f.root + k, i, root + more)
        moved = slope * x - more * load(table, f.v + k, i) * inverse_eta
        store(table, f.weight + k, i, load(table, f.weight + k, i) + moved)


@fast
def predict(table, heads, f, rule, model, clock, c, bias, rare, width, n):
    """Play the leader of each head, and suffer its losses."""
    before = clock[T]
    if FADES_ON_THE_WAY and HAS_TARGET_UNIT and not OF_RATE:  # read here, because the model may have faded
        for k in range(rule.n_targets):
            heads[UNIT, k] = model.target[SPREAD, k] / np.sqrt(max(before, TINY))
    clock[T] += c
    clock[N] += c * normalise_row(table, f, before, clock[T], c, bias, rare, n)
    length = np.sqrt(clock[N] / clock[T]) if rule.shrinks and clock[N] > 0 else 1.0
    growth = max(clock[T], 1.0) ** rule.power_t if rule.power_t > 0.0 else 1.0
    for k in range(rule.n_targets):
        factor = length * (heads[UNIT, k] if rule.degree == 2 else 1.0)
        if REGULARIZER == ENTROPY:
            p = play_entropy(table, f, k, rule, factor, growth, bias, width)
        else:
            p = play_quadratic(table, f, k, rule, factor, growth, bias, n)
            if HAS_CONSTRAINT:
                p = play_constrained(table, f, k, rule, length, bias, width)
            if HAS_BOUNDS:
                p = play_bounded(table, f, k, length, heads[UNIT, k], rule.bound, n)
        heads[PREDICTION, k] = heads[CLIPPED, k] = p / length
    return suffer(heads, rule, model.loss, clock, before, c, model.target, model.losses)


@fast
def step(table, heads, f, rule, model, clock, c, bias, width, n):
    """Add the row to the sums that determine the weights."""
    for k in range(rule.n_targets):
        slope = c * heads[GRADIENT, k]
        if slope != 0.0:
            add_row(table, f, k, rule, slope, n)


@fast
def due(rule, clock, c):
    """Factor by which all fades after a row of weight ``c``."""
    return factor_due(clock, AGE, rule.fades, c)


@fast
def fade(table, n, f, rule, model, clock, factor, unseen):
    """Like `rule.fade`, for dense rows."""
    if FADES_ON_THE_WAY:
        fade_table(table, n, model.fading, factor, 1.0)
        clock[T] *= factor
        clock[N] *= factor
        fade_targets(model.target, factor, clock[T])


learn_dense, learn_sparse = bind(__name__, predict=predict, step=step, due=due, fade=fade)


# -- from arrays and names to arguments of compiled code


Fields = layout_of(__name__, Rule, SCRATCH)


class Model(NamedTuple):
    """What rows read or change of a model, in this family alone."""

    loss: CompiledLoss
    losses: np.ndarray
    target: np.ndarray
    fading: Fading


class CompiledRule(NamedTuple):
    """What rows read of a `Rule`, without names and heads."""

    n_targets: int
    shrinks: bool
    eta: float
    beta: float
    power_t: float
    l1: float
    l2: float
    radius: float
    positive: bool
    intercept: bool
    degree: int
    clip: int
    constraint: int
    bound: float
    fades: float  # number of fadings for a weight of 1
    begins: float  # share of the rows above which a column becomes frequent


def learn_rows(state, loss, *rows):
    """Like `numpy_rows.learn_rows`."""
    rule, columns = state.rule, state.columns
    constants = compiled_constants(rule, type(loss))

    def dense(X, y, codes, weights, order, table, *rest):
        some = has_rare(rule, columns_of(state, table))
        loop = for_rule(learn_dense, constants._replace(has_rare=some, are_mixed=some))
        return loop(X, y, codes, weights, order, table, *rest)

    sparse = for_rule(learn_sparse, constants._replace(are_mixed=False, fades_on_the_way=False))
    clock = np.array([state.t, 0.0, state.N, state.age, state.faded])
    fading = compiled_fading(rule, columns.shared, columns.per_head)
    model = Model(compiled_loss(loss), state.loss, state.targets.table, fading)
    own = compiled_rule(rule, *compiled_constraint(state))
    ok = learn(state, dense, sparse, Fields, SCRATCH, own, clock, model, 2, *rows)
    state.t, _, state.N, state.age, state.faded = clock.tolist()
    if not ok:
        raise Diverged


@lru_cache
def compiled_rule(rule, code, bound):
    """`CompiledRule` of a rule and of what `compiled_constraint` returns."""
    named = ("shrinks", "clip", "constraint", "bound", "fades")
    values = {name: getattr(rule, name) for name in CompiledRule._fields if name not in named}
    values |= {"shrinks": rule.shrinks_rows(), "clip": compiled_clip(rule), "fades": fades_per_weight(rule)}
    return CompiledRule(constraint=code, bound=bound, **values)


@lru_cache
def compiled_fading(rule, shared, per_head):
    """How a table with these fields fades."""
    powers = {name: (power, 0.0) for name, power in fading_powers(rule).items()}
    return fading_by(rows_of_fields(shared, per_head, rule.n_heads, rule.sharing), powers)


@lru_cache
def compiled_constants(rule, loss):
    """Constants of a rule and a class of losses, for dense rows, with rare columns if there can ever be any."""
    return constants_of(
        regularizer=REGULARIZERS.index(rule.regularizer),
        fades_on_the_way=rule.forgets,
        **column_constants(rule),
        **loss_constants(loss),
    )
