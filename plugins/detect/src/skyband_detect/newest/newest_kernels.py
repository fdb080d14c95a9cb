"""Compiled rings of the newest times of keys, and of the newest distinct values of keys.

Each key has an entry in a hash table: int64[slots, 4], at most five in eight taken. Its times, newest first, are in a
ring of 2^i places of one arena, so a key costs as much as it has rows, up to the largest bound and one more. With
values, a second arena has the hash of the value at each place, each value once, at its newest time.

A push crosses a bound b iff afterwards the b-th newest time is in the window and the next one is not.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import TIME_MIN, Int64, UInt64
from skyband.kernels.mixing import mix
from skyband.kernels.nested import kernel_njit, nested_njit

KEY, PLACE, HEAD, SIZE = range(4)
"""The columns of the table: a key's bits, the first place of its ring (FREE: none), its newest entry, and its number of
entries times 64 plus the exponent of the ring's places."""
FREE, NO_PLACE = -1, -1
USED, COUNT, LISTS = 0, 1, 2
"""Of `meta`: the places of the arena that were ever used, the number of keys, and the first free ring of each size."""
ROW, ASK, VALUE, EXACT = range(4)
"""The columns of crossings; EXACT is 1 if the value is exact, and 0 if it is the least possible."""
NEVER = -(2**63)
"""The moment at which a key falls that has not reached the bound."""
FALL_ASK, FALL_KEY, FALL_TIME, FALL_VALUE = range(4)
"""The columns of falls; with the time NEVER, a key that now has reached the bound."""
_1 = np.uint64(1)


class Rings(NamedTuple):
    """Keys with their rings."""

    table: Int64
    times: Int64
    values: UInt64
    """Of distinct values; empty if rows are counted."""
    more: UInt64
    """Another number of each entry; empty if there is none."""
    meta: Int64


class Asks(NamedTuple):
    """Windows and bounds, int64[a] each; each: bool[a]."""

    windows: Int64
    at_least: Int64
    each: Any


class FallAsks(NamedTuple):
    """Windows and bounds that keys fall below, int64[f] each, at moments after `now`."""

    windows: Int64
    bounds: Int64
    now: int


@nested_njit
def slot_of(table: Int64, key: Any) -> Any:
    """The slot of a key (uint64), or the free slot where it belongs."""
    mask, bits = np.uint64(len(table) - 1), np.int64(key)
    slot = mix(key) & mask
    while table[slot, PLACE] != FREE and table[slot, KEY] != bits:
        slot = (slot + _1) & mask
    return slot


@nested_njit
def take_ring(rings: Rings, exponent: int) -> int:
    """The first place of a ring of 2^exponent places; there is room for it."""
    place = rings.meta[LISTS + exponent]
    if place != NO_PLACE:
        rings.meta[LISTS + exponent] = rings.times[place]
        return place
    place = rings.meta[USED]
    rings.meta[USED] += 1 << exponent
    return place


@nested_njit
def begin_key(rings: Rings, slot: int, key: Any, exponent: int) -> None:
    """Enter a new key, with an empty ring."""
    rings.table[slot, KEY], rings.table[slot, HEAD], rings.table[slot, SIZE] = np.int64(key), 0, exponent
    rings.table[slot, PLACE] = take_ring(rings, exponent)
    rings.meta[COUNT] += 1


@nested_njit
def has_room(rings: Rings, slot: int, count: int, most: int) -> bool:
    """Whether a key, which may be new, may get `count` more entries, its ring growing by powers of two."""
    entries = min((rings.table[slot, SIZE] >> 6) + count, most + 1)
    has_slot = 8 * (rings.meta[COUNT] + 1) <= 5 * len(rings.table)
    return has_slot and rings.meta[USED] + 4 * entries <= len(rings.times)


