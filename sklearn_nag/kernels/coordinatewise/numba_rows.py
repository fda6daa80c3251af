"""The updates of `numpy_rows` as compiled loops; tests check that both agree."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from ..compiled.arithmetic import each_exp_minus_1, exp, inverse_sqrt
from ..compiled.columns import inverse_scale, normalise_columns
from ..compiled.constants import (
    ARE_MIXED,
    HAS_TARGET_UNIT,
    IS_CENTRED,
    NORM,
    OF_RATE,
    RMS,
    UPDATE,
    column_constants,
    constants_of,
)
from ..compiled.driver import bind, learn
from ..compiled.handover import T, layout_of
from ..compiled.heads import AVERAGE, CLIPPED, GRADIENT, LATEST, PREDICTION
from ..compiled.jit import bound, fast, for_rule, strict
from ..compiled.losses import CompiledLoss, compiled_loss, loss_constants
from ..compiled.targets import FREE, LARGEST_WEIGHT, compiled_bound, compiled_clip, suffer_bounded
from ..compiled.trust import Trust, blend, judge_row, trust_of
from ..compiled.vectors import WIDTH, copysign, eight, load, maximum, minimum, store, total, where
from ..state.lifts import LARGEST_POWER, TINY
from ..state.model import Diverged
from .rule import LARGEST_WEALTH, Rule

UPDATES = ("potential", "scinol1", "scinol2")
POTENTIAL, SCINOL1, SCINOL2 = range(3)
SCRATCH = ("x", "z", "size", "inverse", "contribution")  # rows below the fields; each head has its own last one


@fast
def normalise(table, f, i, moved, roots, are_rare):
    """Fill and return ``size`` of eight columns with values ``x``; for the potential, also fill ``inverse``, ``z``."""
    x, squares = moved
    if NORM == RMS:
        inverse = inverse_scale(table, f, i, squares, roots, are_rare)
        size = where(squares > 0.0, 1.0 / inverse, 0.0)
        store(table, f.inverse, i, inverse)
        store(table, f.z, i, x * inverse)
    else:
        size = load(table, f.largest, i) * load(table, f.lift, i)
        if IS_CENTRED and (ARE_MIXED or not are_rare):
            frequent, deviation = load(table, f.frequent, i) > 0.0, load(table, f.deviation, i)
            size = where(frequent, maximum(deviation, abs(x)), size)
            store(table, f.deviation, i, where(frequent, size, deviation))
    store(table, f.size, i, size)
    return size


normalise_row = bound(normalise_columns, __name__, {"normalise": normalise})


@strict
def averaged_part(table, f, k, i):
    """What eight columns' averaged weights add to a prediction; divided first, because that stays in range."""
    credit = load(table, f.credit, i)
    return load(table, f.past + k, i) / where(credit > 0.0, credit, 1.0) * load(table, f.x, i)


@strict
def if_there(table, f, i, value):
    """``value`` in columns that the row has, else 0; it has centred ones even at their means."""
    is_there = ~(load(table, f.x, i) == 0.0)
    if IS_CENTRED:
        is_there |= load(table, f.frequent, i) > 0.0
    return where(is_there, value, 0.0)


@fast
def add_credit(table, f, counts, n):
    """Add the row's ``c t s^2`` to the credit of its columns, by which their averages are divided."""
    for i in range(0, n, WIDTH):
        size = load(table, f.size, i)
        store(table, f.credit, i, load(table, f.credit, i) + if_there(table, f, i, counts * size * size))


@fast
def play_potential(table, f, k, alpha, n_columns, t, largest_weight, c, n):
    """Play the potential's weights of a head, and add them to their average; return both predictions."""
    of_h, of_x = 1.0 / (2.0 * alpha * t * largest_weight), c / (2.0 * alpha * t)
    outer, share = np.log(alpha * n_columns * t / largest_weight), 1.0 / t
    counts, p, q = c * t, eight(0.0), eight(0.0)
    for i in range(0, n, WIDTH):
        size, z = load(table, f.size, i), load(table, f.z, i)
        q += averaged_part(table, f, k, i)
        ratio = load(table, f.weight + k, i) * load(table, f.inverse, i)
        power = minimum(ratio * ratio * of_h + z * z * of_x - outer, LARGEST_POWER)
        u = ratio * share * exp(power)
        store(table, f.past + k, i, load(table, f.past + k, i) + if_there(table, f, i, counts * size * u))
        p += u * z
    return total(p), total(q)


@fast
def play_scinol(table, f, k, largest_weight, rest, counts, n):
    """`play_potential` for ScInOL, with ``w x``, which is ``u z`` without a division.

    For ScInOL 2, ``contribution`` keeps it.
    """
    p, q = eight(0.0), eight(0.0)
    half = 0.5 / largest_weight if UPDATE == SCINOL1 else 0.5 * largest_weight
    for i in range(0, n, WIDTH):
        x, size = load(table, f.x, i), load(table, f.size, i)
        q += averaged_part(table, f, k, i)
        lifted = largest_weight * size
        inverse = inverse_sqrt(maximum(load(table, f.G + k, i) + lifted * lifted, TINY))
        h, beta = load(table, f.weight + k, i), load(table, f.beta + k, i)
        if UPDATE == SCINOL1:
            inverse = largest_weight * inverse
            own = inverse * x
            beta = where(own == 0.0, beta, minimum(beta, rest / (own * own)))
            store(table, f.beta + k, i, beta)
            theta = h * (inverse * half)
            w = 0.5 * beta * inverse * copysign(each_exp_minus_1(minimum(abs(theta), LARGEST_POWER)), theta)
        else:
            theta = minimum(maximum(h * inverse, -1.0), 1.0)
            w = beta * theta * (half * inverse)
        store(table, f.past + k, i, load(table, f.past + k, i) + if_there(table, f, i, counts * (size * size) * w))
        contribution = w * x
        if UPDATE == SCINOL2:
            store(table, f.contribution + k, i, contribution)
        p += contribution
    return total(p), total(q)


