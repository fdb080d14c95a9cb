"""The windows of section 8.1 over uncertain tuples: by time, and by the change of an attribute.

They number tuples from 0 in order of arrival, like windows by size, and can be used in other programs as well as by
`uncertain-sum` and `uncertain-join`.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from attrs import define, field
from numba import njit
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Float64, Int64, column, never_back
from skyband.config.parameters import integer, number
from skyband.errors import InputError
from skyband.kernels.nested import shared_njit
from skyband.roles.matcher import checked_tuples
from skyband.state_validation import StateReader

from skyband_uncertain.joint_samples import EUCLIDEAN, MOST_COORDINATES, distance_parameter
from skyband_uncertain.joint_samples_kernels import scale_for, within


@define(eq=False)
class TimeWindow:
    """The tuples of the last `length` units of time.

    Times are certain, so the window's contents do not depend on existence: a tuple at `time` is in it while
    time >= now − length. Queries of the window still have to weight each tuple by its probability.

    Source: Dallachiesa et al., section 8.1.
    """

    length: int = integer(at_least=1, help="length of the window, in the unit of the times")

    start: int = field(default=0, init=False)
    end: int = field(default=0, init=False)
    _times: Int64 = field(factory=lambda: np.empty(0, np.int64), init=False)
    """The times of the tuples from `start`, and of older ones until the next arrival."""

    def append(self, times: npt.ArrayLike) -> Int64:
        """int64[n]: the oldest tuple kept after each arrival at `times` (int64[n], ascending). O(log n) per arrival.

        Raises InputError if times go back.
        """
        arrivals: Int64 = column("times", times, np.int64)
        never_back("times", arrivals, int(self._times[-1]) if len(self._times) else None)
        self._times = np.concatenate([self._kept(), arrivals])
        self.end += len(arrivals)
        starts = self.start_at(arrivals)
        if len(arrivals):
            self.start = int(starts[-1])
        return starts

    def start_at(self, times: Int64) -> Int64:
        """int64[n]: the oldest tuple within `length` of each of `times`, none of which is before the last append."""
        # The earliest valid time may be below int64.
        oldest = np.where(times < TIME_MIN + self.length, TIME_MIN, times - self.length)
        starts: Int64 = self.end - len(self._times) + np.searchsorted(self._times, oldest)
        return starts

    def advance(self, now: int) -> None:
        """Drop tuples that are too old at `now`."""
        self.start = max(self.start, int(self.start_at(np.array([now]))[0]))

    def _kept(self) -> Int64:
        return self._times[len(self._times) - (self.end - self.start) :]

    def dump_state(self) -> dict[str, Array]:
        """The times of the tuples kept, and the number of earlier tuples."""
        return {"times": self._kept().copy(), "start": np.array([self.start])}

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what `dump_state` gave. Raises SnapshotError on anything else."""
        state = StateReader(arrays)
        self._times = state.ascending("times").copy()
        self.start = state.number("start", at_least=0, at_most=TIME_MAX - len(self._times))
        self.end = self.start + len(self._times)


