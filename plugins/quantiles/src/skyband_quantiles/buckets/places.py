"""The buckets of rows: each has a place, found by hashing its id, the first bits of a value's key.

Keys are the bits of float64, ordered like the values, so that a bucket with s bits less has the values that differ only
in these bits. There are no logarithms and no rounding: buckets are the same on every machine, and two neighbours become
one at the next shift.
"""

from typing import Any

import numpy as np
from skyband.kernels.nested import nested_njit
from skyband.kernels.sorting import sort

from skyband_quantiles.buckets.history import (
    FREE,
    LIVE,
    NODE_START,
    NODES,
    NOTHING,
    ORDERED,
    PLACED,
    PLACES,
    RAW_START,
    SHIFT,
    SORTED,
    TABLED,
    USED,
)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)


@nested_njit
def key_of(bits: int) -> Any:
    """The key of a value with these bits, ascending with the value."""
    return bits if bits >= 0 else bits ^ _SIGN


@nested_njit
def first_slot(wanted: int, mask: int) -> Any:
    """The first slot to search for an id. Keys of whole numbers end in zeros, so their high half is folded down."""
    word = np.uint64(wanted)
    word = (word ^ (word >> np.uint64(32))) * _GOLDEN
    return np.int64(word >> np.uint64(40)) & mask


@nested_njit
def slot_of(history: Any, wanted: int) -> Any:
    """The slot of an id, or the empty one for it."""
    slots, ids = history.slots, history.ids
    mask = len(slots) - 1
    slot = first_slot(wanted, mask)
    while slots[slot] != NOTHING and ids[slots[slot]] != wanted:
        slot = (slot + 1) & mask
    return slot


@nested_njit
def has_room(history: Any) -> bool:
    """Whether there is room for another place."""
    numbers = history.numbers
    return numbers[FREE] != NOTHING or numbers[USED] < len(history.ids)


@nested_njit
def new_place(history: Any, slot: int, wanted: int, value: float) -> Any:
    """Assign a place, for which there must be room, to an id."""
    numbers = history.numbers
    if numbers[FREE] != NOTHING:
        place = numbers[FREE]
        numbers[FREE] = history.following[place]
    else:
        place = numbers[USED]
        numbers[USED] += 1
    history.slots[slot] = place
    history.ids[place], history.total[place] = wanted, 0
    history.least[place] = history.largest[place] = value
    history.order[numbers[ORDERED]] = place
    numbers[ORDERED] += 1
    numbers[LIVE] += 1
    for window in range(len(history.older)):
        history.older[window, place] = 0
    return place


@nested_njit
def count_row(history: Any, key: int, value: float, widest: int) -> Any:
    """Count a row in its bucket, for which there must be room. Returns its place."""
    numbers = history.numbers
    wanted = key >> numbers[SHIFT]
    slot = slot_of(history, wanted)
    place = np.int64(history.slots[slot])
    if place == NOTHING:
        place = new_place(history, slot, wanted, value)
        history.total[place] += 1
        if numbers[LIVE] > PLACES and numbers[SHIFT] < widest:
            coarsen(history, widest)
            place = np.int64(history.slots[slot_of(history, key >> numbers[SHIFT])])
        return place
    history.total[place] += 1
    if value < history.least[place]:
        history.least[place] = value
    if value > history.largest[place]:
        history.largest[place] = value
    return place


@nested_njit
def put_in_order(history: Any) -> None:
    """Sort the places in `order` by id."""
    numbers, order, ids = history.numbers, history.order, history.ids
    known, count = numbers[SORTED], numbers[ORDERED]
    if known == count:
        return
    fresh = np.empty(count - known, np.int64)
    for place in range(known, count):
        fresh[place - known] = ids[order[place]]
    sort(fresh, count - known)
    left, right = known - 1, count - known - 1
    for place in range(count - 1, -1, -1):
        if right < 0:
            break
        if left >= 0 and ids[order[left]] > fresh[right]:
            order[place] = order[left]
            left -= 1
        else:
            order[place] = history.slots[slot_of(history, fresh[right])]
            right -= 1
    numbers[SORTED] = count


@nested_njit
def fill_slots(history: Any) -> None:
    """Write the place of every id into the slots."""
    for slot in range(len(history.slots)):
        history.slots[slot] = NOTHING
    for place in range(history.numbers[ORDERED]):
        history.slots[slot_of(history, history.ids[history.order[place]])] = history.order[place]


