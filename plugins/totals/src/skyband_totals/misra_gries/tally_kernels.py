"""Adds up the bounds of each object's total since a moment from the nodes and rows of a history."""

from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit

from skyband_totals.misra_gries.since_any_moment_kernels import (
    ERROR,
    FIRST,
    HEAD,
    HEAVY,
    LAST,
    NODES,
    ROWS,
    SIZE,
    START,
)
from skyband_totals.selection import in_order, offer
from skyband_totals.slots import place as first_slot

KEY, LOW, LIKELY, DOUBT, USED = range(5)
"""Columns of a tally: an object, its least total, twice its likely total, its possible further total, and use."""
SURE, UNSURE, ERRORS, LEAST = range(4)
"""Sums: the weight that counts, the weight that may count, their errors, and the part of the latter that counts."""


@njit(cache=True)
def new_tally(entries: int) -> Any:
    """A table with room for `entries` objects."""
    slots = 16
    while slots < 2 * entries:
        slots *= 2
    return np.zeros((slots, 5), np.int64)


@nested_njit
def first_whole(history: Any, begin: int) -> Any:
    """The first node whose rows all have a time >= begin."""
    low, high = 0, history.counts[NODES]
    while low < high:
        middle = (low + high) >> 1
        if history.nodes[middle, FIRST] < begin:
            low = middle + 1
        else:
            high = middle
    return low


@njit(cache=True)
def entries_since(history: Any, begin: int) -> int:
    """The most entries and rows that `tally` reads."""
    counts, nodes = history.counts, history.nodes
    size = counts[ROWS]
    for node in range(max(first_whole(history, begin) - 1, 0), counts[NODES]):
        size += nodes[node, SIZE]
    return size


@njit(cache=True)
def tally(history: Any, begin: int, table: Any, sums: Any) -> None:
    """Add a history to a table of objects and to the sums, int64[4]."""
    counts, nodes, keys, lows = history.counts, history.nodes, history.keys, history.lows
    whole = first_whole(history, begin)
    if whole > 0 and nodes[whole - 1, LAST] >= begin:
        node = whole - 1
        sums[UNSURE] += nodes[node, HEAVY]
        sums[LEAST] += 1  # its last row counts; its first does not
        sums[ERRORS] += nodes[node, ERROR]
        for entry in range(nodes[node, START], nodes[node, START] + nodes[node, SIZE]):
            slot = _slot(table, keys[entry])
            table[slot, DOUBT] += lows[entry]
            table[slot, LIKELY] += lows[entry] + nodes[node, ERROR]
    for node in range(whole, counts[NODES]):
        error = nodes[node, ERROR]
        sums[SURE] += nodes[node, HEAVY]
        sums[ERRORS] += error
        for entry in range(nodes[node, START], nodes[node, START] + nodes[node, SIZE]):
            slot = _slot(table, keys[entry])
            table[slot, LOW] += lows[entry]
            table[slot, LIKELY] += 2 * (lows[entry] + error)
    _tally_rows(counts, history.times, history.objects, history.units, begin, table, sums)


@nested_njit
def _tally_rows(counts: Any, times: Any, objects: Any, units: Any, begin: int, table: Any, sums: Any) -> None:
    room, size = len(times), counts[ROWS]
    low, high = 0, size
    while low < high:
        middle = (low + high) >> 1
        if times[(counts[HEAD] + middle) % room] < begin:
            low = middle + 1
        else:
            high = middle
    place, weight = (counts[HEAD] + low) % room, np.int64(0)
    for _ in range(size - low):
        slot = _slot(table, objects[place])
        unit = units[place]
        table[slot, LOW] += unit
        table[slot, LIKELY] += 2 * unit
        weight += unit
        place = place + 1 if place + 1 < room else 0
    sums[SURE] += weight


@nested_njit
def _slot(table: Any, key: int) -> Any:
    mask = len(table) - 1
    slot = first_slot(key, mask)
    while table[slot, USED] != 0 and table[slot, KEY] != key:
        slot = (slot + 1) & mask
    if table[slot, USED] == 0:
        table[slot, USED] = 1
        table[slot, KEY] = key
    return slot


@njit(cache=True)
def select(table: Any, sums: Any, k: int, least: int) -> Any:
    """The best k that may reach `least`: objects, twice their likely totals, lows, highs, and the largest other.

    The likely total assumes a heavy object: it lost the whole error in each node that still names it, and half of its
    rows in the uncertain node count.
    """
    most = 0
    for slot in range(len(table)):
        most += table[slot, USED]
    most = min(most, k)
    likely, places = np.empty(most, np.int64), np.empty(most, np.int64)
    keys = np.empty(most, np.int64)
    count = 0
    for slot in range(len(table)):
        if table[slot, USED] != 0 and table[slot, LOW] + table[slot, DOUBT] + sums[ERRORS] >= least:
            count = offer(likely, keys, count, most, table[slot, LIKELY], table[slot, KEY])
    in_order(likely, keys, count)
    low, high = np.empty(count, np.int64), np.empty(count, np.int64)
    for number in range(count):
        slot = _slot(table, keys[number])
        places[number] = slot
        low[number] = table[slot, LOW]
        high[number] = table[slot, LOW] + table[slot, DOUBT] + sums[ERRORS]
        table[slot, USED] = 2
    rest = sums[ERRORS]
    for slot in range(len(table)):
        if table[slot, USED] == 1:
            rest = max(rest, table[slot, LOW] + table[slot, DOUBT] + sums[ERRORS])
    return keys[:count], likely[:count], low, high, rest
