"""Loops of `quantiles`, `alarm` and `probabilities`, compiled: no sum is reordered."""

from __future__ import annotations

import numpy as np

from ..kernels.compiled.jit import bound, entry, strict_slow
from . import alarm, probabilities, quantiles

_watch = strict_slow(alarm.learn_rows)
_calibrate = strict_slow(probabilities.learn_rows)
_of_numbers = {"exp": np.exp, "log": np.log}
_of_sizes = {
    "set_widths": bound(strict_slow(quantiles.set_widths), __name__, _of_numbers),
    "step": bound(strict_slow(quantiles.step), __name__, _of_numbers),
    "count": strict_slow(quantiles.count),
    "length_of_step": strict_slow(quantiles.length_of_step),
}
learn_sizes = bound(entry(quantiles.learn_sizes), __name__, _of_sizes)


@entry
def watch(losses, patience, table, sounds):
    """As `alarm.learn_rows`."""
    _watch(losses, patience, table, sounds)


@entry
def calibrate(logits, codes, weights, rows, waiting, table, has_unit, has_offsets, memory, surprise, share, played):
    """As `probabilities.learn_rows`."""
    rest = has_unit, has_offsets, memory, surprise, share, played
    return _calibrate(logits, codes, weights, rows, waiting, table, *rest)
