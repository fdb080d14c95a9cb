"""Keeps values that can still count in a doubly linked list per object and stream; answers score changed objects.

"largest" and "smallest" follow the sliding extremum: a value is dropped once a later one reaches it.
"""

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_incomplete.eaa_arrays import (
    CHANGED,
    HEAD,
    IS_CHANGED,
    LARGEST,
    LATEST,
    LIVE,
    MEAN,
    OBJECT,
    SMALLEST,
    TAIL,
    USED,
)
from skyband_incomplete.kernels.contenders import enter, rank
from skyband_incomplete.kernels.insertion import find, touch
from skyband_incomplete.score_kernels import score_of


@njit(cache=True, nogil=True, inline="always")
def _superseded(value, later, reduction):
    """Whether a value can never count again after this later one of the same object and stream."""
    if reduction == LATEST:
        return True
    if reduction == LARGEST:
        return value <= later
    return reduction == SMALLEST and value >= later


@njit(cache=True, nogil=True, inline="always")
def _slot_of(key, cursor, slots, cells):
    """The slot of an object, a new one if it is unknown."""
    at = find(key, slots)
    slot = slots.table[at]
    if slot < 0:
        slot = np.int32(cursor[USED])
        cursor[USED] += 1
        slots.table[at] = slot
        slots.facts[slot, OBJECT] = key
        slots.facts[slot, IS_CHANGED] = 0
        cells.entries[slot] = 0
        for stream in range(cells.oldest.shape[1]):
            cells.oldest[slot, stream] = cells.newest[slot, stream] = -1
    return slot


@shared_njit(nogil=True)
def add(rows, start, stop, reduction, cursor, entries, slots, cells):
    """Take in rows[start:stop]; the arrays must have room. Amortised O(1) per row."""
    for row in range(start, stop):
        slot = _slot_of(rows.object[row], cursor, slots, cells)
        stream, value = rows.stream[row], rows.value[row] + 0.0
        last = cells.newest[slot, stream]
        while last >= 0 and _superseded(entries.value[last], value, reduction):
            entries.alive[last] = False
            cells.entries[slot] -= 1
            cursor[LIVE] -= 1
            last = entries.older[last]
        end = cursor[TAIL]
        entries.time[end], entries.stream[end], entries.slot[end] = rows.time[row], stream, slot
        entries.value[end], entries.alive[end] = value, True
        entries.older[end], entries.newer[end] = last, -1
        if last >= 0:
            entries.newer[last] = end
        else:
            cells.oldest[slot, stream] = end
        cells.newest[slot, stream] = end
        cells.entries[slot] += 1
        cursor[LIVE] += 1
        cursor[TAIL] += 1
        touch(slot, cursor, slots)


@shared_njit(nogil=True)
def expire(first, cursor, entries, slots, cells):
    """Drop the entries before the time `first`."""
    head = cursor[HEAD]
    while head < cursor[TAIL] and entries.time[head] < first:
        if entries.alive[head]:
            slot, stream, newer = entries.slot[head], entries.stream[head], entries.newer[head]
            cells.oldest[slot, stream] = newer
            if newer >= 0:
                entries.older[newer] = -1
            else:
                cells.newest[slot, stream] = -1
            cells.entries[slot] -= 1
            cursor[LIVE] -= 1
            touch(slot, cursor, slots)
        head += 1
    cursor[HEAD] = head


@njit(cache=True, nogil=True)
def compact(cursor, entries, cells):
    """Remove the entries that no longer count. O(entries)."""
    end = 0
    for at in range(cursor[HEAD], cursor[TAIL]):
        if not entries.alive[at]:
            continue
        slot, stream = entries.slot[at], entries.stream[at]
        # An older entry, if any, was the last of this cell to move, and `newest` is its new place.
        older = cells.newest[slot, stream] if entries.older[at] >= 0 else -1
        if older >= 0:
            entries.newer[older] = end
        else:
            cells.oldest[slot, stream] = end
        cells.newest[slot, stream] = end
        entries.time[end], entries.stream[end], entries.slot[end] = entries.time[at], stream, slot
        entries.value[end], entries.alive[end] = entries.value[at], True
        entries.older[end], entries.newer[end] = older, -1
        end += 1
    cursor[HEAD], cursor[TAIL] = 0, end


