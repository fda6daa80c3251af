"""One lock for each estimator: one call changes it at a time, and readers see it before or after such a call.

The arrays of a model change in place, as copies would cost more than rows do. So whoever reads them while another
thread learns waits until that call ends.
"""

from __future__ import annotations

import functools
import os
import threading
from weakref import WeakKeyDictionary

# Beside the estimators, as attributes that are not parameters would be copied, compared and pickled with the others.
_locks: WeakKeyDictionary = WeakKeyDictionary()
_making = threading.Lock()


def lock_of(estimator):
    """The lock of an estimator, made when first asked for; the thread that holds it may take it again."""
    lock = _locks.get(estimator)
    if lock is None:
        with _making:
            lock = _locks.setdefault(estimator, threading.RLock())
    return lock


def between_calls(method):
    """Make ``method`` see its object before or after calls that change it, never between."""

    @functools.wraps(method)
    def wrapped(self, *args, **kwargs):
        with lock_of(self):
            return method(self, *args, **kwargs)

    return wrapped


def _forget():
    """Begin anew in a forked process, where the threads that held locks are not."""
    global _making
    _locks.clear()
    _making = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
