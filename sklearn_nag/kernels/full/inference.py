"""The uncertainty of least squares, if errors are independent and normal with one variance.

``y = x^T w + error``; the estimate has the covariance ``sigma^2 S^-1``, and the error of a prediction the variance
``sigma^2 (1 + x^T S^-1 x)``. Weights of rows count as numbers of rows.
"""

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import stdtrit

from ..vectorized.blocks import dense_blocks
from ..vectorized.leverage import beyond


def _known(state):
    """Columns that have their own weight, and the factor on these."""
    known = np.flatnonzero(np.diag(state.factor) != 0.0)
    return known, state.factor[np.ix_(known, known)]


def _whitened(state, X, known, factor):
    """Rows ``x`` as the model's columns have them, and ``z`` with ``x = factor^T z`` in the known columns."""
    columns = state.columns
    x = np.ones((len(X), columns.lift.size))
    x[:, : X.shape[1]] = X
    x = x * columns.lift - columns.origin
    if state.rule.intercept:
        x[:, -1] = 1.0
    return x, solve_triangular(factor, x[:, known].T, trans="T", check_finite=False).T


def excess_leverage(state, X):
    """See `sklearn_nag.kernels.excess_leverage`: of ``x^T S^+ x``, which no linear map of the features changes."""
    excess, known = np.zeros(X.shape[0]), _known(state)
    if state.t > 0.0:
        with np.errstate(all="ignore"):
            for rows, x in dense_blocks(X):
                _, z = _whitened(state, x, *known)
                excess[rows] = beyond(np.add.reduce(z * z, axis=1) * state.t, z.shape[1]) / state.t
    return excess


def spread_of_errors(state):
    """Standard deviations of the errors, lifted, and degrees of freedom; infinite if there are none of these."""
    freedom = state.t - len(_known(state)[0])
    return np.where(freedom > 0.0, state.residual / np.sqrt(freedom), np.inf), freedom


def standard_errors(state, n_features):
    """Standard errors of the weights in raw units, for each target and feature.

    NaN for features that depend on earlier ones; infinite without degrees of freedom.
    """
    known, factor = _known(state)
    of_columns = np.full(state.columns.lift.size, np.nan)
    with np.errstate(all="ignore"):
        sigma, _ = spread_of_errors(state)
        inverse = solve_triangular(factor, np.eye(len(known)))
        of_columns[known] = np.sqrt(np.einsum("ij,ij->i", inverse, inverse)) * state.columns.lift[known]
        return np.outer(sigma / state.targets.lift, of_columns[:n_features])


def interval_widths(state, X, coverage):
    """Half-widths of intervals for future targets (Student's t), for each row, target and coverage.

    Infinite without degrees of freedom, and for rows outside the span of those learnt.
    """
    known, factor = _known(state)
    with np.errstate(all="ignore"):
        sigma, freedom = spread_of_errors(state)
        x, z = _whitened(state, X, known, factor)
        is_new = ~np.isclose(z @ state.factor[known], x, rtol=1e-6, atol=1e-6 * state.columns.deviation).all(axis=1)
        leverage = np.where(is_new, np.inf, (z**2).sum(axis=1))
        width = np.sqrt(1.0 + leverage)[:, None] * (sigma / state.targets.lift)
        width = width[:, :, None] * stdtrit(freedom, 0.5 + 0.5 * coverage)
    return np.where(np.isnan(width), np.inf, width)