@njit(cache=True, nogil=True)
def gather_slots(cursor, entries, slots, cells, kept_slots, kept_cells):
    """Move the objects that have an entry to arrays with an empty table, and renumber; all must be scored again."""
    moved = np.full(cursor[USED], -1, np.int32)
    used = 0
    for slot in range(cursor[USED]):
        if not cells.entries[slot]:
            continue
        kept_slots.facts[used, OBJECT] = slots.facts[slot, OBJECT]
        kept_slots.table[find(slots.facts[slot, OBJECT], kept_slots)] = used
        kept_cells.entries[used] = cells.entries[slot]
        for stream in range(cells.oldest.shape[1]):
            kept_cells.oldest[used, stream] = cells.oldest[slot, stream]
            kept_cells.newest[used, stream] = cells.newest[slot, stream]
        moved[slot] = used
        used += 1
    cursor[USED] = used
    cursor[CHANGED] = 0
    for slot in range(used):
        touch(np.int32(slot), cursor, kept_slots)
    for at in range(cursor[HEAD], cursor[TAIL]):
        if entries.alive[at]:
            entries.slot[at] = moved[entries.slot[at]]


@nested_njit(nogil=True)
def _values(slot, reduction, entries, cells, values):
    """Reduce each cell of an object to one value, 0 if it is empty; a mean is summed from the newest on."""
    for stream in range(len(values)):
        at = cells.newest[slot, stream]
        if at < 0:
            values[stream] = 0.0
        elif reduction == MEAN:
            total, number = 0.0, 0
            while at >= 0:
                total += entries.value[at]
                number += 1
                at = entries.older[at]
            values[stream] = total / number
        else:
            values[stream] = entries.value[at if reduction == LATEST else cells.oldest[slot, stream]]


@njit(cache=True, nogil=True)
def changed_values(reduction, cursor, entries, slots, cells):
    """The objects that changed since the last answer, int32[n], and their values, float64[n, streams]."""
    changed = slots.changed[: cursor[CHANGED]].copy()
    values = np.empty((len(changed), cells.oldest.shape[1]))
    for turn in range(len(changed)):
        slots.facts[changed[turn], IS_CHANGED] = 0
        _values(changed[turn], reduction, entries, cells, values[turn])
    cursor[CHANGED] = 0
    return changed, values


@njit(cache=True, nogil=True)
def rank_changed(changed, k, cursor, slots, cells, heap, top, objects, scores):
    """`rank`, after the scores of the objects `changed` have changed."""
    for slot in changed:
        enter(slot, slots, cells, top)
    return rank(k, cursor, slots, cells, heap, top, objects, scores)


@njit(cache=True, nogil=True)
def replay(rows, stops, firsts, reduction, rule, cursor, entries, slots, cells, heap, top, offsets, objects, scores):
    """Take in rows, and answer after stops[i] of them over entries since firsts[i]; answer i goes to offsets[i:]."""
    start = np.int64(0)  # a literal would compile `add` twice
    values = np.empty(cells.oldest.shape[1])
    for turn in range(len(firsts)):
        add(rows, start, stops[turn], reduction, cursor, entries, slots, cells)
        start = stops[turn]
        expire(firsts[turn], cursor, entries, slots, cells)
        for place in range(cursor[CHANGED]):
            slot = slots.changed[place]
            slots.facts[slot, IS_CHANGED] = 0
            _values(slot, reduction, entries, cells, values)
            cells.score[slot] = score_of(values, rule.kind, rule.weights, rule.divisor)
            enter(slot, slots, cells, top)
        cursor[CHANGED] = 0
        begin = offsets[turn]
        offsets[turn + 1] = begin + rank(rule.k, cursor, slots, cells, heap, top, objects[begin:], scores[begin:])
    add(rows, start, len(rows.time), reduction, cursor, entries, slots, cells)
