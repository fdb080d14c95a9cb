"""The walk of small distinct counts through their sessions, in compiled code."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN
from skyband.groups.small_groups.kernels import count_since, longer, oldest_needed, without_spare_room
from skyband.groups.small_groups.passes import SessionSpans
from skyband.kernels.nested import nested_njit

from skyband_distinct.exact_sums import MOST_TERMS, add_to, rounded
from skyband_distinct.stamps.stamping import bits_set

_MOST_ROOM = 1 << 20
_BLOCK = 64
"""Entries that are looked at together for one to forget."""
_6, _63 = np.uint64(6), np.uint64(63)
_FEW_ROWS = 6
"""Rows of a session whose keys are looked for among its entries, which is quicker than to note where each entry is."""


class KeyColumns(NamedTuple):
    """Keys of entries or rows, with their times; values where these are added up, cells where these are counted."""

    keys: Any
    times: Any
    values: Any
    cells: Any


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
def _place_of(entry_keys: Any, size: int, key: Any) -> int:
    """Which entry has a key; -1: none. Each is looked at, many at once."""
    place = -1
    for entry in range(size):
        place = entry if entry_keys[entry] == key else place
    return place


@nested_njit
def _latest(entry_times: Any, size: int) -> int:
    latest = TIME_MIN
    for entry in range(size):
        latest = max(latest, entry_times[entry])
    return latest


@nested_njit
def _any_before(times: Any, first: int, stop: int, before: int) -> bool:
    count = 0
    for entry in range(first, stop):
        count += times[entry] < before
    return count > 0


@nested_njit
def _forget(entries: KeyColumns, size: int, before: int) -> int:
    """Keep the entries that are not before, in any order; returns how many."""
    keys, times, values, cells = entries
    first = 0
    while first < size:
        entry = first
        first += _BLOCK
        if _any_before(times, entry, min(first, size), before):
            while entry < min(first, size):
                if times[entry] >= before:
                    entry += 1
                    continue
                size -= 1  # the last comes in its place
                keys[entry], times[entry] = keys[size], times[size]
                values[entry], cells[entry] = values[size], cells[size]
    return size


@nested_njit
def _fill(bits: Any, cells: Any, times: Any, size: int, begin: int, width: int, filled: Any, first: int) -> None:
    """Count of each row of a bitmap, of so many cells each, those that the entries from a moment on fill.

    filled: 0 from `first` on, where the number of each row goes.
    """
    words = 0
    for entry in range(size):
        words = max(words, cells[entry] // 64 + 1)
    for word in range(words):
        bits[word] = 0
    for entry in range(size):
        cell = np.uint64(cells[entry])
        bits[cell >> _6] |= np.uint64(times[entry] >= begin) << (cell & _63)
    for word in range(words):
        filled[first + word // (width // 64)] += np.int64(bits_set(bits[word]))


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
    stored: KeyColumns,
    rows: KeyColumns,
    at: Any,
    slides: Any,
    since: Any,
    most: int,
    gives_zeros: bool,
    adds: bool,
    exact: int,
    bitmap: tuple[int, int],
) -> Any:
    """Take rows in and answer moments, session by session.

    Returns of each session the number of keys and the first row not taken in, as it had more than `most` (-1: never);
    the columns of all entries then; of each answer the session, the moment's number, and int64[a, w] and float64[a, w],
    a count and a sum for each of its windows, which begin at `since` (int64[m, w]); gives_zeros: also where none of
    them has a key. Sums are there where values are added up (adds).

    bitmap: how many rows a table of cells has, and how many cells each. Of the counts above `exact`, which sketches do
    not tell, come the places among all, ascending, and int64[those, rows of the bitmap], how many cells are filled.
    O(keys + rows) and, for each answer, O(keys of the group · windows).
    """
    firsts, begins, ends = sessions.first, sessions.begin, sessions.end
    # Taken apart, which halves the time to compile.
    stored_keys, stored_times, stored_values, stored_cells = stored
    row_keys, row_times, row_values, row_cells = rows
    fills, (levels, width) = exact < most, bitmap
    session_count = len(firsts)
    new_count, grown = np.zeros(session_count, np.int64), np.full(session_count, -1, np.int64)
    new_keys = np.empty(len(stored_keys) + len(row_keys), np.uint64)
    new_times = np.empty(len(new_keys), np.int64)
    new_values = np.empty(len(new_keys) if adds else 0)
    room, windows, largest = 64, since.shape[1], 0
    for session in range(session_count):
        room += ends[session] - begins[session]
        largest = max(largest, sessions.size[session] + sessions.stop[session] - sessions.start[session])
    room = min(room, _MOST_ROOM)
    owner, number = np.empty(room, np.int64), np.empty(room, np.int64)
    answers = np.empty(room * windows, np.int64)
    sums = np.zeros(room * windows if adds else 0)
    terms = np.empty(MOST_TERMS)
    places, filled = np.empty(64, np.int64), np.zeros(64 * levels, np.int64)
    bits = np.zeros(levels * width // 64, np.uint64)
    # One hash table serves all sessions: a slot is of now if `made` says so, so that none is ever swept clean. It is
    # at most half full.
    largest = min(largest, most + 1)
    slots = 4
    while slots < 2 * largest:
        slots *= 2
    table, made = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    entries = KeyColumns(
        np.empty(largest, np.uint64), np.empty(largest, np.int64), np.zeros(largest), np.zeros(largest, np.int32)
    )
    entry_keys, entry_times, entry_values, entry_cells = entries
    given, written, beyond, now = 0, 0, 0, 0
    for session in range(session_count):
        size, first = sessions.size[session], firsts[session]
        for entry in range(size):
            entry_keys[entry], entry_times[entry] = stored_keys[first + entry], stored_times[first + entry]
        if adds:
            for entry in range(size):
                entry_values[entry] = stored_values[first + entry]
        if fills:
            for entry in range(size):
                entry_cells[entry] = stored_cells[first + entry]
        latest = _latest(entry_times, size)
        row, stop, moment = sessions.start[session], sessions.stop[session], begins[session]
        few = stop - row <= _FEW_ROWS
        noted = False  # most sessions have no rows of their own: the table is made for the first row alone
        while True:
            more = moment < ends[session]
            while row < stop and not (more and row_times[row] >= at[moment]):
                if not (few or noted):
                    now += 1
                    _note(table, made, now, entry_keys, size)
                    noted = True
                latest, slot = row_times[row], np.uint64(0)
                if few:
                    entry = _place_of(entry_keys, size, row_keys[row])
                else:
                    slot = find_slot(table, made, now, entry_keys, row_keys[row])
                    entry = table[slot] if made[slot] == now else -1
                if entry >= 0:
                    if adds:  # of several rows at the last time the largest value counts
                        value, same = row_values[row], latest == entry_times[entry]
                        entry_values[entry] = max(entry_values[entry], value) if same else value
                    entry_times[entry] = latest
                    row += 1
                    continue
                if size == most:  # a new key and no room: perhaps some are in no window any more
                    size = _forget(entries, size, oldest_needed(latest, slides))
                    if not few:
                        now += 1
                        _note(table, made, now, entry_keys, size)
                        slot = find_slot(table, made, now, entry_keys, row_keys[row])
                entry_keys[size], entry_times[size] = row_keys[row], latest
                if adds:
                    entry_values[size] = row_values[row]
                if fills:
                    entry_cells[size] = row_cells[row]
                if not few:
                    table[slot], made[slot] = size, now
                size += 1
                row += 1
                if size > most:  # it is small no longer: the caller makes it a sketch, which takes the rest
                    grown[session] = row
                    break
            if not more or grown[session] >= 0:
                break
            if not gives_zeros and latest < since[moment].min():
                moment += 1
                continue
            if given == room:
                room *= 2
                owner, number, answers = longer(owner, room), longer(number, room), longer(answers, room * windows)
                if adds:
                    sums = longer(sums, room * windows)
            owner[given], number[given] = session, moment
            for place in range(given * windows, (given + 1) * windows):  # an item is in a window if its last row is
                begin = since[moment, place - given * windows]
                answers[place] = count_since(entry_times, 0, size, begin)
                if adds:
                    sums[place] = _sum_since(entry_times, entry_values, size, begin, terms)
                if answers[place] > exact:
                    if beyond == len(places):
                        places, filled = longer(places, 2 * beyond), longer(filled, 2 * beyond * levels)
                        filled[beyond * levels :] = 0
                    places[beyond] = place
                    _fill(bits, entry_cells, entry_times, size, begin, width, filled, beyond * levels)
                    beyond += 1
            given += 1
            moment += 1
        if grown[session] < 0:
            size = 0 if sessions.ended[session] else _forget(entries, size, sessions.oldest[session])
        new_count[session] = size
        for entry in range(size):
            new_keys[written + entry], new_times[written + entry] = entry_keys[entry], entry_times[entry]
        if adds:
            for entry in range(size):
                new_values[written + entry] = entry_values[entry]
        written += size
    return (
        new_count,
        (
            without_spare_room(new_keys, written),
            without_spare_room(new_times, written),
            without_spare_room(new_values, written),
        ),
        grown,
        owner[:given],
        number[:given],
        answers[: given * windows].reshape((given, windows)),
        sums[: given * windows if adds else 0].reshape((given if adds else 0, windows)),
        places[:beyond],
        filled[: beyond * levels].reshape((beyond, levels)),
    )
