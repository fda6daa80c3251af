"""A transformer for tests of what is common to all."""

from typing import NamedTuple

import numpy as np

from sklearn_nag.preprocessing._base import OnlineTransformer


class Sums(NamedTuple):
    n: int
    sums: np.ndarray


class Centred(OnlineTransformer):
    """Rows minus the mean of the rows so far."""

    def __init__(self, factor=1.0):
        self.factor = factor

    def _new_state(self, rows):
        return Sums(0, np.zeros(rows.shape[1]))

    def _learn_rows(self, state, rows, transform):
        if np.isnan(rows).any():
            raise ValueError("Input X contains NaN.")
        sums = np.add.accumulate(np.vstack([state.sums, rows]))[1:]
        n = state.n + np.arange(1, len(rows) + 1)
        out = self.factor * (rows - sums / n[:, None]) if transform else None
        return Sums(int(n[-1]), sums[-1]), out

    def _transform_rows(self, state, rows):
        if np.isnan(rows).any():
            raise ValueError("Input X contains NaN.")
        return self.factor * (rows - state.sums / state.n)

    def _names_out(self, state, names):
        return names

    def _merge_states(self, states):
        return Sums(sum(s.n for s in states), sum(s.sums for s in states))