@define(eq=False)
class DeltaWindow:
    """The youngest tuples whose values are probably within `delta` of the oldest one's.

    The oldest tuple is dropped once the probability that some younger one is further than `delta` from it reaches
    alpha: 1 − prod(1 − Pr(y)) over the younger tuples y that would be (the invariant is broken if one of them exists).
    If values are uncertain too, Pr(y) is the share of y's samples that are too far, and the oldest tuple's own samples
    are weighted by their probabilities, given that it exists.

    With several `coordinates`, the second and third are further arrays, and `delta` is a `distance`.

    O(n·s^2) per arrival, for n tuples of s samples kept.

    Source: Dallachiesa et al., section 8.1.
    """

    delta: float = number(at_least=0, help="the largest distance of values from the oldest tuple's")
    alpha: float = number(0.95, above=0, at_most=1, help="probability of a larger change that drops the oldest")
    coordinates: int = integer(1, at_least=1, at_most=MOST_COORDINATES, kw_only=True, help="coordinates of a value")
    distance: str = distance_parameter()

    start: int = field(default=0, init=False)
    end: int = field(default=0, init=False)
    _cuts: Int64 = field(factory=lambda: np.zeros(1, np.int64), init=False)
    _points: Float64 = field(init=False)
    """float64[coordinates, m]."""
    _shares: Float64 = field(factory=lambda: np.empty(0), init=False)

    def __attrs_post_init__(self) -> None:
        self._points = np.empty((self.coordinates, 0))

    def append(
        self,
        offsets: npt.ArrayLike,
        values: npt.ArrayLike,
        probabilities: npt.ArrayLike,
        *further: npt.ArrayLike,
    ) -> Int64:
        """int64[n]: the oldest tuple kept after each arrival; tuples have the same form as for a matcher.

        further: the second and the third coordinate of each sample. Raises InputError like `Matcher.append`.
        """
        if len(further) != self.coordinates - 1:
            raise InputError("values", f"must have {self.coordinates} coordinates (got {1 + len(further)})")
        cuts, samples, weights = checked_tuples(offsets, values, probabilities)
        others = [checked_tuples(offsets, more, probabilities)[1] for more in further]
        together = np.concatenate([self._cuts, cuts[1:] + self._cuts[-1]])
        self._points = np.concatenate([self._points, np.stack([samples, *others])], axis=1)
        self._shares = np.concatenate([self._shares, weights])
        size = self.end - self.start
        starts = np.empty(len(cuts) - 1, np.int64)
        _advance(together, self._points, self._shares, size, *self.limits(), self.alpha, starts)
        self.end += len(starts)
        if len(starts):
            gone = int(starts[-1])
            starts += self.start
            self.start += gone
            begin = together[gone]
            self._cuts = together[gone:] - begin
            self._points, self._shares = self._points[:, begin:].copy(), self._shares[begin:].copy()
        return starts

    def limits(self) -> tuple[float, float, bool]:
        """`delta`, and the other arguments of `within`."""
        return self.delta, scale_for(self.delta), self.coordinates > 1 and self.distance == EUCLIDEAN

    def _names(self) -> list[str]:
        return ["values", *(f"values.{number}" for number in range(1, self.coordinates))]

    def dump_state(self) -> dict[str, Array]:
        """The samples of the tuples kept, and the number of earlier tuples."""
        points = zip(self._names(), self._points, strict=True)
        samples = {"offsets": self._cuts, **dict(points), "probabilities": self._shares}
        return {**{name: array.copy() for name, array in samples.items()}, "start": np.array([self.start])}

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        """Go on from what `dump_state` gave. Raises SnapshotError on anything else."""
        state = StateReader(arrays)
        values = state.column("values", np.float64)
        self._cuts = state.offsets("offsets", None, len(values)).copy()
        most = np.finfo(np.float64).max
        names = self._names()
        self._points = np.stack(
            [state.column(name, np.float64, len(values), at_least=-most, at_most=most) for name in names]
        )
        self._shares = state.column("probabilities", np.float64, len(values), at_least=0, at_most=1).copy()
        self.start = state.number("start", at_least=0, at_most=TIME_MAX - len(self._cuts))
        self.end = self.start + len(self._cuts) - 1

    def broken(self) -> float:
        """P(some younger tuple is further than delta from the oldest, given that the oldest exists)."""
        if self.start == self.end:
            raise InputError("window", "holds no tuple yet")
        begins, ends = self._cuts[:-1], self._cuts[1:]
        return float(change(begins, ends, self._points, self._shares, 0, self.end - self.start, *self.limits()))


@njit(cache=True, nogil=True)
def _advance(
    cuts: Int64, v: Float64, p: Float64, held: int, delta: float, scale: float, euclidean: bool, alpha: float,
    starts: Int64,
) -> None:  # fmt: skip
    start, begins, ends = 0, cuts[:-1], cuts[1:]
    for i in range(len(starts)):
        stop = held + i + 1
        while start < stop - 1 and change(begins, ends, v, p, start, stop, delta, scale, euclidean) >= alpha:
            start += 1
        starts[i] = start


@shared_njit(nogil=True)
def change(
    begins: Int64, ends: Int64, v: Float64, p: Float64, oldest: int, stop: int,
    delta: float, scale: float, euclidean: bool,
) -> float:  # fmt: skip
    """P(a tuple after `oldest` and before `stop` is further than delta from it, given that it exists).

    Tuple t has the samples begins[t] to ends[t] of v (float64[d, m]) and p; scale and euclidean: as in `within`.
    """
    further = len(v) > 1
    exists = 0.0
    broken = 0.0
    for a in range(begins[oldest], ends[oldest]):
        kept = 1.0
        for y in range(oldest + 1, stop):
            far = 0.0
            for b in range(begins[y], ends[y]):
                if abs(v[0, a] - v[0, b]) > delta or (further and not within(v, a, v, b, delta, scale, euclidean)):
                    far += p[b]
            kept *= 1.0 - min(far, 1.0)
        exists += p[a]
        broken += p[a] * (1.0 - kept)
    return broken / exists if exists > 0.0 else 1.0
