"""window/rf1: recomputes the Poisson-binomial distribution at every test, the paper's exact baseline."""

from typing import ClassVar

import numpy as np
from attrs import define
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import nested_njit

from skyband_uncertain.poisson_binomial import presence
from skyband_uncertain.windows.window_base import KeptWindow

ROUNDING = 1e-15
"""A bound on the relative error of F per tuple: three roundings in the recurrence, one in the sum."""
FAINT = 1e-290
"""The most that each tuple may subtract from F; smaller thresholds are decided in whole numbers."""


@define(eq=False)
class Rf1Window(KeptWindow):
    """The same window as `window/exact`, recomputed for every arrival: the paper's exact baseline.

    The distribution of the number of existing tuples is computed by the recurrence RF1. Use it to check another window,
    or for small windows: `window/exact` returns the same answers faster.

    Parameters
    ----------
    size : int
        number of existing tuples that the window must hold (at least 1)
    alpha : float
        probability with which it must hold them (above 0 and at most 1)
    beta : float, default None
        drop matches below this probability; none: keep all (at least 0 and below 1)

    Complexity
    ----------
    An arrival costs one or two tests of O(n·size) for n tuples kept. Memory is 8 bytes for each tuple kept.

    References
    ----------
    Dallachiesa, Jacques-Silva, Gedik, Wu and Palpanas, Sliding windows over uncertain data streams, KAIS 2015, section
    4.3, equation 10, in which the number of remaining trials is j − 1 and not, as printed, l − 1.

    Examples
    --------
    >>> import skyband
    >>> window = skyband.create("window", "rf1", size=2, alpha=0.75)
    >>> window.append([0.5] * 8).tolist()
    [0, 0, 0, 0, 0, 1, 2, 3]
    >>> len(window), window.presence().round(3).tolist()
    (5, [0.312, 0.5, 0.75, 1.0, 1.0])
    """

    name: ClassVar[str] = "rf1"

    def _decide(self, first: int) -> Int64:
        history, limit = self._history, float(self._threshold.limit)
        p = history.buffer[: history.count]
        starts = np.empty(len(p) - first, np.int64)
        start, reached, at = self._start - history.base, False, first
        while True:
            start, at = _advance(p, start, at, first, reached, self.size, limit, starts)
            if at == len(p):
                return starts
            reached = self._threshold.reached(p[start + 1 : at + 1], self.size)
            if not reached:
                starts[at - first] = start
                at += 1

    def _presence(self, probabilities: Float64, positions: Int64, ends: Int64) -> Float64:
        return presence(probabilities, positions, ends, self.size)


@nested_njit(nogil=True)
def fewer_than(p: Float64, size: int) -> float:
    """P(fewer than size of p exist): row[size − 1 − k] is M[j, k] of the paper after j trials, bottom-up.

    The row is reversed so that one ascending loop, which the compiler can vectorise, works in place. Its end, for the
    fewest tuples, is dropped when floats become denormal, which are imprecise and slow.
    """
    row = np.zeros(size + 1)
    row[size - 1] = 1.0
    high = size
    for j in range(len(p)):
        hit, miss = p[j], 1.0 - p[j]
        for r in range(max(size - 2 - j, 0), high):
            row[r] = miss * row[r] + hit * row[r + 1]
        while high > 0 and row[high - 1] < FAINT:
            high -= 1
            row[high] = 0.0
    return float(row.sum())


@njit(cache=True, nogil=True)
def _advance(
    p: Float64, start: int, at: int, first: int, reached: bool, size: int, limit: float, starts: Int64
) -> tuple[int, int]:
    """Continue until all arrivals are taken or one is too close for floats; returns (start, that arrival).

    reached: the undecided test at `at` was decided: the oldest tuple is dropped.
    """
    if reached:
        start += 1
    for i in range(at, len(p)):
        while i - start >= size:
            below = fewer_than(p[start + 1 : i + 1], size)
            slack = below * ROUNDING * (i - start + size) + (i - start) * FAINT
            if below - slack > limit:
                break
            if below + slack >= limit:
                return start, i
            start += 1
        starts[i - first] = start
    return start, len(p)
