"""The update that is invariant under every linear map of the features, as NumPy defines it.

One Givens rotation for each column adds a row to the factor. The same rotations, applied to ``q``, keep
``h = factor^T q``; the last unit vector becomes ``v``, with ``factor^T v`` the row. So ``x^T S^+ h`` is ``v^T q``, and
``h -= g x`` is ``q -= g v``. The average of the weights is stored likewise, by ``S`` times it. Nothing is inverted, and
no system is solved until somebody asks for weights.
"""

import numpy as np

from ..state.lifts import LARGEST, all_finite
from ..state.model import Diverged
from ..vectorized.blocks import learn_in_blocks
from ..vectorized.columns import raise_lifts_for, running
from ..vectorized.targets import clip_played, count_losses, read_targets, suffer_bounded
from .rule import SOME, played_factor, rank_tolerance, solve


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight; see `sklearn_nag.kernels.learn`."""
    learn_in_blocks(_learn_block, state, loss, X, y, sample_weight, order, predictions)


def _learn_block(state, columns, loss, x, y, c, played):
    t = running(np.add, state.t, c)
    first = state.rule.target_unit and state.t == 0
    target_rows = read_targets(state, y, c, t)
    for i in range(len(c)):
        state.t = float(t[i + 1])
        if state.rule.update == "least_squares":
            _regress_row(state, target_rows, i, x[i], c[i], played)
        else:
            _learn_row(state, loss, target_rows, i, x[i], c[i], played)
    if state.rule.update == "least_squares":
        np.clip(played, target_rows.least, target_rows.most, out=played)
    else:
        clip_played(target_rows, played)
    count_losses(state, loss, target_rows, c, played, first)
    if not columns.finite():
        raise Diverged


def _learn_row(state, loss, target_rows, i, x, c, played):
    q, root = state.columns.weight, np.sqrt(c)
    v, is_new, averaged, _ = rotate_in(state, relative(state, x) * root, root)
    inner = np.zeros(len(q)) if is_new else np.add.reduce(v * q, axis=1)
    state.largest_weight = float(max(state.largest_weight, c))
    factor = played_factor(np.add.reduce(q * q, axis=1) - state.Gamma, state.rule.alpha, state.largest_weight)
    p = factor * inner / root
    played[i] = np.clip(averaged / root, -LARGEST, LARGEST) if state.rule.averaged else p
    g = suffer_bounded(state, loss, target_rows, i, p)
    q -= (root * g)[:, None] * v
    state.Gamma[:] += c * g * g * np.add.reduce(v * v)
    average(state, c, v)


def average(state, c, v):
    """Add the weights after a row to their average; see `State`."""
    past, share = state.columns.past, c / state.t * (2.0 - c / state.t)
    weights = state.potential()[:, None] * state.columns.weight
    past += np.add.reduce(weights * v, axis=1)[:, None] * v
    past *= 1.0 - share
    past += share * weights


def _regress_row(state, target_rows, i, x, c, played):
    """Learn a row by least squares.

    The forecaster predicts with ``S`` including the row and, as its target, the mean of those before.
    """
    rows, root = target_rows, np.sqrt(c)
    x, q = relative(state, x) * root, state.columns.weight
    before = solve(state.factor, q) @ x if state.rule.forgets else None  # rotations leave out what may be rounding
    v, is_new, solved, rest = rotate_in(state, x, root)
    if before is None:
        state.residual[:] = np.minimum(np.hypot(state.residual, rest * (root * rows.y[i] - solved)), LARGEST)
    else:
        solved = np.nan_to_num(before, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    state.largest_weight = float(max(state.largest_weight, c))
    p = rows.mean_before[i]
    if not is_new:
        p = np.add.reduce(v * q, axis=1) / root + np.add.reduce(v * v) * p if state.rule.forecasts else solved / root
    played[i] = p
    q += (root * rows.y[i])[:, None] * v


def relative(state, x):
    """The row, lifted and relative to the first one; updates lifts, sizes and the origin."""
    columns, bias = state.columns, state.rule.intercept
    size = np.abs(x)
    raise_lifts_for(columns, size, state.relift)
    np.maximum(columns.largest, size, out=columns.largest)
    x = x * columns.lift
    if bias and state.largest_weight == 0:
        columns.origin[:-1] = x[:-1]
    x -= columns.origin
    np.maximum(columns.deviation, np.abs(x), out=columns.deviation)
    return x


def is_rounding(factor, x, i, rounding):
    """Whether the rest of column ``i`` may be rounding, of its values or of those of columns that it depends on."""
    if abs(x[i]) <= rounding[i]:
        return True
    share = solve(factor[:i, :i], factor[None, :i, i])[0]
    return bool(abs(x[i]) <= rounding[i] + np.abs(share) @ rounding[:i])


def rotate_in(state, x, root):
    """Rotate the row ``x`` into the factor, ``q``, and the average of the weights.

    Returns ``v``; whether the row is independent of those before, so that ``v^T q`` is 0 except for rounding; what the
    average ``a`` predicts for it; and ``rest``. Rotations turn ``x^T a`` into ``rest x^T a`` and what is left of the
    average, which add up to 0 in the end. An independent row is predicted by 0, as with the latest weights, because the
    value of `predict` would change with linear maps. For least squares, the solution predicts, and what is left of the
    target is ``rest`` times the target minus this prediction.
    """
    n, k = len(x), len(state.columns.weight)
    known = np.concatenate([state.factor, state.columns.weight.T, state.columns.past.T], axis=1)
    x = np.concatenate([x, np.zeros(2 * k)])  # with the rest of ``q`` and of the average
    rounding = root * rank_tolerance(state.columns)
    # Once all but the latest rows are forgotten, only rounding would be known of a column that stays the same.
    nothing = SOME * n * np.abs(x) if state.rule.forgets else np.zeros(n)
    v, rest, is_new = np.zeros(n), 1.0, False
    for i in range(n):
        own = known[i]
        if abs(x[i]) <= nothing[i] or (own[i] == 0.0 and is_rounding(known, x, i, rounding)):
            continue
        is_new = own[i] == 0.0
        length = np.hypot(own[i], x[i])
        cos, sin = own[i] / length, x[i] / length
        own[i:], x[i:] = cos * own[i:] + sin * x[i:], cos * x[i:] - sin * own[i:]
        v[i], rest = sin * rest, cos * rest
        if is_new:
            break
    state.factor[:], state.columns.weight[:], state.columns.past[:] = known[:, :n], known[:, n:-k].T, known[:, -k:].T
    left = x[n:-k] if state.rule.update == "least_squares" else x[-k:]
    predicted = np.zeros(k) if is_new else -left / rest
    if not all_finite(predicted):
        predicted = np.nan_to_num(predicted, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    return v, is_new, predicted, rest
