"""numba renews a cached kernel when its own file changes, but not when a kernel that it calls does.

A plugin whose kernels call those of another distribution would use the old ones after an upgrade of that, and
fail if the cache names a module that has moved since. See https://github.com/numba/numba/issues/1833 (a changed
callee) and https://github.com/numba/numba/issues/10434 (a file that cannot be read).
"""

import inspect
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, wraps
from hashlib import sha256
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from numba.core.caching import Cache, IndexDataCacheFile
from numba.core.registry import CPUDispatcher

_UNREADABLE = (ImportError, AttributeError, EOFError, ValueError, TypeError, IndexError, KeyError, pickle.PickleError)
"""Errors of reading a pickle that is cut short, damaged, or refers to code that no longer exists."""

_CORE = "skyband.kernels."
_IMPORT = re.compile(rb"^(?:from|import) ([\w.]+)", re.MULTILINE)
_NAMED = (FunctionType, type, CPUDispatcher, ModuleType)
"""Types whose values know their module. Other globals are not inspected: that may run code."""


def compile_what_cannot_be_read() -> None:
    """Make numba compile a kernel again if its cache on disk cannot be read, as if there were none.

    It then renews the cache. Without this each call of the kernel raises, for example ModuleNotFoundError.
    """
    if not hasattr(IndexDataCacheFile._load_index, "__wrapped__"):
        IndexDataCacheFile._load_index = _or(IndexDataCacheFile._load_index, dict)
        IndexDataCacheFile._load_data = _or(IndexDataCacheFile._load_data, _none_there)


def _or(read: Callable[..., Any], otherwise: Callable[[], Any]) -> Callable[..., Any]:
    @wraps(read)
    def forgiving(*arguments: Any) -> Any:
        try:
            return read(*arguments)
        except _UNREADABLE:
            return otherwise()

    return forgiving


def _none_there() -> Any:
    raise FileNotFoundError("the cache cannot be read")  # numba treats this as a kernel not compiled yet


def compile_where_a_callee_changed() -> None:
    """Make numba compile a kernel again if the file of a module whose kernels it calls has changed.

    For kernels that reach a module which imports from `skyband.kernels`, such as `nested_njit`: this one is imported
    before these, whatever else a process imports. Other caches work as in numba.
    """
    if not getattr(Cache.__init__, "looks_at_callees", False):  # `without_cache` may have wrapped it already
        Cache.__init__ = _with_callees(Cache.__init__)


def _with_callees(begin: Callable[..., None]) -> Callable[..., None]:
    @wraps(begin)
    def begun(numba_cache: Any, function: Callable[..., Any]) -> None:
        begin(numba_cache, function)
        if numba_cache._cache_file is None:  # there is no cache
            return
        module = sys.modules.get(function.__module__)
        if module is not None and uses_core(module):
            file = numba_cache._cache_file
            file._source_stamp = file._source_stamp, sources_of(module)

    begun.looks_at_callees = True  # type: ignore[attr-defined]
    return begun


@cache
def uses_core(module: ModuleType) -> bool:
    """Whether a module is Skyband's, or it or one whose kernels it calls imports from `skyband.kernels`."""
    return module.__name__.startswith("skyband") or any(map(_imports_core, (module, *_callees(module))))


@cache
def sources_of(module: ModuleType) -> list[tuple[str, str]]:
    """Names and contents of the modules that a module's kernels are compiled from, without itself.

    Those whose kernels it calls, and what they and it import from Skyband or their own package: numba turns a global
    into a constant.
    """
    callees = _callees(module)
    names = {name for one in (module, *callees) for name in _imports(one)}
    imported = {sys.modules[name] for name in names & sys.modules.keys()}
    return sorted((one.__name__, content_of(one)) for one in (callees | imported) - {module})


@cache
def _imports(module: ModuleType) -> frozenset[str]:
    """Full names of modules that a module's file imports at its top level."""
    own = module.__name__.partition(".")[0]
    named = {name.decode() for name in _IMPORT.findall(_source(module))}
    named |= {value.__name__ for value in list(vars(module).values()) if inspect.ismodule(value)}
    return frozenset(name for name in named if name.partition(".")[0] == own or name.startswith("skyband"))


def _imports_core(module: ModuleType) -> bool:
    values = [value for value in list(vars(module).values()) if isinstance(value, _NAMED)]
    names = (value.__name__ if inspect.ismodule(value) else str(value.__module__) for value in values)
    return any(name.startswith(_CORE) for name in names)


def _callees(module: ModuleType) -> set[ModuleType]:
    """The modules whose kernels a module can see, directly or through others; without itself."""
    modules: set[ModuleType] = set()
    waiting = [module]
    while waiting:
        looked = waiting.pop()
        imported = {value for value in list(vars(looked).values()) if inspect.ismodule(value) and any(_kernels(value))}
        homes = {sys.modules.get(kernel.py_func.__module__) for kernel in _kernels(looked)}
        fresh = (imported | {home for home in homes if home is not None}) - modules - {module}
        modules |= fresh
        waiting.extend(fresh)
    return modules


def _kernels(module: ModuleType) -> Iterator[CPUDispatcher]:
    return (value for value in list(vars(module).values()) if isinstance(value, CPUDispatcher))


@cache
def content_of(module: ModuleType) -> str:
    """A digest of a module's file, or of the archive that contains it."""
    return sha256(_source(module)).hexdigest()


def _source(module: ModuleType) -> bytes:
    file = Path(str(getattr(module, "__file__", None)))
    place = next(path for path in (file, *file.parents) if path.exists())
    return place.read_bytes() if place.is_file() else b""
