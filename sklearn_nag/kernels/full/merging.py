"""One model of several: invariance under every linear map of the features.

``S`` is a sum over rows, so factors are stacked and factored again, without forming ``S``. What models learnt after a
common start has ``S - S_start``, whose factor follows from orthogonal maps, too. For least squares ``h`` is such a sum
as well, and ``q`` goes through the same maps: the merged model is what one model is after all rows. With the potential,
as in `coordinatewise`, the functions that models play are averaged, and ``q`` becomes what plays the average.
"""

from __future__ import annotations

import numpy as np

from ..state.lifts import positive
from ..state.merging import finish, invert_growth, move_targets, prepare
from .numpy_rows import rotate_in
from .rule import solve


def merge(states, base):
    """Merge models by the same rule.

    Parameters
    ----------
    states : list of State
        What models learnt of rows of their own.
    base : State or None
        The model that all of them went on from.

    Returns
    -------
    State or None
        A new model; None where at most one of them has learnt anything after ``base``.

    Raises
    ------
    Diverged
        When a sum overflows.
    """
    exact = states[0].rule.update == "least_squares"
    how = {"move_origin": _move_rows, "move_targets": _move_values} if exact else {"move_origin": _unfold}
    with np.errstate(all="ignore"):
        parts = prepare(states, base, relift=lambda state, index, lift: state.relift(index, lift), **how)
        if parts is None:
            return None
        _merge_sums(parts, exact)
        return finish(parts.merged if exact else _merge_functions(parts))


def _move_rows(state, move):
    """Count columns from another origin: the factor, triangular no longer, has a constant column as the rows do."""
    state.columns.deviation += np.abs(move)
    state.factor += np.outer(state.factor[:, -1], move)


def _move_values(state, origin):
    """Count the targets of least squares from another origin: ``h`` changes by a multiple of the constant column's."""
    if state.rule.intercept and state.t > 0:
        state.columns.weight += np.outer(state.targets.origin - origin, state.factor[:, -1])
    move_targets(state, origin)


def _unfold(state, move):
    """Put the weights, last and summed, in place of what the factor makes of them; count from another origin.

    The factor is triangular no longer. Its constant column is that of the rows: that is what a move does to them.
    """
    columns, factor = state.columns, state.factor
    for values in (columns.weight, columns.past):
        values *= state.potential()[:, None] if values is columns.weight else 1.0
        values[:] = solve(factor, values)
    if move.any():
        for values in (columns.weight, columns.past):
            values[:, -1] -= values @ move
        _move_rows(state, move)


def _merge_sums(parts, exact):
    """Set the factor of the merged model and, with ``exact``, ``q``."""
    merged, base, everyone = parts.merged, parts.base, [*parts.states, parts.base]
    merged.largest_gradient[:] = np.max([state.largest_gradient for state in everyone], axis=0)
    merged.largest_weight = max(state.largest_weight for state in everyone)
    # A row adds x^T S^+ x, which falls as 1 / t: what one model would have grows with the logarithm of the rows.
    merged.Gamma[:] = np.max([state.Gamma for state in everyone], axis=0)
    heads = slice(None) if exact else slice(0)
    own = [_without(state, base, heads) for state in parts.states]
    rows = np.vstack([np.hstack([base.factor, base.columns.weight[heads].T]), *own])
    width, root = len(base.factor), np.sqrt(merged.t)
    # Rows that depend on others but for rounding get no diagonal.
    for row in np.linalg.qr(rows, mode="r")[:width]:
        v, _ = rotate_in(merged, row[:width].copy(), root)
        merged.columns.weight[heads] += np.outer(row[width:], v)


def _merge_functions(parts):
    """Set the weights to what plays the average of the functions that models play."""
    merged, base = parts.merged, parts.base
    rule, columns = merged.rule, merged.columns
    unit = positive(merged.unit())[:, None]
    ratios = [state.unit()[:, None] / unit for state in parts.states]
    counts = [state.averaged - base.averaged for state in parts.states]
    mean = sum(share * ratio * state.columns.weight for share, ratio, state in zip(parts.share, ratios, parts.states))
    total = sum(ratio * (state.columns.past - base.columns.past) for ratio, state in zip(ratios, parts.states))
    if rule.intercept:
        moves = np.array([state.targets.mean(state.t) - merged.targets.mean(merged.t) for state in parts.states])
        mean[:, -1] += parts.share @ moves / unit[:, 0]
        total[:, -1] += counts @ moves / unit[:, 0]
    columns.past[:] = (base.columns.past + total) @ merged.factor.T
    q = mean @ merged.factor.T
    length = np.sqrt(np.add.reduce(q * q, axis=1))
    rate = 1.0 / (2.0 * rule.alpha * merged.largest_weight)
    longer = invert_growth(np.log(length), rate, np.log(rule.alpha) + rate * merged.Gamma)
    columns.weight[:] = q * np.where(length > 0, longer / positive(length), 0.0)[:, None]
    return merged


def _without(state, base, heads):
    """Factor of what a state has learnt since ``base`` and, beside it, ``q`` of some heads.

    ``R_base = Q R`` with ``Q^T Q <= 1``, as the rows of ``base`` are among those of the state. So what is left of
    ``R^T R`` is ``R^T (1 - Q^T Q) R``, and of ``R^T q`` it is ``R^T (q - Q^T q_base)``.
    """
    factor, q = state.factor, state.columns.weight[heads]
    if not base.factor.any():
        return np.hstack([factor, q.T])
    Q = solve(factor.T[::-1, ::-1], base.factor[:, ::-1])[:, ::-1]
    values, vectors = np.linalg.eigh(np.eye(len(factor)) - Q.T @ Q)
    roots = np.sqrt(np.clip(values, 0.0, 1.0))[:, None]
    left = vectors.T @ (q - base.columns.weight[heads] @ Q).T
    return np.hstack([roots * (vectors.T @ factor), np.where(roots > 0, left / positive(roots), 0.0)])
