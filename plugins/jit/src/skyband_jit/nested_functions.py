"""Compiled functions that other compiled functions call: a kernel made of them compiles in two fifths less time.

numba makes every function callable from Python: with wrappers, machine code and a separate file on disk. In a kernel of
sixty functions, only the one that Python calls needs them. The others are passed to their callers and optimized there.
Functions of numba that they call, such as `np.empty`, are nested in the same way.

numba also counts references to an array, atomically, each time one is passed on: up to half the time of a kernel that
does little per row. A nested function holds no array longer than its caller does, unless it creates or returns one.
"""

import gc
from collections.abc import Callable
from functools import cached_property
from typing import Any, Never

import numba
from numba.core import errors, event, sigutils
from numba.core import types as numba_types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering
from numba.core.typing.templates import _OverloadFunctionTemplate

from skyband_jit.reference_counts import ReferenceCounts, only_borrows
from skyband_jit.repeated_work import LeanFlags, are_lean

types: Any = numba_types
"""Any, because its stubs for mypy lack half of its classes."""


def kernel(function: Callable[..., Any] | None, options: dict[str, Any]) -> Any:
    """The dispatcher of a function under `kernel_njit`."""
    return numba.njit(function, cache=True, pipeline_class=_KernelCompiler, **options)


def nested(function: Callable[..., Any], vectorized: bool, options: dict[str, Any]) -> Any:
    """The dispatcher of a function under `nested_njit`."""
    return _dispatcher(_Nested, function, options, _VectorizingCompiler if vectorized else _Compiler)


