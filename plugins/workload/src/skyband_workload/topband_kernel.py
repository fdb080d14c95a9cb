"""MTopBand's executor loop: every view has its own ranked list."""

from typing import NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import Float64, Int32, Int64
from skyband.kernels.nested import nested_njit

from skyband_workload.table import FREE, RANKED, Rows, Table, occupy, outranks, rank_in, vacate
from skyband_workload.toplist_kernel import CREATED, MOMENT, ROW
from skyband_workload.views import NOWHERE, Views, begin_views, oldest_and_floor, pass_outputs, with_room

FREE_LISTS, LONGEST = 0, 1
LACKS = 3
"""The place in a cursor for the reason why the kernel stopped: one of the next three, or 0."""
SLOTS, LENGTH, LISTS = 1, 2, 3


class Bands(NamedTuple):
    """The lists: int32[lists, length] slots of a table, best first; unused lists are in `free`."""

    lists: Int32
    free: Int32
    sizes: Int64
    """[lists free, most objects any list has held]"""


def empty_bands(lists: int, length: int) -> Bands:
    """Free lists."""
    return Bands(np.empty((lists, length), np.int32), np.arange(lists, dtype=np.int32), np.array([lists, 0]))


def grown_bands(bands: Bands, lists: int, length: int) -> Bands:
    """The lists with room for more and longer ones."""
    old, width = bands.lists.shape
    larger = empty_bands(max(lists, old), max(length, width))
    larger.lists[:old, :width] = bands.lists
    free, longest = bands.sizes
    count = len(larger.lists) - old
    larger.free[: count + free] = np.concatenate((np.arange(old, old + count), bands.free[:free]))
    larger.sizes[:] = count + free, longest
    return larger


@nested_njit
def lacking(table: Table, bands: Bands, views: Views, created: int, time: int, largest_k: int) -> int:
    """What must grow before a row at `time` can be added, or 0."""
    width = bands.lists.shape[1]
    if table.sizes[FREE] == 0:
        return SLOTS
    if bands.sizes[LONGEST] == width and width < largest_k:
        return LENGTH
    wanted, view = 0, created
    while view < len(views.start) and views.start[view] <= time:
        wanted += views.at[views.end[view] - 1] > time
        view += 1
    return LISTS if wanted > bands.sizes[FREE_LISTS] else 0


@njit(cache=True)
def run(  # noqa: C901 - one loop over two merged sequences
    table: Table,
    bands: Bands,
    views: Views,
    rows: Rows,
    at: Int64,
    view: Int64,
    k: Int64,
    cursor: Int64,
    largest_k: int,
) -> tuple[Int64, Int64, Float64]:
    """Add rows and answer moments in order of time, from `cursor` to the end or until there is no room.

    Returns the size of each answer, and their objects and scores one after the other.
    """
    sizes = np.zeros(len(at) - cursor[MOMENT], np.int64)
    objects, scores = np.empty(256, np.int64), np.empty(256, np.float64)
    filled, first = 0, cursor[MOMENT]
    times, row_scores, starts, gate, created = rows.time, rows.score, views.start, views.gate, cursor[CREATED]
    largest, oldest, floor = views.k, 0, np.inf
    while True:
        until = at[cursor[MOMENT]] if cursor[MOMENT] < len(at) else 0
        r = cursor[ROW]
        if r < len(times) and (cursor[MOMENT] == len(at) or times[r] < until):
            oldest, floor = oldest_and_floor(largest, gate, oldest, created)
        while r < len(times) and (cursor[MOMENT] == len(at) or times[r] < until):
            begins = created < len(starts) and starts[created] <= times[r]
            if row_scores[r] < floor and not begins:
                r += 1
                continue
            taker = oldest
            while taker < created and row_scores[r] < gate[taker]:
                taker += 1
            if begins or taker < created:
                cursor[LACKS] = lacking(table, bands, views, created, times[r], largest_k)
                if cursor[LACKS]:
                    cursor[ROW], cursor[CREATED] = r, created
                    return sizes[: cursor[MOMENT] - first], objects[:filled], scores[:filled]
                if begins:
                    created = begin_lists(bands, views, created, times[r])
                insert(table, bands, views, taker, created, times[r], rows.object[r], row_scores[r], rows.arrival[r])
                oldest, floor = oldest_and_floor(largest, gate, oldest, created)
            r += 1
        cursor[ROW], cursor[CREATED] = r, created
        if cursor[MOMENT] == len(at):
            return sizes, objects[:filled], scores[:filled]
        m = cursor[MOMENT]
        while m < len(at) and at[m] == until:
            v = view[m]
            wanted = min(k[m], views.held[v]) if 0 <= v < cursor[CREATED] else 0
            objects, scores = with_room(objects, scores, filled, wanted)
            for p in range(wanted):
                slot = bands.lists[views.place[v], p]
                objects[filled + p] = table.object[slot]
                scores[filled + p] = table.score[slot]
            filled += wanted
            sizes[m - first] = wanted
            m += 1
        for g in range(cursor[MOMENT], m):
            if 0 <= view[g] < cursor[CREATED]:
                shrink(table, bands, views, view[g], until)
        cursor[MOMENT] = m


