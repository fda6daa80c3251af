"""How functions are compiled, and where what was compiled is kept.

Where nothing else is said, sums may be reordered and products contracted. NaN and infinity are kept, as they tell that
a model diverges.
"""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from numba import njit
from numba.core.caching import FunctionCache

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
strict = inner(fastmath=False, forceinline=True)


def entry(function):
    """`numba.njit` for what Python calls, with a cache on disk where there can be one."""
    dispatcher = njit(nogil=True, error_model="numpy", fastmath=FAST)(function)
    with suppress(RuntimeError):  # no folder to write to
        dispatcher._cache = KernelCache(function)
    return dispatcher


class KernelCache(FunctionCache):
    """Numba's cache on disk, which goes stale when any file that compiled functions are made of changes.

    Numba itself looks at the file of the function called from Python alone, and would go on with old code when a
    function that it calls has changed.
    """

    def __init__(self, function):
        super().__init__(function)
        self._cache_file._source_stamp = (self._cache_file._source_stamp, source_stamp())


@lru_cache
def source_stamp():
    """Time of the last change, and size, of each file that compiled functions are made of."""
    kernels = Path(__file__).parents[1]
    stats = [file.stat() for file in (*sorted(kernels.rglob("*.py")), kernels.parent / "losses.py")]
    return tuple((stat.st_mtime, stat.st_size) for stat in stats)
