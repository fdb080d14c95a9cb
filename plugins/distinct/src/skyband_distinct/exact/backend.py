"""sketch/exact: every key with its last time."""

import math
from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import TIME_MIN, Array, Float64, Int64, UInt64, moment, read_only
from skyband.config.half_open_ranges import ValueRange
from skyband.state_validation import StateReader

from skyband_distinct import sightings as sighting
from skyband_distinct import sketch_parameters
from skyband_distinct.exact.last_time_table import (
    enter_last,
    enter_latest,
    enter_sightings,
    entries_since,
    free_table,
    move,
    numbers_since,
)
from skyband_distinct.exact_sums import terms_of
from skyband_distinct.latest_values import from_bits, to_bits

_FEWEST_LOGGED = 1024


@define(eq=False)
class Exact(sighting.SightingSketch):
    """The exact count: a hash table with the last time of every key.

    Two keys that share a 64-bit hash count as one. With n keys, that happens with probability n² / 2^65: one in 37
    million at a million keys.

    Parameters
    ----------
    hash : str, default None
        "theta": keys are hashed as Spark's theta_sketch_agg does, so that states yield theta sketches; set by the
        query's key `hash` (one of theta)
    values : str, default None
        "latest": each key's latest value is kept, so that ranges of it can be counted, or all values added up; set by
        the query's key `value` (one of latest)
    sightings : int, default None
        how many of the last rows of each key are kept, so that keys can be counted by how often they were seen; set by
        the query's key `seen` (at least 1 and at most 100)

    Complexity
    ----------
    Update O(1) expected a row, with times in any order. The first estimate sorts the last times, O(n log n) for n keys.
    After that, changes are logged, and an estimate costs a binary search and a scan of the log, which restarts when it
    exceeds a quarter of the keys. A range or a sum costs a scan of all keys. Memory is 26 to 51 bytes for each key not
    forgotten, or 38 to 77 with values, and 13 to 26 more for each of `sightings` after the first; `frequencies` scans
    these. `forget` limits the keys to those of the longest window.

    References
    ----------
    The definition: the keys whose last time is at or after a moment.

    Examples
    --------
    >>> import numpy as np
    >>> import skyband
    >>> sketch = skyband.create("sketch", "exact")
    >>> sketch.update(times=np.arange(10), keys=np.arange(10, dtype=np.uint64) % 4)
    >>> sketch.estimate(since=7)
    3.0
    """

    name: ClassVar[str] = "exact"

    hash: str | None = sketch_parameters.hash_()
    values: str | None = sketch_parameters.values()
    sightings: int | None = sighting.sightings()

    _table: Int64 = field(init=False)
    _count: int = field(default=0, init=False)
    _floor: int = field(default=TIME_MIN + 1, init=False)
    _sorted: Int64 | None = field(default=None, init=False)
    _log: Int64 = field(init=False)
    _logged: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        sighting.check_alone(self.sightings, self.values)
        self._table = free_table(0, self._columns)
        self._log = np.empty((0, 2), np.int64)

    def __len__(self) -> int:
        return self._since(self._floor)

    @property
    def nbytes(self) -> int:
        """Bytes of the table, the sorted last times and the log."""
        return self._table.nbytes + self._log.nbytes + (0 if self._sorted is None else self._sorted.nbytes)

    @property
    def keeps_values(self) -> bool:
        return self.values is not None

    @property
    def adds_values(self) -> bool:
        return True

    @property
    def _columns(self) -> int:
        return 1 + self.sightings if self.sightings is not None else 3 if self.keeps_values else 2

    @property
    def exact_up_to(self) -> int:
        """Every count is exact."""
        return 2**63 - 1

    def estimate(self, since: int) -> float:
        """Distinct keys with time >= `since`."""
        since = moment("since", since)
        if self._now is None or since > self._now:
            return 0.0
        return float(self._since(max(since, self._floor)))

    def forget(self, before: int) -> None:
        """Drop the keys last seen earlier than `before`, now or when room is needed. Amortised O(1) a key."""
        self._floor = max(self._floor, min(moment("before", before), 2**63 - 1))
        if 2 * len(self) < self._count:
            self._make_room()
            self._unsort()  # the sorted times still include those of the dropped keys

    def _frequencies(self, since: int, classes: Sequence[int]) -> Float64:
        numbers = np.zeros(classes[-1], np.int64)
        if self._now is not None and since <= self._now:
            numbers = numbers_since(self._table, max(since, self._floor))
        counts = sighting.in_classes(numbers, classes).astype(np.float64)
        return np.repeat(counts[:, None], 3, axis=1)

    def _estimate_between(self, since: int, between: ValueRange) -> tuple[float, float, float]:
        count = float(np.count_nonzero(between.holds(self._values_since(since))))
        return count, count, count

    def _sum_terms(self, since: int, least: float, most: float) -> tuple[Float64, float, float]:  # noqa: ARG002
        terms = terms_of(self._values_since(since))
        total = math.fsum(terms.tolist())
        return terms, total, total

    def _values_since(self, since: int) -> Float64:
        """The latest values of the keys with time >= `since`, in any order."""
        if self._now is None or since > self._now:
            return np.empty(0)
        return from_bits(self._table[self._table[:, 1] >= max(since, self._floor), 2])

    def _update(self, times: Int64, keys: UInt64) -> None:
        self._enter_all(times, keys)

    def _update_with_values(self, times: Int64, keys: UInt64, values: Float64) -> None:
        self._enter_all(times, keys, to_bits(values))

    def _enter_all(self, times: Int64, keys: UInt64, *values: Int64) -> None:
        times, keys = read_only(times), read_only(keys)
        row = self._enter(0, times, keys, *values)
        while row < len(keys):
            self._make_room()
            row = self._enter(row, times, keys, *values)
        if self._logged > len(self._log):
            self._unsort()

    def _merge(self, other: Self) -> None:
        self._floor = max(self._floor, other._floor)
        times, keys, *more = other._entries()
        self._enter_all(times, keys, *([] if self.sightings is not None else more))
        for earlier in more if self.sightings is not None else ():
            some = earlier >= self._floor
            self._enter_all(earlier[some], keys[some])

    def _state(self) -> dict[str, Array]:
        times, keys, *more = self._entries()
        order = np.argsort(keys)
        further = {"values": from_bits(more[0][order])} if self.keeps_values else {}
        if self.sightings is not None:
            earlier = np.array([column[order] for column in more], np.int64).reshape(len(more), len(times))
            place, some = np.tile(np.arange(len(times)), len(more)), earlier.ravel() >= self._floor
            further = sighting.to_state(times[order], earlier.ravel()[some], place[some])
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "floor": np.array([self._floor], np.int64),
            "times": times[order],
            "keys": keys[order],
            **further,
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._now = reader.optional("now")
        self._floor = reader.number("floor", at_least=TIME_MIN + 1)
        latest = TIME_MIN if self._now is None else self._now
        times = reader.column("times", np.int64, at_least=self._floor, at_most=latest)
        keys = reader.ascending("keys", len(times), dtype=np.uint64, strictly=True)
        values = [reader.column("values", np.float64, len(times), at_least=-np.inf)] if self.keeps_values else []
        self._table = free_table(len(keys), self._columns)
        self._enter(0, times, keys, *map(to_bits, values))
        if self.sightings is not None:
            earlier, place = sighting.from_state(reader, times, self._floor, self.sightings)
            self._enter(0, earlier, keys[place])

    def _enter(self, row: int, times: Int64, keys: UInt64, *values: Int64) -> int:
        enter = enter_latest if self.keeps_values else enter_last if self.sightings is None else enter_sightings
        row, self._count, self._logged = enter(
            self._table, self._count, self._log, self._logged, times, keys, *values, self._floor, row
        )
        return row

    def _make_room(self) -> None:
        alive = int(np.count_nonzero(self._table[:, 1] >= self._floor))
        table = free_table(2 * alive, self._columns)
        self._count = move(self._table, table, self._floor)
        self._table = table

    def _entries(self) -> tuple[Array, ...]:
        """Times and keys that are not forgotten, and the bits of any values."""
        keys, times, *values = entries_since(self._table, self._floor, self._count)
        return times, keys.view(np.uint64), *values

    def _since(self, since: int) -> int:
        """The number of keys last seen at the time `since` or later."""
        if self._sorted is None or self._logged > len(self._log):
            self._sort()
        assert self._sorted is not None
        log = self._log[: self._logged]
        before, after = (int(np.count_nonzero(log[:, side] >= since)) for side in (0, 1))
        return len(self._sorted) - int(np.searchsorted(self._sorted, since)) + after - before

    def _sort(self) -> None:
        self._sorted = np.sort(self._entries()[0])
        self._log = np.empty((max(_FEWEST_LOGGED, self._count // 4), 2), np.int64)
        self._logged = 0

    def _unsort(self) -> None:
        self._sorted, self._log, self._logged = None, np.empty((0, 2), np.int64), 0
