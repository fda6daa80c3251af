"""Merging models of the NAG family.

Sums are added. The weights of a column, in raw units, are averaged, and a model counts by the fourth root of ``G``, its
sum of squared gradients. A model that has not met the column does not count, and those that have count nearly the same.
With ``G`` itself, as in Vowpal Wabbit, a few outlying rows would decide. Intercepts, which all rows have met, count by
rows.

An average has come as far as one model, not as all in succession, and its steps must not be as short as if it had.
``G``, which shortens them, therefore grows by an average, too: Vowpal Wabbit's, in which each ``G`` is weighted by
itself, so that a feature that only one model has met keeps that model's.
"""

import numpy as np

from ..state.lifts import TINY, positive
from ..state.merging import finish, intercept_move, prepare
from .rule import constrain, hold, penalty_clock, settle


def merge(states, base, power=0.25):
    """Merge models with the same rule; see `sklearn_nag.kernels.merge`.

    Models count by their rows times ``G**power``; by rows alone if ``power`` is 0 or the rule not adaptive. Vowpal
    Wabbit's power is 1.
    """
    with np.errstate(all="ignore"):
        parts = prepare(states, base)
        return None if parts is None else finish(_merge(parts, power))


def _merge(parts, power):
    merged, everyone = parts.merged, [*parts.states, parts.base]
    rule, columns = merged.rule, merged.columns
    merged.gradient_lift[:] = np.min([state.gradient_lift for state in everyone], axis=0)
    for state in everyone:
        if rule.adaptive:
            state.columns.multiply({"G": (merged.gradient_lift / state.gradient_lift)[:, None] ** 2})
    first, *others = (state.mixture for state in parts.states)
    merged.mixture = first.merged(others, parts.base.mixture)
    merged.merge_judged(parts)
    if rule.adaptive:
        start = parts.base.columns.G
        own = [state.columns.G - start for state in parts.states]
        most = positive(np.max(own, axis=0))  # so that no square leaves the range
        shares = [G / most for G in own]  # for a mean of ``G`` weighted by itself
        columns.G[:] = np.maximum(start + most * (sum(G * G for G in shares) / positive(sum(shares))), TINY)
    if rule.averaged:  # sums of the weights played, times ``c t``
        sums = [state.averaged * state.columns.weight - state.columns.past for state in everyone]
    if rule.penalised:  # penalties fall due by the clock of each model
        for state in everyone:
            settle(state, state.columns)
        if rule.l2 > 0:
            columns.shrunk[:] = penalty_clock(merged, rule)
        if rule.l1 > 0:
            columns.received[:] = np.clip(parts.total(lambda state: state.columns.received), -merged.t, merged.t)

    units = [_unit(state) for state in parts.states]
    weights = [state.columns.weight / unit for state, unit in zip(parts.states, units)]
    shares = _shares(parts, power)
    columns.weight[:] = _mean_weight(parts, weights, shares) * _unit(merged)
    if rule.bounded:
        hold(merged)
    if rule.projected:
        constrain(rule, columns, merged.size(), merged.unit(), range(rule.n_heads))

    if rule.averaged:
        base, start = sums.pop(), parts.base
        counts = np.array([state.averaged - start.averaged for state in parts.states])
        own = [(played - base) / unit / max(count, TINY) for played, unit, count in zip(sums, units, counts)]
        # Averages over many rows are nearer to where all models go, however many short ones are merged.
        by_own_rows = counts - [state.extra - start.extra for state in parts.states]
        mean = _mean_weight(parts, own, _shares(parts, power, by_own_rows))
        # Each model counted ``c t`` with the ``t`` of its own rows; rows to come count with the ``t`` of all.
        ends = np.array([state.t + start.t for state in parts.states])
        total = counts.sum() * ((merged.t + start.t) / (parts.share @ ends))
        merged.averaged = float(start.averaged + total)
        merged.extra = max(float(start.extra + total - by_own_rows.sum()), 0.0)
        columns.past[:] = merged.averaged * columns.weight - (base + total * mean * _unit(merged))
    else:
        merged.averaged = merged.extra = 0.0
    return merged


def _mean_weight(parts, weights, shares):
    """Mean of the weights of lifted columns."""
    mean = sum(share * weight for share, weight in zip(shares, weights))
    if parts.merged.rule.intercept:
        mean[:, -1] = parts.intercept(weights, [share[..., -1] for share in shares])
    return mean


def lead(state, before, momentum, renew):
    """Move a merged model further the same way, by Nesterov's momentum; see `sklearn_nag.kernels.lead`.

    Weights do not move with an L1 penalty, whose zeros must stay, or if they would leave the range of float64. Source:
    Chen and Huo, "Scalable training of deep learning machines by incremental block training with intra-block parallel
    optimization and blockwise model-update filtering", ICASSP 2016.
    """
    rule, ahead = state.rule, state.copy()
    if momentum and rule.l1 == 0 and state.t > before.t:
        with np.errstate(all="ignore"):
            settle(ahead, ahead.columns)
            parts = prepare([ahead, ahead], before)  # with the lifts of the state, which has seen more
            here, before = parts.states[0], parts.base
            settle(before, before.columns)
            weight = before.columns.weight / _unit(before)
            if rule.intercept:
                weight[:, -1] += intercept_move(before, here, weight)
            before = ahead.columns.weight.copy()
            ahead.columns.weight += momentum * (here.columns.weight - weight * _unit(here))
            if rule.bounded:
                hold(ahead)
            if rule.averaged:
                ahead.columns.past += ahead.averaged * (ahead.columns.weight - before)
        ahead = ahead if ahead.columns.finite() else state.copy()
    if renew and rule.averaged:
        ahead.averaged = ahead.extra = 0.0
        ahead.columns.past[:] = 0.0
    return ahead


def _unit(state):
    """Stored weights over weights of lifted columns; 1 if that is 0."""
    size = positive(state.size())
    return size if state.rule.adaptive else size * size


def _shares(parts, power, rows=None):
    """Coefficients of each model's weights, which broadcast to (n_heads, n_columns).

    Models count by ``rows`` alone where none has met a column, or with a ``power`` of 0.
    """
    rows = parts.rows if rows is None else rows
    shares = [np.full((1, 1), share) for share in rows / max(rows.sum(), TINY)]
    if power == 0 or not parts.merged.rule.adaptive:
        return shares
    own = [np.maximum(state.columns.G - parts.base.columns.G, 0.0) for state in parts.states]
    most = positive(np.max(own, axis=0))  # so that no power leaves the range
    own = [share * (G / most) ** power for share, G in zip(shares, own)]
    total = sum(own)
    met = [np.where(total > 0, part / positive(total), share) for part, share in zip(own, shares)]
    rule = parts.merged.rule
    if rule.intercept and rule.target_unit:  # a level is a mean over rows, noisy or not
        for part, share in zip(met, shares):
            part[:, -1] = share
    return [np.repeat(share, parts.merged.rule.sharing, axis=0) for share in met]