@nested_njit
def shift_for(history: Any, widest: int) -> Any:
    """The least shift, at most `widest`, with at most PLACES buckets; `order` must be sorted."""
    numbers, order, ids = history.numbers, history.order, history.ids
    shift = numbers[SHIFT]
    while shift < widest:
        shift += 1
        different, before = 0, np.int64(0)
        for place in range(numbers[ORDERED]):
            wanted = ids[order[place]] >> (shift - numbers[SHIFT])
            different += place == 0 or wanted != before
            before = wanted
        if different <= PLACES:
            break
    return shift


@nested_njit
def coarsen(history: Any, widest: int) -> None:
    """Widen buckets until there are at most PLACES, or to the widest allowed. O(entries)."""
    put_in_order(history)
    numbers, order, ids = history.numbers, history.order, history.ids
    shift = shift_for(history, widest)
    more = shift - numbers[SHIFT]
    became = np.empty(len(ids), np.int32)
    kept = 0
    for number in range(numbers[ORDERED]):
        place = order[number]
        wanted = ids[place] >> more
        if kept and ids[order[kept - 1]] == wanted:
            into = order[kept - 1]
            history.least[into] = min(history.least[into], history.least[place])
            history.largest[into] = max(history.largest[into], history.largest[place])
            history.total[into] += history.total[place]
            for window in range(len(history.older)):
                history.older[window, into] += history.older[window, place]
            history.following[place] = numbers[FREE]
            numbers[FREE] = place
            became[place] = into
        else:
            order[kept], ids[place], became[place] = place, wanted, place
            kept += 1
    numbers[SHIFT] = shift
    numbers[LIVE] = numbers[ORDERED] = numbers[SORTED] = kept
    fill_slots(history)
    for row in range(numbers[RAW_START], numbers[RAW_START] + numbers[PLACED]):
        history.places[row] = became[history.places[row]]
    for node in range(numbers[NODE_START], numbers[NODE_START] + numbers[NODES]):
        touched = 0
        start = history.start[node]
        for entry in range(start, start + history.size[node]):
            touched = add(history, np.int64(became[history.place[entry]]), history.count[entry], touched)
        history.size[node] = touched
        write(history, start, touched)


@nested_njit
def add(history: Any, place: int, rows: int, touched: int) -> Any:
    """Add rows of a place to the node that is being built; returns the number of its places."""
    if history.scratch[place] == 0:
        history.touched[touched] = place
        touched += 1
    history.scratch[place] += rows
    return touched


@nested_njit
def write(history: Any, start: int, touched: int) -> None:
    """Write the entries of the node that was built, from `start` on."""
    for number in range(touched):
        place = history.touched[number]
        history.place[start + number], history.count[start + number] = place, history.scratch[place]
        history.scratch[place] = 0


@nested_njit
def drop_unused(history: Any) -> None:
    """Drop places without rows. O(places)."""
    numbers, order = history.numbers, history.order
    kept, known = 0, 0
    for number in range(numbers[ORDERED]):
        place = order[number]
        if history.total[place] > 0:
            order[kept] = place
            kept += 1
            known += number < numbers[SORTED]
            continue
        _free_slot(history, slot_of(history, history.ids[place]))
        history.following[place] = numbers[FREE]
        numbers[FREE] = place
    numbers[LIVE] = numbers[ORDERED] = kept
    numbers[SORTED] = known


@nested_njit
def _free_slot(history: Any, slot: int) -> None:
    """Empty a slot, and move later slots back that it displaced."""
    slots, ids = history.slots, history.ids
    mask = len(slots) - 1
    slots[slot] = NOTHING
    behind = (slot + 1) & mask
    while slots[behind] != NOTHING:
        place = slots[behind]
        slots[behind] = NOTHING
        slots[slot_of(history, ids[place])] = place
        behind = (behind + 1) & mask


@nested_njit
def begin_table(history: Any) -> None:
    """Start without places, at the smallest buckets: single values."""
    numbers = history.numbers
    numbers[SHIFT] = numbers[PLACED] = numbers[USED] = numbers[LIVE] = numbers[SORTED] = numbers[ORDERED] = 0
    numbers[FREE], numbers[TABLED] = NOTHING, 1
    fill_slots(history)
