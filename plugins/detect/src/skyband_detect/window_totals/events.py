"""All values of the window by key, with their times: when a sum, mean or quantile reaches a bound."""

from typing import NamedTuple

import numpy as np
from skyband.arrays import Array, Int64, UInt64, read_only

from skyband_detect.newest.newest_kernels import COUNT, LISTS, NO_PLACE, PLACE, USED, Rings
from skyband_detect.newest.rings import ring_places, row_order
from skyband_detect.total_role import QUANTILE, SUM, Reached, TotalBounds
from skyband_detect.window_totals.totals_kernels import (
    OF_MEAN,
    OF_QUANTILE,
    OF_SUM,
    TotalAsks,
    below,
    entries_since,
    fill,
    push_values,
)

_FEWEST_SLOTS, _FEWEST_PLACES = 8, 16
_SIZES = 64
_NO_KEYS, _NO_NUMBERS = np.empty(0, np.uint64), np.empty(0, np.int64)


class Events(NamedTuple):
    """Values by key ascending, then newest first, then by value."""

    keys: UInt64
    sizes: Int64
    """uint64[k], int64[k]: the keys, and how many values each has."""
    times: Int64
    values: Array
    """int64[m]; int64[m] units, or float64[m] for quantiles."""


class WindowValues:
    """The values of each key; those older than `longest` are forgotten."""

    def __init__(self, longest: int, measure: str, limit: float) -> None:
        self._longest, self._limit, self._is_quantile = longest, limit, measure == QUANTILE
        self._kind = OF_QUANTILE if self._is_quantile else OF_SUM if measure == SUM else OF_MEAN
        self._rings = self._free(0, 0)
        self._magnitude, self._since = 0, -(2**63)
        """The units of all entries without their signs, and from when on they were added up."""

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return sum(array.nbytes for array in self._rings)

    def count(self, since: int) -> int:
        """The number of values from a time on. O(keys)."""
        return entries_since(self._rings, since, *_NOWHERE)[1]

    def magnitude(self, since: int) -> int:
        """The units of all values without their signs: at least those from a time on, at most those ever added.

        O(1) until they are many, and then O(values).
        """
        if self._magnitude > 2**61 and since > self._since:
            self._magnitude, self._since = self._units(self.events(since).values), since
        return self._magnitude

    def update(self, times: Int64, keys: UInt64, values: Array, bounds: TotalBounds) -> Reached:
        """Add rows in order of time; returns the times at which a bound is reached."""
        order, asks = read_only(row_order(times, keys, None)), TotalAsks(*bounds)
        values = values + 0.0 if self._is_quantile else values  # one zero
        amounts = below(values, self._limit) if self._is_quantile else values
        self._magnitude += self._units(amounts)
        rows = read_only(times), read_only(keys), read_only(amounts)
        bits = read_only(values.view(np.uint64) if self._is_quantile else _NO_KEYS)
        room = len(bounds.windows) + 1024
        reached, quantiles = np.empty((room, 4), np.int64), np.empty(room if self._is_quantile else 0)
        start, hits = 0, 0
        while True:
            start, hits = push_values(
                self._rings, *rows, bits, order, start, asks, self._kind, self._longest, reached, quantiles, hits
            )
            if start == len(order):
                break
            if hits + len(bounds.windows) > len(reached):
                reached = np.concatenate([reached, np.empty_like(reached)])
                quantiles = np.concatenate([quantiles, np.empty_like(quantiles)])
            else:
                self._hold(self.events(int(times[order[start]]) - self._longest + 1), len(order) - start)
        reached, quantiles = reached[:hits], quantiles[:hits]
        places = np.lexsort((reached[:, 1], reached[:, 0]))
        row, ask, count, total = (np.ascontiguousarray(column) for column in reached[places].T)
        return Reached(row, ask, count, quantiles[places] if self._is_quantile else total)

    def events(self, since: int) -> Events:
        """The values from a time on."""
        keys_count, total = entries_since(self._rings, since, *_NOWHERE)
        keys, sizes = np.empty(keys_count, np.uint64), np.empty(keys_count, np.int64)
        times, amounts = np.empty(total, np.int64), np.empty(total, np.int64)
        bits = np.empty(total if self._is_quantile else 0, np.uint64)
        if keys_count:
            entries_since(self._rings, since, sizes, keys, times, amounts, bits)
        return in_order(np.repeat(keys, sizes), times, bits.view(np.float64) if self._is_quantile else amounts)

    def load(self, events: Events) -> None:
        """Hold these values, and no others."""
        amounts = below(events.values, self._limit) if self._is_quantile else events.values
        self._magnitude, self._since = self._units(amounts), -(2**63)
        self._hold(events, 0)

    def _hold(self, events: Events, more: int) -> None:
        """Hold these values, and no others, with room for `more` of one key."""
        largest = int(events.sizes.max(initial=0)) + more
        self._rings = self._free(2 * len(events.keys), 2 * ring_places(events.sizes) + 4 * largest)
        values, bits = events.values, _NO_KEYS
        if self._is_quantile:
            values, bits = below(events.values, self._limit), np.ascontiguousarray(events.values).view(np.uint64)
        fill(self._rings, *map(read_only, (events.keys, events.sizes, events.times, values, bits)))

    def _units(self, amounts: Array) -> int:
        """The units of some values without their signs."""
        high, low = np.abs(amounts) >> 32, np.abs(amounts) & 0xFFFFFFFF
        return (int(high.sum()) << 32) + int(low.sum())

    def _free(self, keys: int, places: int) -> Rings:
        """Empty rings with room for this many keys and places of values, and for one more key."""
        slots, room = _FEWEST_SLOTS, max(_FEWEST_PLACES, places)
        while 5 * slots < 8 * (keys + 1):
            slots *= 2
        table = np.zeros((slots, 5), np.int64)
        table[:, PLACE] = -1
        meta = np.full(LISTS + _SIZES, NO_PLACE, np.int64)
        meta[USED] = meta[COUNT] = 0
        bits = np.empty(room if self._is_quantile else 0, np.uint64)
        return Rings(table, np.empty(room, np.int64), np.empty(room, np.uint64), bits, meta)


_NOWHERE = (_NO_NUMBERS, _NO_KEYS, _NO_NUMBERS, _NO_NUMBERS, _NO_KEYS)


def in_order(keys: UInt64, times: Int64, values: Array) -> Events:
    """Events of a key, time and value each, in their one order."""
    order = np.lexsort((values, -times, keys))
    distinct, sizes = np.unique(keys, return_counts=True)
    return Events(distinct, sizes.astype(np.int64), times[order], values[order])
