# mypy: disable-error-code="untyped-decorator"
"""The walk of small distinct counts through their moments, group by group, in compiled code.

It is `WindowedProcessor._walk`: a group answers at T if its longest window holds a row, and is empty otherwise.
"""

from typing import Any

import numpy as np
from numba import njit

from skyband.arrays import TIME_MAX

_TIME_MAX = np.int64(TIME_MAX)


@njit(inline="always")
def _after(time: Any, every: int) -> Any:
    """The first moment later than `time`."""
    return time // every * every + every


@njit(cache=True)
def count_moments(
    nexts: Any, lasts: Any, starts: Any, stops: Any, times: Any, until: int, every: int, horizon: int
) -> int:
    """How many answers the groups give: those of `run_groups`, and of groups it hands back before the end."""
    count = 0
    for group in range(len(nexts)):
        moment, last, row = nexts[group], lasts[group], starts[group]
        while True:
            if moment == _TIME_MAX:
                if row == stops[group]:
                    break
                moment = _after(times[row], every)
            if moment > until:
                break
            while row < stops[group] and times[row] < moment:
                last = times[row]
                row += 1
            if last >= moment - horizon:
                count += 1
                moment += every
            else:
                moment = _TIME_MAX
    return count


@njit(inline="always")
def _slot(table: Any, made: Any, now: int, entry_keys: Any, key: Any) -> Any:
    """Where a key's entry is noted, or is to be; slots not `made` now are free."""
    mask = np.uint64(len(table) - 1)
    slot = key & mask
    while made[slot] == now and entry_keys[table[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@njit(cache=True)
def run_groups(  # noqa: C901 - a numeric kernel is one loop
    nexts: Any,
    lasts: Any,
    firsts: Any,
    counts: Any,
    held_keys: Any,
    held_times: Any,
    starts: Any,
    stops: Any,
    times: Any,
    keys: Any,
    until: int,
    every: int,
    horizon: int,
    lengths: Any,
    most: int,
    room: int,
) -> Any:
    """Take rows in and answer the moments up to `until`.

    Of each group: its next moment and last time, where its keys begin in `held_keys` and how many they are, and its
    rows. Returns of each group the next moment, last time, number of keys, and the row at which it had more than
    `most` (-1: never); all keys and their last times; and of each answer the group, the moment and a count for each
    of the window `lengths`. O(keys + rows) and, for each answer, O(keys of the group · windows).
    """
    groups = len(nexts)
    new_next, new_last = np.empty(groups, np.int64), np.empty(groups, np.int64)
    new_count, grown = np.zeros(groups, np.int64), np.full(groups, -1, np.int64)
    new_keys = np.empty(len(held_keys) + len(times), np.uint64)
    new_times = np.empty(len(new_keys), np.int64)
    owner, at = np.empty(room, np.int64), np.empty(room, np.int64)
    answers = np.zeros((room, len(lengths)), np.int64)
    slots = 4
    while slots < 2 * (most + 1):
        slots *= 2
    table, made = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    entry_keys, entry_times = np.empty(most, np.uint64), np.empty(most, np.int64)
    given, written, now = 0, 0, 0
    for group in range(groups):
        size = counts[group]
        for entry in range(size):
            entry_keys[entry] = held_keys[firsts[group] + entry]
            entry_times[entry] = held_times[firsts[group] + entry]
        moment, last, row, stop = nexts[group], lasts[group], starts[group], stops[group]
        noted = False
        while grown[group] < 0:
            if moment == _TIME_MAX:
                if row == stop:
                    break
                moment = _after(times[row], every)
            while row < stop and (times[row] < moment or moment > until):
                if not noted:
                    now += 1
                    for entry in range(size):
                        slot = _slot(table, made, now, entry_keys, entry_keys[entry])
                        table[slot], made[slot] = entry, now
                    noted = True
                slot = _slot(table, made, now, entry_keys, keys[row])
                if made[slot] == now:
                    entry_times[table[slot]] = times[row]
                elif size == most:
                    grown[group] = row
                    break
                else:
                    entry_keys[size], entry_times[size] = keys[row], times[row]
                    table[slot], made[slot] = size, now
                    size += 1
                last = times[row]
                row += 1
            if moment > until or grown[group] >= 0:
                break
            if last < moment - horizon:
                moment, size, noted = _TIME_MAX, 0, False
                continue
            owner[given], at[given] = group, moment
            kept = 0
            for entry in range(size):
                time = entry_times[entry]
                for window in range(len(lengths)):
                    answers[given, window] += time >= moment - lengths[window]
                if time >= moment - horizon:
                    entry_keys[kept], entry_times[kept] = entry_keys[entry], time
                    kept += 1
            noted = noted and kept == size
            size = kept
            given += 1
            moment += every
        new_next[group], new_last[group], new_count[group] = moment, last, size
        for entry in range(size):
            new_keys[written], new_times[written] = entry_keys[entry], entry_times[entry]
            written += 1
    return (
        new_next,
        new_last,
        new_count,
        grown,
        new_keys[:written].copy(),
        new_times[:written].copy(),
        owner[:given],
        at[:given],
        answers[:given],
    )
