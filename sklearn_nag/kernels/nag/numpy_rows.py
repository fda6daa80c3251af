"""The definition of the NAG family's updates, in NumPy.

A row is handled in two parts. What depends on inputs alone (scales, ``z``, ``N``) is computed for a block of rows at
once; what depends on the targets goes row by row, vectorised over columns and heads. A sparse row is a dense one on the
columns that it names. No sum is left to BLAS, whose order of summation depends on the number of rows and of threads:
how a stream is cut, how many heads there are and how many threads run changes no bit.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from ..state.lifts import HIGHEST, LARGEST, TINY, lift, positive
from ..state.model import Diverged
from ..vectorized.blocks import learn_by_segments, learn_in_blocks
from ..vectorized.columns import read_inputs, write_back
from ..vectorized.targets import count_losses, read_targets
from .rule import constrain, ends_of, settle


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight; see `sklearn_nag.kernels.learn`."""
    learn, together = partial(learn_by_segments, _learn_segment, settle=_settle), None
    if not state.rule.penalised:  # as a penalty is made up for at the rows that name a column, and rounds there
        learn = partial(learn_by_segments, _learn_segment)
        together = partial(learn_by_segments, partial(_learn_segment, by_column=True))
    learn_in_blocks(learn, state, loss, X, y, sample_weight, order, predictions, together)


class _Rates(NamedTuple):
    """What the learning rates of the heads are multiplied by, for each row of a segment.

    Attributes
    ----------
    rate : ndarray of shape (n_rows,)
        ``sqrt(t / N)``, or ``t / N`` for rules that are not adaptive, times ``t ** -power_t``.
    N : ndarray of shape (n_rows + 1,)
        ``sum c z^2`` before each row, and after the last.
    shrinkage : ndarray of shape (n_rows + 1,)
        Clock of the L2 penalty, where there is one, before each row, and after the last.
    """

    rate: np.ndarray
    N: np.ndarray
    shrinkage: np.ndarray


def _read_rates(state, inputs, c):
    """`_Rates` of the rows of a segment."""
    rule, t = state.rule, inputs.t
    rate = t[1:] ** -rule.power_t if rule.power_t else np.ones(len(c))
    N = np.full(len(c) + 1, state.N)
    if rule.normalization is not None:
        if inputs.visited is None:
            squared = np.add.reduce(inputs.z * inputs.z, axis=1)
        else:
            squared = [np.add.reduce(z * z) for z in inputs.z]
        N = np.add.accumulate(np.append(state.N, c * squared))
        per_row = t[1:] / positive(N[1:])
        rate = rate * (rule.radius or np.sqrt(per_row) if rule.adaptive else per_row)
    shrinkage = np.full(len(c) + 1, state.shrinkage)
    if rule.l2 > 0:
        growth = c * rate / rule.time_factor(t[1:]) if rule.adaptive else c * rate
        shrinkage = np.add.accumulate(np.append(state.shrinkage, growth))
    return _Rates(rate, N, shrinkage)


def _learn_segment(state, columns, loss, x, absolute, y, c, played, by_column=False):
    """Learn rows that need no new lift; ``by_column`` on the columns alone that each visits."""
    named = x != 0 if state.rule.lazy else None
    if named is not None and state.rule.selective:
        named |= columns.frequent > 0
    inputs = read_inputs(state, columns, x, absolute, c, named if by_column else None)
    rates = _read_rates(state, inputs, c)
    first = state.rule.target_unit and state.t == 0
    target_rows = read_targets(state, y, c, inputs.t)
    _descend(state, columns, loss, inputs, named, rates, target_rows, c, played)
    write_back(columns, inputs.before, -1)
    state.t, state.N, state.shrinkage = float(inputs.t[-1]), float(rates.N[-1]), float(rates.shrinkage[-1])
    if not columns.finite():
        raise Diverged
    count_losses(state, loss, target_rows, c, played, first)


