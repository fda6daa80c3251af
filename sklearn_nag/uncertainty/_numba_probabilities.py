"""`probabilities.learn_rows`, compiled; no sum is reordered."""

from __future__ import annotations

from ..kernels.compiled.jit import entry, strict_slow
from . import probabilities

_learn_rows = strict_slow(probabilities.learn_rows)


@entry
def learn_rows(logits, codes, rows, waiting, table, has_unit, has_offsets, memory, surprise, share, played):
    """Take in rows, as `probabilities.learn_rows`."""
    return _learn_rows(logits, codes, rows, waiting, table, has_unit, has_offsets, memory, surprise, share, played)
