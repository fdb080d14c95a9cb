"""Resolves a similarity: a named one, or the user's own function."""

import ctypes
import math
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from numba import cfunc, njit, types
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
    """A compiled function for kernels. For numba's own kind, finding the type again would cost 20 us a call."""

    def __init__(self, compiled: Any, plain: Function | None = None, faults: Any = ()) -> None:
        self._compiled, self._plain, self._faults, self._tried = compiled, plain, faults, 0

    def check(self, sizes: Callable[[], Any]) -> None:
        """Raise ConfigError if it had no finite value for two sets that a kernel compared.

        It was tried on some sizes only, and a kernel cannot stop. So callers of a kernel call this before they answer.
        `sizes` returns the sizes of the existing sets, as a search for bounds tries larger ones, too.
        """
        if self._plain is None:
            return
        largest = max(self._tried, int(sizes().max(initial=0)))
        if largest > self._tried:  # a bound that is NaN rules pairs out before they are compared
            self._tried = largest
            for overlap, n in ((1, 1), (1, largest), (largest, largest)):
                self._compiled.ctypes(overlap, n, largest)
        if self._faults and max(self._faults[0][1:]) <= largest:
            overlap, n, m = self._faults[0]
            try:
                what = f"is {self._plain(overlap, n, m)!r}"
            except Exception as error:
                what = f"raises {type(error).__name__}: {error}"
            at = f"f({overlap}, {n}, {m}), for sets of {n} and {m} tokens that share {overlap}, {what}"
            raise ConfigError(Problem("similarity", f"must be a finite number: {name_of(self._plain)}: {at}"))

    def __wrapper_address__(self) -> int:
        address: int = self._compiled.address
        return address

    def signature(self) -> Any:
        return _SIGNATURE


@typeof_impl.register(_Compiled)
def _type_of(_function: _Compiled, _context: Any) -> Any:
    return _TYPE


def resolve(similarity: str | Function) -> tuple[int, Any]:
    """(kind, own) for `similarity`. Raises ConfigError if a function is not well-behaved or not compilable.

    A function is compiled once, in about 25 ms, however many groups use it.
    """
    try:
        return _resolved(similarity)
    except TypeError:  # a callable that is not hashable
        return _resolved.__wrapped__(similarity)


def is_compilable(similarity: str | Function) -> bool:
    """Whether `resolve` accepts it. A backend that calls functions in Python may accept others."""
    try:
        resolve(similarity)
    except ConfigError:
        return False
    return True


@lru_cache(maxsize=64)
def _resolved(similarity: str | Function) -> tuple[int, Any]:
    if isinstance(similarity, str):
        return KINDS[similarity], _no_function()
    plain = getattr(similarity, "py_func", similarity)
    fault = misbehaviour(plain)
    if fault:
        raise ConfigError(Problem("similarity", fault))
    try:
        compiled, faults = _watched(plain)
    except (NumbaError, NotImplementedError, TypeError) as error:
        cause = str(error).strip().splitlines()[0]
        message = f"numba cannot compile {name_of(plain)}: use arithmetic and math functions only ({cause})"
        raise ConfigError(Problem("similarity", message)) from error
    for overlap, n, m in grid():
        if compiled.ctypes(overlap, n, m) != plain(overlap, n, m):
            at = f"f({overlap}, {n}, {m})"
            raise ConfigError(Problem("similarity", f"{name_of(plain)} has another {at} when compiled by numba"))
    return OWN, _Compiled(compiled, plain, faults)


def _watched(plain: Function) -> tuple[Any, list[tuple[int, int, int]]]:
    """A function for kernels to call, and the smallest sizes for which it was not finite or raised.

    If a compiled callback raises, numba prints the exception and continues with 0. Sizes that no two sets can have are
    not recorded.
    """
    faults: list[tuple[int, int, int]] = []

    def note(overlap: int, n: int, m: int) -> None:
        if not faults or max(n, m) < max(faults[0][1:]):
            faults[:] = [(overlap, n, m)]

    report = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)(note)
    value_of = njit(types.float64(types.int64, types.int64, types.int64))(plain)

    def watched(overlap, n, m):  # type: ignore[no-untyped-def]
        value, is_fine = 0.0, False
        try:
            value = value_of(overlap, n, m)
            is_fine = math.isfinite(value)
        except Exception:
            is_fine = False
        if not is_fine and 1 <= overlap <= min(n, m):
            report(overlap, n, m)
        return value

    return cfunc(_SIGNATURE)(watched), faults


@cache
def _no_function() -> Any:
    """A function that is never called, of the same type as users' own: so kernels are compiled once for both."""
    return _Compiled(cfunc(_SIGNATURE, cache=True)(_nothing))


def _nothing(_overlap: int, _n: int, _m: int) -> float:
    return 0.0
