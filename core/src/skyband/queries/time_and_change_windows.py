"""Windows of section 8.1, by time and by the change of an attribute, over uncertain tuples.

Both are plain objects, not backends: what they bound is a length, not a number of existing tuples, so they are for
programs that build their own operator. They number tuples from 0 in order of arrival, as the backends do.
"""
# mypy: disable-error-code="untyped-decorator"

import numpy as np
import numpy.typing as npt
from attrs import define, field
from numba import njit
from skyband.arrays import TIME_MIN, Float64, Int64, column, never_back
from skyband.config.parameters import integer, number
from skyband.errors import InputError
from skyband.roles.matcher import checked_tuples

from skyband_uncertain.tuple_store import writable


@define(eq=False)
class TimeWindow:
    """The tuples of the last `length` units of time.

    Times are certain, so whether tuples exist changes nothing about which of them the window holds: a tuple at `time`
    is in it while time >= now − length. What the window is asked for still has to weigh each tuple by its probability.

    Source: Dallachiesa et al., section 8.1.
    """

    length: int = integer(at_least=1, help="length of the window, in the unit of the times")

    start: int = field(default=0, init=False)
    end: int = field(default=0, init=False)
    _times: Int64 = field(factory=lambda: np.empty(0, np.int64), init=False)

    def append(self, times: npt.ArrayLike) -> Int64:
        """int64[n]: the oldest tuple kept after each arrival at `times` (int64[n], ascending). O(log n) an arrival.

        Raises InputError where times go back.
        """
        given: Int64 = column("times", times, np.int64)
        never_back("times", given, int(self._times[-1]) if len(self._times) else None)
        together = np.concatenate([self._times, given])
        # The earliest valid time may lie below int64.
        oldest = np.where(given < TIME_MIN + self.length, TIME_MIN, given - self.length)
        starts: Int64 = self.start + np.searchsorted(together, oldest)
        if len(given):
            self._times = together[starts[-1] - self.start :].copy()
            self.start = int(starts[-1])
        self.end += len(given)
        return starts


@define(eq=False)
class DeltaWindow:
    """The youngest tuples whose values stay within `delta` of the oldest one's, probably.

    The oldest tuple goes once the probability that some younger one is further than `delta` from it reaches alpha:
    1 − prod(1 − Pr(y)) over the younger tuples y that would be (the invariant is broken if one of them exists). Where
    values are uncertain too, Pr(y) is the share of y's samples that are too far, and the oldest tuple's own samples
    are weighed by their probabilities, given that it exists.

    O(n·s^2) an arrival, n tuples of s samples kept.

    Source: Dallachiesa et al., section 8.1.
    """

    delta: float = number(at_least=0, help="how far values may be from the oldest tuple's")
    alpha: float = number(0.95, above=0, at_most=1, help="probability of a larger change at which the oldest goes")

    start: int = field(default=0, init=False)
    end: int = field(default=0, init=False)
    _cuts: Int64 = field(factory=lambda: np.zeros(1, np.int64), init=False)
    _values: Float64 = field(factory=lambda: np.empty(0), init=False)
    _shares: Float64 = field(factory=lambda: np.empty(0), init=False)

    def append(self, offsets: npt.ArrayLike, values: npt.ArrayLike, probabilities: npt.ArrayLike) -> Int64:
        """int64[n]: the oldest tuple kept after each arrival; tuples are given as to a matcher.

        Raises InputError as `Matcher.append` does.
        """
        cuts, samples, weights = checked_tuples(offsets, values, probabilities)
        together = np.concatenate([self._cuts, cuts[1:] + self._cuts[-1]])
        self._values = np.concatenate([self._values, samples])
        self._shares = np.concatenate([self._shares, weights])
        held = self.end - self.start
        starts = np.empty(len(cuts) - 1, np.int64)
        _advance(together, self._values, self._shares, held, self.delta, self.alpha, starts)
        self.end += len(starts)
        if len(starts):
            gone = int(starts[-1])
            starts += self.start
            self.start += gone
            begin = together[gone]
            self._cuts = writable(together[gone:] - begin)
            self._values, self._shares = self._values[begin:].copy(), self._shares[begin:].copy()
        return starts

    def broken(self) -> float:
        """P(some younger tuple is further than delta from the oldest, given that that exists)."""
        if self.start == self.end:
            raise InputError("window", "holds no tuple yet")
        return float(_broken(self._cuts, self._values, self._shares, 0, self.end - self.start, self.delta))


@njit(cache=True, nogil=True)
def _advance(cuts: Int64, v: Float64, p: Float64, held: int, delta: float, alpha: float, starts: Int64) -> None:
    start = 0
    for i in range(len(starts)):
        stop = held + i + 1
        while start < stop - 1 and _broken(cuts, v, p, start, stop, delta) >= alpha:
            start += 1
        starts[i] = start


@njit(cache=True, nogil=True)
def _broken(cuts: Int64, v: Float64, p: Float64, oldest: int, stop: int, delta: float) -> float:
    exists = 0.0
    broken = 0.0
    for a in range(cuts[oldest], cuts[oldest + 1]):
        kept = 1.0
        for y in range(oldest + 1, stop):
            far = 0.0
            for b in range(cuts[y], cuts[y + 1]):
                if abs(v[a] - v[b]) > delta:
                    far += p[b]
            kept *= 1.0 - min(far, 1.0)
        exists += p[a]
        broken += p[a] * (1.0 - kept)
    return broken / exists if exists > 0.0 else 1.0
