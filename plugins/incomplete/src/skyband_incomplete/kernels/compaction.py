"""Maintains the remembered objects: renumbers them, forgets expired ones, enters them after a restore."""

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba continue without a cache folder
from numba import njit

from skyband_incomplete.eaa_arrays import CHANGED, HEAD, LAST, LOG_HEAD, LOG_TAIL, NEWEST, OBJECT, TAIL, USED
from skyband_incomplete.kernels.insertion import find, touch_all


@njit(cache=True, nogil=True)
def gather_slots(first, cursor, reports, slots, log, target):
    """Move the slots of objects with a report since `first` to `target`, whose table is empty, and renumber."""
    moved = np.full(cursor[USED], -1, np.int32)
    used = 0
    for slot in range(cursor[USED]):
        if slots.facts[slot, LAST] < first:
            continue
        for fact in range(slots.facts.shape[1]):  # a loop, as assigning a row takes seconds to compile
            target.facts[used, fact] = slots.facts[slot, fact]
        for stream in range(slots.counts.shape[1]):
            target.counts[used, stream] = slots.counts[slot, stream]
        target.table[find(slots.facts[slot, OBJECT], target)] = used
        moved[slot] = used
        used += 1
    cursor[USED] = used
    for at in range(cursor[HEAD], cursor[TAIL]):
        reports.slot[at] = moved[reports.slot[at]]
    for at in range(cursor[LOG_HEAD], cursor[LOG_TAIL]):
        log.slot[at] = moved[log.slot[at]]
    changed = 0
    for turn in range(cursor[CHANGED]):
        if moved[slots.changed[turn]] >= 0:
            target.changed[changed] = moved[slots.changed[turn]]
            changed += 1
    cursor[CHANGED] = changed


@njit(cache=True, nogil=True)
def forget(first, cursor, slots, log):
    """Drop the log's reports before the time `first`, which no longer count."""
    head = cursor[LOG_HEAD]
    while head < cursor[LOG_TAIL] and log.time[head] < first:
        slots.counts[log.slot[head], log.stream[head]] -= 1
        head += 1
    cursor[LOG_HEAD] = head


@njit(cache=True, nogil=True)
def enroll(cursor, reports, slots):
    """Enter the slots into the empty table, and link the reports."""
    for slot in range(cursor[USED]):
        slots.table[find(slots.facts[slot, OBJECT], slots)] = slot
        slots.facts[slot, NEWEST] = -1
    for at in range(cursor[HEAD], cursor[TAIL]):
        slot = reports.slot[at]
        reports.previous[at] = slots.facts[slot, NEWEST]
        slots.facts[slot, NEWEST] = at
    touch_all(cursor, reports, slots)
