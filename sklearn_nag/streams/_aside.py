"""Calls in a separate thread, so that a stalled file blocks neither Ctrl-C nor Python's exit."""

from __future__ import annotations

import atexit
import contextlib
import threading
import time
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any
from weakref import WeakSet

_PATIENCE = 0.1  # seconds between checks of ``stop`` while waiting; some systems handle no signal during a wait
_AT_EXIT = 0.5  # seconds that threads get to end

_all: WeakSet = WeakSet()


class Stopped(Exception):
    """Nobody needs the result any more."""


class Aside:
    """A thread that carries out calls in order.

    If a call hangs, as when a disk is gone, nobody joins the thread, which ends with the process at the latest.
    """

    def __init__(self) -> None:
        self.stop = threading.Event()  # once set, callers stop waiting and get `Stopped`
        self._calls: SimpleQueue = SimpleQueue()
        self._thread = threading.Thread(target=_carry_out, args=(self._calls,), daemon=True)
        self._thread.start()
        _all.add(self)

    def submit(self, function: Any, *arguments: Any) -> Future:
        """Queue a call; return the future of its result."""
        future: Future = Future()
        self._calls.put((future, function, arguments))
        return future

    def result(self, future: Future) -> Any:
        """Wait for the result of a call; raise its exception, or `Stopped`."""
        while not wait((future,), _PATIENCE).done:
            if self.stop.is_set():
                raise Stopped
        return future.result()

    def call(self, function: Any, *arguments: Any) -> Any:
        """Carry out a call and return its `result`."""
        return self.result(self.submit(function, *arguments))

    def close(self) -> None:
        """Let the thread end after the queued calls."""
        self._calls.put(None)

    def end(self, seconds: float) -> None:
        """Set ``stop``, let the thread end after the queued calls, and wait at most ``seconds``."""
        self.stop.set()
        self.close()
        self._thread.join(seconds)

    def __del__(self) -> None:
        if hasattr(self, "_calls"):  # otherwise `__init__` was interrupted
            self.close()


def _carry_out(calls):
    while (call := calls.get()) is not None:
        future, function, arguments = call
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(function(*arguments))
            except BaseException as error:
                future.set_exception(error)
        del call, future, function, arguments  # hold no references while waiting for the next call


def apart(function: Any, *arguments: Any) -> Any:
    """Call a function in a separate thread, so that the wait can be interrupted."""
    aside = Aside()
    try:
        return aside.call(function, *arguments)
    finally:
        aside.close()


@atexit.register
def _end_all():
    """End threads that still read; returning while Python shuts down would crash them."""
    asides, deadline = list(_all), time.monotonic() + _AT_EXIT
    for aside in asides:
        aside.end(0.0)
    for aside in asides:
        with contextlib.suppress(RuntimeError):  # in a forked process, which lacks the thread
            aside.end(max(0.0, deadline - time.monotonic()))
