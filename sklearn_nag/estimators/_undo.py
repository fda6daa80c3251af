"""Who undoes what a learner learns: its own call or, where it is part of another estimator, the call of that."""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from .. import kernels

_whole: ContextVar[Any] = ContextVar("sklearn_nag_whole", default=None)


@contextmanager
def part_of(whole):
    """A ``with`` block in which ``whole``, unless it is None, undoes what those learn that it ``has``.

    It is asked for ``whole.has(learner)``, and then for ``whole.undo(state, loss, named)``, which is to return what
    `sklearn_nag.kernels.undo` does. Threads that are started inside know of it if they run in a copy of the context.
    """
    token = _whole.set(whole)
    try:
        yield
    finally:
        _whole.reset(token)


def undo_of(learner, state, loss, named):
    """`Undo` of what a learner is going to learn, as `sklearn_nag.kernels.undo` returns it."""
    whole = _whole.get()
    return (kernels if whole is None or not whole.has(learner) else whole).undo(state, loss, named)
