"""The definition, in NumPy, of the updates without a learning rate that are invariant under scaling each feature."""

import numpy as np

from ..state.lifts import positive
from ..vectorized.blocks import learn_row_by_row
from ..vectorized.columns import are_there, visits
from ..vectorized.targets import clip_played, play, suffer_bounded
from .rule import LARGEST_WEALTH, potential, scinol, scinol_root


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight; see `sklearn_nag.kernels.learn`."""
    learn_row_by_row(_play_and_learn, state, loss, X, y, sample_weight, order, predictions)


def _play_and_learn(state, columns, loss, inputs, target_rows, c, played):
    """Make weights for each row, play them, and update the sums that they are made of."""
    rule = state.rule
    n_columns = state.n_columns
    for i, own in visits(columns, inputs):
        h, G, beta = own.weight, own.G, own.beta
        largest_weight = state.largest_weight = float(max(state.largest_weight, c[i]))
        t, x, z, size = inputs.t[i + 1], inputs.x[i], inputs.z[i], inputs.sizes[i]
        if rule.update == "potential":
            u = potential(h, size, t, largest_weight, rule.alpha, n_columns, c[i] * (z * z))
        else:
            root = scinol_root(G, size, largest_weight)
            if rule.update == "scinol1":
                least = np.where(z == 0, np.inf, (root / (largest_weight * x)) ** 2 * (largest_weight / t))
                np.minimum(beta, least, out=beta)
            u = scinol(rule.update, h, root, beta, size, largest_weight)
        contribution = u * z
        p = np.add.reduce(contribution, axis=1)
        q = np.add.reduce(own.past / positive(own.credit) * x, axis=1) if rule.averaged else p
        played[i] = play(state, loss, target_rows, i, c[i], p, q)
        g = suffer_bounded(state, loss, target_rows, i, p)
        weighted_gradient = (c[i] * g)[:, None] * x
        h -= weighted_gradient
        if rule.update != "potential":
            G += weighted_gradient * weighted_gradient
        if rule.update == "scinol2":
            beta -= (c[i] / largest_weight * g)[:, None] * contribution
            np.minimum(beta, LARGEST_WEALTH, out=beta)
        counts = np.where(are_there(rule, own, x), c[i] * t * size, 0.0)  # centred ones also at their means
        own.past += counts * u
        own.credit += counts * size
    clip_played(target_rows, played)
