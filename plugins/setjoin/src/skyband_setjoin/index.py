# mypy: disable-error-code="untyped-decorator,no-untyped-def"
"""The inverted index, in compiled code: from a token to the sets in the window that have it, oldest first.

An open-addressing table (linear probing, deletion by shifting back) leads from (token, side) to a list; lists
are contiguous power-of-two rings in one pool, which double, shrink and leave with their entries. A token of no
set in the window takes no room, and the pool and table shrink after a burst, so memory is bounded by the window.

Source: section 5.1 of the paper; rings in place of linked lists because lists are scanned from the tail.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from skyband_setjoin.sets import mixed

LIST = np.dtype(
    [
        ("token", np.int64),
        ("arrival", np.int64),
        ("offset", np.int64),
        ("head", np.int64),
        ("count", np.int64),
        ("bits", np.int32),
        ("side", np.int32),
    ]
)
"""The list of a token on a side (−1: a free place): `count` entries in a ring of 2^bits at `offset` of the pool.

arrival: how many tokens came into the window before it, which is the first-seen order of section 5.5.
"""

ENTRY = np.dtype([("number", np.uint32), ("size", np.uint32), ("signature", np.uint64)])
"""A set in a list: the low 32 bits of its number, its size (0: no longer a candidate) and its signature."""

LISTS, TOP, ROOM, ARRIVALS, FREE = range(5)
NONE = -1
_LEAST_BITS = 1
_LEAST_POOL = 256


class Index(NamedTuple):
    """Lists and their entries.

    marks: int64[FREE + 48]: LISTS in the table, TOP of the used pool, ROOM of all lists in it, ARRIVALS of tokens,
           and from FREE on, by bits, the first of the pool's free rings (NONE: none), each naming the next
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
    table = np.zeros(64, LIST)
    table["side"] = NONE
    return Index(marks, table, np.zeros(_LEAST_POOL, ENTRY))


@njit(cache=True)
def find(index, token, side):
    """The place of a token's list in the table, NONE if there is none."""
    table = index.table
    mask = len(table) - 1
    place = np.int64(mixed(token) >> np.uint64(20)) & mask
    while table[place].side != NONE:
        if table[place].token == token and table[place].side == side:
            return place
        place = (place + 1) & mask
    return NONE


@njit(cache=True)
def reserve(index, tokens):
    """Make the table large enough for so many tokens more; returns the index to go on with."""
    needed = 2 * (index.marks[LISTS] + tokens)
    if needed <= len(index.table):
        return index
    room = len(index.table)
    while room < needed:
        room *= 2
    return Index(index.marks, _rehashed(index.table, room), index.pool)


@njit(cache=True)
def append(index, token, side, number, size, signature):
    """Add a set to the end of a token's list (`reserve` first); returns the index to go on with."""
    marks, table = index.marks, index.table
    mask = len(table) - 1
    place = np.int64(mixed(token) >> np.uint64(20)) & mask
    while table[place].side != NONE:
        if table[place].token == token and table[place].side == side:
            break
        place = (place + 1) & mask
    row = table[place]
    if row.side == NONE:
        row.token = token
        row.side = side
        row.arrival = marks[ARRIVALS]
        row.head = 0
        row.count = 0
        row.bits = NONE
        marks[LISTS] += 1
        marks[ARRIVALS] += 1
        index = _resized(index, place, _LEAST_BITS)
    elif row.count == 1 << row.bits:
        index = _resized(index, place, row.bits + 1)
    entry = index.pool[row.offset + ((row.head + row.count) & ((1 << row.bits) - 1))]
    entry.number = np.uint32(number & 0xFFFFFFFF)
    entry.size = size
    entry.signature = signature
    row.count += 1
    return index


