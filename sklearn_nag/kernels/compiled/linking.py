"""Functions that only compiled code calls are left to their callers, which optimise them with all else.

Numba optimises each function and makes machine code of it, and then does so again with whatever calls it, of which it
mostly becomes a part. The first of the two is a fifth of the time of compiling, for nothing. And it finds out anew, at
each place, what operators return for their operands, which is a tenth.
"""

from __future__ import annotations

import operator

from numba.core import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _NoEnvironment:
    """The code generator of a library, without a place for the Python objects of its functions, which have none."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)

    def set_env(self, name, environment):
        """Nothing."""


class Part(JITCodeLibrary):
    """Code that is linked with what calls it, and otherwise as it was written."""

    @property
    def codegen(self):
        """As of any library."""
        return _NoEnvironment(self._codegen)

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """None, as it is no machine code."""
        return 0


class Remembering:
    """A typing context that remembers what operators and functions return for some types of arguments.

    Numba looks through all that it knows of a function each time that it stands somewhere, for an item of an array for
    a millisecond and a half.
    """

    def __init__(self, context, known):
        self._context, self._known = context, known

    def __getattr__(self, name):
        return getattr(self._context, name)

    def resolve_getitem(self, target, index):
        """As of any context."""
        return self.resolve_function_type(operator.getitem, (target, index), {})

    def resolve_setitem(self, target, index, value):
        """As of any context."""
        return self.resolve_function_type(operator.setitem, (target, index, value), {})

    def resolve_function_type(self, func, args, kws):
        """As of any context."""
        if kws or not (isinstance(func, types.Function) or getattr(func, "__module__", "") == "_operator"):
            return self._context.resolve_function_type(func, args, kws)
        key = func, args
        if key not in self._known:
            found = self._context.resolve_function_type(func, args, kws)
            if found is None:
                return None
            self._known[key] = found
        return self._known[key]


_known: dict[str, dict] = {}  # what is remembered, for functions compiled in different ways


class PartCompiler(Compiler):
    """Compiles a function to a `Part`."""

    def compile_extra(self, func):
        """As of any compiler."""
        known = _known.setdefault(repr(self.state.flags.values()), {})
        self.state.typingctx = Remembering(self.state.typingctx, known)
        codegen = self.state.targetctx.codegen()
        self.state.library = Part(codegen, f"{func.__module__}.{func.__qualname__}")
        return super().compile_extra(func)
