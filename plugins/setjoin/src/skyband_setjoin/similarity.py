# mypy: disable-error-code="untyped-decorator"
"""The similarity of two sets from their overlap and sizes: the five named ones, or a function of the user's own.

Every backend computes it here and nowhere else, so that all get the same float, to the last bit.
"""

import math
import numbers
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import cfunc, njit
from numba.core.errors import NumbaError
from skyband.errors import ConfigError, Problem
from skyband.roles.pair_ranker import SIMILARITIES

JACCARD, COSINE, DICE, OVERLAP, HAMMING = range(5)
KINDS = {name: kind for kind, name in enumerate(SIMILARITIES)}
OWN = -1

Function = Callable[[int, int, int], float]


@njit(cache=True, error_model="numpy")
def similarity(kind, own, overlap, n, m):  # type: ignore[no-untyped-def]
    """How alike two sets of sizes `n` and `m` are that share `overlap` >= 1 tokens (table 2 of the paper).

    kind: JACCARD … HAMMING with own = None, or OWN with a compiled function. Hamming is a distance: negated.
    """
    if own is not None:
        return own(overlap, n, m)
    if kind == JACCARD:
        return overlap / (n + m - overlap)
    if kind == COSINE:
        return overlap / np.sqrt(n * m)
    if kind == DICE:
        return 2 * overlap / (n + m)
    if kind == OVERLAP:
        return float(overlap)
    return float(2 * overlap - n - m)


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
        message = f"numba cannot compile {_name(plain)}: use arithmetic and math functions only ({cause})"
        raise ConfigError(Problem("similarity", message)) from error
    for overlap, n, m in _grid():
        if compiled.ctypes(overlap, n, m) != plain(overlap, n, m):
            at = f"f({overlap}, {n}, {m})"
            raise ConfigError(Problem("similarity", f"{_name(plain)} gives another {at} when compiled by numba"))
    return OWN, compiled


def misbehaviour(function: Function) -> str | None:
    """The property of definition 4.1 that `function(overlap, n, m)` lacks, with a counterexample; None if none does.

    The bounds need five, tried here on all sizes up to 12 and on some up to 1000:
        a number, symmetric in the sizes, non-decreasing in the overlap at fixed sizes,
        non-decreasing in o for f(o, n, o) at fixed n (a subset of n tokens), and, which the definition leaves
        out, non-increasing in one size at fixed overlap and other size: o·(n + m) has all but this.
    That a least overlap exists for every similarity follows from the third.
    """
    try:
        for overlap, n, m in _grid():
            fault = _fault_at(function, overlap, n, m)
            if fault:
                return fault
    except Exception as error:
        return f"{_name(function)}({overlap}, {n}, {m}) raises {type(error).__name__}: {error}"
    return None


def _fault_at(function: Function, overlap: int, n: int, m: int) -> str | None:
    value = function(overlap, n, m)
    at = f"f({overlap}, {n}, {m}) = {value!r}"
    if isinstance(value, bool) or not isinstance(value, numbers.Real) or not math.isfinite(value):
        return f"must be a finite number: {at}"
    if function(overlap, m, n) != value:
        return f"must be symmetric in the sizes: {at} but f({overlap}, {m}, {n}) = {function(overlap, m, n)!r}"
    if overlap < min(n, m) and function(overlap + 1, n, m) < value:
        more = f"f({overlap + 1}, {n}, {m}) = {function(overlap + 1, n, m)!r}"
        return f"must not fall as the overlap grows: {at} but {more}"
    if overlap == m < n and function(overlap + 1, n, m + 1) < value:
        more = f"f({overlap + 1}, {n}, {m + 1}) = {function(overlap + 1, n, m + 1)!r}"
        return f"must not fall as a subset grows: {at} but {more}"
    if function(overlap, n, m + 1) > value:
        more = f"f({overlap}, {n}, {m + 1}) = {function(overlap, n, m + 1)!r}"
        return f"must not rise as a set grows by tokens that are not shared: {at} but {more}"
    return None


def _grid() -> Iterator[tuple[int, int, int]]:
    for n in range(1, 13):
        for m in range(1, 13):
            for overlap in range(1, min(n, m) + 1):
                yield overlap, n, m
    for n in (17, 40, 101, 1000):
        for m in (16, 17, 40, 100, 999):
            for overlap in {1, min(n, m) // 2, min(n, m) - 1, min(n, m)}:
                yield overlap, n, m


def _name(function: Function) -> str:
    return getattr(function, "__name__", repr(function))
