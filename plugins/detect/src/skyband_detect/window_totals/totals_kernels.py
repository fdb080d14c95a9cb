"""Compiled rings of the values of keys in a window, with running totals: the sum of any shorter window is a difference.

The rings are those of the newest times, without a largest bound. The value of an entry is the total of its key before
it, and `more` has the bits of the numbers that quantiles are of. The total of a key is in a fifth column of the table.
All totals wrap at 2^64, so that differences of sums up to 2^62 are exact.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import Array, Float64, Int64, UInt64
from skyband.kernels.nested import kernel_njit, nested_njit

from skyband_detect.newest.newest_kernels import (
    FREE,
    HEAD,
    KEY,
    PLACE,
    SIZE,
    Rings,
    add_time,
    begin_key,
    has_room,
    number_after,
    slot_of,
)

TOTAL = 4
"""The column of the table with the total of a key."""
NO_BOUND = 1 << 40
OF_SUM, OF_MEAN, OF_QUANTILE = range(3)
_BILLION = 1_000_000_000
_FULL = 2.0**62


class TotalAsks(NamedTuple):
    """Windows and bounds, int64[a] each; each: bool[a]."""

    windows: Int64
    at_least: Int64
    billionths: Int64
    least: Int64
    each: Any


@nested_njit
def quantile_rank(billionths: int, count: int) -> int:
    """The rank of a quantile among `count` values, from 1."""
    return max(1, (billionths * count + _BILLION - 1) // _BILLION)


@nested_njit
def is_reached(kind: int, asks: TotalAsks, ask: int, count: int, total: int) -> bool:
    """Whether `count` values with this total reach a bound; of quantiles, the total is the number below the limit."""
    bound = asks.at_least[ask]
    if kind == OF_SUM:
        return total >= bound
    if count < asks.least[ask]:
        return False
    if kind == OF_QUANTILE:
        return total < quantile_rank(asks.billionths[ask], count)
    if abs(float(bound) * count) > _FULL:  # no total is as large
        return bound < 0
    return total >= bound * count + (asks.billionths[ask] * count + _BILLION - 1) // _BILLION


@nested_njit
def nth_smallest(values: Float64, rank: int) -> float:
    """The value with this rank, from 1; the values are reordered. O(n) for most orders."""
    low, high, place = 0, len(values) - 1, rank - 1
    while low < high:
        pivot = values[(low + high) // 2]
        lower, upper = low, high
        while lower <= upper:
            while values[lower] < pivot:
                lower += 1
            while values[upper] > pivot:
                upper -= 1
            if lower <= upper:
                smaller = values[upper]
                values[upper] = values[lower]
                values[lower] = smaller
                lower += 1
                upper -= 1
        if place <= upper:
            high = upper
        elif place >= lower:
            low = lower
        else:
            break
    return values[place]


@kernel_njit
def push_values(
    rings: Rings, times: Int64, keys: UInt64, amounts: Int64, bits: UInt64, order: Int64, start: int,
    asks: TotalAsks, kind: int, longest: int, reached: Int64, values: Float64, hits: int,
) -> tuple[int, int]:  # fmt: skip
    """Add rows in `order`, from its entry `start` on: by time, and rows of one time by key.

    amounts: what each row adds to a total. bits: those of the values, of quantiles. Writes where bounds are reached,
    `hits` of them there already: int64[m, 4], row, ask, number of values and total, and for quantiles the value.
    Returns the first entry without room, or the number of entries, and how many were written. O(bounds log(values of
    the key)) a row.
    """
    stop = start
    while stop < len(order):
        begin, first = stop, order[stop]
        time, key = times[first], keys[first]
        added = amounts[first]
        stop += 1
        while stop < len(order) and times[order[stop]] == time and keys[order[stop]] == key:
            added += amounts[order[stop]]
            stop += 1
        slot = slot_of(rings.table, key)
        if hits + len(asks.windows) > len(reached) or not has_room(rings, slot, stop - begin, NO_BOUND):
            return begin, hits
        if rings.table[slot, PLACE] == FREE:
            begin_key(rings, slot, key, 0)
            rings.table[slot, TOTAL] = 0
        for entry in range(begin, stop):
            row = order[entry]
            entry_place = add_time(rings, slot, time, time - longest + 1, NO_BOUND)
            rings.values[entry_place] = np.uint64(rings.table[slot, TOTAL])
            rings.table[slot, TOTAL] += amounts[row]
            if kind == OF_QUANTILE:
                rings.more[entry_place] = bits[row]
        place, head, size = rings.table[slot, PLACE], rings.table[slot, HEAD], rings.table[slot, SIZE] >> 6
        mask = (1 << (rings.table[slot, SIZE] & 63)) - 1
        for ask in range(len(asks.windows)):
            inside = number_after(rings.times, place, head, mask, size, time - asks.windows[ask])
            oldest = place + ((head + inside - 1) & mask)
            total = rings.table[slot, TOTAL] - np.int64(rings.values[oldest])
            if not is_reached(kind, asks, ask, inside, total):
                continue
            if not asks.each[ask] and is_reached(kind, asks, ask, inside - (stop - begin), total - added):
                continue
            reached[hits, 0], reached[hits, 1] = order[stop - 1], ask
            reached[hits, 2], reached[hits, 3] = inside, total
            if kind == OF_QUANTILE:
                own = np.empty(inside, np.uint64)
                for number in range(inside):
                    own[number] = rings.more[place + ((head + number) & mask)]
                values[hits] = nth_smallest(own.view(np.float64), quantile_rank(asks.billionths[ask], inside))
            hits += 1
    return stop, hits


@kernel_njit
def entries_since(
    rings: Rings, since: int, sizes: Int64, keys: UInt64, times: Int64, amounts: Int64, bits: UInt64
) -> tuple[int, int]:
    """Write the keys with entries from `since` on, the number of these, and the entries, newest first.

    Returns the number of keys and of entries; with empty arrays it writes nothing.
    """
    row, entries, writes = 0, 0, len(sizes) > 0
    for slot in range(len(rings.table)):
        place = rings.table[slot, PLACE]
        if place == FREE:
            continue
        head, size = rings.table[slot, HEAD], rings.table[slot, SIZE] >> 6
        mask = (1 << (rings.table[slot, SIZE] & 63)) - 1
        size = number_after(rings.times, place, head, mask, size, since - 1)
        if not size:
            continue
        if writes:
            keys[row], sizes[row] = np.uint64(rings.table[slot, KEY]), size
            after = rings.table[slot, TOTAL]
            for number in range(size):
                entry = place + ((head + number) & mask)
                before = np.int64(rings.values[entry])
                times[entries + number], amounts[entries + number] = rings.times[entry], after - before
                after = before
                if len(bits):
                    bits[entries + number] = rings.more[entry]
        row += 1
        entries += size
    return row, entries


@kernel_njit
def fill(rings: Rings, keys: UInt64, sizes: Int64, times: Int64, amounts: Int64, bits: UInt64) -> None:
    """Enter keys, all different, with their entries, newest first, into empty rings with room for them."""
    start = 0
    for row in range(len(keys)):
        exponent = 0
        while (1 << exponent) < sizes[row]:
            exponent += 1
        slot = slot_of(rings.table, keys[row])
        begin_key(rings, slot, keys[row], exponent)
        place, total = rings.table[slot, PLACE], 0
        rings.table[slot, SIZE] = sizes[row] << 6 | exponent
        for number in range(sizes[row] - 1, -1, -1):
            rings.times[place + number], rings.values[place + number] = times[start + number], np.uint64(total)
            total += amounts[start + number]
            if len(bits):
                rings.more[place + number] = bits[start + number]
        rings.table[slot, TOTAL] = total
        start += sizes[row]


def below(values: Float64, limit: float) -> Array:
    """int64[n]: 1 for each value below the limit, else 0."""
    return (values < limit).astype(np.int64)
