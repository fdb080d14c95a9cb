"""The newest times of keys, or their newest distinct values: which pushes cross a bound."""

import numpy as np
from skyband.arrays import TIME_MIN, Int64, UInt64, read_only

from skyband_detect.newest.fall_times import FallTimes
from skyband_detect.newest.newest_kernels import (
    COUNT,
    LISTS,
    NO_PLACE,
    PLACE,
    USED,
    Asks,
    Rings,
    entries_since,
    fill,
    push_rows,
    push_values,
)
from skyband_detect.role import NO_LIMIT, Below, Bounds, Crossings, Falls

_FEWEST_SLOTS, _FEWEST_PLACES = 8, 16
_SIZES = 64
_NO_VALUES = np.empty(0, np.uint64)
_NO_RECORDS = np.empty((0, 4), np.int64)


class Entries:
    """The entries of keys as flat arrays, by key ascending, then newest first."""

    def __init__(self, keys: UInt64, sizes: Int64, times: Int64, values: UInt64) -> None:
        self.keys, self.sizes = keys, sizes
        """uint64[k], int64[k]: the keys, and how many entries each has."""
        self.times, self.values = times, values
        """int64[m], uint64[m]: the entries; no values if rows are counted."""


class NewestTimes:
    """The newest entries of each key, at most one more than `most`; those older than `longest` are forgotten."""

    def __init__(self, longest: int, most: int, distinct: bool) -> None:
        self._longest, self._most, self._distinct = longest, most, distinct
        self._rings = self._free(0, 0)
        self._fall_times = FallTimes()

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(array.nbytes for array in self._rings) + self._fall_times.nbytes

    def count(self, since: int) -> int:
        """The number of entries from a time on. O(keys)."""
        return entries_since(self._rings, since, *_NOWHERE)[1]

    def update(
        self, times: Int64, keys: UInt64, values: UInt64 | None, bounds: Bounds, below: Below, now: int | None
    ) -> Crossings:
        """Add rows in order of time; returns those that cross a bound, and keys that fall below one after `now`."""
        order = row_order(times, keys, values)
        asks = Asks(*bounds)
        times, keys, order = read_only(times), read_only(keys), read_only(order)
        own_values = _NO_VALUES if values is None else read_only(values)
        crossings = np.empty((len(bounds.windows) + 1024, 4), np.int64)
        fall_asks, falls = self._fall_times.begin(self._rings, below, now), _NO_RECORDS
        start, crossed, fallen = 0, 0, 0
        while True:
            limits = asks, self._longest, self._most, crossings, crossed
            if self._distinct:
                start, crossed = push_values(self._rings, times, keys, own_values, order, start, *limits)
            else:
                further = fall_asks, falls, fallen
                start, crossed, fallen = push_rows(self._rings, times, keys, order, start, *limits, *further)
            if start == len(order):
                break
            if crossed + len(bounds.windows) > len(crossings):
                crossings = np.concatenate([crossings, np.empty_like(crossings)])
            elif fallen + 2 * len(below.windows) > len(falls):
                falls = np.concatenate([falls, np.empty((len(falls) + 1024 + 2 * len(below.windows), 4), np.int64)])
            else:  # until all falls are known, times may be needed that no window of a row reaches
                reached = times[order[start]] if not len(below.windows) else times[0] if now is None else now
                self._make_room(int(reached) - self._longest + 1, len(order) - start)
        if not len(below.windows):
            return _crossings(crossings[:crossed])
        all_falls = self._fall_times.settle(self._rings, fall_asks, int(times[-1]), falls[:fallen], keeps=False)
        return _crossings(crossings[:crossed])._replace(falls=all_falls)

    def falls(self, until: int, below: Below, now: int) -> Falls:
        """The keys that fall below bounds after `now` and up to `until`, if no row comes."""
        asks = self._fall_times.begin(self._rings, below, now)
        return self._fall_times.settle(self._rings, asks, until, _NO_RECORDS, keeps=True)

    def next_fall(self, below: Below, now: int) -> int | None:
        """The next moment after `now` at which a key falls below one of these bounds, if no row comes."""
        return self._fall_times.first(self._rings, self._fall_times.begin(self._rings, below, now))

    def entries(self, since: int) -> Entries:
        """The entries from a time on."""
        count, total = entries_since(self._rings, since, *_NOWHERE)
        keys, sizes = np.empty(count, np.uint64), np.empty(count, np.int64)
        times, values = np.empty(total, np.int64), np.empty(total if self._distinct else 0, np.uint64)
        if count:
            entries_since(self._rings, since, sizes, keys, times, values)
        order = np.argsort(keys)
        starts = np.cumsum(sizes) - sizes
        sizes = sizes[order]
        places = np.arange(total) + np.repeat(starts[order] - (np.cumsum(sizes) - sizes), sizes)
        return Entries(keys[order], sizes, times[places], values[places] if self._distinct else values)

    def load(self, entries: Entries) -> None:
        """Hold these entries, and no others."""
        self._fall_times.reset()
        self._hold(entries, 0)

    def _hold(self, entries: Entries, more: int) -> None:
        """Hold these entries, and no others, with room for `more` of one key."""
        largest = min(int(entries.sizes.max(initial=0)) + more, self._most + 1)
        self._rings = self._free(2 * len(entries.keys), 2 * ring_places(entries.sizes) + 4 * largest)
        fill(self._rings, *map(read_only, (entries.keys, entries.sizes, entries.times, entries.values)))

    def _make_room(self, since: int, more: int) -> None:
        """Forget entries from before a time, and take room for twice as many as remain, and for `more` of one key."""
        self._hold(self.entries(since), more)

    def _free(self, keys: int, places: int) -> Rings:
        """Empty rings with room for this many keys and places of entries, and for one more key."""
        slots, room = _FEWEST_SLOTS, max(_FEWEST_PLACES, places)
        while 5 * slots < 8 * (keys + 1):
            slots *= 2
        table = np.zeros((slots, 4), np.int64)
        table[:, PLACE] = -1
        meta = np.full(LISTS + _SIZES, NO_PLACE, np.int64)
        meta[USED] = meta[COUNT] = 0
        values = np.empty(room if self._distinct else 0, np.uint64)
        return Rings(table, np.empty(room, np.int64), values, _NO_VALUES, meta)


