"""A history of rows that determines the totals since any moment within certain bounds.

The youngest rows are kept unchanged. Older rows are in nodes, each a summary of consecutive rows. If a moment falls
inside a node, it is uncertain which of its rows count. Neighbours are united while their weight together is at most
`part` of all younger rows, so that an uncertain node is at most that much of the answer, for any moment. A node with a
single time is never uncertain.

Every `STEP` rows the history is compacted: expired rows and nodes are dropped, all but the youngest `raw` rows become
nodes of up to `BASE` rows, and one pass unites neighbours. This happens after a fixed number of rows and drops expired
rows first, so that neither batches nor early forgetting affect the state.

Source: exponential histograms (Datar et al. 2002; Arasu and Manku 2004) of Misra-Gries summaries.
"""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit, shared_njit

from skyband_totals.misra_gries.summary_kernels import count_rows, reduce, unite

BASE, STEP = 128, 2048
NODES, POOL, HEAD, ROWS, PHASE, WEIGHT, M, RAW, WINDOW = range(9)
COUNTS = 9
FIRST, LAST, HEAVY, ERROR, START, SIZE = range(6)
FIELDS = 6


class History(NamedTuple):
    """The state, for compiled code.

    counts: int64[9], indexed by NODES, POOL (entries of the pool in use), HEAD (place of the oldest row), ROWS, PHASE
            (rows since the last step), WEIGHT (of rows and nodes), M, RAW (rows kept unchanged), WINDOW (the longest)
    nodes:  int64[room, 6], oldest first: FIRST and LAST time, HEAVY (its weight), ERROR, START and SIZE of its entries
    keys, lows: int64[room], the entries of all nodes
    times, objects, units: int64[RAW + STEP], the youngest rows, a ring
    """

    counts: Any
    nodes: Any
    keys: Any
    lows: Any
    times: Any
    objects: Any
    units: Any


def new(m: int, raw: int, window: int) -> History:
    """An empty history."""
    counts = np.zeros(COUNTS, np.int64)
    counts[M], counts[RAW], counts[WINDOW] = m, raw, window
    rows = (np.empty(raw + STEP, np.int64) for _ in range(3))
    return History(counts, np.empty((16, FIELDS), np.int64), np.empty(64, np.int64), np.empty(64, np.int64), *rows)


@njit(cache=True)
def take(history: Any, times: Any, objects: Any, units: Any, part: float) -> Any:
    """Add rows with units above 0; without units each counts 1."""
    counts = history.counts
    start = 0
    while start < len(times):
        stop = min(len(times), start + STEP - counts[PHASE])
        _append(history.counts, history.times, history.objects, history.units, times, objects, units, start, stop)
        start = stop
        if counts[PHASE] == STEP:
            history = _step(history, part)
    return history


@nested_njit
def _append(
    counts: Any, ring: Any, ring_objects: Any, ring_units: Any, times: Any, objects: Any, units: Any,
    start: int, stop: int,
) -> None:  # fmt: skip
    room = len(ring)
    place = (counts[HEAD] + counts[ROWS]) % room
    weighed, weight = len(units) > 0, np.int64(0)
    for row in range(start, stop):
        unit = units[row] if weighed else 1
        ring[place], ring_objects[place], ring_units[place] = times[row], objects[row], unit
        weight += unit
        place = place + 1 if place + 1 < room else 0
    counts[ROWS] += stop - start
    counts[PHASE] += stop - start
    counts[WEIGHT] += weight


@shared_njit
def expire(history: Any, bound: int) -> None:
    """Drop rows and whole nodes before a time."""
    counts, nodes = history.counts, history.nodes
    while counts[ROWS] > 0 and history.times[counts[HEAD]] < bound:
        counts[WEIGHT] -= history.units[counts[HEAD]]
        counts[HEAD] = (counts[HEAD] + 1) % len(history.times)
        counts[ROWS] -= 1
    expired = 0
    while expired < counts[NODES] and nodes[expired, LAST] < bound:
        counts[WEIGHT] -= nodes[expired, HEAVY]
        expired += 1
    if expired > 0:
        counts[NODES] -= expired
        for node in range(counts[NODES]):
            for field in range(FIELDS):
                nodes[node, field] = nodes[node + expired, field]


@nested_njit
def _step(history: Any, part: float) -> Any:
    counts = history.counts
    counts[PHASE] = 0
    newest = history.times[(counts[HEAD] + counts[ROWS] - 1) % len(history.times)]
    expire(history, newest - counts[WINDOW])
    while counts[ROWS] > counts[RAW]:
        history = _add_node(history, part)
    return _unite_neighbours(history, part)


