"""Losses of learners without a learning rate, whose derivatives are divided by their bound."""

from __future__ import annotations

import numpy as np

from ..state.lifts import LARGEST


def suffer(state, loss, target_rows, i, p):
    """Derivative of the loss for row ``i``, divided by its bound, and the prediction, clipped.

    Parameters
    ----------
    state : BoundedState
        Its largest derivatives are updated.
    loss : object
        The loss.
    target_rows : TargetRows
        Targets and their units.
    i : int
        The row.
    p : ndarray of shape (n_heads,)
        ``sum u z``.

    Returns
    -------
    g, clipped : ndarray of shape (n_heads,)
        The derivative, between -1 and 1, and the prediction, relative to the origin of the targets.
    """
    rows = target_rows
    clipped = np.clip(rows.mean[i] + rows.unit_before[i] * p, rows.least[i], rows.most[i])
    p = np.clip(rows.mean[i] + rows.moved[i] + rows.unit[i] * p, -LARGEST, LARGEST)
    if loss.coupled:
        p = loss.margins(p)
    g = loss.gradient(p, rows.y[i], rows.unit[i])
    bound = loss.lipschitz(rows.unit[i])
    if bound is None:
        bound = np.maximum(state.largest_gradient, np.abs(g), out=state.largest_gradient)
    return np.clip(g / np.where(bound > 0, bound, 1.0), -1.0, 1.0), clipped
