"""The definition, in NumPy, of the updates without a learning rate that are invariant under scaling each feature."""

from __future__ import annotations

import numpy as np

from . import _numpy
from ._invariant import MOST_WEALTH, potential, scinol, scinol_root
from ._state import LARGEST


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """As `_numpy.learn_rows`."""
    _numpy.learn_rows(state, loss, X, y, sample_weight, order, predictions, _descend)


def _descend(state, columns, loss, inputs, goals, c, played):
    """One step for each row; see `_numpy`."""
    rule = state.rule
    n_columns = state.columns.lift.size
    h, G, beta = columns.weight, columns.G, columns.beta
    for i in range(len(c)):
        heaviest = state.heaviest = float(max(state.heaviest, c[i]))
        t, x, z, size = inputs.t[i + 1], inputs.x[i], inputs.features[i], inputs.sizes[i]
        if rule.update == "potential":
            u = potential(h, size, t, heaviest, rule.alpha, n_columns, c[i] * (z * z))
        else:
            root = scinol_root(G, size, heaviest)
            if rule.update == "scinol1":
                least = np.where(z == 0, np.inf, (root / (heaviest * x)) ** 2 * (heaviest / t))
                np.minimum(beta, least, out=beta)
            u = scinol(rule.update, h, root, beta, size, heaviest)
        part = u * z
        g, played[i] = suffer(state, loss, goals, i, np.add.reduce(part, axis=1))
        pull = (c[i] * g)[:, None] * x
        h -= pull
        if rule.update != "potential":
            G += pull * pull
        if rule.update == "scinol2":
            beta -= (c[i] / heaviest * g)[:, None] * part
            np.minimum(beta, MOST_WEALTH, out=beta)
        counts = np.where(x == 0, 0.0, c[i] * t * size)
        columns.past += counts * u
        columns.credit += counts * size


def suffer(state, loss, goals, i, p):
    """Derivative at the prediction for row ``i``, over the largest that it can be, and the prediction that is shown.

    Parameters
    ----------
    state : InvariantState
        Its largest derivatives are updated.
    loss : object
        The loss.
    goals : _numpy._Goals
        Targets and their units.
    i : int
        The row.
    p : ndarray of shape (n_heads,)
        ``sum u z``.

    Returns
    -------
    g, shown : ndarray of shape (n_heads,)
        The derivative, between -1 and 1, and the prediction, relative to the origin of the targets.
    """
    shown = np.clip(goals.mean[i] + goals.unit_before[i] * p, goals.least[i], goals.most[i])
    p = np.clip(goals.mean[i] + goals.moved[i] + goals.unit[i] * p, -LARGEST, LARGEST)
    if loss.coupled:
        p = loss.margins(p)
    g = loss.gradient(p, goals.y[i], goals.unit[i])
    bound = loss.steepest(goals.unit[i])
    if bound is None:
        bound = np.maximum(state.steepest, np.abs(g), out=state.steepest)
    return np.clip(g / np.where(bound > 0, bound, 1.0), -1.0, 1.0), shown
