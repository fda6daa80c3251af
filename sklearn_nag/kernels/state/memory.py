"""Checks of the memory that something needs, so that it can be refused before anything is allocated."""

import math
import os

import numpy as np

SMALL = 2**28  # bytes below which nothing is checked
LINE = 8  # numbers of 8 bytes in a cache line


class TooLarge(MemoryError, ValueError):
    """Raised for a model, or an array of its weights, that exceeds the free memory."""


def free_memory():
    """Free memory of this machine in bytes; if unknown, all of its memory; if that is unknown, infinite."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            return next(1024.0 * int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        pass
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        return np.inf


def has_room(size, copies):
    """Whether there is room for ``copies`` copies of an array of ``size`` doubles."""
    return not 8.0 * size > SMALL or copies * 8.0 * size <= free_memory()


def check_room(shape, copies, what, instead):
    """Raise `TooLarge` unless there is room for ``copies`` copies of an array of doubles.

    The error says ``what`` it is and, in a sentence, what to do ``instead``.
    """
    size = math.prod(shape, start=8.0)
    if size > SMALL and copies * size > (free := free_memory()):
        size, free = size / 2**30, free / 2**30
        raise TooLarge(
            f"{what} takes {size:,.1f} GiB, and {copies} times as much at times; {free:,.1f} GiB are free. {instead}"
        )


def can_be_written(array):
    """Whether an array may be changed in place: it is not read-only, and changes do not reach a file."""
    if not array.flags.writeable:
        return False
    while isinstance(array, np.ndarray):  # views have no mode of their own
        if isinstance(array, np.memmap) and array.mode in ("r+", "w+"):
            return False
        array = array.base
    return True


def array_in_lines(shape, order, make=np.zeros):
    """Array from ``make`` that starts at a cache line; what lies in two lines takes twice the time."""
    size = math.prod(shape)
    room = make(size + LINE)
    first = -room.__array_interface__["data"][0] // room.itemsize % LINE
    return room[first : first + size].reshape(shape, order=order)


def copied_in_lines(array, order):
    """Copy of an array that starts at a cache line."""
    copy = array_in_lines(array.shape, order, np.empty)
    copy[...] = array
    return copy


def begins_in_line(array):
    """Whether an array starts at a cache line."""
    return array.__array_interface__["data"][0] % (array.itemsize * LINE) == 0