@nested_njit
def begin_lists(bands: Bands, views: Views, created: int, time: int) -> int:
    """Create the views whose first row is at `time`, each with its own list."""
    begun = begin_views(views, created, time)
    for v in range(created, begun):
        take_list(bands, views, v)
    return begun


@nested_njit
def take_list(bands: Bands, views: Views, view: int) -> None:
    """Give a new view a list, unless its outputs have all passed."""
    if views.k[view] > 0:
        bands.sizes[FREE_LISTS] -= 1
        views.place[view] = bands.free[bands.sizes[FREE_LISTS]]


@nested_njit
def insert(
    table: Table,
    bands: Bands,
    views: Views,
    taker: int,
    created: int,
    time: int,
    object: int,
    score: float,
    arrival: int,
) -> None:
    """Enter a row into the lists of all its views from `taker` on; O(views), plus O(k) for each that it enters."""
    slot = occupy(table, time, object, score, arrival)
    gate, wanted = views.gate, views.k
    for v in range(taker, created):
        if score < gate[v] or wanted[v] == 0:
            continue
        top, count = bands.lists[views.place[v]], views.held[v]
        if count == views.k[v]:
            if outranks(table, top[count - 1], slot):
                continue
            count -= 1
            release_unranked(table, top[count])
        place = rank_in(table, top, count, slot)
        for p in range(count, place, -1):
            top[p] = top[p - 1]
        top[place] = slot
        table.holders[slot] += 1
        views.held[v] = count + 1
        bands.sizes[LONGEST] = max(bands.sizes[LONGEST], count + 1)
        if views.held[v] == views.k[v]:
            views.gate[v] = table.score[top[count]]
    if table.holders[slot] == 0:  # it only tied with gates
        vacate(table, slot)


@nested_njit
def release_unranked(table: Table, slot: int) -> None:
    """Release a slot from a view; the last view frees it."""
    table.holders[slot] -= 1
    if table.holders[slot] == 0:
        vacate(table, slot)


@nested_njit
def shrink(table: Table, bands: Bands, views: Views, view: int, now: int) -> None:
    """After an output: drop what the view's later outputs do not need."""
    pass_outputs(views, view, now)
    if views.place[view] == NOWHERE:
        return
    top = bands.lists[views.place[view]]
    while views.held[view] > views.k[view]:
        views.held[view] -= 1
        release_unranked(table, top[views.held[view]])
    if views.k[view] == 0:
        bands.free[bands.sizes[FREE_LISTS]] = views.place[view]
        bands.sizes[FREE_LISTS] += 1
        views.place[view] = NOWHERE
        views.gate[view] = np.inf
    elif views.held[view] == views.k[view]:
        views.gate[view] = table.score[top[views.held[view] - 1]]


@njit(cache=True)
def fill(table: Table, bands: Bands, views: Views, created: int, now: int) -> None:
    """Fill empty views from a table of ranked objects; then drop the ranking and unneeded objects."""
    size = table.sizes[RANKED]
    for v in range(created):
        pass_outputs(views, v, now)
        take_list(bands, views, v)
        for p in range(size):
            if views.held[v] == views.k[v]:
                break
            slot = table.ranked[p]
            if table.time[slot] >= views.start[v]:
                table.holders[slot] += 1
                bands.lists[views.place[v], views.held[v]] = slot
                views.held[v] += 1
        count = views.held[v]
        bands.sizes[LONGEST] = max(bands.sizes[LONGEST], count)
        views.gate[v] = -np.inf if count < views.k[v] else np.inf
        if 0 < count == views.k[v]:
            views.gate[v] = table.score[bands.lists[views.place[v], count - 1]]
    table.sizes[RANKED] = 0
    for p in range(size):
        if table.holders[table.ranked[p]] == 0:
            vacate(table, table.ranked[p])
