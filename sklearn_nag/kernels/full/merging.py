"""One model from several: invariance under every linear map of the features.

``S`` is a sum over rows, so factors are stacked and factored again, without forming ``S``. What models learnt after a
common start has ``S - S_start``, whose factor also follows from orthogonal maps. For least squares, ``h`` is such a sum
as well, and ``q`` goes through the same maps: the merged model is what one model is after all rows. With the potential,
as in `coordinatewise`, the functions that models play are averaged, and ``q`` becomes what plays the average. No linear
map of the rows changes the merged model, even if some models have seen rows outside the span of others'.
"""

from functools import partial

import numpy as np

from ..state.lifts import positive
from ..state.merging import finish, invert_growth, mean_move, move_targets, prepare
from .numpy_rows import rotate_in
from .rule import solve


def merge(states, base):
    """Like `sklearn_nag.kernels.merge`, for models of the same rule."""
    exact = states[0].rule.update == "least_squares"
    how = {"move_origin": _move_rows, "move_targets": _move_values} if exact else {"move_origin": _unfold}
    with np.errstate(all="ignore"):
        parts = prepare(states, base, **how)
        if parts is None:
            return None
        _merge_sums(parts, exact)
        return finish(parts.merged if exact else _merge_functions(parts))


def _move_rows(state, move):
    """Count columns from another origin; the factor, then no longer triangular, has a constant column as rows do."""
    state.columns.deviation += np.abs(move)
    state.factor += np.outer(state.factor[:, -1], move)


def _move_values(state, origin):
    """Count the targets of least squares from another origin; ``h`` changes by a multiple of the constant column's."""
    if state.rule.intercept and state.t > 0:
        state.columns.weight += np.outer(state.targets.origin - origin, state.factor[:, -1])
    move_targets(state, origin)


def _unfold(state, move):
    """Store the weights and their average themselves, not relative to the factor; count columns from another origin.

    The factor is then no longer triangular. Its constant column is that of the rows, so a move changes it as it does
    rows.
    """
    columns, factor = state.columns, state.factor
    columns.weight *= state.potential()[:, None]
    for values in (columns.weight, columns.past):
        values[:] = solve(factor, values)
        values[:, -1] -= values @ move
    _move_rows(state, move)


def _merge_sums(parts, exact):
    """Set the factor of the merged model and, if ``exact``, ``q``."""
    merged, base, everyone = parts.merged, parts.base, [*parts.states, parts.base]
    # A row adds x^T S^+ x, which falls as 1 / t: the sum of one model would grow with the logarithm of the rows.
    merged.Gamma[:] = np.max([state.Gamma for state in everyone], axis=0)
    heads = slice(None) if exact else slice(0)
    start = base.factor, base.columns.weight[heads]
    own = [_without((state.factor, state.columns.weight[heads]), start) for state in parts.states]
    _collect(merged, [start, *own], merged.columns.weight[heads])
    if exact:
        w = solve(merged.factor, merged.columns.weight)

        def left(state):
            return np.vstack([(w @ state.factor.T - state.columns.weight).T, state.residual])

        unit = positive(np.max([np.abs(left(state)) for state in everyone], axis=(0, 1)))
        squares = parts.total(lambda state: ((left(state) / unit) ** 2).sum(axis=0))
        merged.residual[:] = unit * np.sqrt(np.maximum(squares, 0.0))


