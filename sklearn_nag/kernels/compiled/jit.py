"""Compilation of functions, and their copies for each rule.

By default, a product and a sum may become one instruction, which rounds once. Sums are not reordered: that would depend
on what else a loop has, and an output alone would not learn the same bits as among others. NaN and infinity are kept,
because they show that a model diverges.

What a rule can never change is known at compile time: `for_rule` copies functions, with values for the names of
`constants`.
"""

import hashlib
from functools import cache
from types import FunctionType

import numba
from numba import njit
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher

from .cache import cache_of
from .constants import UNBOUND

# Oldest and newest versions of Numba with which `linking`, which builds on private parts, was tried.
TRIED = (0, 60), (0, 68)
FAST = {"contract"}
# Counting references would take longer than a row's numbers. The caller holds all arrays, and no function makes any.
ALL = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}
_options: dict[Dispatcher, dict] = {}  # what each function was compiled with
_copies: dict[tuple, Dispatcher] = {}  # of functions, by the constants that they read


def _compiled(function, options, constants=None):
    dispatcher = njit(**options)(function)
    if "no_cpython_wrapper" not in options:
        dispatcher._cache = cache_of(function, constants)  # what cache=True would set, to a cache of Numba's own
    _options[dispatcher] = options
    return dispatcher


def compiler(name):
    """A compiler of `linking`, or Numba's own for versions with which `linking` was not tried."""
    oldest, newest = TRIED
    if not oldest <= tuple(numba.version_info.short) <= newest:
        return Compiler
    from . import linking

    return getattr(linking, name)


def inner(**options):
    """`numba.njit` for functions without a wrapper for Python, which only compiled code calls."""
    options = {"pipeline_class": compiler("PartCompiler"), "no_cpython_wrapper": True, **ALL, **options}
    return lambda function: _compiled(function, options)


# ``fast`` and ``slow`` may contract products; ``fast`` and ``strict`` become part of their callers. ``fastmath=False``
# must be said, because a function without flags gets those of its caller.
fast, slow = inner(fastmath=FAST, forceinline=True), inner(fastmath=FAST)
strict, strict_slow = inner(fastmath=False, forceinline=True), inner(fastmath=False)


def entry(function, by="EntryCompiler"):
    """`numba.njit` for what Python calls, with a cache on disk if there can be one."""
    return _compiled(function, {"pipeline_class": compiler(by), "fastmath": FAST, **ALL})


def strict_entry(function):
    """`entry` without contracted products."""
    return _compiled(function, {"pipeline_class": compiler("EntryCompiler"), "fastmath": False, **ALL})


def entry_by_eight(function):
    """`entry` for loops over `vectors`: vectorising no others takes a tenth less time."""
    return entry(function, "EntryByEightCompiler")


def bound(function, module, functions):
    """Copy, in another module, of what `entry` returned, with ``functions`` for `UNBOUND` names."""
    plain = function.py_func
    copy = FunctionType(plain.__code__, {**plain.__globals__, **functions}, plain.__name__, plain.__defaults__)
    copy.__module__, copy.__qualname__ = module, plain.__qualname__
    return _compiled(copy, _options[function])


@cache
def for_rule(function, constants):
    """Copy of what `entry` returned, for rules with these constants; the same copy for the same constants.

    Constants are the booleans and numbers that it and its callees read, by names in lower case; TypeError if one is
    missing.
    """
    return _copy(function, constants)


def _copy(function, constants):
    """Copy of a function and its callees with values of constants; the function itself if it reads none.

    Rules that agree in what these read share one copy.
    """
    read = _read(function)
    if not read:
        return function
    missing = read - {*constants._fields}
    if missing:
        raise TypeError(f"{function.py_func.__name__} reads {min(missing).upper()}, which {constants} does not have")
    values = {name: getattr(constants, name) for name in sorted(read)}
    key = function, *values.items()
    if key not in _copies:
        plain, own = function.py_func, {}
        for name, value in _globals(function):
            own[name] = values[name.lower()] if value is UNBOUND else _copy(value, constants)
        copy = FunctionType(plain.__code__, {**plain.__globals__, **own}, plain.__name__, plain.__defaults__)
        # Symbols are named after their rules, so that what a process compiles does not meet what it loads from the
        # cache.
        digest = hashlib.sha256(repr(values).encode()).hexdigest()[:12]
        copy.__module__, copy.__qualname__ = plain.__module__, f"{plain.__qualname__}_{digest}"
        _copies[key] = _compiled(copy, _options[function], values)
    return _copies[key]


@cache
def _globals(function):
    """Names and values of the constants and compiled functions that a function uses."""
    plain = function.py_func
    found = ((name, plain.__globals__.get(name)) for name in plain.__code__.co_names)  # attributes are among the names
    return [(name, it) for name, it in found if it is UNBOUND or (isinstance(it, Dispatcher) and it in _options)]


@cache
def _read(function):
    """Names, in lower case, of the constants that a function and its callees read."""
    found = set()
    for name, value in _globals(function):
        found |= {name.lower()} if value is UNBOUND else _read(value)
    return found
