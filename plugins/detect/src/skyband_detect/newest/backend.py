"""key-counter/newest: the newest times of each key, one more than the largest bound; exact."""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Int64, UInt64, read_only
from skyband.state_validation import StateReader

from skyband_detect.newest.last_times import LastTimes
from skyband_detect.newest.rings import Entries, NewestTimes, latest
from skyband_detect.role import DISTINCT, LONGEST, UNSEEN, Below, Bounds, Crossings, Falls, KeyCounter

_NO_VALUES = np.empty(0, np.uint64)


@define(eq=False)
class Newest(KeyCounter):
    """Keeps the newest `most` + 1 times of each key, or its newest distinct values with their times. Exact.

    After a row at t, a key has at least b rows in (t - window, t] iff its b-th newest time is later than t - window.
    It had fewer before iff the next older time is not. Nothing less is exact: two histories that differ in one of these
    times differ in the answer to some window. For unseen keys the newest time is enough. A key falls below b when its
    b-th newest time is one window old, unless rows come before: a heap has these moments, of the bounds last asked for.

    Parameters
    ----------
    longest : int
        the longest window, in units of time (at least 1 and at most 2305843009213693952)
    measure : str, default "rows"
        what is counted for each key (one of rows, distinct, unseen)
    most : int, default 1
        the largest bound (at least 1 and at most 16777216)

    Complexity
    ----------
    A row costs O(1) and O(1) for each bound; of distinct values O(min(most, values of the key)), and O(1) for each
    bound. A state is 16 bytes for each key and 8 for each time or 16 for each value; in memory, in rings of a power
    of two, it takes up to four times that. For unseen keys it is 16 bytes a key. Keys without a row in `longest` are
    forgotten. A bound that keys fall below costs O(log keys) for each of its moments, and 16 bytes for each key that
    has reached it; asked with others than in the call before, O(keys log keys).

    References
    ----------
    By definition; the state is the k-skyband by time with k = `most` + 1: Papadias, Tao, Fu and Seeger, Progressive
    skyline computation in database systems, 2005, section 6.

    Examples
    --------
    >>> import skyband
    >>> counter = skyband.create("key-counter", "newest", longest=100, most=3)
    >>> crossings = counter.update(times=[0, 10, 20, 30], keys=[7, 7, 8, 7], windows=[100], at_least=[3])
    >>> crossings.rows.tolist(), crossings.value.tolist()
    ([3], [3])
    """

    name: ClassVar[str] = "newest"

    _times: LastTimes | NewestTimes = field(init=False)

    def __attrs_post_init__(self) -> None:
        distinct = self.measure == DISTINCT
        self._times = LastTimes() if self.measure == UNSEEN else NewestTimes(self.longest, self.most, distinct)

    def _update(self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below) -> Crossings:
        if isinstance(self._times, NewestTimes):
            return self._times.update(times, keys, values, bounds, below, self._now)
        rows, asks = self._times.unseen(read_only(times), read_only(keys), bounds.windows, self.longest)
        nothing = np.zeros(len(rows), np.int64)
        return Crossings(rows, asks, nothing, nothing, nothing)

    def _falls(self, until: int, below: Below) -> Falls:
        assert isinstance(self._times, NewestTimes)
        assert self._now is not None
        return self._times.falls(until, below, self._now)

    def _next_fall(self, below: Below) -> int | None:
        assert isinstance(self._times, NewestTimes)
        assert self._now is not None
        return self._times.next_fall(below, self._now)

    @property
    def _since(self) -> int:
        """The first time that a later window may reach."""
        if self._now is None:
            return TIME_MIN + 1
        return self._now - self.longest + (self.measure != UNSEEN)

    def __len__(self) -> int:
        if isinstance(self._times, LastTimes):
            return len(self._times.entries(self._since)[0])
        return self._times.count(self._since)

    @property
    def nbytes(self) -> int:
        return self._times.nbytes

    def _state(self) -> dict[str, Array]:
        if isinstance(self._times, LastTimes):
            keys, times = self._times.entries(self._since)
            return {**self._clock(), "keys": keys, "times": times}
        entries = self._times.entries(self._since)
        state = {**self._clock(), "keys": entries.keys, "sizes": entries.sizes, "times": entries.times}
        return {**state, "values": entries.values} if self.measure == DISTINCT else state

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._set_clock(reader.column("clock", np.int64, at_least=-2 * LONGEST, at_most=2 * LONGEST))
        keys = reader.ascending("keys", dtype=np.uint64, strictly=True)
        last = -2 * LONGEST - 1 if self._last is None else self._last
        if isinstance(self._times, LastTimes):
            times = reader.column("times", np.int64, len(keys), at_least=self._since, at_most=last)
            self._times.load(keys, times)
            return
        times = reader.column("times", np.int64, at_least=self._since, at_most=last)
        sizes = reader.sizes("sizes", len(keys), len(times))
        within = bool(((sizes >= 1) & (sizes <= self.most + 1)).all())
        reader.require(within, "sizes", f"must be from 1 to {self.most + 1}")
        of = np.repeat(np.arange(len(keys)), sizes)
        rises = (times[1:] > times[:-1]) & (of[1:] == of[:-1])
        reader.require(not rises.any(), "times", "must be descending for each key")
        values = reader.column("values", np.uint64, len(times)) if self.measure == DISTINCT else _NO_VALUES
        if len(values):
            order = np.lexsort((values, of))
            again = (values[order][1:] == values[order][:-1]) & (of[order][1:] == of[order][:-1])
            reader.require(not again.any(), "values", "must be different for each key")
        self._times.load(Entries(keys, sizes, times, values))

    def _merge(self, other: Self) -> None:
        if isinstance(self._times, NewestTimes) and isinstance(other._times, NewestTimes):
            both = self._times.entries(self._since), other._times.entries(self._since)
            self._times.load(latest(self._since, self.most + 1, *both))
        elif isinstance(self._times, LastTimes) and isinstance(other._times, LastTimes):
            both_keys, both_times = zip(
                self._times.entries(self._since), other._times.entries(self._since), strict=True
            )
            keys, times = np.concatenate(both_keys), np.concatenate(both_times)
            order = np.lexsort((times, keys))
            keys, times = keys[order], times[order]
            last = np.append(keys[1:] != keys[:-1], True)[: len(keys)]
            self._times.load(keys[last], times[last])