def _descend(state, columns, loss, inputs, named, rates, target_rows, c, played):
    """One step for each row; ``named`` tells which columns a row visits, where others can wait."""
    rule, visited = state.rule, inputs.visited
    targets, means_before, means, units, _, least, most, floor, ceiling, compared, _ = target_rows.for_heads(
        rule.experts
    )
    step = np.multiply.outer(rates.rate, rule.eta) * units ** (1 if rule.adaptive else 2 - rule.degree)
    single = len(rule.eta) == 1
    if single:  # by vectors and scalars, as they cost less
        means_before, means, least, most, floor, ceiling, compared, targets, units, step = (
            a[:, 0] for a in (means_before, means, least, most, floor, ceiling, compared, targets, units, step)
        )
    # What weights are multiplied by for a prediction: z or, where they are kept as theta, z over the scale.
    keeps_u = rule.adaptive or rule.normalization is None
    table, places = columns.table[len(columns.shared) :], _places_of_heads(columns, single)
    weight, G, past = _of_heads(table, places)
    product, direction = np.empty_like(weight), np.empty_like(weight)
    free, mixed = rule.clip is None and not (rule.target_unit or rule.log_link), rule.n_played < rule.n_heads
    importance_aware = rule.importance_aware and loss.move is not None
    kept = _share_of_average(state, single)
    some = bool if single else np.any
    by_head = (lambda a: a) if single else (lambda a: a[:, None])
    sharing, to_heads = rule.sharing, partial(np.repeat, repeats=rule.sharing, axis=0)
    gradient_lift = state.gradient_lift[0] if single else state.gradient_lift
    for i in range(len(c)):
        if rule.penalised:
            _settle_penalty(state, columns, i, inputs, named, rates, target_rows.spread)
        averaged = state.averaged
        if inputs.t[i + 1] >= rule.average_from:
            state.averaged += c[i] * inputs.t[i + 1]
        x, z = inputs.x[i], inputs.z[i]
        features = z if keeps_u else z / positive(inputs.sizes[i])
        if visited is not None:
            some_columns = visited[i]
            of_row = table.take(some_columns, axis=1)
            weight, G, past = _of_heads(of_row, places)
            product, direction = np.empty_like(weight), np.empty_like(weight)
        if rule.bounded:
            some_ends = _ends_of_row(state, columns, inputs, i)
            _hold(rule, weight, past, averaged, some_ends)
            if visited is not None:
                table[:, some_columns] = of_row
        np.multiply(weight, features, out=product)
        p = np.add.reduce(product, axis=-1)
        latest = average = q = p + means_before[i]
        if averaged > 0:
            if rule.bounded:  # as is the average of what was held by other scales
                np.multiply(weight - np.clip(weight - past / averaged, *some_ends), features, out=product)
                behind = np.add.reduce(product, axis=-1)
            else:
                np.multiply(past, features, out=product)
                behind = np.add.reduce(product, axis=-1) / averaged
            q, average = latest - kept * behind, latest - behind
        hold = _as_it_is if free else partial(_held, least=least[i], most=most[i])
        if mixed:
            share = state.mixture.weights()
            state.mixture.suffer(share, _losses(loss, hold(q), targets[i], units[i], c[i], rule))
            latest, average, q = (np.add.reduce(share.T * _by_expert(v, rule)) for v in (latest, average, q))
            hold = _as_it_is if free else partial(_held, least=least[i, : len(q)], most=most[i, : len(q)])
        played[i] = hold(latest if rule.plays_latest else q)
        if rule.judged:
            n_sets = rule.n_played // rule.n_targets
            pair = np.concatenate([np.reshape(hold(v), -1) for v in (latest, average)])
            losses = _losses(loss, pair, targets[i], units[i], c[i], rule)
            state.judge(losses.reshape(-1, 2, n_sets).transpose(2, 0, 1).reshape(-1, 2))
            if state.waiting == 0.0:
                kept = _share_of_average(state, single)
        p += means[i]
        if rule.clip is not None or rule.log_link:
            p = np.minimum(np.maximum(p, floor[i]), ceiling[i])
        if loss.coupled:
            p = loss.margins(p.reshape(rule.experts, -1)).reshape(-1)
        g = loss.gradient(p, compared[i], units[i])
        if not some(g):
            continue
        weighted_gradient = g * (np.sqrt(c[i]) if importance_aware else c[i])
        if rule.adaptive:
            # Heads that share a G have one gradient for it, of their mean square.
            slope = weighted_gradient if sharing == 1 else root_mean_square(weighted_gradient, sharing)
            if some(abs(slope) >= HIGHEST / gradient_lift):
                raise_gradient_lift(state, columns, np.abs(slope))
                gradient_lift = state.gradient_lift[0] if single else state.gradient_lift
                if visited is not None:
                    of_row = table.take(some_columns, axis=1)
                    weight, G, past = _of_heads(of_row, places)
            scaled, root = (direction, product) if sharing == 1 else np.empty((2, *G.shape))
            np.multiply(by_head(slope * gradient_lift), x, out=scaled)
            np.multiply(scaled, scaled, out=root)
            G += root
            np.sqrt(G, out=root)
            if importance_aware:
                np.divide(x, root, out=scaled)
                scaled[G <= TINY] = 0.0
                step_size = step[i] * c[i] * (gradient_lift if sharing == 1 else to_heads(gradient_lift))
            else:
                scaled /= root
                step_size = step[i]
            if sharing > 1:
                direction = to_heads(scaled)
                if not importance_aware:
                    direction *= by_head(weighted_gradient / to_heads(np.where(slope == 0, 1.0, slope)))
        elif importance_aware:
            direction[:] = x
            step_size = step[i] * c[i]
        else:
            np.multiply(by_head(weighted_gradient), x, out=direction)
            step_size = step[i]
        if importance_aware:
            np.multiply(direction, features, out=product)
            gain = np.add.reduce(product, axis=-1)  # by how much a step of size 1 moves the prediction
            move = loss.move(p, compared[i], step_size * gain, units[i])
            if not single:
                move[g == 0] = 0.0  # as for a single head, for which such a row is left out
            direction *= by_head(move / positive(gain))
        else:
            direction *= by_head(-step_size)
        weight += direction
        if rule.averaged:
            direction *= state.averaged
            past += direction
        if rule.bounded:
            _hold(rule, weight, past, state.averaged, some_ends)
        if visited is not None:
            table[:, some_columns] = of_row
        if rule.projected:
            before = columns.weight.copy()
            unit = np.reshape(units[i], -1) if rule.target_unit else np.ones(len(rule.eta))
            constrain(rule, columns, inputs.sizes[i], unit, np.flatnonzero(np.reshape(g, -1)))
            if rule.averaged:
                columns.past += state.averaged * (columns.weight - before)


