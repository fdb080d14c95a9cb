"""Compile kernels faster than numba alone, by relying on internals of numba's compiler in the tested releases.

`nested_functions`, `repeated_work` and `reference_counts` build on its private parts. Everything they need is checked
before anything is changed. `skyband.kernels.nested` uses this package if it is installed.
"""

import logging
from functools import cache
from importlib import import_module
from types import ModuleType

import numba

NEWEST_TESTED = (0, 68)
"""The newest numba that this is tested with. With a newer one, `numba.njit` alone compiles kernels."""


@cache
def compiler() -> ModuleType | None:
    """The module that makes nested functions and kernels; None if it does not fit the installed numba.

    The first call installs the patches.
    """
    if _release() > NEWEST_TESTED:
        _notice(f"newer than {'.'.join(map(str, NEWEST_TESTED))}, the last that Skyband was tested with")
        return None
    try:
        parts = [import_module(f"{__name__}.{part}") for part in ("repeated_work", "nested_functions")]
    except (ImportError, AttributeError, TypeError) as error:
        _notice(f"not as expected ({error})")
        return None
    for part in parts:
        part.install()
    return parts[-1]


def _release() -> tuple[int, ...]:
    """The first two numbers of numba's version; each release changes the second."""
    return tuple(int(part) if part.isdecimal() else 0 for part in numba.__version__.split(".")[:2])


def _notice(why: str) -> None:
    text = "numba %s is %s: kernels are compiled without skyband-jit, which takes longer"
    logging.getLogger("skyband").info(text, numba.__version__, why)
