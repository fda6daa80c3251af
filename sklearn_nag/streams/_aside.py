"""Calls in a thread of their own, so that a file that stalls holds up nobody: neither Ctrl-C, nor the end of Python."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

_PATIENCE = 0.1  # seconds after which one who waits looks whether to go on; some systems heed no signal before
_AT_EXIT = 0.5  # seconds that threads are given to come to an end

_all: WeakSet = WeakSet()


class Stopped(Exception):
    """Nobody wants the result any more."""


class Aside:
    """A thread that carries out calls, one after another.

    A call that does not return, as of a disk that is gone, is left alone: nobody joins the thread, which ends with the
    process at the latest.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()  # once it is set, nobody waits any more, but gets `Stopped`
        self._calls: SimpleQueue = SimpleQueue()
        self._thread = threading.Thread(target=_carry_out, args=(self._calls,), daemon=True)
        self._thread.start()
        _all.add(self)

    def submit(self, function: Any, *arguments: Any) -> Future:
        """Carry out a call after those before it; return what will hold its result."""
        future: Future = Future()
        self._calls.put((future, function, arguments))
        return future

    def result(self, future: Future) -> Any:
        """The result of a call, as soon as it is there; raise what it raised, or `Stopped`."""
        while not wait((future,), _PATIENCE).done:
            if self.stop.is_set():
                raise Stopped
        return future.result()

    def call(self, function: Any, *arguments: Any) -> Any:
        """Carry out a call, and wait for its result as `result` does."""
        return self.result(self.submit(function, *arguments))

    def close(self) -> None:
        """Let the thread end after the calls before."""
        self._calls.put(None)

    def end(self, seconds: float) -> None:
        """Set ``stop``; let the thread end after the calls before, and wait for it so long."""
        self.stop.set()
        self.close()
        self._thread.join(seconds)

    def __del__(self) -> None:
        if hasattr(self, "_calls"):  # else it was interrupted before
            self.close()


def _carry_out(calls):
    while (call := calls.get()) is not None:
        future, function, arguments = call
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)
        del call, future, function, arguments  # while waiting for the next one


def apart(function: Any, *arguments: Any) -> Any:
    """Call a function in a thread of its own, such that waiting for it can be interrupted."""
    aside = Aside()
    try:
        return aside.call(function, *arguments)
    finally:
        aside.close()


@atexit.register
def _end_all():
    """End what still reads, as threads that come back from it when Python is half gone would crash."""
    asides, deadline = list(_all), time.monotonic() + _AT_EXIT
    for aside in asides:
        aside.end(0.0)
    for aside in asides:
        with contextlib.suppress(RuntimeError):  # of a forked process, where the thread is not
            aside.end(max(0.0, deadline - time.monotonic()))
