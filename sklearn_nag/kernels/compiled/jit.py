"""How functions are compiled, and for which rules.

Where nothing else is said, a product and a sum may become one instruction, which rounds once. Sums stay in their order:
were they rearranged, that would depend on what else a loop has, and one output would not learn the same bits by itself
as it does among others. NaN and infinity are kept, as they tell that a model diverges.

What a rule can never change is known when code is compiled: `for_rule` makes copies of functions, in which the names
of `constants` have the values of the rule.
"""

from __future__ import annotations

import hashlib
from functools import cache
from types import FunctionType

import numba
from numba import njit
from numba.core.compiler import Compiler
from numba.core.dispatcher import Dispatcher

from .cache import cache_of
from .constants import UNBOUND

# Versions of Numba with which `linking`, which builds on its private parts, was tried: the oldest and the newest.
TRIED = (0, 60), (0, 68)
FAST = {"contract"}
# References are not counted, on which a row would spend more time than on its numbers: the caller holds all arrays, and
# no function makes any.
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
    """A compiler of `linking`, which builds on private parts of Numba; its own one, where nothing else was tried."""
    oldest, newest = TRIED
    if not oldest <= tuple(numba.version_info.short) <= newest:
        return Compiler
    from . import linking

    return getattr(linking, name)


def inner(**options):
    """`numba.njit` for functions that only compiled code calls, which have no wrapper for Python."""
    options = {"pipeline_class": compiler("PartCompiler"), "no_cpython_wrapper": True, **ALL, **options}
    return lambda function: _compiled(function, options)


# By whether products may be contracted, and whether a function becomes part of its caller. ``strict`` has to say
# ``fastmath=False``, as a function that says nothing of it is compiled with the flags of its caller.
fast, slow = inner(fastmath=FAST, forceinline=True), inner(fastmath=FAST)
strict, strict_slow = inner(fastmath=False, forceinline=True), inner(fastmath=False)


def entry(function, by="EntryCompiler"):
    """`numba.njit` for what Python calls, with a cache on disk where there can be one."""
    return _compiled(function, {"pipeline_class": compiler(by), "fastmath": FAST, **ALL})


def strict_entry(function):
    """As `entry`, of which no product and sum become one instruction."""
    return _compiled(function, {"pipeline_class": compiler("EntryCompiler"), "fastmath": False, **ALL})


def entry_by_eight(function):
    """As `entry`, for loops over `vectors`, beside which others need not be vectorized: it takes a tenth less time."""
    return entry(function, "EntryByEightCompiler")


def bound(function, module, functions):
    """A copy, of another module, of what `entry` has returned, with ``functions`` for names that are `UNBOUND`."""
    plain = function.py_func
    copy = FunctionType(plain.__code__, {**plain.__globals__, **functions}, plain.__name__, plain.__defaults__)
    copy.__module__, copy.__qualname__ = module, plain.__qualname__
    return _compiled(copy, _options[function])


@cache
def for_rule(function, constants):
    """What `entry` has returned, for the rules that have some constants; the same for the same ones.

    They are booleans and numbers that it and what it calls read, by their names in lower case; TypeError if one lacks.
    """
    return _copy(function, constants)


def _copy(function, constants):
    """A function with constants in place of their names, calling such copies; itself where it reads none.

    Rules that agree in what a function and those that it calls read share one copy.
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
        # Symbols have the names of their rules: what a process compiles must not meet what it loads from the cache.
        digest = hashlib.sha256(repr(values).encode()).hexdigest()[:12]
        copy.__module__, copy.__qualname__ = plain.__module__, f"{plain.__qualname__}_{digest}"
        _copies[key] = _compiled(copy, _options[function], values)
    return _copies[key]


@cache
def _globals(function):
    """Names of constants and of compiled functions that a function uses, with what they stand for."""
    plain = function.py_func
    found = ((name, plain.__globals__.get(name)) for name in plain.__code__.co_names)  # attributes are among the names
    return [(name, it) for name, it in found if it is UNBOUND or (isinstance(it, Dispatcher) and it in _options)]


@cache
def _read(function):
    """Names in lower case of the constants that a function and those that it calls read."""
    found = set()
    for name, value in _globals(function):
        found |= {name.lower()} if value is UNBOUND else _read(value)
    return found
