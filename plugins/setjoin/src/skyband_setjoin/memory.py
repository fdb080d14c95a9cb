"""Memory for SWOOP's kernel, laid out in Python by numpy: it is needed rarely, and compiling it would take a second.

`sets` and `index` have the same by loops, for kernels that take memory themselves.
"""

import numpy as np
from skyband.arrays import Array, Int64
from skyband.kernels.kskyband_kernels import PENDING, SIZE, Band

from skyband_setjoin.index import (
    ENTRIES,
    FREE,
    LEAST_BITS,
    LEAST_POOL,
    LEAST_TABLE,
    LISTS,
    NONE,
    ROOM,
    TOP,
    Index,
    homes_of,
)
from skyband_setjoin.sets import FIRST, LEAST, NEXT, TOKENS, Sets
from skyband_setjoin.stairs import Stairs

_AT_ONCE = 2**16
"""Entries of the index that are moved at once, or one list: indices to them take five times their memory."""


def resized(array: Array, used: int, room: int) -> Array:
    """The first entries in an array of another size."""
    other = np.empty(room, array.dtype)
    other[:used] = array[:used]
    return other


def with_room_to_flush(band: Band, stairs: Stairs) -> tuple[Band, Stairs]:
    """The stock and its stairs, with room for what waits to be merged."""
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
    """The sets with room for one more, of `size` tokens."""
    records, ring, first, stop, begin, end = _used(sets)
    if stop - first == len(records):
        records = _moved(records, first, stop, 2 * len(records))
    room = len(ring)
    while room < end - begin + size:
        room *= 2
    return Sets(sets.marks, records, ring if room == len(ring) else _moved(ring, begin, end, room))


def is_sparse(sets: Sets, index: Index) -> bool:
    """Whether little is used of a ring of the sets, or of the index's table, rings or pool."""
    (first, stop, *_), (lists, entries, _, room) = sets.marks.tolist(), index.marks[: ROOM + 1].tolist()
    return (
        8 * (stop - first) < len(sets.records) > LEAST
        or 8 * entries < len(sets.tokens) > LEAST
        or 16 * lists < len(index.table) > LEAST_TABLE
        or ((8 * entries < room or 8 * room < len(index.pool)) and len(index.pool) > LEAST_POOL)
    )


def trimmed(sets: Sets) -> Sets:
    """Give memory back after a burst: rings of which less than an eighth is used shrink to a quarter."""
    records, ring, first, stop, begin, end = _used(sets)
    if len(records) > LEAST and 8 * (stop - first) < len(records):
        records = _moved(records, first, stop, max(len(records) // 4, LEAST))
    if len(ring) > LEAST and 8 * (end - begin) < len(ring):
        ring = _moved(ring, begin, end, max(len(ring) // 4, LEAST))
    return Sets(sets.marks, records, ring)


def _used(sets: Sets) -> tuple[Array, Array, int, int, int, int]:
    """Both rings, the numbers of the first set and the one after the last, and of their tokens likewise."""
    first, stop, end = sets.marks[[FIRST, NEXT, TOKENS]].tolist()
    begin = end if first == stop else int(sets.records[first & (len(sets.records) - 1)]["start"])
    return sets.records, sets.tokens, first, stop, begin, end


def _moved(ring: Array, start: int, stop: int, room: int) -> Array:
    """Entries start … stop − 1 of a ring in one of another size, stretch by stretch up to where one of both ends."""
    other = np.empty(room, ring.dtype)
    step = min(len(ring), room)
    while start < stop:
        end = min(stop, (start // step + 1) * step)
        source, target = start & (len(ring) - 1), start & (room - 1)
        other[target : target + end - start] = ring[source : source + end - start]
        start = end
    return other


def index_with_room(index: Index, tokens: int, entries: int) -> Index:
    """The index with room for so many lists more, and in its pool for so many entries more."""
    room = len(index.table)
    while room < 2 * (int(index.marks[LISTS]) + tokens):
        room *= 2
    if room > len(index.table):
        index = index._replace(table=_rehashed(index.table, room))
    if int(index.marks[TOP]) + entries > len(index.pool):
        index = _compacted(index, entries, cut=False)
    return index


def trimmed_index(index: Index) -> Index:
    """Give memory back after a burst: rings, pool or table of which little is used shrink."""
    lists, held, room = index.marks[[LISTS, ENTRIES, ROOM]].tolist()
    sparse = 8 * held < room
    if len(index.pool) > LEAST_POOL and (sparse or 8 * room < len(index.pool)):
        index = _compacted(index, 0, cut=sparse)
    if len(index.table) > LEAST_TABLE and 16 * lists < len(index.table):
        index = index._replace(table=_rehashed(index.table, len(index.table) // 4))
    return index


def _rehashed(table: Array, room: int) -> Array:
    """The lists in a table of another size, each at the first free place from its home on."""
    rows = table[table["side"] != NONE]
    homes = homes_of(rows["token"], room)
    order = np.argsort(homes, kind="stable")
    rows, homes = rows[order], homes[order]
    beyond = int(np.count_nonzero(_free_places(homes) >= room))  # these go on at the table's start
    rows = np.concatenate((rows[len(rows) - beyond :], rows[: len(rows) - beyond]))
    homes = np.concatenate((np.zeros(beyond, np.int64), homes[: len(homes) - beyond]))
    other = np.empty(room, table.dtype)
    other["side"] = NONE
    other[_free_places(homes)] = rows
    return other


def _free_places(homes: Array) -> Array:
    """Each of the ascending homes, or the place after the one before where that is later."""
    numbers = np.arange(len(homes))
    return numbers + np.maximum.accumulate(homes - numbers)


def _compacted(index: Index, spare: int, cut: bool) -> Index:
    """Every list at the pool's front, cut to size where wanted, and as much room again; no ring is free then."""
    marks, table, pool = index
    places = np.flatnonzero(table["side"] != NONE)
    rows = table[places]
    counts, bits = rows["count"].astype(np.int64), rows["bits"].astype(np.int64)
    if cut:
        bits = np.minimum(bits, np.maximum(np.frexp(2 * counts - 1)[1] - 1, LEAST_BITS))  # 2^bits < 2 counts
    ends = np.cumsum(1 << bits)
    top = int(ends[-1]) if len(ends) else 0
    offsets = ends - (1 << bits)
    other = np.empty(max(2 * (top + spare), LEAST_POOL), pool.dtype)
    for part in np.split(np.arange(len(rows)), np.searchsorted(ends, np.arange(_AT_ONCE, top, _AT_ONCE))):
        _unroll(pool, rows[part], other, offsets[part], counts[part])
    rows["offset"], rows["head"], rows["bits"] = offsets, 0, bits
    table[places] = rows
    marks[TOP] = marks[ROOM] = top
    marks[FREE:] = NONE
    return Index(marks, table, other)


def _unroll(pool: Array, rows: Array, other: Array, offsets: Int64, counts: Int64) -> None:
    """Copy the entries of lists, oldest first, to these offsets."""
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    head, start, bits = (np.repeat(rows[name].astype(np.int64), counts) for name in ("head", "offset", "bits"))
    other[np.repeat(offsets, counts) + within] = pool[start + ((head + within) & ((1 << bits) - 1))]
