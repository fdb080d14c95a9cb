"""The similarity that is asked for: a named one, or a function of the user's own."""

from typing import Any

from numba import cfunc
from numba.core.errors import NumbaError
from skyband.errors import ConfigError, Problem
from skyband.kernels.similarity import OWN
from skyband.roles.pair_ranker import SIMILARITIES
from skyband.roles.similarity import Function, grid, misbehaviour, name_of

KINDS = {name: kind for kind, name in enumerate(SIMILARITIES)}


def resolve(given: str | Function) -> tuple[int, Any]:
    """(kind, own) for `similarity`. Raises ConfigError where a function is not well-behaved or not compilable."""
    if isinstance(given, str):
        return KINDS[given], None
    plain = getattr(given, "py_func", given)
    fault = misbehaviour(plain)
    if fault:
        raise ConfigError(Problem("similarity", fault))
    try:
        compiled = cfunc("float64(int64, int64, int64)")(plain)
    except (NumbaError, NotImplementedError, TypeError) as error:
        cause = str(error).strip().splitlines()[0]
        message = f"numba cannot compile {name_of(plain)}: use arithmetic and math functions only ({cause})"
        raise ConfigError(Problem("similarity", message)) from error
    for overlap, n, m in grid():
        if compiled.ctypes(overlap, n, m) != plain(overlap, n, m):
            at = f"f({overlap}, {n}, {m})"
            raise ConfigError(Problem("similarity", f"{name_of(plain)} gives another {at} when compiled by numba"))
    return OWN, compiled
