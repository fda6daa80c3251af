"""Child processes, in which a crash, an endless loop or a lack of memory harms no other process."""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import select
import signal
import time
import warnings


class Died(Exception):
    """The child ended too early; the message says how."""


def in_child(function, *args, seconds=300.0):
    """Yield what the generator ``function(*args)`` yields in a forked child.

    Parameters
    ----------
    function : callable
        Returns an iterable of objects that can be pickled.
    *args
        Its arguments.
    seconds : float, default=300.0
        The longest that the child may go without yielding.

    Raises
    ------
    Died
        If the child crashes or takes too long; it has ended by then.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # about forks with threads; none holds a lock here
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            faulthandler.disable()  # the parent reports a crash
            gc.freeze()  # otherwise the collector writes to, and so copies, memory shared with the parent
            with os.fdopen(writer, "wb") as pipe:
                for thing in function(*args):
                    message = pickle.dumps(thing)
                    pipe.write(len(message).to_bytes(8, "little") + message)
                    pipe.flush()
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    ended = False
    try:
        while (message := _read(reader, seconds)) is not None:
            yield pickle.loads(message)
        _, status = os.waitpid(pid, 0)
        ended = True
        if status != 0:
            code = os.waitstatus_to_exitcode(status)
            raise Died(f"crashes ({signal.Signals(-code).name})" if code < 0 else f"the child ends with {code}")
    finally:
        os.close(reader)
        if not ended:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def each_in_child(function, items, seconds=300.0):
    """Yield each item, ``function(item)`` run in a forked child, and the seconds that it took.

    If the child dies of an item, `Died` takes the place of the result, and another child goes on with the next item.
    """
    left = list(items)
    while left:
        start = time.perf_counter()
        try:
            for result in in_child(map, function, left, seconds=seconds):
                yield left.pop(0), result, time.perf_counter() - start
                start = time.perf_counter()
        except Died as death:
            if left:
                yield left.pop(0), death, time.perf_counter() - start


def _read(reader, seconds):
    """Return the next message, or None at the end."""
    deadline, buffer, length = time.monotonic() + seconds, b"", None
    while length is None or len(buffer) < length:
        if not select.select([reader], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise Died(f"does not end within {seconds:.0f} s")
        chunk = os.read(reader, (8 if length is None else length) - len(buffer))
        if not chunk:
            return None
        buffer += chunk
        if length is None and len(buffer) == 8:
            length, buffer = int.from_bytes(buffer, "little"), b""
    return buffer