def shared(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """The dispatcher of a function under `shared_njit`."""
    dispatcher = _Shared(function, targetoptions={"nopython": True, "boundscheck": None, **options})
    dispatcher.enable_caching()
    return dispatcher


def _dispatcher(kind: type[CPUDispatcher], function: Callable[..., Any], options: Any, compiler: Any) -> Any:
    return kind(function, targetoptions={"nopython": True, "boundscheck": None, **options}, pipeline_class=compiler)


class _Nested(CPUDispatcher):
    """A function that Python cannot call: its overloads have only a name instead of an entry point."""

    def __call__(self, *_: Any, **__: Any) -> Never:
        raise TypeError(f"{self.py_func.__qualname__} is called by compiled functions only: see nested_njit")

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Only the type of a constant counts: numba would compile a function again for each constant passed to it."""
        plain = tuple(map(types.unliteral, args))
        return super().get_call_template(plain, {name: types.unliteral(kind) for name, kind in kws.items()})

    def compile(self, sig: Any) -> Any:
        """Compile without numba's timers, which are notified of every call of LLVM, and without the disk cache."""
        args, return_type = sigutils.normalize_signature(sig)
        if tuple(args) not in self.overloads:
            data = {"dispatcher": self, "args": args, "return_type": return_type}
            with self._compiling_counter, event.trigger_event("numba:compile", data=data):
                try:
                    self.add_overload(self._compiler.compile(args, return_type))
                except errors.ForceLiteralArg as demand:  # numba asks again with the constant
                    fold = self._compiler.fold_argument_types
                    raise demand.bind_fold_arguments(lambda *arguments: fold(*arguments)[1]) from None
        return self.overloads[tuple(args)].entry_point

    def add_overload(self, compiled: Any) -> None:
        self.overloads[tuple(compiled.signature.args)] = compiled


class _NestedOfNumba(_Nested):
    """numba's own implementation of a function such as `np.empty`, as called by nested functions."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Here the values of constants count: an array's type is one of them."""
        return CPUDispatcher.get_call_template(self, args, kws)


class _Shared(CPUDispatcher):
    """Python calls its own overloads; compiled functions call those of a nested function."""

    @cached_property
    def nested(self) -> _Nested:
        return _Nested(self.py_func, targetoptions=self.targetoptions, pipeline_class=_Compiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return self.nested.get_call_template(args, kws)

    def get_overload(self, sig: Any) -> Any:
        return self.nested.get_overload(sig)


class _Library(JITCodeLibrary):
    """The function, with those it calls, as its callers inline it; it never becomes machine code."""

    vectorized = False

    def _optimize_final_module(self) -> None:
        """Normalize loops and drop reference counts; everything else is done once, in the kernel that calls it."""
        if self.vectorized:
            super()._optimize_final_module()
            return
        codegen = self._codegen
        passes, builder = codegen._module_pass_manager(
            loop_vectorize=codegen._loopvect, slp_vectorize=False, opt=codegen._opt_level, cost="cheap"
        )
        passes.run(self._final_module, builder)

    def _optimize_functions(self, module: Any) -> None:
        """Optimize the functions defined here, not those only declared."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):
    _name = "lower_nested_function"

    def run_pass(self, state: Any) -> bool:
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.vectorized = state.pipeline.vectorized
        state.library.enable_object_caching()
        borrows = only_borrows(state)
        state.targetctx = state.targetctx.subtarget(**({"enable_nrt": False} if borrows else {}))
        own = vars(state.targetctx)
        own.pop("nrt", None)  # which follows from enable_nrt, and is kept once asked for
        if not borrows:
            own["nrt"] = ReferenceCounts(state.targetctx, state.targetctx.enable_nrt)
        own["refresh"] = _nothing  # types were found just now: no implementation has come since
        state.flags.no_compile = state.flags.no_cpython_wrapper = state.flags.no_cfunc_wrapper = True
        super().run_pass(state)
        state.library.finalize()
        lowered, name = state.cr, object()
        state.targetctx.insert_user_function(name, lowered.fndesc, [state.library])
        state.cr = _LowerResult(lowered.fndesc, lowered.call_helper, cfunc=name, env=lowered.env)
        return True


def _nothing() -> None:
    """Replaces a step that is not needed."""


class _Compiler(CompilerBase):
    vectorized = False
    lowering = _Lowering

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.state.flags = LeanFlags(self.state.flags)

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [(self.lowering if each is NativeLowering else each, why) for each, why in passes.passes]
        passes.finalize()
        return [passes]


class _VectorizingCompiler(_Compiler):
    vectorized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _KernelLowering(NativeLowering):
    _name = "lower_kernel"

    def run_pass(self, state: Any) -> bool:
        state.flags.no_cfunc_wrapper = True
        state.targetctx = state.targetctx.subtarget()
        vars(state.targetctx)["nrt"] = ReferenceCounts(state.targetctx, state.targetctx.enable_nrt)
        return super().run_pass(state)


class _KernelCompiler(_Compiler):
    lowering = _KernelLowering


SELDOM = 50
"""Only one call in this many checks whether objects are still frozen."""


class _Uncollected(event.Listener):
    """Pauses Python's garbage collector while numba compiles: scanning numba's objects took a tenth of the time."""

    depth, collects = 0, True
    unasked = 0
    """How many more calls assume that objects are frozen: counting them takes Python .02 s for a million."""

    def on_start(self, event: Any) -> None:  # noqa: ARG002
        """Start of a function, or of one within it; numba compiles one at a time in a process."""
        if self.depth == 0:
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1

    def on_end(self, event: Any) -> None:  # noqa: ARG002
        self.depth -= 1
        if self.depth == 0 and self.collects:
            if not self._frozen():
                # Objects created meanwhile count as old: numba keeps most of them, and scanning them would take .3 s.
                gc.freeze()
                gc.unfreeze()
            gc.enable()

    def _frozen(self) -> bool:
        if self.unasked:
            self.unasked -= 1
            return True
        if gc.get_freeze_count():
            self.unasked = SELDOM
            return True
        return False


def _decorator(template: Any) -> Any:
    """The decorator that compiles numba's implementation of a function: nested if a nested function calls it."""
    if not are_lean():
        return _usual_decorator(template)

    def with_options(**options: Any) -> Callable[..., Any]:
        return lambda function: _dispatcher(_NestedOfNumba, function, options, _Compiler)

    return with_options


_usual_decorator = _OverloadFunctionTemplate._get_jit_decorator


def install() -> None:
    """Make numba nest its own implementations, and pause Python's garbage collector while numba compiles."""
    event.register("numba:compile", _Uncollected())
    _OverloadFunctionTemplate._get_jit_decorator = _decorator