def _ends_of_row(state, columns, inputs, i):
    """Between which the weights are held that row ``i`` visits, which are those that it is not 0 for."""
    places = slice(None) if inputs.visited is None else inputs.visited[i]
    least, most = ends_of(state.rule, columns, inputs.sizes[i], state.targets.lift, places)
    apart = inputs.z[i] == 0
    return np.where(apart, -np.inf, least), np.where(apart, np.inf, most)


def _hold(rule, weight, past, averaged, ends):
    """Cut weights off at their ends; the average of those played has been made of what they were before."""
    held = np.clip(weight, *ends)
    if rule.averaged:
        past += averaged * (held - weight)
    weight[...] = held


def _places_of_heads(columns, single):
    """Where ``weight``, ``G`` and ``past`` are among the fields of heads, or None; one row each for a single head."""
    rows, above = columns.ranges(), len(columns.shared)
    kept = [rows.get(name) for name in ("weight", "G", "past")]
    return [some and (some.start - above if single else slice(some.start - above, some.stop - above)) for some in kept]


def _of_heads(table, places):
    """The rows at some places of a table of the fields of heads; None where a field is absent."""
    return [None if place is None else table[place] for place in places]


def root_mean_square(gradients, sharing):
    """Of each group of heads side by side."""
    if sharing == 1:
        return np.abs(gradients)
    groups = np.abs(gradients.reshape(-1, sharing))
    most = groups.max(axis=1)  # so that no square leaves the range
    groups /= positive(most)[:, None]
    return most * np.sqrt(np.add.reduce(groups * groups, axis=1) / sharing)


def _held(p, least, most):
    """Predictions within a range; NaN where they are not finite."""
    return np.minimum(np.maximum(p, least), most) + 0.0 * p


def _as_it_is(p):
    return p


def _share_of_average(state, single):
    share = 1.0 - state.share_of_latest()
    return share[0] if single else share


def _by_expert(values, rule):
    return values.reshape(-1, rule.n_targets)


def _losses(loss, p, y, unit, c, rule):
    """Losses, of shape (n_groups, n_sets), of several sets of predictions for the targets of a row of weight ``c``."""
    p, y, unit = (_by_expert(np.reshape(values, -1), rule) for values in (p, y, unit))
    unit = positive(unit[0])
    values = loss.value((loss.margins(p) if loss.coupled else p) / unit, y[0] / unit) * c
    return np.minimum(np.add.reduce(values.reshape(len(p), rule.n_groups, -1), axis=2).T, LARGEST)


def _settle_penalty(state, columns, i, inputs, named, rates, spread):
    """Shrink the weights by the penalty up to the row before ``i``, by the scales and units that held then."""
    write_back(columns, inputs.before, i)
    state.t, state.N, state.shrinkage = float(inputs.t[i]), float(rates.N[i]), rates.shrinkage[i]
    if spread is not None:
        last, state.targets.spread[:] = state.targets.spread.copy(), spread[i]
    _settle(state, columns, None if named is None else named[i])
    if spread is not None:
        state.targets.spread[:] = last


def _settle(state, columns, named):
    """As `settle`; the average of the weights played has been made of those before."""
    before = columns.weight.copy()
    settle(state, columns, named)
    if state.rule.averaged:
        columns.past += state.averaged * (columns.weight - before)


def raise_gradient_lift(state, columns, largest):
    """Adapt the lifts of gradients to those at hand, whose sizes are ``largest``."""
    largest = np.reshape(largest, -1)
    new = np.where(largest == 0, state.gradient_lift, np.minimum(state.gradient_lift, lift(largest)))
    ratio = (new / state.gradient_lift)[:, None]
    state.gradient_lift[:] = new
    if state.G_before is None:
        state.G_before = state.columns.kept("G").copy()
    state.columns.multiply({"G": ratio**2})
    if columns.table is not state.columns.table:
        columns.multiply({"G": ratio**2})
