"""The least overlap with which two sets match, in compiled code: found by calling `similarity` itself.

A formula such as ⌈t·n⌉ could differ by rounding (.55 · 100 is 55.00000000000001). So only the similarity, as a float,
is compared with the threshold. It does not fall as the overlap grows, so a binary search finds the bound.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import kernel_njit, nested_njit, shared_njit

from skyband_setjoin.compiled_similarity import resolve
from skyband_setjoin.similarity_kernel import similarity

SIZES = 512
"""Bounds are tabulated for sets up to this size."""

NEVER = -1
ANY = np.iinfo(np.int32).max


class Rule(NamedTuple):
    """A similarity, a threshold, and tables of the bounds that follow. Equal rules share their tables.

    kind, own: the similarity, as for `similarity`
    least: int32[SIZES], by the size of a set: the least overlap with which any set matches it
    slack: int16[SIZES, SIZES], by both sizes: the most tokens that are in only one of two matching sets, or NEVER
    widest: int32[SIZES], by the size of a set: the largest slack with any match
    """

    kind: int
    own: Any
    threshold: float
    least: Any
    slack: Any
    widest: Any

    def __deepcopy__(self, memo: Any) -> "Rule":
        return self

    @property
    def for_kernels(self) -> tuple[Any, tuple[int, float, Any, Any, Any]]:
        """Its function, and the rest: numba finds the type of a tuple with a function in it in slow Python code."""
        return self.own, (self.kind, self.threshold, self.least, self.slack, self.widest)


@nested_njit
def rule_from(own: Any, rest: Any) -> Any:
    """Rebuild the rule, in kernels."""
    kind, threshold, least, slack, widest = rest
    return Rule(kind, own, threshold, least, slack, widest)


@lru_cache(maxsize=64)
def rule_of(name: Any, threshold: float) -> Rule:
    """The rule of a similarity, a name or a function. Raises ConfigError if numba cannot compile it."""
    kind, own = resolve(name)
    return Rule(kind, own, threshold, *_tables(kind, own, threshold))


@kernel_njit
def _tables(kind, own, threshold):
    least, widest = np.empty(SIZES, np.int32), np.empty(SIZES, np.int32)
    slack = np.empty((SIZES, SIZES), np.int16)
    for n in range(SIZES):
        for m in range(SIZES):
            slack[n, m] = NEVER
    least[0] = 1
    for n in range(1, SIZES):
        least[n] = _least(kind, own, threshold, n)
        for m in range(least[n], n + 1):
            slack[n, m] = _slack(kind, own, threshold, n, m)
            slack[m, n] = slack[n, m]
    for n in range(SIZES):
        # If sets of the largest tabulated size match, so may larger ones.
        widest[n] = slack[n, 0]
        for m in range(1, SIZES):
            widest[n] = max(widest[n], slack[n, m])
        if slack[n, SIZES - 1] != NEVER:
            widest[n] = ANY
    return least, slack, widest


@shared_njit
def _least(kind, own, threshold, n):
    low, high = 1, n + 1
    while low < high:
        middle = (low + high) >> 1
        if similarity(kind, own, middle, n, middle) >= threshold:
            high = middle
        else:
            low = middle + 1
    return low


@shared_njit
def _slack(kind, own, threshold, n, m):
    low, high = 1, min(n, m) + 1
    while low < high:
        middle = (low + high) >> 1
        if similarity(kind, own, middle, n, m) >= threshold:
            high = middle
        else:
            low = middle + 1
    return n + m - 2 * low if low <= min(n, m) else NEVER


@nested_njit
def least_of(rule, n):
    """The least overlap with which any set matches one of n tokens; n + 1 if none does."""
    return np.int64(rule.least[n]) if n < SIZES else _least(rule.kind, rule.own, rule.threshold, n)


@nested_njit
def widest_of(rule, n):
    """The most tokens that are in only one of a set of n tokens and any match."""
    return np.int64(rule.widest[n]) if n < SIZES else np.int64(ANY)


@nested_njit
def slack_of(rule, n, m):
    """The most tokens that are in only one of two matching sets of n and m; NEVER if such sets do not match."""
    if n < SIZES and m < SIZES:
        return np.int64(rule.slack[n, m])
    return np.int64(_slack(rule.kind, rule.own, rule.threshold, n, m))
