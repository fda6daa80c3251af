"""`alarm.learn_rows`, compiled; no sum is reordered."""

from __future__ import annotations

from ..kernels.compiled.jit import entry, strict_slow
from . import alarm

_learn_rows = strict_slow(alarm.learn_rows)


@entry
def learn_rows(losses, patience, table, sounds):
    """Take in losses, as `alarm.learn_rows`."""
    _learn_rows(losses, patience, table, sounds)
