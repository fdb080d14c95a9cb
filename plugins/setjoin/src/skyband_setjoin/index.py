"""The inverted index, in compiled code: maps a token to the sets in the window that have it, oldest first.

An open-addressing table (linear probing, deletion by shifting back) maps (token, side) to a list. Lists are contiguous
power-of-two rings in one pool: they double when full and are freed with their last entry. A token that is in no set of
the window takes no space. Mostly empty rings are cut to size, and pool and table shrink, so memory is bounded by the
window.

Functions in a hot path take the arrays of an `Index` one by one and change them in place, because unpacking a tuple
there would count references. Functions that may need larger arrays return a new `Index`.

Source: section 5.1 of the paper; rings in place of linked lists because lists are scanned from the tail.
"""

from typing import Any, NamedTuple

import numpy as np
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_setjoin.sets import mixed

LIST = np.dtype(
    [
        ("token", np.int64),
        ("arrival", np.int64),
        ("offset", np.uint32),
        ("head", np.uint32),
        ("count", np.uint32),
        ("bits", np.int16),
        ("side", np.int16),
    ]
)
"""The list of a token on a side (−1: a free slot): `count` entries in a ring of 2^bits at `offset` of the pool.

arrival: how many tokens entered the window before it, which is the first-seen order of section 5.5.
"""

ENTRY = np.dtype([("number", np.uint32), ("size", np.uint32), ("signature", np.uint64)])
"""A set in a list: the low 32 bits of its number, its size and its signature."""

LISTS, ENTRIES, TOP, ROOM, ARRIVALS, FREE = range(6)
NONE = -1
LEAST_BITS = 1
LEAST_POOL = 256
LEAST_TABLE = 64


class Index(NamedTuple):
    """Lists and their entries.

    marks: int64[FREE + 48]: LISTS in the table, their ENTRIES, TOP of the used pool, ROOM of the lists' rings,
           ARRIVALS of tokens, and from FREE on, by bits, the first free ring (NONE: none), each linked to the next
    table: LIST[power of two], at most half of it used
    pool:  ENTRY[…]
    """

    marks: Any
    table: Any
    pool: Any


def new() -> Index:
    """An empty index."""
    marks = np.full(FREE + 48, NONE, np.int64)
    marks[:FREE] = 0
    table = np.zeros(LEAST_TABLE, LIST)
    table["side"] = NONE
    return Index(marks, table, np.zeros(LEAST_POOL, ENTRY))


@nested_njit
def blank():
    """`new`, for kernels."""
    marks = np.full(FREE + 48, NONE, np.int64)
    for mark in range(FREE):
        marks[mark] = 0
    table = np.zeros(LEAST_TABLE, LIST)
    for place in range(len(table)):
        table[place].side = NONE
    return Index(marks, table, np.zeros(LEAST_POOL, ENTRY))


@nested_njit
def find(table, token, side):
    """The slot of a token's list in the table, NONE if there is none."""
    mask = len(table) - 1
    place = _home(token, mask)
    while table[place].side != NONE:
        if table[place].token == token and table[place].side == side:
            return place
        place = (place + 1) & mask
    return NONE


@nested_njit
def reserved(index, places, size):
    """The index with room for one more entry in each list at `places[:size]`; NONE means a new list."""
    marks, table, pool = index.marks, index.table, index.pool
    for i in range(size):
        if places[i] != NONE and table[places[i]].count >> table[places[i]].bits != 0:
            pool = _enlarged(marks, table, pool, places[i])
    if marks[TOP] + (size << LEAST_BITS) > len(pool):
        pool = _compacted(marks, table, pool, size << LEAST_BITS, False)
    return Index(marks, table, pool)


@nested_njit
def reserve(marks, table, pool, places, size):
    """`reserved`, as far as there is room. Returns 0 if all is reserved; else how many more entries the pool needs room
    for, or 1 if the table is too small for the new lists.
    """
    if 2 * (marks[LISTS] + size) > len(table):
        return np.int64(1)
    for i in range(size):
        if places[i] != NONE and table[places[i]].count >> table[places[i]].bits != 0:
            bits = table[places[i]].bits + 1
            if marks[FREE + bits] == NONE and marks[TOP] + (1 << bits) > len(pool):
                return np.int64(1 << bits)
            _move(marks, table, pool, places[i], bits)
    return np.int64(size << LEAST_BITS) if marks[TOP] + (size << LEAST_BITS) > len(pool) else np.int64(0)


@nested_njit
def is_reserved(marks, table, pool, places, size):
    """Whether `reserved` would have nothing to do."""
    for i in range(size):
        if places[i] != NONE and table[places[i]].count >> table[places[i]].bits != 0:
            return False
    return marks[TOP] + (size << LEAST_BITS) <= len(pool)


@nested_njit
def roomy(index, tokens):
    """The index with room in its table for as many more lists. Slots found before are no longer valid."""
    marks, table = index.marks, index.table
    room = len(table)
    while room < 2 * (marks[LISTS] + tokens):
        room *= 2
    return index if room == len(table) else Index(marks, _rehashed(table, room), index.pool)


@nested_njit
def insert(marks, table, pool, token, side):
    """Start a list for a token that has none, with room reserved; returns its slot. No other list moves."""
    mask = len(table) - 1
    place = _home(token, mask)
    while table[place].side != NONE:
        place = (place + 1) & mask
    row = table[place]
    row.token = token
    row.side = side
    row.arrival = marks[ARRIVALS]
    row.offset = _allocate(marks, pool, LEAST_BITS)
    row.head = 0
    row.count = 0
    row.bits = LEAST_BITS
    marks[LISTS] += 1
    marks[ARRIVALS] += 1
    return place


