"""Takes in reports: finds the object of each, refuses those that break the promise, links it to the one before."""

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_incomplete.eaa_arrays import (
    CHANGED,
    HEAD,
    IS_CHANGED,
    LAST,
    LOG_HEAD,
    LOG_TAIL,
    NEWEST,
    OBJECT,
    REPEATED,
    TAIL,
    USED,
)


@nested_njit(nogil=True)
def _spread(key, size):
    x = np.uint64(key)
    x = (x ^ (x >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    x ^= x >> np.uint64(33)
    return np.int64(x & np.uint64(size - 1))


@nested_njit(nogil=True)
def find(key, slots):
    """The place of `key` in the table, or where it would be."""
    size = len(slots.table)
    at = _spread(key, size)
    while slots.table[at] >= 0 and slots.facts[slots.table[at], OBJECT] != key:
        at = (at + 1) & (size - 1)
    return at


@nested_njit(nogil=True)
def _age(now, time):
    return np.uint64(now) - np.uint64(time)


@nested_njit(nogil=True)
def _expire_log(now, reach, cursor, slots, log):
    head = cursor[LOG_HEAD]
    while head < cursor[LOG_TAIL] and _age(now, log.time[head]) > reach:
        slots.counts[log.slot[head], log.stream[head]] -= 1
        head += 1
    cursor[LOG_HEAD] = head


@njit(cache=True, nogil=True, inline="always")
def _forget(slot, counts):
    for stream in range(counts.shape[1]):
        counts[slot, stream] = 0


@njit(cache=True, nogil=True, inline="always")
def touch(slot, cursor, slots):
    """Mark an object to be scored again."""
    if not slots.facts[slot, IS_CHANGED]:
        slots.facts[slot, IS_CHANGED] = 1
        slots.changed[cursor[CHANGED]] = slot
        cursor[CHANGED] += 1


@shared_njit(nogil=True)
def insert(rows, start, stop, rule, cursor, reports, slots, log):
    """Take in rows[start:stop]; the arrays must have room. O(1) per row.

    Ends at the row with which the window holds more than `rule.limit` reports, none of which may have been dropped.
    Returns the number of that row; `stop` if there is none.
    """
    for row in range(start, stop):
        now = rows.time[row]
        stream = rows.stream[row]
        if not rule.once:
            _expire_log(now, rule.reach, cursor, slots, log)
        at = find(rows.object[row], slots)
        slot = slots.table[at]
        if slot < 0:
            slot = np.int32(cursor[USED])
            cursor[USED] += 1
            slots.table[at] = slot
            slots.facts[slot, OBJECT] = rows.object[row]
            slots.facts[slot, NEWEST] = -1
            slots.facts[slot, IS_CHANGED] = 0
            _forget(slot, slots.counts)
        elif _age(now, slots.facts[slot, LAST]) > rule.reach:
            slots.facts[slot, NEWEST] = -1
            _forget(slot, slots.counts)
        if slots.counts[slot, stream] >= rule.most:
            cursor[REPEATED] += 1
            continue
        slots.counts[slot, stream] += 1
        if not rule.once:
            end = cursor[LOG_TAIL]
            log.time[end], log.stream[end], log.slot[end] = now, stream, slot
            cursor[LOG_TAIL] += 1
        end = cursor[TAIL]
        reports.time[end], reports.stream[end], reports.slot[end] = now, stream, slot
        reports.value[end] = rows.value[row] + 0.0
        reports.previous[end] = slots.facts[slot, NEWEST]
        slots.facts[slot, NEWEST] = end
        slots.facts[slot, LAST] = now
        cursor[TAIL] += 1
        touch(slot, cursor, slots)
        if end - cursor[HEAD] >= rule.limit and _age(now, reports.time[end - rule.limit]) <= rule.reach:
            return row
    return stop


@shared_njit(nogil=True)
def touch_all(cursor, reports, slots):
    """Mark every interval to be computed again."""
    for at in range(cursor[HEAD], cursor[TAIL]):
        touch(reports.slot[at], cursor, slots)
