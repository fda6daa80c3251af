"""An alarm for recent losses above those of all rows, with a chosen rate of false alarms.

Losses between 0 and 1 are averaged over all rows since the last alarm, and with half-lives of some rows. After an
alarm, everything begins anew. `sklearn_nag.model_selection.LossAlarm` explains why the rate holds.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kernels._backend import imported, is_compiled

HALF_LIVES = 20.0, 80.0, 320.0, 1280.0, 5120.0
KEEPS = (*(0.5 ** (1.0 / h) for h in HALF_LIVES), 1.0)  # factors of sums after a row; the last for the mean of all
N_MEANS = len(KEEPS)


class Alarm(NamedTuple):
    """As saved by earlier versions."""

    table: np.ndarray


def new() -> np.ndarray:
    """What is known before the first row.

    Returns
    -------
    ndarray of shape (n_half_lives + 1, 3)
        For each half-life, and for the mean of all rows, sums since the last alarm: of weights times losses, of
        weights, and of squared weights.
    """
    return np.zeros((N_MEANS, 3))


def learn_rows(losses, patience, table, sounds):
    """Take in losses, a number at a time; the same function runs compiled and as it is.

    Parameters
    ----------
    losses : ndarray of shape (n,)
        Between 0 and 1.
    patience : float
        ``log(1 / p) / 2``.
    table : ndarray
        As `new` makes it; changes in place.
    sounds : ndarray of shape (n,)
        Filled with the half-life, counted from 1, that gives alarm after each row, and 0 where there is none.
    """
    last = N_MEANS - 1
    for i in range(losses.shape[0]):
        for k in range(N_MEANS):
            table[k, 0] = KEEPS[k] * table[k, 0] + losses[i]
            table[k, 1] = KEEPS[k] * table[k, 1] + 1.0
            table[k, 2] = KEEPS[k] * KEEPS[k] * table[k, 2] + 1.0
        sounds[i] = 0
        rows = table[last, 1]
        for k in range(last):
            above = table[k, 0] / table[k, 1] - table[last, 0] / rows
            squares = max(table[k, 2] / (table[k, 1] * table[k, 1]) - 1.0 / rows, 0.0)
            if sounds[i] == 0 and rows > 1.0 and above > math.sqrt(squares * patience):
                sounds[i] = k + 1
        if sounds[i] > 0:
            for k in range(N_MEANS):
                for j in range(3):
                    table[k, j] = 0.0


def learn(table: np.ndarray, losses: np.ndarray, rate: float) -> tuple[np.ndarray, np.ndarray]:
    """What is known after more rows, and after which of them there is an alarm.

    Parameters
    ----------
    table : ndarray
        As `new` makes it; it does not change.
    losses : ndarray of shape (n,)
        Between 0 and 1, of predictions made before rows were learnt.
    rate : float
        The largest probability of a false alarm after a row since the last one.

    Returns
    -------
    table : ndarray
        A new one.
    sounds : ndarray of int of shape (n,)
        The half-life, counted from 1, that gives alarm after each row, and 0 where there is none.
    """
    run = imported(__package__, "_numba_rows").watch if is_compiled() else learn_rows
    table, sounds = table.copy(), np.zeros(len(losses), dtype=np.int64)
    patience = 0.5 * math.log(len(HALF_LIVES) / rate)
    run(np.ascontiguousarray(losses, dtype=np.float64), patience, table, sounds)
    return table, sounds
