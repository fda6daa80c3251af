"""The rows of the table of heads: what compiled code keeps for each head while it learns a row."""

from __future__ import annotations

import numpy as np

# Not of type int: Numba takes those for literals, and compiles a function anew for each literal that it is given.
(
    TARGET,  # relative to the origin of the targets
    PREDICTION,  # margins, or predictions after the mean of the targets has moved: where derivatives are taken
    CLIPPED,  # predictions held within the range of the targets
    PLAYED,  # predictions to return
    GRADIENT,  # derivatives of the loss
    UNIT,  # of the targets
    SHARE,  # of each expert, or scratch
    EXPERT_LOSS,
    LOW,  # the least prediction, where that is a given number
    HIGH,
) = map(np.int64, range(10))
N_ROWS = 10


def new_heads(state):
    """The table for a model, with what is known before the next row."""
    heads, rule = np.zeros((N_ROWS, state.rule.n_heads)), state.rule
    heads[UNIT] = state.unit()
    if rule.clip not in (None, "targets"):
        for row, end in zip((LOW, HIGH), rule.clip, strict=True):
            heads[row] = end * state.targets.lift
    return heads
