"""How functions are compiled.

Where nothing else is said, sums may be reordered and products contracted. NaN and infinity are kept, as they tell that
a model diverges.
"""

from __future__ import annotations

from numba import njit

from .cache import cache_of

FAST = {"reassoc", "contract", "arcp", "nsz"}


def inner(**options):
    """`numba.njit` for functions that only compiled code calls.

    They have no wrapper for Python, and count no references, on which a row would spend more time than on its numbers.
    """
    unused = {"_nrt": False, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(nogil=True, error_model="numpy", **unused, **options)


# By how freely arithmetic may be rearranged, and whether a function becomes part of its caller. ``strict`` has to say
# ``fastmath=False``, as a function that says nothing of it is compiled with the flags of its caller.
fast, slow = inner(fastmath=FAST, forceinline=True), inner(fastmath=FAST)
contracted = inner(fastmath={"contract"}, forceinline=True)
strict, strict_slow = inner(fastmath=False, forceinline=True), inner(fastmath=False)


def entry(function):
    """`numba.njit` for what Python calls, with a cache on disk where there can be one."""
    dispatcher = njit(nogil=True, error_model="numpy", fastmath=FAST)(function)
    dispatcher._cache = cache_of(function)  # what cache=True would set, to a cache of Numba's own
    return dispatcher
