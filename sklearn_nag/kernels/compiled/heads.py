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
    LATEST,  # predictions by the latest weights and by their average, held within the range of the targets
    AVERAGE,
) = map(np.int64, range(12))
N_ROWS = 12


def new_heads(state):
    """The table for a model, with what is known before the next row."""
    rule = state.rule
    heads = np.zeros((N_ROWS, max(rule.n_heads, 2)))  # 2 as some rows serve mixtures of the two
    heads[UNIT, : rule.n_heads] = state.unit()
    if rule.clip not in (None, "targets"):
        for row, end in zip((LOW, HIGH), rule.clip, strict=True):
            heads[row] = end * state.targets.lift
    return heads
