"""The table of retained objects that the views of a meta query share."""

from typing import NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import TIME_MIN, Array, Int32, Int64
from skyband.kernels.nested import nested_njit
from skyband.state_validation import StateReader

RANKED, FREE = 0, 1


class Table(NamedTuple):
    """Slots of objects; those in use are also in `ranked`, best first. A slot that no view holds is freed."""

    time: Array
    object: Array
    score: Array
    arrival: Array
    holders: Array
    """The number of views that hold the slot."""
    better: Array
    """The slot ranked just above, or −1."""
    worse: Array
    """The slot ranked just below, or −1."""
    ranked: Array
    free: Array
    sizes: Array
    """[slots ranked, slots free]"""


class Rows(NamedTuple):
    """Objects in order of arrival, or of rank if they are from a table."""

    time: Array
    object: Array
    score: Array
    arrival: Array

    def take(self, rows: Array) -> "Rows":
        """The rows at these places."""
        return Rows(*(column[rows] for column in self))


def empty_table(capacity: int) -> Table:
    """A table with `capacity` free slots."""
    times, objects, arrivals = (np.empty(capacity, np.int64) for _ in range(3))
    holders, better, worse, ranked = (np.zeros(capacity, np.int32) for _ in range(4))
    free = np.arange(capacity - 1, -1, -1, dtype=np.int32)
    sizes = np.array([0, capacity])
    return Table(times, objects, np.empty(capacity), arrivals, holders, better, worse, ranked, free, sizes)


def grown(table: Table) -> Table:
    """A table with twice the capacity, whose slots keep their numbers."""
    old = len(table.time)
    larger = empty_table(2 * old)
    for column, target in zip(table[:8], larger[:8], strict=True):
        target[:old] = column
    ranked, free = table.sizes
    larger.free[: old + free] = np.concatenate((np.arange(2 * old - 1, old - 1, -1), table.free[:free]))
    larger.sizes[:] = ranked, old + free
    return larger


def rows_of(table: Table) -> Rows:
    """The objects in use, best first."""
    used = np.ones(len(table.time), bool)
    used[table.free[: table.sizes[FREE]]] = False
    rows = Rows(*(column[used] for column in table[:4]))
    return rows.take(rank_order(rows))


def table_of(rows: Rows) -> Table:
    """A table of these objects, best first, ranked but held by no view, with room for as many again."""
    size = len(rows.time)
    table = empty_table(max(64, 2 * size))
    for column, values in zip(table[:4], rows, strict=True):
        column[:size] = values
    table.ranked[:size] = np.arange(size)
    table.better[:size] = np.arange(-1, size - 1)
    table.worse[:size] = np.append(np.arange(1, size), -1)[:size]
    table.sizes[:] = size, len(table.time) - size
    return table


def read_rows(state: StateReader, seen: int, last: int, ends: Int64 | None = None) -> dict[str, Array]:
    """The columns of `Rows` from a state, best first (in each part up to ends[i], if there are several).

    Raises SnapshotError if they cannot be from a stream of `seen` rows with the last at `last`.
    """
    time = state.column("time", np.int64, at_most=last if seen else TIME_MIN - 1)
    identity = state.column("object", np.int64, len(time))
    score = state.column("score", np.float64, len(time), at_least=-np.inf, at_most=np.inf)
    arrival = state.column("arrival", np.int64, len(time), at_least=0, at_most=seen - 1)
    parts = np.zeros(len(time), np.int64) if ends is None else np.searchsorted(ends, np.arange(len(time)), "right")
    order = np.lexsort((arrival, identity, -score, parts))
    state.require(bool((order == np.arange(len(time))).all()), "score", "objects must be in order of rank")
    same = (np.diff(parts) == 0) & (np.diff(arrival) == 0)
    state.require(not same.any(), "arrival", "must be different for each object")
    return {"time": time, "object": identity, "score": score, "arrival": arrival}


def rank_order(rows: Rows) -> Int64:
    """The order of rank: score descending, then object ascending, then arrival."""
    order: Int64 = np.lexsort((rows.arrival, rows.object, -rows.score))
    return order


@njit(cache=True, inline="always")
def outranks(table: Table, slot: int, other: int) -> bool:
    """Whether a slot ranks above another."""
    if table.score[slot] != table.score[other]:
        return table.score[slot] > table.score[other]
    if table.object[slot] != table.object[other]:
        return table.object[slot] < table.object[other]
    return table.arrival[slot] < table.arrival[other]


@nested_njit
def rank_in(table: Table, slots: Int32, count: int, slot: int) -> int:
    """The number of the first `count` slots, best first, that rank above `slot`."""
    low, high = 0, count
    while low < high:
        middle = (low + high) >> 1
        if outranks(table, slots[middle], slot):
            low = middle + 1
        else:
            high = middle
    return low


@nested_njit
def occupy(table: Table, time: int, object: int, score: float, arrival: int) -> int:
    """Put an object into a free slot that no view holds yet."""
    table.sizes[FREE] -= 1
    slot = table.free[table.sizes[FREE]]
    table.time[slot] = time
    table.object[slot] = object
    table.score[slot] = score
    table.arrival[slot] = arrival
    table.holders[slot] = 0
    return slot


@nested_njit
def vacate(table: Table, slot: int) -> None:
    """Free a slot."""
    table.free[table.sizes[FREE]] = slot
    table.sizes[FREE] += 1


@nested_njit
def rank(table: Table, slot: int) -> None:
    """Enter a slot into the ranked list. O(list), in one memory move."""
    ranked, size = table.ranked, table.sizes[RANKED]
    place = rank_in(table, ranked, size, slot)
    for p in range(size, place, -1):
        ranked[p] = ranked[p - 1]
    ranked[place] = slot
    table.sizes[RANKED] = size + 1
    above = ranked[place - 1] if place > 0 else -1
    below = ranked[place + 1] if place < size else -1
    _join(table, above, slot)
    _join(table, slot, below)


@nested_njit
def unrank(table: Table, slot: int) -> None:
    """Remove a slot from the ranked list. O(list)."""
    size = table.sizes[RANKED] - 1
    for p in range(rank_in(table, table.ranked, size + 1, slot), size):
        table.ranked[p] = table.ranked[p + 1]
    table.sizes[RANKED] = size
    _join(table, table.better[slot], table.worse[slot])


@njit(cache=True, inline="always")
def release(table: Table, slot: int) -> None:
    """Release a ranked slot from a view; the last view frees it."""
    table.holders[slot] -= 1
    if table.holders[slot] == 0:
        unrank(table, slot)
        vacate(table, slot)


@nested_njit
def _join(table: Table, above: int, below: int) -> None:
    if above >= 0:
        table.worse[above] = below
    if below >= 0:
        table.better[below] = above