@njit(cache=True)
def drop_oldest(index, token, side):
    """Remove the first entry of a token's list, and the list with its last; returns the index to go on with."""
    place = find(index, token, side)
    row = index.table[place]
    row.head = (row.head + 1) & ((1 << row.bits) - 1)
    row.count -= 1
    if row.count == 0:
        _release(index, row)
        _remove(index, place)
    elif row.bits > _LEAST_BITS + 1 and row.count << 3 <= 1 << row.bits:
        index = _resized(index, place, row.bits - 2)
    return index


@njit(cache=True)
def trim(index):
    """Give memory back after a burst: a pool or table of which little is used shrinks."""
    marks, table, pool = index.marks, index.table, index.pool
    if len(pool) > _LEAST_POOL and 8 * marks[ROOM] < len(pool):
        pool = _compacted(marks, table, pool, max(2 * marks[ROOM], _LEAST_POOL))
    if len(table) > 64 and 16 * marks[LISTS] < len(table):
        table = _rehashed(table, len(table) // 4)
    return Index(marks, table, pool)


@njit(cache=True)
def _resized(index, place, bits):
    """Move a list to a ring of 2^bits, its head to the ring's start."""
    marks, pool = index.marks, index.pool
    size = 1 << bits
    if marks[FREE + bits] == NONE and marks[TOP] + size > len(pool):
        pool = _compacted(marks, index.table, pool, 2 * (marks[ROOM] + size))
    row = index.table[place]
    if marks[FREE + bits] != NONE:
        offset = marks[FREE + bits]
        marks[FREE + bits] = _next_free(pool, offset)
    else:
        offset = marks[TOP]
        marks[TOP] += size
    if row.bits != NONE:
        mask = (1 << row.bits) - 1
        for i in range(row.count):
            pool[offset + i] = pool[row.offset + ((row.head + i) & mask)]
    index = Index(marks, index.table, pool)
    if row.bits != NONE:
        _release(index, row)
    marks[ROOM] += size
    row.offset = offset
    row.head = 0
    row.bits = bits
    return index


@njit(cache=True)
def _release(index, row):
    """Put a list's ring among the free ones; its first entry's signature holds the offset of the next."""
    marks = index.marks
    index.pool[row.offset].signature = np.uint64(marks[FREE + row.bits])
    marks[FREE + row.bits] = row.offset
    marks[ROOM] -= 1 << row.bits


@njit(cache=True)
def _next_free(pool, offset):
    return np.int64(pool[offset].signature)


@njit(cache=True)
def _compacted(marks, table, pool, room):
    """A pool of `room` entries with every list moved to its front; no ring is free then."""
    target = np.empty(room, pool.dtype)
    top = 0
    for place in range(len(table)):
        row = table[place]
        if row.side == NONE or row.bits == NONE:
            continue
        mask = (1 << row.bits) - 1
        for i in range(row.count):
            target[top + i] = pool[row.offset + ((row.head + i) & mask)]
        row.offset = top
        row.head = 0
        top += mask + 1
    marks[TOP] = top
    marks[FREE:] = NONE
    return target


@njit(cache=True)
def _rehashed(table, room):
    larger = np.empty(room, table.dtype)
    for place in range(room):
        larger[place].side = NONE
    for old in range(len(table)):
        if table[old].side == NONE:
            continue
        place = np.int64(mixed(table[old].token) >> np.uint64(20)) & (room - 1)
        while larger[place].side != NONE:
            place = (place + 1) & (room - 1)
        larger[place] = table[old]
    return larger


@njit(cache=True)
def _remove(index, hole):
    """Free a place and shift back what linear probing had pushed past it."""
    table = index.table
    mask = len(table) - 1
    place = hole
    while True:
        place = (place + 1) & mask
        if table[place].side == NONE:
            break
        home = np.int64(mixed(table[place].token) >> np.uint64(20)) & mask
        if ((place - home) & mask) >= ((place - hole) & mask):
            table[hole] = table[place]
            hole = place
    table[hole].side = NONE
    index.marks[LISTS] -= 1
