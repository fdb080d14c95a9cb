"""All that Skyband changes in numba's private classes, and up to which release of numba it does so.

Kernels compile sooner (`nested_functions`, `repeated_work`, `reference_counts`): that is built on numba's compiler as
it is in the releases that were tested, and beyond them kernels are compiled by `numba.njit` alone, which takes longer
and answers the same. Kernels are kept on disk with care (`without_cache`, `cache_invalidation`) and compiled by one
process at a time (`compiling_once`): that wraps six functions, and is left out only where one of them is missing.
Kernels are safe from signals (`signal_safe_returns`): that replaces how two kinds of values are made, likewise.

Nothing is changed before everything is there that it needs: a numba without it is as good as a later one.
"""

import inspect
import logging
from functools import cache
from importlib import import_module
from typing import Any

import numba

NEWEST_TESTED = (0, 68)
"""The newest numba that these are tested with. Beyond it kernels are compiled by `numba.njit` alone."""


@cache
def compiles_sooner() -> bool:
    """Whether numba is one that compiles as `nested_functions` has it; the first call has numba do so."""
    if _release() > NEWEST_TESTED:
        _notice(f"newer than {'.'.join(map(str, NEWEST_TESTED))}, the last that Skyband was tested with")
        return False
    try:
        parts = [import_module(f"{__name__}.{part}") for part in ("repeated_work", "nested_functions")]
    except (ImportError, AttributeError, TypeError) as error:
        _notice(f"not as it was ({error})")
        return False
    for part in parts:
        part.install()
    return True


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


def _release() -> tuple[int, ...]:
    """numba's version, of which a release changes the second number."""
    return tuple(int(part) if part.isdecimal() else 0 for part in numba.__version__.split(".")[:2])


@cache
def _notice(why: str) -> None:
    text = "numba %s is %s: kernels are compiled without Skyband's changes to it, which takes longer"
    logging.getLogger("skyband").info(text, numba.__version__, why)


keeps_with_care()
returns_safely()