@nested_njit
def push(marks, table, pool, place, number, size, signature):
    """Append a set to the list at `place`, with room reserved."""
    row = table[place]
    last = (np.int64(row.head) + np.int64(row.count)) & ((1 << row.bits) - 1)
    entry = pool[np.int64(row.offset) + last]
    entry.number = np.uint32(number & 0xFFFFFFFF)
    entry.size = size
    entry.signature = signature
    row.count += np.uint32(1)
    marks[ENTRIES] += 1


@nested_njit
def drop_oldest(marks, table, pool, place):
    """Remove the first entry of the list at `place`, and an emptied list too: other lists may then move."""
    row = table[place]
    row.head = (np.int64(row.head) + 1) & ((1 << row.bits) - 1)
    row.count -= np.uint32(1)
    marks[ENTRIES] -= 1
    if row.count == 0:
        _release(marks, pool, row)
        _remove(table, place)
        marks[LISTS] -= 1


@shared_njit
def trim(index):
    """Free memory after a burst: shrink sparsely used rings, pool or table."""
    marks, table, pool = index.marks, index.table, index.pool
    sparse = 8 * marks[ENTRIES] < marks[ROOM]
    if len(pool) > LEAST_POOL and (sparse or 8 * marks[ROOM] < len(pool)):
        pool = _compacted(marks, table, pool, 0, sparse)
    if len(table) > LEAST_TABLE and 16 * marks[LISTS] < len(table):
        table = _rehashed(table, len(table) // 4)
    return Index(marks, table, pool)


@nested_njit
def _home(token, mask):
    return np.int64(mixed(token) >> np.uint64(20)) & mask


@nested_njit
def _enlarged(marks, table, pool, place):
    """Move the list at `place` to the start of a ring of twice the size; returns the pool."""
    bits = table[place].bits + 1
    if marks[FREE + bits] == NONE and marks[TOP] + (1 << bits) > len(pool):
        pool = _compacted(marks, table, pool, 1 << bits, False)
    _move(marks, table, pool, place, bits)
    return pool


@nested_njit
def _move(marks, table, pool, place, bits):
    """Move the list at `place` to the start of a ring of 2^bits, for which the pool has room."""
    offset = _allocate(marks, pool, bits)
    row = table[place]
    _unroll(pool, row, pool, offset)
    _release(marks, pool, row)
    row.offset = offset
    row.head = 0
    row.bits = bits


@nested_njit
def _allocate(marks, pool, bits):
    """Allocate a ring of 2^bits, a free one or the next of the pool, which must have room; returns its offset."""
    marks[ROOM] += 1 << bits
    offset = marks[FREE + bits]
    if offset != NONE:
        marks[FREE + bits] = np.int64(pool[offset].signature)
        return offset
    offset = marks[TOP]
    marks[TOP] += 1 << bits
    return offset


@nested_njit
def _release(marks, pool, row):
    """Free a list's ring; its first entry's signature holds the offset of the next free one."""
    pool[np.int64(row.offset)].signature = np.uint64(marks[FREE + row.bits])
    marks[FREE + row.bits] = row.offset
    marks[ROOM] -= 1 << row.bits


@nested_njit
def _unroll(pool, row, target, offset):
    """Copy a list's entries, oldest first, to `target` from `offset` on."""
    mask, head, start = (1 << row.bits) - 1, np.int64(row.head), np.int64(row.offset)
    for i in range(np.int64(row.count)):
        target[offset + i] = pool[start + ((head + i) & mask)]


@nested_njit
def _compacted(marks, table, pool, spare, cut):
    """`compact` into a new pool with as much spare room again."""
    target = np.empty(_room_to_compact(marks[ENTRIES], marks[ROOM], spare, cut), pool.dtype)
    compact(marks, table, pool, target, cut)
    return target


def room_to_compact(entries: int, room: int, spare: int, cut: bool) -> int:
    """The size of pool that `compact` needs, with room for `spare` entries, doubled."""
    if cut:
        room = min(room, 2 * entries)  # a ring that was cut is at most twice as long as its list
    return max(2 * (room + spare), LEAST_POOL)


_room_to_compact = nested_njit(room_to_compact)


@shared_njit
def compact(marks, table, pool, target, cut):
    """Move every list to the front of another pool, cut to size if `cut`; no ring is free then."""
    top = 0
    for place in range(len(table)):
        row = table[place]
        if row.side != NONE:
            _unroll(pool, row, target, top)
            row.offset = top
            row.head = 0
            row.bits = _bits(row, cut)
            top += 1 << row.bits
    marks[TOP] = top
    marks[ROOM] = top
    for bits in range(FREE, len(marks)):
        marks[bits] = NONE


@nested_njit
def _bits(row, cut):
    bits = row.bits
    while cut and bits > LEAST_BITS and np.int64(row.count) << 1 <= 1 << bits:
        bits -= 1
    return bits


@nested_njit
def _rehashed(table, room):
    """`rehash` into a new table."""
    other = np.empty(room, table.dtype)
    rehash(table, other)
    return other


@shared_njit
def rehash(table, other):
    """Put every list into a table of another size, whose old contents are overwritten."""
    for place in range(len(other)):
        other[place].side = NONE
    for old in range(len(table)):
        if table[old].side == NONE:
            continue
        place = _home(table[old].token, len(other) - 1)
        while other[place].side != NONE:
            place = (place + 1) & (len(other) - 1)
        other[place] = table[old]


@nested_njit
def _remove(table, hole):
    """Free a slot and shift back what linear probing had pushed past it."""
    mask = len(table) - 1
    place = (hole + 1) & mask
    while table[place].side != NONE:
        home = _home(table[place].token, mask)
        if ((place - home) & mask) >= ((place - hole) & mask):
            table[hole] = table[place]
            hole = place
        place = (place + 1) & mask
    table[hole].side = NONE
