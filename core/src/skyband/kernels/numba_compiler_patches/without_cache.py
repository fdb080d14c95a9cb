"""Where numba can keep no compiled kernel, each process compiles its own, and says once what to set.

In a container whose files may not be written to, with no home, numba refuses to make a kernel at all; a folder that is
full, or somebody else's, fails the call for which it has just compiled one. Neither is a reason not to answer.
Kernels that another user has compiled into a folder that is set, or beside the code, are read all the same.
See https://github.com/numba/numba/issues/4908.
"""

import logging
import os
from collections.abc import Callable
from functools import cache, wraps
from typing import Any

from numba.core.caching import Cache, _CacheLocator

_NO_FOLDER = "no locator available"
"""What numba says where it finds no folder to write to."""
_NOWHERE = "no folder can be written to"


def is_about_the_folder(error: BaseException) -> bool:
    """Whether numba refused to make a kernel because no folder can be written to."""
    return isinstance(error, RuntimeError) and _NO_FOLDER in str(error)


@cache
def _say(why: str) -> None:
    message = (
        f"compiled kernels cannot be kept ({why}), so every process compiles its own, which takes seconds to minutes"
    )
    logging.getLogger("skyband").warning("warning: %s: set NUMBA_CACHE_DIR to a folder that can be written to", message)


def compile_without_a_folder() -> None:
    """Have numba compile and go on where it cannot read or keep what it compiled."""
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
    """Begin a cache in the first folder that can be read, though not written to. False where there is none."""
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
    """`work`, or nothing where the system refuses it: then this kernel is not looked for any more."""

    @wraps(work)
    def careful(kept: Any, *arguments: Any) -> Any:
        try:
            return work(kept, *arguments)
        except OSError as error:
            kept.disable()
            _say(f"{kept.cache_path}: {error.strerror or error}")
            return None

    return careful
