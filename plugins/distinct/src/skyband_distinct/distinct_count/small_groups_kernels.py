# mypy: disable-error-code="untyped-decorator"
"""The walk of small distinct counts through their sessions, in compiled code."""

from typing import Any

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.groups.small_group_pass import SessionSpans
from skyband.groups.small_groups_kernels import longer, oldest_needed
from skyband.kernels.nested import nested_njit

from skyband_distinct.exact_sums import MOST_TERMS, add_to, rounded

_MOST_ROOM = 1 << 20


@njit(inline="always")
def find_slot(table: Any, made: Any, now: int, entry_keys: Any, key: Any) -> Any:
    """Where a key's entry is noted, or is to be; slots not `made` now are free."""
    mask = np.uint64(len(table) - 1)
    slot = key & mask
    while made[slot] == now and entry_keys[table[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@nested_njit
def _note(table: Any, made: Any, now: int, entry_keys: Any, size: int) -> None:
    for entry in range(size):
        slot = find_slot(table, made, now, entry_keys, entry_keys[entry])
        table[slot], made[slot] = entry, now


@nested_njit
def _forget(entry_keys: Any, entry_times: Any, entry_values: Any, size: int, before: int) -> int:
    """Keep the entries that are not before; returns how many."""
    size_after = 0
    for entry in range(size):
        if entry_times[entry] >= before:
            entry_keys[size_after], entry_times[size_after] = entry_keys[entry], entry_times[entry]
            entry_values[size_after] = entry_values[entry]
            size_after += 1
    return size_after


@nested_njit
def _sum_since(entry_times: Any, entry_values: Any, size: int, begin: int, terms: Any) -> float:
    """What the values of the entries from a moment on add up to, rounded once."""
    count = 0
    for entry in range(size):
        if entry_times[entry] >= begin:
            count = add_to(terms, count, entry_values[entry])
    return rounded(terms, count)


@njit(cache=True)
def count_keys(  # noqa: C901 - a numeric kernel is one loop
    sessions: SessionSpans,
    held_keys: Any,
    held_times: Any,
    held_values: Any,
    times: Any,
    keys: Any,
    values: Any,
    adds: bool,
    at: Any,
    slides: Any,
    since: Any,
    most: int,
    gives_zeros: bool,
) -> Any:
    """Take rows in and answer moments, session by session.

    Returns of each session the number of keys and the first row not taken in, as it had more than `most` (-1: never);
    all keys, their last times and their values then; of each answer the session, the moment's number, and int64[a, w]
    and float64[a, w], a count and a sum for each of its windows, which begin at `since` (int64[m, w]); gives_zeros:
    also where none of them has a key. Rows have values, and sums are not 0, where it `adds`. O(keys + rows) and, for
    each answer, O(keys of the group · windows).
    """
    firsts, begins, ends = sessions.first, sessions.begin, sessions.end
    session_count = len(firsts)
    new_count, grown = np.zeros(session_count, np.int64), np.full(session_count, -1, np.int64)
    new_keys = np.empty(len(held_keys) + len(times), np.uint64)
    new_times = np.empty(len(new_keys), np.int64)
    new_values = np.empty(len(new_keys) if adds else 0)
    room, windows = 64, since.shape[1]
    for session in range(session_count):
        room += ends[session] - begins[session]
    room = min(room, _MOST_ROOM)
    owner, number = np.empty(room, np.int64), np.empty(room, np.int64)
    answers = np.empty(room * windows, np.int64)
    sums = np.zeros(room * windows if adds else 0)
    terms = np.empty(MOST_TERMS)
    # One hash table serves all sessions: a slot is of now if `made` says so, so that none is ever swept clean. It is
    # at most half full.
    slots = 4
    while slots < 2 * (most + 1):
        slots *= 2
    table, made = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    entry_keys, entry_times = np.empty(most + 1, np.uint64), np.empty(most + 1, np.int64)
    entry_values = np.zeros(most + 1)
    given, written, now = 0, 0, 0
    for session in range(session_count):
        size, latest = sessions.size[session], TIME_MIN
        for entry in range(size):
            latest = max(latest, held_times[firsts[session] + entry])
            entry_keys[entry] = held_keys[firsts[session] + entry]
            entry_times[entry] = held_times[firsts[session] + entry]
            if adds:
                entry_values[entry] = held_values[firsts[session] + entry]
        row, stop, moment = sessions.start[session], sessions.stop[session], begins[session]
        noted = False  # most sessions have no rows of their own: the table is made for the first row alone
        while True:
            more = moment < ends[session]
            while row < stop and not (more and times[row] >= at[moment]):
                if not noted:
                    now += 1
                    _note(table, made, now, entry_keys, size)
                    noted = True
                latest = times[row]
                slot = find_slot(table, made, now, entry_keys, keys[row])
                if made[slot] == now:
                    entry = table[slot]
                    if adds:  # of several rows at the last time the largest value counts
                        same = times[row] == entry_times[entry]
                        entry_values[entry] = max(entry_values[entry], values[row]) if same else values[row]
                    entry_times[entry] = times[row]
                    row += 1
                    continue
                if size == most:  # a new key and no room: perhaps some are in no window any more
                    size = _forget(entry_keys, entry_times, entry_values, size, oldest_needed(times[row], slides))
                    now += 1
                    _note(table, made, now, entry_keys, size)
                    slot = find_slot(table, made, now, entry_keys, keys[row])
                entry_keys[size], entry_times[size] = keys[row], times[row]
                if adds:
                    entry_values[size] = values[row]
                table[slot], made[slot] = size, now
                size += 1
                row += 1
                if size > most:  # it is small no longer: the caller makes it a sketch, which takes the rest
                    grown[session] = row
                    break
            if not more or grown[session] >= 0:
                break
            if not gives_zeros and latest < since[moment, 0]:
                moment += 1
                continue
            if given == room:
                room *= 2
                owner, number, answers = longer(owner, room), longer(number, room), longer(answers, room * windows)
                if adds:
                    sums = longer(sums, room * windows)
            owner[given], number[given] = session, moment
            for window in range(windows):
                answers[given * windows + window] = 0
            # An item is in a window if its last row is: one pass over the keys counts for every window.
            for entry in range(size):
                for window in range(windows):
                    answers[given * windows + window] += entry_times[entry] >= since[moment, window]
            if adds:
                for window in range(windows):
                    sums[given * windows + window] = _sum_since(
                        entry_times, entry_values, size, since[moment, window], terms
                    )
            given += 1
            moment += 1
        if grown[session] < 0:
            size = (
                0
                if sessions.ended[session]
                else _forget(entry_keys, entry_times, entry_values, size, sessions.oldest[session])
            )
        new_count[session] = size
        for entry in range(size):
            new_keys[written], new_times[written] = entry_keys[entry], entry_times[entry]
            if adds:
                new_values[written] = entry_values[entry]
            written += 1
    return (
        new_count,
        new_keys[:written].copy(),
        new_times[:written].copy(),
        new_values[:written].copy(),
        grown,
        owner[:given],
        number[:given],
        answers[: given * windows].reshape((given, windows)),
        sums[: given * windows if adds else 0].reshape((given if adds else 0, windows)),
    )
