"""Caches kernels once per user, by the content of their source, instead of next to each copy of it.

Another environment, another clone and a reinstalled version then find the machine code of a kernel whose module,
compiled callees and compiler are the same. The folder is that of `NUMBA_CACHE_DIR`, else `skyband/kernels` in the
user's cache folder. It may be removed at any time.
"""

import os
import stat
import sys
from collections.abc import Callable
from functools import cache
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from numba.core import config
from numba.core.caching import Cache, CacheImpl, UserWideCacheLocator
from numba.core.runtime import rtsys
from numba.misc.appdirs import AppDirs

from skyband.kernels.numba_compiler_patches.cache_invalidation import content_of, sources_of, uses_core

_USABLE: set[str] = set()
"""Folders that this process has written to."""
_usual_load_overload = Cache.load_overload


class ContentCacheLocator(UserWideCacheLocator):
    """A folder named after the content of a kernel's module, of the modules it calls, and of the compiler."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        self._py_file, self._lineno = file, function.__code__.co_firstlineno
        self._cache_path = _folder(sys.modules[function.__module__])

    def ensure_cache_path(self) -> None:
        """Raises OSError if the folder cannot be written to, or if others may write to the user's own."""
        if self._cache_path in _USABLE:
            return
        super().ensure_cache_path()
        if not config.CACHE_DIR and hasattr(os, "getuid"):
            status = _home().stat()
            if status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise PermissionError(f"{_home()} can be written to by others")
        _USABLE.add(self._cache_path)

    @classmethod
    def from_function(cls, function: Callable[..., Any], file: str) -> Any:
        """None for what is not a kernel of a module that uses `skyband.kernels`, and for a user without a home."""
        module = sys.modules.get(function.__module__)
        if module is None or not Path(file).is_file() or not uses_core(module) or not _home().is_absolute():
            return None
        return super().from_function(function, file)


def look_by_content() -> None:
    """Make numba look there first, unless the user has chosen other places, and load only what it needs to run."""
    if ContentCacheLocator not in CacheImpl._locator_classes:
        CacheImpl._locator_classes.insert(0, ContentCacheLocator)
        Cache.load_overload = _load_overload


def _load_overload(numba_cache: Any, signature: Any, context: Any) -> Any:
    """Loads our kernels without the 50 modules by which numba compiles its own functions, and without SciPy."""
    if not isinstance(getattr(numba_cache._impl, "locator", None), ContentCacheLocator):
        return _usual_load_overload(numba_cache, signature, context)
    rtsys.initialize(context)
    import_module("numba.cpython.hashing")  # machine code may refer to Python's seed of hashes
    with numba_cache._guard_against_spurious_io_errors():
        return numba_cache._load_overload(signature, context)


@cache
def _folder(module: ModuleType) -> str:
    digest = sha256(repr((_compiler(), content_of(module), sources_of(module))).encode()).hexdigest()
    return str(_home() / f"{module.__name__}-{digest[:20]}")


def _home() -> Path:
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR).absolute()
    return Path(AppDirs(appname="skyband", appauthor=False).user_cache_dir) / "kernels"


@cache
def _compiler() -> tuple[object, ...]:
    """What besides a kernel's source decides its machine code; numba itself adds the processor."""
    sooner = sys.modules.get("skyband_jit")
    files = [Path(__file__).with_name("signal_safe_returns.py")]
    if sooner is not None and sooner.__file__ is not None:
        files += sorted(Path(sooner.__file__).parent.glob("*.py"))
    contents = [sha256(file.read_bytes()).hexdigest() for file in files if file.is_file()]
    versions = [import_module(name).__version__ for name in ("numba", "llvmlite", "numpy")]
    return versions, sys.version, contents
