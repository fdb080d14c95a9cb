"""Allocates memory for SWOOP's kernel in Python: it is rare, and without it the kernel compiles in a fifth less time.

`sets` and `index` have the same functions for kernels that allocate themselves.
"""

import numpy as np
from skyband.arrays import Array
from skyband.kernels.kskyband_kernels import PENDING, SIZE, Band

from skyband_setjoin.index import (
    ENTRIES,
    LEAST_POOL,
    LEAST_TABLE,
    LISTS,
    ROOM,
    TOP,
    Index,
    compact,
    rehash,
    room_to_compact,
)
from skyband_setjoin.sets import FIRST, LEAST, NEXT, TOKENS, Sets
from skyband_setjoin.stairs import Stairs


def resized(array: Array, used: int, room: int) -> Array:
    """Copy the first `used` entries to an array of another size."""
    other = np.empty(room, array.dtype)
    other[:used] = array[:used]
    return other


def with_room_to_flush(band: Band, stairs: Stairs) -> tuple[Band, Stairs]:
    """The stock and its stairs, with room for the pairs that wait to be merged."""
    size, room = int(band.counts[SIZE]), len(band.items)
    total = size + int(band.counts[PENDING])
    if total > room:
        room = max(room + room // 4, total)
        items, order, ends = (resized(array, size, room) for array in (band.items, band.order, band.ends))
        band = band._replace(items=items, order=order, ends=ends)
    if size // 4 > len(band.buffer):
        band = band._replace(buffer=resized(band.buffer, int(band.counts[PENDING]), size // 2))
    if total > len(stairs.older):
        room = len(stairs.older) << ((total - 1) // len(stairs.older)).bit_length()
        stairs = Stairs(np.empty(room, np.int64), np.empty(room + 1, np.int64), stairs.marks)
    return band, stairs


def with_room(sets: Sets, size: int) -> Sets:
    """The sets with room for one more set of `size` tokens."""
    records, ring, first, stop, begin, end = _used(sets)
    if stop - first == len(records):
        records = _moved(records, first, stop, 2 * len(records))
    room = len(ring)
    while room < end - begin + size:
        room *= 2
    return Sets(sets.marks, records, ring if room == len(ring) else _moved(ring, begin, end, room))


def is_sparse(sets: Sets, index: Index) -> bool:
    """Whether a ring of the sets, or the index's table, rings or pool, are sparsely used."""
    (first, stop, *_), (lists, entries, _, room) = sets.marks.tolist(), index.marks[: ROOM + 1].tolist()
    return (
        8 * (stop - first) < len(sets.records) > LEAST
        or 8 * entries < len(sets.tokens) > LEAST
        or 16 * lists < len(index.table) > LEAST_TABLE
        or ((8 * entries < room or 8 * room < len(index.pool)) and len(index.pool) > LEAST_POOL)
    )


def trimmed(sets: Sets) -> Sets:
    """Free memory after a burst: rings less than an eighth full shrink to a quarter."""
    records, ring, first, stop, begin, end = _used(sets)
    if len(records) > LEAST and 8 * (stop - first) < len(records):
        records = _moved(records, first, stop, max(len(records) // 4, LEAST))
    if len(ring) > LEAST and 8 * (end - begin) < len(ring):
        ring = _moved(ring, begin, end, max(len(ring) // 4, LEAST))
    return Sets(sets.marks, records, ring)


def _used(sets: Sets) -> tuple[Array, Array, int, int, int, int]:
    """Both rings, the numbers of the first set and of the one after the last, and the same for their tokens."""
    first, stop, end = sets.marks[[FIRST, NEXT, TOKENS]].tolist()
    begin = end if first == stop else int(sets.records[first & (len(sets.records) - 1)]["start"])
    return sets.records, sets.tokens, first, stop, begin, end


def _moved(ring: Array, start: int, stop: int, room: int) -> Array:
    """Copy entries start … stop − 1 to a ring of another size, a slice at a time up to the end of either ring."""
    other = np.empty(room, ring.dtype)
    step = min(len(ring), room)
    while start < stop:
        end = min(stop, (start // step + 1) * step)
        source, target = start & (len(ring) - 1), start & (room - 1)
        other[target : target + end - start] = ring[source : source + end - start]
        start = end
    return other


def index_with_room(index: Index, tokens: int, entries: int) -> Index:
    """The index with room for as many more lists and, in its pool, entries."""
    room = len(index.table)
    while room < 2 * (int(index.marks[LISTS]) + tokens):
        room *= 2
    if room > len(index.table):
        index = _rehashed(index, room)
    return _compacted(index, entries, False) if int(index.marks[TOP]) + entries > len(index.pool) else index


def trimmed_index(index: Index) -> Index:
    """Free memory after a burst: shrink sparsely used rings, pool or table."""
    lists, entries, room = index.marks[[LISTS, ENTRIES, ROOM]].tolist()
    sparse = 8 * entries < room
    if len(index.pool) > LEAST_POOL and (sparse or 8 * room < len(index.pool)):
        index = _compacted(index, 0, sparse)
    if len(index.table) > LEAST_TABLE and 16 * lists < len(index.table):
        index = _rehashed(index, len(index.table) // 4)
    return index


def _rehashed(index: Index, room: int) -> Index:
    table = np.empty(room, index.table.dtype)
    rehash(index.table, table)
    return index._replace(table=table)


def _compacted(index: Index, spare: int, cut: bool) -> Index:
    entries, room = index.marks[[ENTRIES, ROOM]].tolist()
    pool = np.empty(room_to_compact(entries, room, spare, cut), index.pool.dtype)
    compact(*index, pool, cut)
    return index._replace(pool=pool)