_NOWHERE = np.empty(0, np.int64), np.empty(0, np.uint64), np.empty(0, np.int64), np.empty(0, np.uint64)


def ring_places(sizes: Int64) -> int:
    """The places of rings with these numbers of entries: the next powers of two."""
    exponents = np.ceil(np.log2(np.maximum(sizes, 1))).astype(np.int64)
    return int((1 << exponents).sum())


def row_order(times: Int64, keys: UInt64, values: UInt64 | None) -> Int64:
    """int64[m]: the rows by time, those of one time by key; of equal rows with values, the first only."""
    order = np.arange(len(times))
    alike = times[1:] == times[:-1]
    if not alike.any():
        return order
    tied = np.flatnonzero(np.append(alike, False) | np.append(False, alike))
    if values is not None:
        by_value = tied[np.lexsort((values[tied], keys[tied], times[tied]))]
        again = np.append(
            False, np.all([of[by_value][1:] == of[by_value][:-1] for of in (times, keys, values)], axis=0)
        )
        stays = np.ones(len(times), np.bool_)
        stays[by_value[again]] = False
        tied, order = tied[stays[tied]], np.flatnonzero(stays)
        places = np.flatnonzero(np.isin(order, tied, assume_unique=True))
    else:
        places = tied
    order[places] = tied[np.lexsort((keys[tied], times[tied]))]
    return order


def _crossings(rows: Int64) -> Crossings:
    """The result of a kernel, in order of row, then ask."""
    rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
    row, ask, value, exact = (np.ascontiguousarray(column) for column in rows.T)
    return Crossings(row, ask, value, value.copy(), np.where(exact == 1, value, NO_LIMIT))


def latest(since: int, most: int, one: Entries, two: Entries) -> Entries:
    """The newest entries of two together, at most `most` of each key, none from before `since`."""
    keys = np.concatenate([np.repeat(entries.keys, entries.sizes) for entries in (one, two)])
    times, values = (np.concatenate([getattr(entries, name) for entries in (one, two)]) for name in ("times", "values"))
    stays = times >= max(since, TIME_MIN)
    if len(values):  # a value counts once, at its newest time
        newest = np.lexsort((-times, values, keys))
        again = (keys[newest][1:] == keys[newest][:-1]) & (values[newest][1:] == values[newest][:-1])
        stays[newest[1:][again]] = False
    rows = np.flatnonzero(stays)
    rows = rows[np.lexsort((-times[rows], keys[rows]))]
    of = keys[rows]
    begins = np.flatnonzero(np.append(True, of[1:] != of[:-1])[: len(of)])
    rank = np.arange(len(of)) - np.repeat(begins, np.diff(np.append(begins, len(of))))
    rows = rows[rank < most]
    distinct, sizes = np.unique(keys[rows], return_counts=True)
    return Entries(distinct, sizes.astype(np.int64), times[rows], values[rows] if len(values) else values)
