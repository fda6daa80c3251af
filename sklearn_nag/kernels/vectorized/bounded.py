"""Losses of learners without a learning rate, whose derivatives are divided by their bound."""

from __future__ import annotations

import numpy as np

from . import targets


def suffer(state, loss, target_rows, i, p, played):
    """Derivative of the loss for row ``i``, divided by its bound, and the prediction played, clipped.

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
    p, played : ndarray of shape (n_heads,)
        ``sum u z`` by the latest weights, and by those that `predict` has.

    Returns
    -------
    g, clipped : ndarray of shape (n_heads,)
        The derivative by the former, between -1 and 1, and the latter, relative to the origin of the targets.
    """
    g, clipped = targets.suffer(loss, target_rows, i, p, played)
    unit = target_rows.unit[i]
    bound = loss.lipschitz(unit)
    if bound is None:
        bound = np.maximum(state.largest_gradient, np.abs(g), out=state.largest_gradient)
    return np.clip(g / np.where(bound > 0, bound, 1.0), -1.0, 1.0), clipped
