"""Compiled functions that other compiled functions call: a kernel made of them takes two fifths less to compile.

numba makes of every function one that Python can call: with wrappers, machine code and a file on disk of its own. Of a
kernel of sixty functions only the one that Python calls needs them. The others are handed to those that call them, and
optimized there. What they call of numba, such as `np.empty`, is nested like them.

That is done by skyband-jit. Where it is not installed, or numba is newer than it was tested with, all three are
`numba.njit`: kernels take longer to compile, and answer the same.
"""

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numba
from numba.core import config

from skyband.kernels.numba_compiler_patches import keeps_with_care

_SOONER: Any = import_module("skyband_jit").compiler() if find_spec("skyband_jit") else None
"""What compiles them so; None: `numba.njit` alone. It imports nothing of core, and is found by name on a worker,
where looking for an entry point would take longer than the call."""


def kernel_njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit(cache=True)` for a function that only Python calls: compiled like what it calls, but for its wrapper.

    Takes numba's options, as `nested_njit` does.
    """
    if _SOONER is not None:
        return _SOONER.kernel(function, options)
    return numba.njit(function, cache=keeps_with_care(), **options)


def nested_njit(function: Callable[..., Any] | None = None, *, vectorized: bool = False, **options: Any) -> Any:
    """`numba.njit` for a function that is called by compiled functions only; called by Python it raises TypeError.

    Takes numba's options (`error_model`, `nogil` and so on). `cache` has no use: the kernel that Python calls is cached
    with all that it calls. Use `kernel_njit` for that one. Of a constant that it is called with it sees the type
    only, so `numba.literally` has none either.

    With `vectorized` it is optimized by itself as well, which takes longer: a loop over arrays that a processor does
    four or eight at a time is not always seen as one any more within the function that calls it.
    """
    if function is None:
        return lambda function: nested_njit(function, vectorized=vectorized, **options)
    if config.DISABLE_JIT:
        return function
    return numba.njit(function, **options) if _SOONER is None else _SOONER.nested(function, vectorized, options)


def shared_njit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """`numba.njit(cache=True)` for a function that Python calls, and kernels too: these take it in as a nested one.

    Takes numba's options, as `nested_njit` does.
    """
    if function is None:
        return lambda function: shared_njit(function, **options)
    if config.DISABLE_JIT:
        return function
    if _SOONER is not None:
        return _SOONER.shared(function, options)
    return numba.njit(function, cache=keeps_with_care(), **options)