@nested_njit
def _add_node(history: Any, part: float) -> Any:
    """Turn the oldest rows into a node: up to BASE, with at most `part` of the younger weight unless of one time."""
    counts = history.counts
    nodes = history.nodes
    if counts[NODES] == len(nodes):
        nodes = np.empty((2 * len(nodes), FIELDS), np.int64)
        for node in range(counts[NODES]):
            for field in range(FIELDS):
                nodes[node, field] = history.nodes[node, field]
    keys, lows = _pool_with_room(counts, nodes, counts[NODES], 0, history.keys, history.lows, BASE)
    room = len(history.times)
    younger = counts[WEIGHT]
    for node in range(counts[NODES]):
        younger -= nodes[node, HEAVY]
    first = history.times[counts[HEAD]]
    objects, units = np.empty(BASE, np.int64), np.empty(BASE, np.int64)
    count, weight, last = 0, np.int64(0), first
    while count < BASE and counts[ROWS] > counts[RAW]:
        place = counts[HEAD]
        time, unit = history.times[place], history.units[place]
        if count > 0 and time > first and float(weight + unit) > part * float(younger - unit):
            break
        objects[count], units[count], last = history.objects[place], unit, time
        weight += unit
        younger -= unit
        count += 1
        counts[HEAD] = place + 1 if place + 1 < room else 0
        counts[ROWS] -= 1
    start = counts[POOL]
    size = count_rows(objects, units, count, keys, lows, start)
    size, error = reduce(keys, lows, start, size, weight, 0, counts[M])
    node = counts[NODES]
    nodes[node, FIRST], nodes[node, LAST], nodes[node, HEAVY] = first, last, weight
    nodes[node, ERROR], nodes[node, START], nodes[node, SIZE] = error, start, size
    counts[NODES] += 1
    counts[POOL] += size
    return History(counts, nodes, keys, lows, history.times, history.objects, history.units)


@nested_njit
def _unite_neighbours(history: Any, part: float) -> Any:
    """One pass over the nodes, oldest first, that unites each with the next ones while allowed."""
    counts, nodes, keys, lows = history.counts, history.nodes, history.keys, history.lows
    m, count = counts[M], counts[NODES]
    younger, last = counts[WEIGHT], -1
    for node in range(count):
        younger -= nodes[node, HEAVY]
        together = float(nodes[last, HEAVY] + nodes[node, HEAVY]) if last >= 0 else 0.0
        if last >= 0 and (together <= part * float(younger) or nodes[last, FIRST] == nodes[node, LAST]):
            room = nodes[last, SIZE] + nodes[node, SIZE]
            keys, lows = _pool_with_room(counts, nodes, last + 1, node, keys, lows, room)
            start = counts[POOL]
            size = unite(
                keys, lows, nodes[last, START], nodes[last, SIZE], nodes[node, START], nodes[node, SIZE], start
            )
            weight, error = nodes[last, HEAVY] + nodes[node, HEAVY], nodes[last, ERROR] + nodes[node, ERROR]
            size, error = reduce(keys, lows, start, size, weight, error, m)
            nodes[last, LAST], nodes[last, HEAVY], nodes[last, ERROR] = nodes[node, LAST], weight, error
            nodes[last, START], nodes[last, SIZE] = start, size
            counts[POOL] += size
        else:
            last += 1
            for field in range(FIELDS):
                nodes[last, field] = nodes[node, field]
    counts[NODES] = last + 1
    return History(counts, nodes, keys, lows, history.times, history.objects, history.units)


@nested_njit
def _pool_with_room(counts: Any, nodes: Any, united: int, waiting: int, keys: Any, lows: Any, more: int) -> Any:
    """A pool with room for `more` entries; those of the nodes before `united` and from `waiting` on are kept."""
    if counts[POOL] + more <= len(keys):
        return keys, lows
    live = 0
    for node in range(counts[NODES]):
        if node < united or node >= waiting:
            live += nodes[node, SIZE]
    room = live + live // 4 + 4 * more + 64
    new_keys, new_lows = np.empty(room, np.int64), np.empty(room, np.int64)
    place = 0
    for node in range(counts[NODES]):
        if node < united or node >= waiting:
            start = nodes[node, START]
            nodes[node, START] = place
            for entry in range(start, start + nodes[node, SIZE]):
                new_keys[place], new_lows[place] = keys[entry], lows[entry]
                place += 1
    counts[POOL] = place
    return new_keys, new_lows
