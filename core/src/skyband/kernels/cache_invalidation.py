"""numba keeps compiled kernels on disk and renews one when its own file changes, not when a kernel that it calls does.

A plugin whose kernels call those of another distribution would go on with the old ones after an upgrade of that, and
fail where what was kept names a module that has moved since.
"""

import inspect
import pickle
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core.caching import IndexDataCacheFile
from numba.core.registry import CPUDispatcher

_UNREADABLE = (ImportError, AttributeError, EOFError, ValueError, TypeError, IndexError, KeyError, pickle.PickleError)
"""What reading a pickle raises that is cut short, damaged, or of code that is not there any more."""


def compile_what_cannot_be_read() -> None:
    """Have numba compile a kernel anew where what it kept on disk cannot be read, as where there is none.

    It renews what it keeps then. Without this each call of the kernel raises, such as ModuleNotFoundError. Done when
    this module is imported, which core's kernels do.
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
    raise FileNotFoundError("what was kept cannot be read")  # which numba takes for a kernel not compiled yet


def drop_stale(*modules: ModuleType) -> list[Path]:
    """Delete what is cached of the kernels of `modules` if a module they call into is newer; returns what went.

    Call it where the modules have been imported and none of their kernels has run: the first call compiles again.
    Costs a look into one folder for each kernel.
    """
    dropped = []
    for module in modules:
        newest = max((_changed(callee) for callee in _callees(module)), default=0.0)
        for kernel in _kernels(module):
            if kernel.py_func.__module__ != module.__name__ or not kernel.stats.cache_path:
                continue
            name = f"{Path(str(module.__file__)).stem}.{kernel.py_func.__qualname__}-"
            for index in Path(kernel.stats.cache_path).glob(f"{name}*.nbi"):
                if index.stat().st_mtime < newest:
                    index.unlink(missing_ok=True)
                    dropped.append(index)
    return dropped


def _kernels(module: ModuleType) -> Iterator[CPUDispatcher]:
    return (value for value in vars(module).values() if isinstance(value, CPUDispatcher))


def _callees(module: ModuleType) -> set[ModuleType]:
    """The modules whose kernels a module can see, and those that these see; not itself."""
    found: set[ModuleType] = set()
    waiting = [module]
    while waiting:
        looked = waiting.pop()
        seen = {value for value in vars(looked).values() if inspect.ismodule(value) and any(_kernels(value))}
        homes = {inspect.getmodule(kernel.py_func) for kernel in _kernels(looked)}
        fresh = (seen | {home for home in homes if home is not None}) - found - {module}
        found |= fresh
        waiting.extend(fresh)
    return found


def _changed(module: ModuleType) -> float:
    return Path(str(module.__file__)).stat().st_mtime


compile_what_cannot_be_read()
