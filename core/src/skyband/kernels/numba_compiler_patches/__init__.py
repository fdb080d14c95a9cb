"""Fixes of numba: its cache of compiled kernels on disk, and signals that arrive while a kernel runs.

The cache fixes (`without_cache`, `cache_invalidation`), compilation by one process at a time (`compiling_once`) and one
cache per user (`content_cache`) wrap six functions; they are skipped only if one that they need is missing. Safety from
signals (`signal_safe_returns`) replaces the way two kinds of values are created, and is skipped likewise.

Nothing is changed unless everything it needs is there. Faster compilation is the task of skyband-jit.
"""

import inspect
import logging
from functools import cache
from typing import Any

import numba


@cache
def keeps_with_care() -> bool:
    """Whether numba renews cached kernels as in `cache_invalidation`; the first call installs the fixes."""
    try:
        from numba.core import caching, dispatcher

        from skyband.kernels.numba_compiler_patches import cache_invalidation, compiling_once, without_cache
        from skyband.kernels.numba_compiler_patches.content_cache import look_by_content

        _look_at_caching(caching.Cache, caching.IndexDataCacheFile, dispatcher.Dispatcher)
    except (ImportError, AttributeError) as error:
        _notice(f"not as expected ({error}), so that kernels are not cached on disk")
        return False
    look_by_content()  # first, as the others wrap what it replaces
    without_cache.compile_without_a_folder()  # then, as it sees what numba refuses
    cache_invalidation.compile_what_cannot_be_read()
    cache_invalidation.compile_where_a_callee_changed()
    compiling_once.compile_once()
    return True


@cache
def returns_safely() -> bool:
    """Whether numba creates return values as in `signal_safe_returns`; the first call installs the fix."""
    try:
        from skyband.kernels.numba_compiler_patches import signal_safe_returns
    except (ImportError, AttributeError) as error:
        _notice(f"not as expected ({error}), so that a signal during a kernel may end the process")
        return False
    signal_safe_returns.install()
    return True


def _look_at_caching(kept: Any, file: Any, dispatcher: Any) -> None:
    """Raises AttributeError or ImportError if numba lacks one of these functions, or they take other arguments."""
    _ = kept.load_overload, kept.save_overload, file._load_index, file._load_data, dispatcher.compile
    _ = kept._load_overload, kept._guard_against_spurious_io_errors
    stamps = "source_stamp" in inspect.signature(file).parameters and len(inspect.signature(kept).parameters) == 1
    if not stamps:
        raise ImportError("its cache takes other arguments")


@cache
def _notice(why: str) -> None:
    logging.getLogger("skyband").info("numba %s is %s", numba.__version__, why)


keeps_with_care()
returns_safely()
