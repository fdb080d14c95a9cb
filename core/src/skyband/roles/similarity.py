"""The similarity of two sets from their overlap and sizes, and the check of a user's own similarity function."""

import math
import numbers
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Function = Callable[..., Any]
"""f(overlap, size, size)"""

NAMED: Mapping[str, Function] = {
    "jaccard": lambda overlap, n, m: overlap / (n + m - overlap),
    "cosine": lambda overlap, n, m: overlap / math.sqrt(n * m),
    "dice": lambda overlap, n, m: 2 * overlap / (n + m),
    "overlap": lambda overlap, n, m: float(overlap),  # noqa: ARG005 - one signature for all
    "hamming": lambda overlap, n, m: float(2 * overlap - n - m),
    "containment": lambda overlap, n, m: overlap / min(n, m),
}
"""The named similarities: table 2 of SWOOP, and the share of the smaller set. Hamming is a distance: negated."""


def misbehaviour(function: Function) -> str | None:
    """Why `function(overlap, n, m)` cannot be used as a similarity, with a counterexample; None if it can.

    It must have the properties of definition 4.1 of the SWOOP paper, which the bounds rest on, and one more.
    They are tested on all sizes up to 12 and on some up to 1000:
        a number, symmetric in the sizes, non-decreasing in the overlap at fixed sizes,
        non-decreasing in o for f(o, n, o) at fixed n (a subset of n tokens), and, which the definition leaves
        out, non-increasing in one size at fixed overlap and other size: o·(n + m) has all but this.
    The existence of a least overlap for every similarity follows from the third.
    """
    try:
        for overlap, n, m in grid():
            fault = _fault_at(function, overlap, n, m)
            if fault:
                return fault
    except Exception as error:
        return f"{name_of(function)}({overlap}, {n}, {m}) raises {type(error).__name__}: {error}"
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


def grid() -> Iterator[tuple[int, int, int]]:
    """The (overlap, size, size) triples that a function is tested on."""
    for n in range(1, 13):
        for m in range(1, 13):
            for overlap in range(1, min(n, m) + 1):
                yield overlap, n, m
    for n in (17, 40, 101, 1000):
        for m in (16, 17, 40, 100, 999):
            for overlap in {1, min(n, m) // 2, min(n, m) - 1, min(n, m)}:
                yield overlap, n, m


def name_of(function: Function) -> str:
    """A function's name in a message."""
    return getattr(function, "__name__", repr(function))
