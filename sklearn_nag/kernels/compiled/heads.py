"""The table of heads: what compiled code keeps for each head while it learns a row, a row of the table each."""

from __future__ import annotations

import numpy as np

# Of a type that Numba does not take for a literal, for each of which it would compile anew.
(
    TARGET,  # relative to the origin of the targets
    PREDICTION,  # margins, or predictions after the mean of the targets has moved: where derivatives are taken
    CLIPPED,  # predictions held within the range of the targets
    PLAYED,  # predictions to return
    GRADIENT,  # derivatives of the loss
    UNIT,  # of the targets
    SHARE,  # of each expert, or scratch
    EXPERT_LOSS,
    RESCALING,  # of G, by a lift of gradients that changes
) = map(np.int64, range(9))
N_ROWS = 9