@fast
def predict(table, heads, f, rule, model, clock, c, bias, rare, width, n):
    """Play the weights made for the row, and suffer their losses; return whether predictions are finite."""
    before = clock[T]
    clock[T] += c
    clock[LARGEST_WEIGHT] = max(clock[LARGEST_WEIGHT], c)
    t, largest_weight = clock[T], clock[LARGEST_WEIGHT]
    normalise_row(table, f, before, t, c, bias, rare, n)
    for k in range(rule.n_targets):
        if UPDATE == POTENTIAL:
            p, q = play_potential(table, f, k, rule.alpha, rule.n_columns, t, largest_weight, c, n)
        else:
            p, q = play_scinol(table, f, k, largest_weight, largest_weight / t, c * t, n)
        heads[PREDICTION, k] = heads[LATEST, k] = p
        heads[AVERAGE, k] = q
        heads[CLIPPED, k] = q if rule.averaged else p
    add_credit(table, f, c * t, n)
    if rule.judged and rule.averaged:
        blend(heads, model.trust, rule.n_targets)
    ok = suffer_bounded(heads, rule, model.loss, clock, before, c, model.target, model.losses, model.largest_gradient)
    if rule.judged:
        told = not (HAS_TARGET_UNIT or OF_RATE) and rule.clip == FREE  # ``PREDICTION`` then still equals ``LATEST``
        judge_row(heads, model.loss, c, model.trust, rule.n_targets, told)
    return ok


@fast
def step(table, heads, f, rule, model, clock, c, bias, width, n):
    """Update the sums from which weights are made."""
    for k in range(rule.n_targets):
        weighted_gradient = c * heads[GRADIENT, k]
        if weighted_gradient == 0.0:
            continue
        share = weighted_gradient / clock[LARGEST_WEIGHT]
        for i in range(0, n, WIDTH):
            change = weighted_gradient * load(table, f.x, i)
            store(table, f.weight + k, i, load(table, f.weight + k, i) - change)
            if UPDATE != POTENTIAL:
                store(table, f.G + k, i, load(table, f.G + k, i) + change * change)
            if UPDATE == SCINOL2:
                wealth = load(table, f.beta + k, i) - share * load(table, f.contribution + k, i)
                store(table, f.beta + k, i, minimum(wealth, LARGEST_WEALTH))


learn_dense, learn_sparse = bind(__name__, predict=predict, step=step)


# -- from arrays and names to the arguments of compiled code


Fields = layout_of(__name__, Rule, SCRATCH)


class Model(NamedTuple):
    """What rows read or change of a model of this family alone."""

    loss: CompiledLoss
    losses: np.ndarray
    target: np.ndarray
    largest_gradient: np.ndarray
    trust: Trust


class CompiledRule(NamedTuple):
    """What rows read of a `Rule`, and the bound of the loss: negative if it is the largest so far."""

    n_targets: int
    alpha: float
    n_columns: int
    intercept: bool
    averaged: bool  # whether the average is played
    judged: bool
    clip: int
    bound: float
    bound_scaled: bool
    begins: float  # the share of the rows above which a column becomes frequent


def learn_rows(state, loss, *rows):
    """Learn rows of positive weight; see `numpy_rows.learn_rows`."""
    constants = compiled_constants(state.rule, type(loss))
    dense, sparse = for_rule(learn_dense, constants), for_rule(learn_sparse, constants._replace(are_mixed=False))
    clock, trust = np.array([state.t, 0.0, state.largest_weight]), trust_of(state)
    model = Model(compiled_loss(loss), state.loss, state.targets.table, state.largest_gradient, trust)
    own = compiled_rule(state.rule, loss, state.n_columns)
    ok = learn(state, dense, sparse, Fields, SCRATCH, own, clock, model, 4, *rows)
    state.t, _, state.largest_weight = clock.tolist()
    state.waiting = float(trust.waiting[0])
    if not ok:
        raise Diverged


def compiled_rule(rule, loss, n_columns):
    """`CompiledRule` of a rule and the bound of a loss."""
    played = rule.averaged and not rule.plays_latest
    own = rule.n_targets, rule.alpha, n_columns, rule.intercept, played, rule.judged, compiled_clip(rule)
    return CompiledRule(*own, *compiled_bound(loss), rule.begins)


@lru_cache
def compiled_constants(rule, loss):
    """Compile-time constants of a rule and a class of losses."""
    return constants_of(update=UPDATES.index(rule.update), **column_constants(rule), **loss_constants(loss))
