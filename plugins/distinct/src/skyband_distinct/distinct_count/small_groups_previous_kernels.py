"""Compiled code that walks the sessions of small distinct counts with `against`."""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MAX
from skyband.groups.small_groups.kernels import oldest_needed
from skyband.groups.small_groups.passes import SessionSpans
from skyband.kernels.nested import nested_njit

from skyband_distinct.distinct_count.small_groups_kernels import find_slot


@nested_njit
def _note(table: Any, epochs: Any, now: int, keys: Any, times: Any, later: Any, size: int) -> None:
    """Store the newest entry of each key, and for each entry the time of the key's next one, or TIME_MAX.

    The entries of a key are in time order.
    """
    for entry in range(size):
        slot = find_slot(table, epochs, now, keys, keys[entry])
        if epochs[slot] == now:
            later[table[slot]] = times[entry]
        table[slot], epochs[slot], later[entry] = entry, now, TIME_MAX


@nested_njit
def _forget(keys: Any, times: Any, panes: Any, size: int, before: int) -> int:
    """Keep the entries at or after `before`; returns their number."""
    size_after = 0
    for entry in range(size):
        if times[entry] >= before:
            keys[size_after], times[size_after], panes[size_after] = keys[entry], times[entry], panes[entry]
            size_after += 1
    return size_after


@njit(cache=True)
def count_keys_twice(  # noqa: C901 - a numeric kernel is one loop
    sessions: SessionSpans,
    held_keys: Any,
    held_times: Any,
    held_panes: Any,
    times: Any,
    keys: Any,
    row_panes: Any,
    at: Any,
    slides: Any,
    since: Any,
    until: Any,
    most: int,
) -> Any:
    """Like `count_keys`, with an entry for each key and pane; panes are int64[n], the moment after an entry or row.

    since: int64[m, 2 w], the start of each window and of the earlier one; until: int64[m, w], the end of that. Returns
    as many counts as starts: those of the windows and of the earlier ones.
    """
    firsts, begins, ends = sessions.first, sessions.begin, sessions.end
    session_count = len(firsts)
    new_count, overflow = np.zeros(session_count, np.int64), np.full(session_count, -1, np.int64)
    new_keys = np.empty(len(held_keys) + len(times), np.uint64)
    new_times = np.empty(len(new_keys), np.int64)
    room = 0
    for session in range(session_count):
        room += ends[session] - begins[session]
    owner, answer_at = np.empty(room, np.int64), np.empty(room, np.int64)
    answers = np.zeros((room, since.shape[1]), np.int64)
    slots = 4
    while slots < 2 * (most + 1):
        slots *= 2
    table, epochs = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    entry_keys, entry_times = np.empty(most + 1, np.uint64), np.empty(most + 1, np.int64)
    panes, later = np.empty(most + 1, np.int64), np.empty(most + 1, np.int64)
    answer_count, entry_count, now = 0, 0, 0
    for session in range(session_count):
        size = sessions.size[session]
        for entry in range(size):
            entry_keys[entry] = held_keys[firsts[session] + entry]
            entry_times[entry] = held_times[firsts[session] + entry]
            panes[entry] = held_panes[firsts[session] + entry]
        now += 1
        _note(table, epochs, now, entry_keys, entry_times, later, size)
        row, stop, moment = sessions.start[session], sessions.stop[session], begins[session]
        while True:
            more = moment < ends[session]
            while row < stop and not (more and times[row] >= at[moment]):
                slot = find_slot(table, epochs, now, entry_keys, keys[row])
                if epochs[slot] == now and panes[table[slot]] == row_panes[row]:
                    entry_times[table[slot]] = times[row]
                    row += 1
                    continue
                if size == most:  # forget entries that have left all windows
                    size = _forget(entry_keys, entry_times, panes, size, oldest_needed(times[row], slides))
                    now += 1
                    _note(table, epochs, now, entry_keys, entry_times, later, size)
                    slot = find_slot(table, epochs, now, entry_keys, keys[row])
                if epochs[slot] == now:
                    later[table[slot]] = times[row]
                entry_keys[size], entry_times[size], panes[size], later[size] = (
                    keys[row],
                    times[row],
                    row_panes[row],
                    TIME_MAX,
                )
                table[slot], epochs[slot] = size, now
                size += 1
                row += 1
                if size > most:
                    overflow[session] = row
                    break
            if not more or overflow[session] >= 0:
                break
            owner[answer_count], answer_at[answer_count] = session, at[moment]
            # A key counts in a span by its newest entry there: the one whose next entry is outside.
            for entry in range(size):
                for window in range(0, since.shape[1], 2):
                    begin = since[moment, window]
                    if entry_times[entry] >= begin:
                        answers[answer_count, window] += later[entry] == TIME_MAX
                    elif since[moment, window + 1] <= entry_times[entry] < until[moment, window // 2]:
                        answers[answer_count, window + 1] += later[entry] >= until[moment, window // 2]
            answer_count += 1
            moment += 1
        if overflow[session] < 0:
            if sessions.ended[session]:
                size = 0
            else:
                size = _forget(entry_keys, entry_times, panes, size, sessions.oldest[session])
        new_count[session] = size
        for entry in range(size):
            new_keys[entry_count], new_times[entry_count] = entry_keys[entry], entry_times[entry]
            entry_count += 1
    return (
        new_count,
        new_keys[:entry_count].copy(),
        new_times[:entry_count].copy(),
        overflow,
        owner[:answer_count],
        answer_at[:answer_count],
        answers[:answer_count],
    )
