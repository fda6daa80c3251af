"""Rows of the table of heads: what compiled code keeps for each head while it learns a row."""

import numpy as np

from ..state.lifts import LARGEST
from .constants import OF_RATE
from .jit import fast
from .vectors import WIDTH

# Not Python ints: Numba takes those for literals, and compiles a function anew for each.
(
    TARGET,  # relative to the origin of the targets
    MEAN_BEFORE,  # of the targets before the row, from which predictions are counted
    PLAYED_LEAST,  # range to which played predictions are clipped
    PLAYED_MOST,
    UNIT,  # of the targets
    FARTHEST_UNITS,  # most units from their mean that a target counts as
    PREDICTION,  # margins, or predictions after the mean of the targets has moved; derivatives are taken here
    CLIPPED,  # predictions clipped to the range of the targets
    PLAYED,  # predictions to return
    LOSS,  # value and derivative of the loss there
    GRADIENT,
    SHARE,  # of each expert, or scratch
    EXPERT_LOSS,
    LOW,  # least prediction, if that is a given number
    HIGH,
    LATEST,  # predictions by the latest weights
    AVERAGE,  # those by the average; while a row is learnt, how much lower they are
    RATIO,  # targets over their mean, if predictions are logarithms
    LOWEST,  # up to which a target of 0 does not lower such a prediction, while a model forgets
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
    """Prediction for target ``j``, from the origin of the targets, and clipped to its range."""
    return min(max(heads[row, k] + heads[MEAN_BEFORE, j], heads[PLAYED_LEAST, j]), heads[PLAYED_MOST, j])


def new_heads(state):
    """Table of heads for a model, with what is known before the next row."""
    rule = state.rule
    heads = np.zeros((N_ROWS, rule.n_heads + WIDTH))  # room for whole vectors, and for mixtures of two
    heads[TARGET] = -1.0  # so that padding is no soft class
    heads[UNIT, : rule.n_heads] = state.unit()
    heads[FARTHEST_UNITS] = rule.outlying if rule.robust else np.inf
    heads[PLAYED_LEAST], heads[PLAYED_MOST] = -LARGEST, LARGEST
    if rule.log_link:  # predictions begin far from 0
        heads[LOW], heads[HIGH] = -LARGEST, LARGEST
    if rule.clip not in (None, "targets"):
        for row, end in zip((LOW, HIGH), rule.clip, strict=True):
            heads[row] = end * state.targets.lift
    return heads
