"""The similarity that is asked for: a named one, or a function of the user's own."""

from functools import cache, lru_cache
from typing import Any

from numba import cfunc, types
from numba.core.errors import NumbaError
from numba.extending import typeof_impl
from skyband.errors import ConfigError, Problem
from skyband.roles.pair_ranker import SIMILARITIES
from skyband.roles.similarity import Function, grid, misbehaviour, name_of

from skyband_setjoin.similarity_kernel import OWN

KINDS = {name: kind for kind, name in enumerate(SIMILARITIES)}

_SIGNATURE = types.float64(types.int64, types.int64, types.int64)
_TYPE = types.FunctionType(_SIGNATURE)


class _Compiled(types.WrapperAddressProtocol):  # type: ignore[misc]
    """A compiled function for kernels. Of one of its own kind numba would find the type anew in each call, in 20 us."""

    def __init__(self, compiled: Any) -> None:
        self._compiled = compiled

    def __wrapper_address__(self) -> int:
        address: int = self._compiled.address
        return address

    def signature(self) -> Any:
        return _SIGNATURE


@typeof_impl.register(_Compiled)  # type: ignore[untyped-decorator]
def _type_of(_given: _Compiled, _context: Any) -> Any:
    return _TYPE


def resolve(given: str | Function) -> tuple[int, Any]:
    """(kind, own) for `similarity`. Raises ConfigError where a function is not well-behaved or not compilable.

    A function is compiled once, some 25 ms, however many groups have a backend with it.
    """
    try:
        return _resolved(given)
    except TypeError:  # a callable that has no hash
        return _resolved.__wrapped__(given)


def is_compilable(given: str | Function) -> bool:
    """Whether `resolve` takes it. A backend that calls functions in Python may take others."""
    try:
        resolve(given)
    except ConfigError:
        return False
    return True


@lru_cache(maxsize=64)
def _resolved(given: str | Function) -> tuple[int, Any]:
    if isinstance(given, str):
        return KINDS[given], _no_function()
    plain = getattr(given, "py_func", given)
    fault = misbehaviour(plain)
    if fault:
        raise ConfigError(Problem("similarity", fault))
    try:
        compiled = cfunc(_SIGNATURE)(plain)
    except (NumbaError, NotImplementedError, TypeError) as error:
        cause = str(error).strip().splitlines()[0]
        message = f"numba cannot compile {name_of(plain)}: use arithmetic and math functions only ({cause})"
        raise ConfigError(Problem("similarity", message)) from error
    for overlap, n, m in grid():
        if compiled.ctypes(overlap, n, m) != plain(overlap, n, m):
            at = f"f({overlap}, {n}, {m})"
            raise ConfigError(Problem("similarity", f"{name_of(plain)} gives another {at} when compiled by numba"))
    return OWN, _Compiled(compiled)


@cache
def _no_function() -> Any:
    """A function that is not called, of the type that users' own have: kernels are compiled once for both."""
    return _Compiled(cfunc(_SIGNATURE, cache=True)(_nothing))


def _nothing(_overlap: int, _n: int, _m: int) -> float:
    return 0.0
