"""Compiles kernels sooner than numba alone, by what numba's compiler is in the releases that were tested.

`nested_functions`, `repeated_work` and `reference_counts` build on its private parts. All that they need is looked at
before anything is changed. `skyband.kernels.nested` uses this package where it is installed.
"""

import logging
from functools import cache
from importlib import import_module
from types import ModuleType

import numba

NEWEST_TESTED = (0, 68)
"""The newest numba that this is tested with. Beyond it kernels are compiled by `numba.njit` alone."""


@cache
def compiler() -> ModuleType | None:
    """The module that makes nested functions and kernels; None with a numba that it does not fit.

    The first call has numba compile so.
    """
    if _release() > NEWEST_TESTED:
        _notice(f"newer than {'.'.join(map(str, NEWEST_TESTED))}, the last that Skyband was tested with")
        return None
    try:
        parts = [import_module(f"{__name__}.{part}") for part in ("repeated_work", "nested_functions")]
    except (ImportError, AttributeError, TypeError) as error:
        _notice(f"not as it was ({error})")
        return None
    for part in parts:
        part.install()
    return parts[-1]


def _release() -> tuple[int, ...]:
    """numba's version, of which a release changes the second number."""
    return tuple(int(part) if part.isdecimal() else 0 for part in numba.__version__.split(".")[:2])


def _notice(why: str) -> None:
    text = "numba %s is %s: kernels are compiled without skyband-jit, which takes longer"
    logging.getLogger("skyband").info(text, numba.__version__, why)
