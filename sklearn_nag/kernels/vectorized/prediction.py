"""Decision values of a model, in NumPy whatever the backend."""

from __future__ import annotations

import numpy as np

from ..state.lifts import LARGEST, positive
from .blocks import dense_blocks


def predict(state, X):
    """Decision values for rows of raw features.

    Parameters
    ----------
    state : State
        Left as it is.
    X : ndarray or CSR array of shape (n_rows, n_features)
        Finite float32 or float64.

    Returns
    -------
    ndarray of shape (n_rows, n_played)
        ``X coef^T + intercept``. Where weights or predictions would leave the range of float64, ``u x / s`` is added up
        instead, and cut off at the largest double.
    """
    coef, intercept, exact = state.linear()
    with np.errstate(all="ignore"):
        if exact:
            p = X @ coef.T + intercept
            if np.isfinite(p).all():
                return p
        return predict_unit_free(state, X)


def predict_unit_free(state, X):
    """As `predict`, by ``sum u x / s``: slower, but in range, and with the same bits however rows come in batches."""
    n_features = X.shape[1]
    rule, columns = state.rule, state.columns
    u = state.unit_free_weight()
    rest = u[:, n_features:].sum(axis=1)
    if rule.target_unit:
        rest = rest + np.resize(state.targets.mean(state.t), rule.n_played)
    relative = columns.origin is not None
    s = positive(state.size() if relative else state.scale())[:n_features]
    mean = state.mean_from_origin()[:n_features] if relative else None
    p = np.empty((X.shape[0], len(u)))
    for rows, x in dense_blocks(X):
        if relative:
            x = x * columns.lift[:n_features] - columns.origin[:n_features] - mean
        z = x / s
        for head, weight in enumerate(u[:, :n_features]):
            p[rows, head] = np.add.reduce(np.where(weight == 0, 0.0, z * weight), axis=1) + rest[head]
    return np.nan_to_num(p + np.resize(state.targets.origin, rule.n_played), nan=0.0, posinf=LARGEST, neginf=-LARGEST)