def _merge_functions(parts):
    """Set the average and the weights of the merged model, to play the average of the functions that models play."""
    merged = parts.merged
    rule, columns = merged.rule, merged.columns
    unit = positive(merged.unit())[:, None]
    ratios = [state.unit()[:, None] / unit for state in parts.states]
    moves = np.zeros((len(parts.states), rule.n_heads))
    if rule.intercept:
        means = np.array([mean_move(state, merged) for state in parts.states])
        if rule.log_link:  # the mean of what they predict is the merged model's, not that of its logarithms
            means -= parts.share @ means
        moves = means / unit[:, 0]

    def moved(values, ratio, move):
        values = ratio * values
        values[:, -1] += move
        return values

    columns.past[:] = _merge_averages(parts, [partial(moved, ratio=r, move=m) for r, m in zip(ratios, moves)])
    q = np.zeros(columns.weight.shape)
    for state, share, ratio, move in zip(parts.states, parts.share, ratios, moves):
        w = moved(state.columns.weight, ratio, move)
        q += share * _extended(merged.factor, state.factor, w @ merged.factor.T, columns.past)
    length = np.sqrt(np.add.reduce(q * q, axis=1))
    rate = 1.0 / (2.0 * rule.alpha * merged.largest_weight)
    longer = invert_growth(np.log(length), rate, np.log(rule.alpha) + rate * merged.Gamma)
    columns.weight[:] = q * np.where(length > 0, longer / positive(length), 0.0)[:, None]
    return merged


def _merge_averages(parts, moved):
    """Average of the weights of all models, times the factor.

    A model's average counts by ``t^2 S`` (see `State`), and what it has after ``base`` by a difference of two such
    matrices. So averages are solutions of least squares, whose sums are exact.
    """
    merged, base = parts.merged, parts.base

    def problem(state, average):
        rows = state.t / merged.t * state.factor
        return rows, average @ rows.T

    pairs = list(zip(parts.states, moved))
    start = problem(base, base.columns.past)
    own = [
        _without(problem(state, move(state.columns.past)), problem(base, move(base.columns.past)))
        for state, move in pairs
    ]
    total = merged.copy()
    total.factor[:] = 0.0
    _collect(total, [start, *own], total.columns.past)
    return solve(total.factor, total.columns.past) @ merged.factor.T


def _extended(factor, part, q, others):
    """A model's functions on all rows: as known on the rows that it has seen, near to others elsewhere.

    ``factor`` is that of all rows, ``part`` that of the model's. ``q``, ``others`` and the result are ``factor`` times
    weights. Of those that agree with ``q`` on the model's rows, the result is nearest to ``others`` in squared
    differences of predictions for all rows.
    """
    seen = part.any(axis=1)
    if seen.sum() == factor.any(axis=1).sum():
        return q
    basis, _ = np.linalg.qr(_in_terms_of(factor, part)[seen].T)
    return others + (q - others) @ basis @ basis.T


def _collect(state, problems, values):
    """Add rows and their values, as `_without` returns them, to the empty factor of a model.

    ``values``, rows of ``state.columns``, are set to what has the values that come with the rows of ``problems``.
    """
    stacked = np.vstack([np.hstack([rows, of_rows.T]) for rows, of_rows in problems])
    width, root = len(state.factor), np.sqrt(state.t)
    # Rows that depend on others, except for rounding, get no diagonal entry.
    for row in np.linalg.qr(stacked, mode="r")[:width]:
        v, *_ = rotate_in(state, row[:width], root)
        values += np.outer(row[width:], v)


def _without(problem, start):
    """Rows and their values without those of a start, which they include.

    ``R_start = Q R`` with ``Q^T Q <= 1``. So the rest of ``R^T R`` is ``R^T (1 - Q^T Q) R``, and that of ``R^T q`` is
    ``R^T (q - Q^T q_start)``.
    """
    (factor, q), (start_factor, start_q) = problem, start
    if not start_factor.any():
        return problem
    Q = _in_terms_of(factor, start_factor)
    values, vectors = np.linalg.eigh(np.eye(len(factor)) - Q.T @ Q)
    roots = np.sqrt(np.clip(values, 0.0, 1.0))[:, None]
    left = vectors.T @ (q - start_q @ Q).T
    return roots * (vectors.T @ factor), np.where(roots > 0, left / positive(roots), 0.0).T


def _in_terms_of(factor, rows):
    """``Q`` with ``rows = Q factor``, for rows in its span."""
    return solve(factor.T[::-1, ::-1], rows[:, ::-1])[:, ::-1]
