"""Lets each process compile its own kernels if numba has no writable cache folder, with one warning.

In a read-only container without a home, numba refuses to create a kernel at all; a folder that is full, or another
user's, fails the call for which it has just compiled one. Neither is a reason not to answer. Kernels that another
user has compiled into a configured folder, or next to the code, are read anyway.
See https://github.com/numba/numba/issues/4908.
"""

import logging
import os
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from numba.core.caching import Cache, _CacheLocator

_NO_FOLDER = "no locator available"
"""numba's message if it finds no writable folder."""
_NOWHERE = "no folder is writable"


def is_about_the_folder(error: BaseException) -> bool:
    """Whether numba refused to create a kernel because no folder is writable."""
    return isinstance(error, RuntimeError) and _NO_FOLDER in str(error)


@cache
def _say(why: str) -> None:
    message = (
        f"compiled kernels cannot be cached ({why}), so every process compiles its own, which takes seconds to minutes"
    )
    logging.getLogger("skyband").warning("warning: %s: set NUMBA_CACHE_DIR to a writable folder", message)


def compile_without_a_folder() -> None:
    """Make numba compile and continue if it cannot read or write its cache."""
    if not hasattr(Cache.save_overload, "__wrapped__"):
        Cache.__init__ = _kept_nowhere(Cache.__init__)
        Cache.load_overload = _unless_refused(Cache.load_overload)
        Cache.save_overload = _unless_refused(Cache.save_overload)


def _kept_nowhere(begin: Callable[..., None]) -> Callable[..., None]:
    @wraps(begin)
    def begun(kept: Any, function: Callable[..., Any]) -> None:
        try:
            begin(kept, function)
        except RuntimeError as error:
            if not is_about_the_folder(error):
                raise
            _say(_NOWHERE)
            if not _begin_to_read(begin, kept, function):
                kept._cache_path, kept._cache_file, kept._impl = "", None, None
                kept.disable()

    return begun


def _begin_to_read(begin: Callable[..., None], cache: Any, function: Callable[..., Any]) -> bool:
    """Open a cache in the first folder that is readable, though not writable. False if there is none."""
    ensure = _CacheLocator.ensure_cache_path
    _CacheLocator.ensure_cache_path = _check_readable
    try:
        begin(cache, function)
    except RuntimeError as error:
        if not is_about_the_folder(error):
            raise
        return False
    finally:
        _CacheLocator.ensure_cache_path = ensure
    cache.save_overload = lambda *_: None
    return True


def _check_readable(locator: Any) -> None:
    os.scandir(locator.get_cache_path()).close()


def _unless_refused(work: Callable[..., Any]) -> Callable[..., Any]:
    """`work`, or nothing if the system refuses it: this kernel's cache is then disabled."""

    @wraps(work)
    def careful(kept: Any, *arguments: Any) -> Any:
        try:
            return work(kept, *arguments)
        except OSError as error:
            kept.disable()
            _say(f"{kept.cache_path}: {error.strerror or error}")
            return None

    return careful
