"""One model of several: invariance under every linear map of the features.

``S`` is a sum over rows, so factors are stacked and factored again, without forming ``S``. What models learnt after a
common start has ``S - S_start``, whose factor follows from orthogonal maps, too. As in `coordinatewise`, the functions
that models play are averaged, and ``q`` becomes what plays the average.
"""

from __future__ import annotations

import numpy as np

from ..state.lifts import positive
from ..state.merging import finish, invert_growth, prepare
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
    NotImplementedError
        For least squares.
    """
    if states[0].rule.update == "least_squares":
        raise NotImplementedError("models that learn by update='least_squares' cannot be merged")
    with np.errstate(all="ignore"):
        parts = prepare(states, base, relift=lambda state, index, lift: state.relift(index, lift), move_origin=_unfold)
        return None if parts is None else finish(_merge(parts))


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
        columns.deviation += np.abs(move)
        factor += np.outer(factor[:, -1], move)


def _merge(parts):
    merged, base, everyone = parts.merged, parts.base, [*parts.states, parts.base]
    rule, columns = merged.rule, merged.columns
    merged.largest_gradient[:] = np.max([state.largest_gradient for state in everyone], axis=0)
    merged.largest_weight = max(state.largest_weight for state in everyone)
    # A row adds x^T S^+ x, which falls as 1 / t: what one model would have grows with the logarithm of the rows.
    merged.Gamma[:] = np.max([state.Gamma for state in everyone], axis=0)
    stack = [base.factor, *(_without(state.factor, base.factor) for state in parts.states)]
    _factor_again(merged, np.vstack(stack))

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


def _without(factor, start):
    """Factor of ``factor^T factor - start^T start``, where the latter's rows are among those of the former.

    ``start = Q factor`` with ``Q^T Q <= 1``, so what is left is ``factor^T (1 - Q^T Q) factor``.
    """
    if not start.any():
        return factor
    Q = solve(factor.T[::-1, ::-1], start[:, ::-1])[:, ::-1]
    values, vectors = np.linalg.eigh(np.eye(len(factor)) - Q.T @ Q)
    return np.sqrt(np.clip(values, 0.0, 1.0))[:, None] * (vectors.T @ factor)


def _factor_again(state, stack):
    """Set the factor of the state to that of ``stack^T stack``; what is dependent but for rounding gets no diagonal."""
    root = np.sqrt(state.t)
    for row in np.linalg.qr(stack, mode="r"):
        rotate_in(state, row, root)