@nested_njit
def make_place(rings: Rings, slot: int, since: int, most: int) -> None:
    """Make room for one more entry in a key's ring: forget old ones, take a larger ring, or drop the oldest."""
    table, times = rings.table, rings.times
    place, head, size = table[slot, PLACE], table[slot, HEAD], table[slot, SIZE] >> 6
    exponent = table[slot, SIZE] & 63
    mask = (1 << exponent) - 1
    if size <= mask and size <= most:
        return
    while size and times[place + ((head + size - 1) & mask)] < since:
        size -= 1
    if size > most:  # one more than the largest bound is enough
        size = most
    if size > mask:
        larger = take_ring(rings, exponent + 1)
        for number in range(size):
            times[larger + number] = times[place + ((head + number) & mask)]
            if len(rings.values):
                rings.values[larger + number] = rings.values[place + ((head + number) & mask)]
            if len(rings.more):
                rings.more[larger + number] = rings.more[place + ((head + number) & mask)]
        times[place] = rings.meta[LISTS + exponent]
        rings.meta[LISTS + exponent] = place
        exponent += 1
        table[slot, PLACE], table[slot, HEAD] = larger, 0
    table[slot, SIZE] = size << 6 | exponent


@nested_njit
def add_time(rings: Rings, slot: int, time: int, since: int, most: int) -> int:
    """Add an entry to a key's ring as its newest; returns its place."""
    make_place(rings, slot, since, most)
    table = rings.table
    mask = (1 << (table[slot, SIZE] & 63)) - 1
    head = (table[slot, HEAD] - 1) & mask
    table[slot, HEAD] = head
    table[slot, SIZE] += 64
    place = table[slot, PLACE] + head
    rings.times[place] = time
    return place


@nested_njit
def number_after(times: Int64, place: int, head: int, mask: int, size: int, old: int) -> int:
    """The number of a ring's first `size` entries, newest first, that are later than `old`. O(log size)."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if times[place + ((head + middle) & mask)] > old:
            low = middle + 1
        else:
            high = middle
    return low


@nested_njit
def fall_of(rings: Rings, slot: int, window: int, bound: int) -> int:
    """The moment at which a key falls if it gets no further row; NEVER if it has not reached the bound."""
    place, head, size = rings.table[slot, PLACE], rings.table[slot, HEAD], rings.table[slot, SIZE] >> 6
    if place == FREE or size < bound:
        return NEVER
    mask = (1 << (rings.table[slot, SIZE] & 63)) - 1
    moment = rings.times[place + ((head + bound - 1) & mask)] + window
    return moment if moment > rings.times[place + head] else NEVER


@nested_njit
def remaining_after(rings: Rings, slot: int, bound: int, old: int) -> int:
    """The number of a key's newest `bound` entries that are later than `old`."""
    place, head, size = rings.table[slot, PLACE], rings.table[slot, HEAD], rings.table[slot, SIZE] >> 6
    mask = (1 << (rings.table[slot, SIZE] & 63)) - 1
    return number_after(rings.times, place, head, mask, min(size, bound), old)


@nested_njit
def write_fall(falls: Int64, fallen: int, ask: int, bits: int, moment: int, value: int) -> int:
    """Write a fall; returns how many there are."""
    falls[fallen, FALL_ASK], falls[fallen, FALL_KEY] = ask, bits
    falls[fallen, FALL_TIME], falls[fallen, FALL_VALUE] = moment, value
    return fallen + 1


@nested_njit
def write(crossings: Int64, crossed: int, row: int, ask: int, value: int, exact: int) -> int:
    """Write a crossing; returns how many there are."""
    crossings[crossed, ROW], crossings[crossed, ASK] = row, ask
    crossings[crossed, VALUE], crossings[crossed, EXACT] = value, exact
    return crossed + 1


