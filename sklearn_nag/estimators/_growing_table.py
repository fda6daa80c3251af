"""How learning goes, in lines that come half as often each time, as Vowpal Wabbit prints them."""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np


class GrowingTable:
    """Prints a line when 1, 2, 4, 8, ... rows have been learnt, and cuts calls there.

    Nothing that is learnt depends on how rows are cut. Losses of a line are means by weight: of all rows since the
    table was begun, and of those since the line before.
    """

    def __init__(self):
        self.rows, self.since = 0, 0
        self.loss, self.weight = np.zeros(2), np.zeros(2)  # since the table was begun, and since the last line
        self.seconds = 0.0
        print(f"{'rows':>12} {'weight':>12} {'mean loss':>12} {'since last':>12} {'rows/s':>12}")

    def learn(self, state, n_rows, learn):
        """Let ``learn(start, stop)`` learn ``n_rows`` rows part by part; print a line after each that fills one."""
        start = 0
        while start < n_rows:
            due = 1 << self.rows.bit_length() if self.rows else 1
            stop = min(n_rows, start + due - self.rows)
            before, seen, began = state.loss.copy(), state.seen, time.perf_counter()
            learn(start, stop)
            self.seconds += time.perf_counter() - began
            self._count(state, stop - start, state.loss - before, state.seen - seen)
            start = stop
            if self.rows == due:
                self._print(state)

    def _count(self, state, n_rows, losses, weight):
        self.rows, self.since = self.rows + n_rows, self.since + n_rows
        if weight > 0:  # of several learning rates kept apart, the best
            self.loss += np.min(replace(state, loss=losses).mean_loss(weight)) * weight
        self.weight += weight

    def _print(self, state):
        whole, last = self.loss / np.where(self.weight > 0, self.weight, np.nan)
        speed = self.since / max(self.seconds, 1e-9)
        print(f"{self.rows:12d} {state.seen:12.6g} {whole:12.6f} {last:12.6f} {speed:12,.0f}")
        self.since, self.seconds = 0, 0.0
        self.loss[1] = self.weight[1] = 0.0
