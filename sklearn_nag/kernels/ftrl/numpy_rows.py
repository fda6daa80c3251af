"""The updates that follow the regularised leader, as NumPy defines them."""

import numpy as np

from ..state.lifts import TINY, lift
from ..vectorized.blocks import learn_row_by_row
from ..vectorized.columns import running, squared_lengths, visits
from ..vectorized.targets import clip_played, suffer
from .rule import leader, mean_length

FAR = 2.0**500  # a root this many times larger than a gradient does not grow


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight; see `sklearn_nag.kernels.learn`."""
    learn_row_by_row(_play_and_learn, state, loss, X, y, sample_weight, order, predictions)


def _play_and_learn(state, columns, loss, inputs, target_rows, c, played):
    """For each row: find the leader, play it, and add the row to the sums that determine it."""
    rule = state.rule
    N = running(np.add, state.N, c * squared_lengths(inputs))
    for i, own in visits(columns, inputs):
        z, root = own.weight, own.root
        t = inputs.t[i + 1]
        length = mean_length(rule, N[i + 1], t)
        sizes, unit = inputs.sizes[i] * length, target_rows.unit_before[i]
        v = leader(rule, own, sizes, t, unit, length, state.targets.lift)
        p = np.add.reduce(v * inputs.z[i], axis=1) / length
        played[i] = p
        slope = c[i] * suffer(loss, target_rows, i, p)
        if root is not None:
            more = growth_of_root(root, slope[:, None], inputs.x[i])
            root += more
            z -= more * v / rule.eta
        z += slope[:, None] * inputs.x[i]
    state.N = float(N[-1])
    clip_played(target_rows, played)


def growth_of_root(root, slope, x):
    """``sqrt(root^2 + (slope x)^2) - root``, with squares in range."""
    power = lift(np.abs(slope))
    near = np.minimum(root * power, FAR)
    gradient = slope * power * x
    squared = gradient * gradient
    return squared / (np.sqrt(near * near + squared) + near + TINY) / power
