"""The rows of the table of heads: what compiled code keeps for each head while it learns a row."""

from __future__ import annotations

import numpy as np

from ..state.lifts import LARGEST
from .constants import OF_RATE
from .jit import fast
from .vectors import WIDTH

# Not of type int: Numba takes those for literals, and compiles a function anew for each literal that it is given.
(
    TARGET,  # relative to the origin of the targets
    MEAN_BEFORE,  # of the targets before the row, from which predictions are counted
    PLAYED_LEAST,  # between which predictions are held
    PLAYED_MOST,
    UNIT,  # of the targets
    FARTHEST_UNITS,  # from their mean that a target counts as
    PREDICTION,  # margins, or predictions after the mean of the targets has moved: where derivatives are taken
    CLIPPED,  # predictions held within the range of the targets
    PLAYED,  # predictions to return
    LOSS,  # its value and its derivative there
    GRADIENT,
    SHARE,  # of each expert, or scratch
    EXPERT_LOSS,
    LOW,  # the least prediction, where that is a given number
    HIGH,
    LATEST,  # predictions by the latest weights
    AVERAGE,  # those by the average; while a row is learnt, by how much they are less
    RATIO,  # targets over their mean, where predictions are logarithms
    LOWEST,  # up to which such a prediction is not made less by a target of 0, while a model forgets
    FACTOR,  # of a direction in a step that is still to be made
    IS_PREDICTED,  # whether ``LATEST`` and ``AVERAGE`` are those of the row that is learnt next
) = map(np.int64, range(21))
N_ROWS = 21


@fast
def compared(heads, j):
    """What derivatives compare the prediction for target ``j`` with."""
    return heads[RATIO, j] if OF_RATE else heads[TARGET, j]


@fast
def held(heads, row, k, j):
    """A prediction for target ``j``, counted from the origin of the targets and within the range to hold it in."""
    return min(max(heads[row, k] + heads[MEAN_BEFORE, j], heads[PLAYED_LEAST, j]), heads[PLAYED_MOST, j])


def new_heads(state):
    """The table for a model, with what is known before the next row."""
    rule = state.rule
    heads = np.zeros((N_ROWS, rule.n_heads + WIDTH))  # room for whole vectors, and for mixtures of two
    heads[TARGET] = -1.0  # no class is soft where there is none
    heads[UNIT, : rule.n_heads] = state.unit()
    heads[FARTHEST_UNITS] = rule.outlying if rule.robust else np.inf
    heads[PLAYED_LEAST], heads[PLAYED_MOST] = -LARGEST, LARGEST
    if rule.log_link:  # as predictions begin far from 0
        heads[LOW], heads[HIGH] = -LARGEST, LARGEST
    if rule.clip not in (None, "targets"):
        for row, end in zip((LOW, HIGH), rule.clip, strict=True):
            heads[row] = end * state.targets.lift
    return heads