@kernel_njit
def push_rows(  # noqa: C901 - a numeric kernel is one loop
    rings: Rings, times: Int64, keys: UInt64, order: Int64, start: int, asks: Asks, longest: int, most: int,
    crossings: Int64, crossed: int, below: FallAsks, falls: Int64, fallen: int,
) -> tuple[int, int, int]:  # fmt: skip
    """Add rows in `order`, from its entry `start` on: by time, and rows of one time by key.

    Writes crossings, `crossed` of them there already, and falls that these rows reveal, with keys that reach a bound.
    Returns the first entry without room, or the number of entries, and the number of crossings and falls. O(bounds) a
    row.
    """
    stop = start
    while stop < len(order):
        begin, first = stop, order[stop]
        time, key = times[first], keys[first]
        stop += 1
        while stop < len(order) and times[order[stop]] == time and keys[order[stop]] == key:
            stop += 1
        count = stop - begin
        slot = slot_of(rings.table, key)
        full = crossed + len(asks.windows) > len(crossings) or fallen + 2 * len(below.windows) > len(falls)
        if full or not has_room(rings, slot, count, most):
            return begin, crossed, fallen
        if rings.table[slot, PLACE] == FREE:
            begin_key(rings, slot, key, 0)
        first_new = fallen
        for ask in range(len(below.windows)):
            moment = fall_of(rings, slot, below.windows[ask], below.bounds[ask])
            if moment <= below.now:  # marks a key that had not reached the bound
                fallen = write_fall(falls, fallen, ask, rings.table[slot, KEY], NEVER, 0)
            elif moment <= time:
                remaining = remaining_after(rings, slot, below.bounds[ask], moment - below.windows[ask])
                remaining += count if moment == time else 0
                if remaining < below.bounds[ask]:
                    fallen = write_fall(falls, fallen, ask, rings.table[slot, KEY], moment, remaining)
        place, head, size = rings.table[slot, PLACE], rings.table[slot, HEAD], rings.table[slot, SIZE] >> 6
        mask = (1 << (rings.table[slot, SIZE] & 63)) - 1
        for ask in range(len(asks.windows)):
            bound, old = asks.at_least[ask], time - asks.windows[ask]
            if size >= bound and rings.times[place + ((head + bound - 1) & mask)] > old:
                if asks.each[ask]:
                    crossed = write(crossings, crossed, first, ask, bound + count, 0)
                continue
            missing = bound - count
            if missing <= 0 or (size >= missing and rings.times[place + ((head + missing - 1) & mask)] > old):
                before = number_after(rings.times, place, head, mask, min(size, bound), old)
                crossed = write(crossings, crossed, order[begin + bound - before - 1], ask, before + count, 1)
        for _ in range(min(count, most + 1)):
            add_time(rings, slot, time, time - longest + 1, most)
        for number in range(fallen - 1, first_new - 1, -1):  # of marked keys those stay that have reached it now
            ask = falls[number, FALL_ASK]
            moment = fall_of(rings, slot, below.windows[ask], below.bounds[ask])
            if falls[number, FALL_TIME] == NEVER and moment == NEVER:
                fallen -= 1
                for column in range(4):
                    falls[number, column] = falls[fallen, column]
    return stop, crossed, fallen


@nested_njit
def find_value(rings: Rings, slot: int, value: Any) -> int:
    """The number of a value in its key's ring, newest first; -1 if it is not there. O(entries)."""
    place, head, size = rings.table[slot, PLACE], rings.table[slot, HEAD], rings.table[slot, SIZE] >> 6
    places = 1 << (rings.table[slot, SIZE] & 63)
    until_end = min(size, places - head)
    for number in range(until_end):
        if rings.values[place + head + number] == value:
            return number
    for number in range(until_end, size):
        if rings.values[place + head + number - places] == value:
            return number
    return -1


@nested_njit
def move_to_front(rings: Rings, slot: int, number: int, time: int, value: Any) -> None:
    """Make an entry of a key's ring its newest."""
    place, head = rings.table[slot, PLACE], rings.table[slot, HEAD]
    mask = (1 << (rings.table[slot, SIZE] & 63)) - 1
    for other in range(number, 0, -1):
        to, source = place + ((head + other) & mask), place + ((head + other - 1) & mask)
        rings.times[to], rings.values[to] = rings.times[source], rings.values[source]
    rings.times[place + head], rings.values[place + head] = time, value


