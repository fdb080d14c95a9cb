"""Fixes of numba: of how it keeps compiled kernels on disk, and of signals that arrive while one runs.

Kernels are kept on disk with care (`without_cache`, `cache_invalidation`) and compiled by one process at a time
(`compiling_once`): that wraps six functions, and is left out only where one of them is missing. Kernels are safe from
signals (`signal_safe_returns`): that replaces how two kinds of values are made, likewise.

Nothing is changed before everything is there that it needs. What compiles kernels sooner is skyband-jit.
"""

import inspect
import logging
from functools import cache
from typing import Any

import numba


@cache
def keeps_with_care() -> bool:
    """Whether numba renews kernels on disk as `cache_invalidation` has it; the first call has numba do so."""
    try:
        from numba.core import caching, dispatcher

        from skyband.kernels.numba_compiler_patches import cache_invalidation, compiling_once, without_cache

        _look_at_caching(caching.Cache, caching.IndexDataCacheFile, dispatcher.Dispatcher)
    except (ImportError, AttributeError) as error:
        _notice(f"not as it was ({error}), so that no kernel is kept on disk")
        return False
    without_cache.compile_without_a_folder()  # first, as it sees what numba refuses
    cache_invalidation.compile_what_cannot_be_read()
    cache_invalidation.compile_where_a_callee_changed()
    compiling_once.compile_once()
    return True


@cache
def returns_safely() -> bool:
    """Whether numba makes what a kernel gives back as `signal_safe_returns` has it; the first call has numba do so."""
    try:
        from skyband.kernels.numba_compiler_patches import signal_safe_returns
    except (ImportError, AttributeError) as error:
        _notice(f"not as it was ({error}), so that a signal while a kernel runs may end the process")
        return False
    signal_safe_returns.install()
    return True


def _look_at_caching(kept: Any, file: Any, dispatcher: Any) -> None:
    """AttributeError, or ImportError, where numba lacks one of the six functions, or what these are called with."""
    _ = kept.load_overload, kept.save_overload, file._load_index, file._load_data, dispatcher.compile
    stamps = "source_stamp" in inspect.signature(file).parameters and len(inspect.signature(kept).parameters) == 1
    if not stamps:
        raise ImportError("its cache takes other arguments")


@cache
def _notice(why: str) -> None:
    logging.getLogger("skyband").info("numba %s is %s", numba.__version__, why)


keeps_with_care()
returns_safely()
