"""Functions that only compiled code calls are left to their callers, which optimise them with all else.

Numba optimises each function and makes machine code of it, and then does so again with whatever calls it, of which it
mostly becomes a part. The first of the two is a fifth of the time of compiling, for nothing.
"""

from __future__ import annotations

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


class PartCompiler(Compiler):
    """Compiles a function to a `Part`."""

    def compile_extra(self, func):
        """As of any compiler."""
        codegen = self.state.targetctx.codegen()
        self.state.library = Part(codegen, f"{func.__module__}.{func.__qualname__}")
        return super().compile_extra(func)
