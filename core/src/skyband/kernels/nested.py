"""Decorators for compiled functions called by other compiled functions: they cut compile time by two fifths.

numba makes every function callable from Python, with wrappers, machine code and a cache file. Of a kernel's sixty
functions only the entry point needs them. The others are passed to their callers and optimized there, as are
functions of numba, such as `np.empty`.

skyband-jit does this. Where it is not installed, or numba is newer than the version it was tested with, all three are
`numba.njit`: kernels take longer to compile, with the same results.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numba
from numba.core import config

from skyband.kernels.numba_compiler_patches import keeps_with_care

_SOONER: Any = import_module("skyband_jit").compiler() if find_spec("skyband_jit") else None
"""The faster compiler; None: `numba.njit` alone. It imports nothing of core, and is looked up by name, because on a
worker a lookup of entry points would take longer than the call."""


def kernel_njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit(cache=True)` for a function that only Python calls, compiled like its callees except for its wrapper.

    Takes numba's options, as `nested_njit` does.
    """
    if _SOONER is not None:
        return _SOONER.kernel(function, options)
    return numba.njit(function, cache=keeps_with_care(), **options)


def nested_njit(function: Callable[..., Any] | None = None, *, vectorized: bool = False, **options: Any) -> Any:
    """`numba.njit` for a function that only compiled functions call; called from Python it raises TypeError.

    Takes numba's options (`error_model`, `nogil` and so on). `cache` has no effect: the calling kernel is cached with
    everything it calls; use `kernel_njit` for that one. It sees only the type of a constant argument, so
    `numba.literally` has no effect either.

    With `vectorized` it is also optimized alone, which takes longer: within its caller, a loop over arrays may not
    be recognized as one that the processor can do four or eight elements at a time.
    """
    if function is None:
        return lambda function: nested_njit(function, vectorized=vectorized, **options)
    if config.DISABLE_JIT:
        return function
    return numba.njit(function, **options) if _SOONER is None else _SOONER.nested(function, vectorized, options)


def shared_njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit(cache=True)` for a function that both Python and kernels call; kernels inline it as a nested one.

    Takes numba's options, as `nested_njit` does.
    """
    if function is None:
        return lambda function: shared_njit(function, **options)
    if config.DISABLE_JIT:
        return function
    if _SOONER is not None:
        return _SOONER.shared(function, options)
    return numba.njit(function, cache=keeps_with_care(), **options)
