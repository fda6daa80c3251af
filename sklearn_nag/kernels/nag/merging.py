"""One model of several: the NAG family.

Sums are summed, and the weights of the columns, in raw units, are averaged by the weight of the rows behind them. An
average has come as far as one of the models, not as far as all of them after one another, and steps must not become
short as if it had: so ``G``, which shortens them, grows by an average, too, that of Vowpal Wabbit, in which each ``G``
counts as much as it is. Where one model alone has met a feature, it is what that model has.
"""

from __future__ import annotations

import numpy as np

from ..state.lifts import TINY, positive
from ..state.merging import finish, prepare
from .rule import constrain, penalty_clock, settle


def merge(states, base, by="t"):
    """Merge models by the same rule.

    Parameters
    ----------
    states : list of State
        What models learnt of rows of their own.
    base : State or None
        The model that all of them went on from.
    by : {"t", "G"}
        Whether weights are averaged by the weight of the rows behind them, or column by column by the sums of their
        squared gradients (for adaptive rules), as Vowpal Wabbit does.

    Returns
    -------
    State or None
        A new model; None where at most one of them has learnt anything after ``base``.

    Raises
    ------
    Diverged
        When a sum overflows.
    """
    if states[0].rule.forgets:
        raise NotImplementedError("with half_life, what was learnt is no sum over rows")
    with np.errstate(all="ignore"):
        parts = prepare(states, base)
        return None if parts is None else finish(_merge(parts, by))


def _merge(parts, by):
    merged, everyone = parts.merged, [*parts.states, parts.base]
    rule, columns = merged.rule, merged.columns
    merged.gradient_lift[:] = np.min([state.gradient_lift for state in everyone], axis=0)
    for state in everyone:
        if rule.adaptive:
            state.columns.rescale_G((merged.gradient_lift / state.gradient_lift)[:, None] ** 2)
    excess = parts.total(lambda state: state.mixture.excess)
    merged.mixture.excess[:] = excess - excess.min(axis=1, keepdims=True)
    merged.mixture.gap[:] = parts.total(lambda state: state.mixture.gap)
    if rule.adaptive:
        start = parts.base.columns.G
        own = [state.columns.G - start for state in parts.states]
        most = positive(np.max(own, axis=0))  # so that no square leaves the range
        columns.G[:] = np.maximum(start + most * _mean_by_size([G / most for G in own]), TINY)
    sums = [_sum_of_played(state) for state in everyone] if rule.averaged else None
    if rule.penalised:  # what is due falls due by the clock of each model
        for state in everyone:
            settle(state, state.columns)
        if rule.l2 > 0:
            columns.shrunk[:] = penalty_clock(merged, rule)
        if rule.l1 > 0:
            columns.received[:] = np.clip(parts.total(lambda state: state.columns.received), -merged.t, merged.t)

    units = [_unit(state) for state in parts.states]
    weights = [state.columns.weight / unit for state, unit in zip(parts.states, units)]
    shares = _shares(parts, by)
    columns.weight[:] = sum(share * weight for share, weight in zip(shares, weights))
    if rule.intercept:
        moves = parts.intercept_moves(weights, np.ones(len(weights)))
        columns.weight[:, -1] += sum(share[..., -1] * move for share, move in zip(shares, moves))
    columns.weight *= _unit(merged)
    if rule.constraint is not None:
        constrain(rule, columns, merged.size(), merged.unit(), range(rule.n_heads))

    if rule.averaged:
        base = sums.pop()
        own = [(total - base) / unit for total, unit in zip(sums, units)]
        counts = [state.averaged - parts.base.averaged for state in parts.states]
        if rule.intercept:
            for total, move in zip(own, parts.intercept_moves(own, counts)):
                total[:, -1] += move
        columns.past[:] = merged.averaged * columns.weight - (base + sum(own) * _unit(merged))
    else:
        merged.averaged = 0.0
    return merged


def _mean_by_size(values):
    """Mean of arrays that are not negative, in which each counts as much as it is."""
    return sum(value * value for value in values) / positive(sum(values))


def _sum_of_played(state):
    """``sum c t weight`` over the weights played."""
    return state.averaged * state.columns.weight - state.columns.past


def _unit(state):
    """What the weights that are kept are multiplied by, beside the weights by lifted columns; 1 where that is 0."""
    size = positive(state.size())
    return size if state.rule.adaptive else size * size


def _shares(parts, by):
    """By what to multiply the weights of each model, of a shape that goes with (n_heads, n_columns)."""
    shares = [np.full(1, share) for share in parts.share]
    if by == "t" or not parts.merged.rule.adaptive:
        return shares
    own = [np.maximum(state.columns.G - parts.base.columns.G, 0.0) for state in parts.states]
    total = sum(own)
    return [np.where(total > 0, G / positive(total), share) for G, share in zip(own, shares)]