@kernel_njit
def push_values(  # noqa: C901 - a numeric kernel is one loop
    rings: Rings, times: Int64, keys: UInt64, values: UInt64, order: Int64, start: int, asks: Asks, longest: int,
    most: int, crossings: Int64, crossed: int,
) -> tuple[int, int]:  # fmt: skip
    """As `push_rows`, for distinct values; rows of one time and key have different values.

    O(entries of the key + bounds) a row.
    """
    stop = start
    while stop < len(order):
        begin, first = stop, order[stop]
        time, key = times[first], keys[first]
        stop += 1
        while stop < len(order) and times[order[stop]] == time and keys[order[stop]] == key:
            stop += 1
        slot = slot_of(rings.table, key)
        if crossed + len(asks.windows) > len(crossings) or not has_room(rings, slot, stop - begin, most):
            return begin, crossed
        if rings.table[slot, PLACE] == FREE:
            begin_key(rings, slot, key, 0)
        place, head, size = rings.table[slot, PLACE], rings.table[slot, HEAD], rings.table[slot, SIZE] >> 6
        mask = (1 << (rings.table[slot, SIZE] & 63)) - 1
        # The value's last time before this one, for each row; no ring changes until all are there.
        number = find_value(rings, slot, values[first])
        alone = stop == begin + 1
        latest = TIME_MIN if number < 0 else rings.times[place + ((head + number) & mask)]
        last = np.empty(0 if alone else stop - begin, np.int64)
        for entry in range(len(last)):
            other = find_value(rings, slot, values[order[begin + entry]])
            last[entry] = TIME_MIN if other < 0 else rings.times[place + ((head + other) & mask)]
        for ask in range(len(asks.windows)):
            bound, old = asks.at_least[ask], time - asks.windows[ask]
            if size >= bound and rings.times[place + ((head + bound - 1) & mask)] > old:
                if asks.each[ask]:
                    crossed = write(crossings, crossed, first, ask, bound, 0)
                continue
            if alone:
                missing = bound - 1
                if latest <= old and (
                    missing == 0 or (size >= missing and rings.times[place + ((head + missing - 1) & mask)] > old)
                ):
                    crossed = write(crossings, crossed, first, ask, bound, 1)
                continue
            total, crossing = number_after(rings.times, place, head, mask, min(size, bound), old), -1
            for entry in range(len(last)):
                if last[entry] <= old:
                    total += 1
                    if total == bound:
                        crossing = order[begin + entry]
            if crossing >= 0:
                crossed = write(crossings, crossed, crossing, ask, total, 1)
        for entry in range(stop - begin):
            value = values[order[begin + entry]]
            if not alone:
                number = find_value(rings, slot, value)
            if number >= 0:
                move_to_front(rings, slot, number, time, value)
                continue
            rings.values[add_time(rings, slot, time, time - longest + 1, most)] = value
    return stop, crossed


@kernel_njit
def entries_since(
    rings: Rings, since: int, sizes: Int64, keys: UInt64, times: Int64, values: UInt64
) -> tuple[int, int]:
    """Write the keys with entries from `since` on, the number of these, and the entries, newest first.

    Returns the number of keys and of entries; with empty arrays it writes nothing.
    """
    row, total, writes = 0, 0, len(sizes) > 0
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
            for number in range(size):
                times[total + number] = rings.times[place + ((head + number) & mask)]
                if len(values):
                    values[total + number] = rings.values[place + ((head + number) & mask)]
        row += 1
        total += size
    return row, total


@kernel_njit
def fill(rings: Rings, keys: UInt64, sizes: Int64, times: Int64, values: UInt64) -> None:
    """Enter keys, all different, with their entries, newest first, into empty rings with room for them."""
    start = 0
    for row in range(len(keys)):
        exponent = 0
        while (1 << exponent) < sizes[row]:
            exponent += 1
        slot = slot_of(rings.table, keys[row])
        begin_key(rings, slot, keys[row], exponent)
        place = rings.table[slot, PLACE]
        rings.table[slot, SIZE] = sizes[row] << 6 | exponent
        for number in range(sizes[row]):
            rings.times[place + number] = times[start + number]
            if len(values):
                rings.values[place + number] = values[start + number]
        start += sizes[row]
