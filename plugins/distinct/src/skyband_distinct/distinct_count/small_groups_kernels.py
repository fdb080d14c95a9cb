"""Compiled code that walks the sessions of small distinct counts."""

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
"""Entries that are checked together for any to forget."""
_6, _63 = np.uint64(6), np.uint64(63)
_FEW_ROWS = 6
"""With at most this many rows in a session, searching its entries for their keys is faster than a hash table."""


class KeyColumns(NamedTuple):
    """Keys of entries or rows, with times, values if they are added up, and cells if they are counted."""

    keys: Any
    times: Any
    values: Any
    cells: Any


@njit(inline="always")
def find_slot(table: Any, made: Any, now: int, entry_keys: Any, key: Any) -> Any:
    """The slot of a key's entry, or the free slot where it belongs; slots not `made` now are free."""
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
    """The entry of a key, or -1. Compares all entries, many at once."""
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
    """Keep the entries at or after `before`, in any order; returns their number."""
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
                size -= 1  # the last entry replaces it
                keys[entry], times[entry] = keys[size], times[size]
                values[entry], cells[entry] = values[size], cells[size]
    return size


@nested_njit
def _fill(bits: Any, cells: Any, times: Any, size: int, begin: int, width: int, filled: Any, first: int) -> None:
    """Count the cells in each row of a bitmap, `width` cells each, that entries since `begin` fill.

    filled: receives the counts from `first` on, where it must be 0.
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
    """The sum of the values of the entries since `begin`, rounded once."""
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
    """Add rows and answer moments, session by session.

    Returns, for each session, the number of keys and the first row not added because there were more than `most` keys
    (-1: all were added); then the columns of all entries. For each answer it returns the session, the moment's number,
    and a count and, with `adds`, a sum for each window, int64[a, w] and float64[a, w]. Windows begin at `since`
    (int64[m, w]). With `gives_zeros`, moments without keys are answered too.

    bitmap: the number of rows in a table of cells, and of cells in each. For counts above `exact`, which sketches only
    estimate, it returns their places, ascending, and the filled cells, int64[places, rows of the bitmap].
    O(keys + rows) and, for each answer, O(keys of the group · windows).
    """
    firsts, begins, ends = sessions.first, sessions.begin, sessions.end
    # Unpacked, which halves the time to compile.
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
    # One hash table serves all sessions without being cleared: a slot is valid if its `made` is `now`. It is at most
    # half full.
    largest = min(largest, most + 1)
    slots = 4
    while slots < 2 * largest:
        slots *= 2
    table, made = np.zeros(slots, np.int64), np.zeros(slots, np.int64)
    entries = KeyColumns(
        np.empty(largest, np.uint64), np.empty(largest, np.int64), np.zeros(largest), np.zeros(largest, np.int32)
    )
    entry_keys, entry_times, entry_values, entry_cells = entries
    answer_count, entry_count, beyond, now = 0, 0, 0, 0
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
        noted = False  # most sessions have no new rows, so the table is filled only at the first one
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
                    if adds:  # if several rows have the last time, the largest value counts
                        value, same = row_values[row], latest == entry_times[entry]
                        entry_values[entry] = max(entry_values[entry], value) if same else value
                    entry_times[entry] = latest
                    row += 1
                    continue
                if size == most:  # a new key and no room: forget entries that have left all windows
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
                if size > most:  # no longer small: the caller turns it into a sketch, which takes the rest
                    grown[session] = row
                    break
            if not more or grown[session] >= 0:
                break
            if not gives_zeros and latest < since[moment].min():
                moment += 1
                continue
            if answer_count == room:
                room *= 2
                owner, number, answers = longer(owner, room), longer(number, room), longer(answers, room * windows)
                if adds:
                    sums = longer(sums, room * windows)
            owner[answer_count], number[answer_count] = session, moment
            for window in range(windows):  # an item is in a window if its last row is
                place, begin = answer_count * windows + window, since[moment, window]
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
            answer_count += 1
            moment += 1
        if grown[session] < 0:
            size = 0 if sessions.ended[session] else _forget(entries, size, sessions.oldest[session])
        new_count[session] = size
        for entry in range(size):
            new_keys[entry_count + entry], new_times[entry_count + entry] = entry_keys[entry], entry_times[entry]
        if adds:
            for entry in range(size):
                new_values[entry_count + entry] = entry_values[entry]
        entry_count += size
    return (
        new_count,
        (
            without_spare_room(new_keys, entry_count),
            without_spare_room(new_times, entry_count),
            without_spare_room(new_values, entry_count),
        ),
        grown,
        owner[:answer_count],
        number[:answer_count],
        answers[: answer_count * windows].reshape((answer_count, windows)),
        sums[: answer_count * windows if adds else 0].reshape((answer_count if adds else 0, windows)),
        places[:beyond],
        filled[: beyond * levels].reshape((beyond, levels)),
    )
