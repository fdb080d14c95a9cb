"""The base of the sketches with a stamp table, which differ in the cells that a key stamps and in the estimator."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Float64, Int64, UInt64, moment, read_only
from skyband.roles import Sketch
from skyband.state_validation import StateReader

from skyband_distinct import sketch_parameters
from skyband_distinct.stamps.recent_keys import RecentKeys
from skyband_distinct.stamps.stamp_table import StampTable


@define(eq=False)
class StampSketch(Sketch):
    """A stamp table and the most recent distinct keys, which answer small counts exactly.

    While the recent keys are all the keys so far, the table stays empty: a sketch of few keys is small.
    """

    epsilon: float = sketch_parameters.epsilon()
    delta: float = sketch_parameters.delta()
    seed: int = sketch_parameters.seed()

    _salt: Any = field(init=False)
    _recent: RecentKeys = field(init=False)
    _table: StampTable = field(init=False)

    @abstractmethod
    def _stamp(self, times: Int64, keys: UInt64) -> Int64 | None:
        """Stamp the table's cells with the keys' times; returns the highs for `RecentKeys.add` if they are known."""

    @abstractmethod
    def _read(self, since: int) -> float:
        """The count since a moment from the table alone; `since` is a time."""

    def __len__(self) -> int:
        return len(self._recent) + len(self._table)

    @property
    def nbytes(self) -> int:
        """Bytes of the table and the list of recent keys. O(1)."""
        return self._recent.nbytes + self._table.nbytes

    @property
    def exact_up_to(self) -> int:
        """One less than the size of the list of recent keys: until the list is full, the table is empty."""
        return self._recent.size - 1

    def forget(self, before: int) -> None:
        """Drop stamps older than `before` while the table is small."""
        super().forget(before)
        self._table.forget(before)

    def estimate(self, since: int) -> float:
        """Distinct keys with time >= `since`; exact as far back as the recent keys reach."""
        return self.estimate_with_bounds(since)[0]

    def bounds(self, since: int) -> tuple[float, float]:
        """The interval of `epsilon` around the estimate; twice the count if it is exact."""
        return self.estimate_with_bounds(since)[1:]

    def estimate_with_bounds(self, since: int) -> tuple[float, float, float]:
        since = moment("since", since)
        if self._recent.reaches_back(since):
            count = float(self._recent.count(since))
            return count, count, count
        count = self._rounded(self._read(max(since, TIME_MIN + 1)))
        low, high = self._around(count)
        return count, max(low, float(self._recent.size)), high

    def _with_bounds(self, likeliest: Float64) -> Float64:
        """float64[q, 3]: estimates with bounds, from likeliest counts that exceed the recent keys."""
        counts = np.array([self._rounded(count) for count in likeliest.tolist()])
        low, high = self._around(counts)
        return np.column_stack([counts, np.maximum(low, float(self._recent.size)), high])

    def _rounded(self, likeliest: float) -> float:
        """The table's estimate if there are more keys than the recent ones."""
        return max(float(self._recent.size), round(likeliest, 3))

    def _update(self, times: Int64, keys: UInt64) -> None:
        times, keys = read_only(times), read_only(keys)
        if not self._recent.overflowed and not self._overflow(times, keys):
            return
        self._recent.add(times, keys, self._stamp(times, keys))

    def _overflow(self, times: Int64, keys: UInt64) -> bool:
        """Add rows to a list that holds all keys so far; if it overflows, stamp its earlier keys and return True."""
        before = self._recent.table_entries()
        # A few rows usually overflow the list, and then the rest is read only once.
        few = 4 * self._recent.size
        self._recent.add(times[:few], keys[:few])
        if not self._recent.overflowed:
            self._recent.add(times[few:], keys[few:])
        if self._recent.overflowed:
            self._stamp(*before)
        return self._recent.overflowed

    def _merge(self, other: Self) -> None:
        unstamped = [sketch._recent.table_entries() for sketch in (self, other) if not sketch._recent.overflowed]
        self._recent.merge(other._recent)
        if self._recent.overflowed:
            for entries in unstamped:
                self._stamp(*entries)
            self._table.merge(other._table)

    def _state(self) -> dict[str, Array]:
        times, keys = self._recent.entries()
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "recent_times": times,
            "recent_keys": keys,
            "overflowed": np.array([self._recent.overflowed], np.int8),
            **self._table.state(self._now or 0),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now = reader.optional("now")
        latest = TIME_MIN if self._now is None else self._now
        times = reader.column("recent_times", np.int64, at_least=TIME_MIN + 1, at_most=latest)
        keys = reader.column("recent_keys", np.uint64, len(times))
        overflowed = bool(reader.column("overflowed", np.int8, 1, at_least=0, at_most=1)[0])
        size, begun = self._recent.size, self._now is not None
        fits = len(times) == size if overflowed else begun <= len(times) <= (size - 1) * begun
        reader.require(fits, "recent_keys", f"cannot be {len(keys)} of at most {size} if overflowed is {overflowed}")
        self._recent.load(times, keys, overflowed)
        reader.require(len(self._recent) == len(keys), "recent_keys", "must be distinct")
        self._table.load(reader, self._now or 0)
        levels = int(reader.column("levels", np.int64, 2)[0])
        reader.require(overflowed or not levels, "levels", "must be 0 if the recent keys are all keys")
