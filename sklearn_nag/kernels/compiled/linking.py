"""How functions are compiled in less time than by Numba's own compiler, most of which is Python.

Numba optimises each function and makes machine code of it, and then does so again with whatever calls it, of which it
mostly becomes a part: a fifth of the time, for nothing. What operators return it finds out anew at each place: a tenth.
After each of two dozen passes, half of which look for what is not there, it finds out where variables live, so that
references can be counted: a fifth. Looking for garbage among all that is another tenth.
"""

from __future__ import annotations

import gc
import operator

from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.ssa import reconstruct_ssa

from .vectors import larger, smaller

OBJECTS = 100_000  # that are made between two searches for garbage


class _NoEnvironment:
    """The code generator of a library, without a place for the Python objects of its functions, which have none."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)

    def set_env(self, name, environment):
        """Nothing."""


class Entry(JITCodeLibrary):
    """Code that Python calls, with all that it calls: optimised when it is whole, and no function by itself before.

    Once, where Numba does so twice, for references that are counted.
    """

    finds_vectors = True

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        options = {} if self.finds_vectors else {"loop_vectorize": False, "slp_vectorize": False}
        made = self._codegen._module_pass_manager(**options)
        passes, *builder = made if isinstance(made, tuple) else (made,)  # alone before Numba 0.62
        passes.run(self._final_module, *builder)


class EntryByEight(Entry):
    """As its base, of code in which vectors are written out, so that nobody looks for others."""

    finds_vectors = False


class Part(Entry):
    """Code that is linked with what calls it, and otherwise as it was written."""

    @property
    def codegen(self):
        """As of any library."""
        return _NoEnvironment(self._codegen)

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

    What Numba knows of `max` and `min` is for any number of arguments, and compiled for each.
    """

    def __init__(self, context, known):
        self._context, self._known = context, known

    def __getattr__(self, name):
        return getattr(self._context, name)

    def resolve_value_type(self, val):
        """As of any context, but for `max` and `min`."""
        return self._context.resolve_value_type(larger if val is max else smaller if val is min else val)

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


class Passes(PassManager):
    """Finds nothing out after each pass."""

    _ENFORCING = False


@register_pass(mutates_CFG=True, analysis_only=False)
class OneAssignment(untyped_passes.ReconstructSSA):
    """As its base, but for where variables live."""

    _name = "one_assignment"

    def run_pass(self, state):
        """As of any pass."""
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class StripPhis(typed_passes.PreLowerStripPhis):
    """As its base, but for where variables live."""

    _name = "strip_phis_alone"

    def run_pass(self, state):
        """As of any pass."""
        state.func_ir = self._strip_phi_nodes(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


PASSES = (
    untyped_passes.TranslateByteCode,
    untyped_passes.FixupArgs,
    untyped_passes.IRProcessing,
    untyped_passes.RewriteSemanticConstants,
    untyped_passes.DeadBranchPrune,
    untyped_passes.GenericRewrites,
    OneAssignment,
    untyped_passes.DeadBranchPrune,
    typed_passes.NopythonTypeInference,
    StripPhis,
    typed_passes.AnnotateTypes,
    typed_passes.NativeLowering,
    typed_passes.NoPythonBackend,
)


class _Compiler(Compiler):
    """Compiles functions without closures, ``with``, ``raise`` and references to be counted."""

    def define_pipelines(self):
        """As of any compiler."""
        passes = Passes("rows")
        for one in PASSES:
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]

    def compile_extra(self, func):
        """As of any compiler."""
        known = _known.setdefault(repr(self.state.flags.values()), {})
        self.state.typingctx = Remembering(self.state.typingctx, known)
        self.state.library = self.library(self.state.targetctx.codegen(), f"{func.__module__}.{func.__qualname__}")
        self.state.library.enable_object_caching()  # so that an entry can be kept on disk
        return super().compile_extra(func)


class PartCompiler(_Compiler):
    """Compiles what compiled code calls, to a `Part`."""

    library = Part


class EntryCompiler(_Compiler):
    """Compiles what Python calls, to an `Entry`, and with it what it calls and is not compiled yet."""

    library = Entry

    def compile_extra(self, func):
        """As of any compiler. Garbage is looked for less often meanwhile, if at all: hardly anything becomes such."""
        before = gc.get_threshold()
        gc.set_threshold(before[0] and max(before[0], OBJECTS), *before[1:])
        try:
            return super().compile_extra(func)
        finally:
            gc.set_threshold(*before)


class EntryByEightCompiler(EntryCompiler):
    """As its base, to an `EntryByEight`."""

    library = EntryByEight
