"""The definition, in NumPy, of the updates that follow the regularised leader."""

from __future__ import annotations

import numpy as np

from ..state.lifts import TINY, lift
from ..state.model import Diverged
from ..vectorized.blocks import learn_by_column
from ..vectorized.columns import read_inputs, squared_lengths, visited_by, visits, write_back
from ..vectorized.targets import count_losses, read_targets, suffer
from .rule import leader, mean_length

FAR = 2.0**500  # a root that is so many times larger than a gradient does not grow


def learn_rows(state, loss, X, y, sample_weight, order, predictions):
    """Learn rows of positive weight; see `sklearn_nag.kernels.learn`."""
    learn_by_column(_learn_segment, state, loss, X, y, sample_weight, order, predictions)


def _learn_segment(state, columns, loss, x, absolute, y, c, played, by_column):
    """Learn rows that need no new lift; ``by_column`` on the columns alone that each visits."""
    inputs = read_inputs(state, columns, x, absolute, c, visited_by(state.rule, columns, x) if by_column else None)
    first = state.rule.target_unit and state.t == 0
    target_rows = read_targets(state, y, c, inputs.t)
    _play_and_learn(state, columns, loss, inputs, target_rows, c, played)
    write_back(columns, inputs.before, -1)
    state.t = float(inputs.t[-1])
    if not columns.finite():
        raise Diverged
    count_losses(state, loss, target_rows, c, played, first)


def _play_and_learn(state, columns, loss, inputs, target_rows, c, played):
    """For each row: find the leader, play it, and add the row to the sums that it is made of."""
    rule = state.rule
    N = np.add.accumulate(np.append(state.N, c * squared_lengths(inputs)))
    for i, own in visits(columns, inputs):
        z, root = own.weight, own.root
        t = inputs.t[i + 1]
        length = mean_length(rule, N[i + 1], t)
        sizes, unit = inputs.sizes[i] * length, target_rows.unit_before[i]
        v = leader(rule, own, sizes, t, unit, length, state.targets.lift)
        p = np.add.reduce(v * inputs.z[i], axis=1) / length
        g, played[i] = suffer(loss, target_rows, i, p, p)
        slope = c[i] * g
        if root is not None:
            more = growth_of_root(root, slope[:, None], inputs.x[i])
            root += more
            z -= more * v / rule.eta
        z += slope[:, None] * inputs.x[i]
    state.N = float(N[-1])


def growth_of_root(root, slope, x):
    """``sqrt(root^2 + (slope x)^2) - root``, whose squares are taken in range."""
    power = lift(np.abs(slope))
    near = np.minimum(root * power, FAR)
    gradient = slope * power * x
    squared = gradient * gradient
    return squared / (np.sqrt(near * near + squared) + near + TINY) / power
