"""Faster compilation than by Numba's own compiler, most of which is Python.

What Numba does otherwise, and its share of the time:

* It optimises each function to machine code, then again with each caller, into which it is mostly inlined: a fifth.
* It infers anew at each place what operators return: a tenth.
* After each of two dozen passes, half of which look for what is not there, it finds out where variables live, to count
  references: a fifth.
* It collects garbage: a tenth.
"""

import gc
import operator

from numba.core import typed_passes, types, untyped_passes
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.ir_utils import build_definitions
from numba.core.ssa import reconstruct_ssa

from .vectors import larger, smaller

OBJECTS = 100_000  # made between two garbage collections


class _NoEnvironment:
    """The code generator of a library, without a place for Python objects, because its functions have none."""

    def __init__(self, codegen):
        self._codegen = codegen

    def __getattr__(self, name):
        return getattr(self._codegen, name)

    def set_env(self, name, environment):
        """Do nothing."""


class Entry(JITCodeLibrary):
    """Code that Python calls, with its callees, optimised once as a whole.

    Numba would do so twice, to count references.
    """

    finds_vectors = True

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self):
        options = {} if self.finds_vectors else {"loop_vectorize": False, "slp_vectorize": False}
        made = self._codegen._module_pass_manager(**options)
        passes, *builder = made if isinstance(made, tuple) else (made,)  # not a tuple before Numba 0.62
        passes.run(self._final_module, *builder)


class EntryByEight(Entry):
    """`Entry` whose vectors are written out, so that none are looked for."""

    finds_vectors = False


class Part(Entry):
    """Code that is linked with its callers, and not optimised by itself."""

    @property
    def codegen(self):
        """The code generator, without environments."""
        return _NoEnvironment(self._codegen)

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name):
        """0, because it is no machine code."""
        return 0


class Remembering:
    """Typing context that remembers the result types of operators and functions.

    Numba's `max` and `min` take any number of arguments, and are compiled for each.
    """

    def __init__(self, context, known):
        self._context, self._known = context, known

    def __getattr__(self, name):
        return getattr(self._context, name)

    def resolve_value_type(self, val):
        """Resolve a value, with `larger` and `smaller` for `max` and `min`."""
        return self._context.resolve_value_type(larger if val is max else smaller if val is min else val)

    def resolve_getitem(self, target, index):
        """Resolve as a function, to remember it."""
        return self.resolve_function_type(operator.getitem, (target, index), {})

    def resolve_setitem(self, target, index, value):
        """Resolve as a function, to remember it."""
        return self.resolve_function_type(operator.setitem, (target, index, value), {})

    def resolve_function_type(self, func, args, kws):
        """Resolve a call, from memory if possible."""
        if kws or not (isinstance(func, types.Function) or getattr(func, "__module__", "") == "_operator"):
            return self._context.resolve_function_type(func, args, kws)
        key = func, args
        if key not in self._known:
            found = self._context.resolve_function_type(func, args, kws)
            if found is None:
                return None
            self._known[key] = found
        return self._known[key]


_known: dict[str, dict] = {}  # what is remembered, by flags of compilation


class Passes(PassManager):
    """Pass manager without an analysis after each pass."""

    _ENFORCING = False


@register_pass(mutates_CFG=True, analysis_only=False)
class OneAssignment(untyped_passes.ReconstructSSA):
    """The base class, without finding out where variables live."""

    _name = "one_assignment"

    def run_pass(self, state):
        """Run the pass."""
        state.func_ir = reconstruct_ssa(state.func_ir)
        state.func_ir._definitions = build_definitions(state.func_ir.blocks)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class StripPhis(typed_passes.PreLowerStripPhis):
    """The base class, without finding out where variables live."""

    _name = "strip_phis_alone"

    def run_pass(self, state):
        """Run the pass."""
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
    """Compiler for functions without closures, ``with``, ``raise`` and counted references."""

    def define_pipelines(self):
        """One pipeline of `PASSES`."""
        passes = Passes("rows")
        for one in PASSES:
            passes.add_pass(one, one.__name__)
        passes.finalize()
        return [passes]

    def compile_extra(self, func):
        """Compile to ``library``, remembering types."""
        known = _known.setdefault(repr(self.state.flags.values()), {})
        self.state.typingctx = Remembering(self.state.typingctx, known)
        self.state.library = self.library(self.state.targetctx.codegen(), f"{func.__module__}.{func.__qualname__}")
        self.state.library.enable_object_caching()  # so that an entry can be kept on disk
        return super().compile_extra(func)


class PartCompiler(_Compiler):
    """Compiler of `Part`, for what compiled code calls."""

    library = Part


class EntryCompiler(_Compiler):
    """Compiler of `Entry`, for what Python calls, with callees that are not compiled yet."""

    library = Entry

    def compile_extra(self, func):
        """Compile with fewer garbage collections, if any: hardly anything becomes garbage."""
        before = gc.get_threshold()
        gc.set_threshold(before[0] and max(before[0], OBJECTS), *before[1:])
        try:
            return super().compile_extra(func)
        finally:
            gc.set_threshold(*before)


class EntryByEightCompiler(EntryCompiler):
    """Compiler of `EntryByEight`."""

    library = EntryByEight
