"""MTopList's executor loop: one ranked list, and each view's last object in it (FP_min)."""

import numpy as np
from numba import njit
from skyband.arrays import Float64, Int64
from skyband.kernels.nested import nested_njit

from skyband_workload.table import FREE, RANKED, Rows, Table, occupy, outranks, rank, release
from skyband_workload.views import NOWHERE, Views, begin_views, lowest_gate, oldest_and_floor, pass_outputs, with_room

ROW, MOMENT, CREATED = 0, 1, 2


@njit(cache=True)
def run(  # noqa: C901 - one loop over two merged sequences
    table: Table, views: Views, rows: Rows, at: Int64, view: Int64, k: Int64, cursor: Int64
) -> tuple[Int64, Int64, Float64]:
    """Add rows and answer moments in order of time, from `cursor` to the end or until the table is full.

    Returns the size of each answer, and their objects and scores one after the other.
    """
    sizes = np.zeros(len(at) - cursor[MOMENT], np.int64)
    objects, scores = np.empty(256, np.int64), np.empty(256, np.float64)
    filled, first = 0, cursor[MOMENT]
    # Most rows enter no view: for these, plain arrays are used, because calls with tuples of arrays count references.
    times, row_scores, starts, gate, created = rows.time, rows.score, views.start, views.gate, cursor[CREATED]
    largest, oldest, floor = views.k, 0, np.inf
    while True:
        until = at[cursor[MOMENT]] if cursor[MOMENT] < len(at) else 0
        r = cursor[ROW]
        if r < len(times) and (cursor[MOMENT] == len(at) or times[r] < until):
            oldest, floor = oldest_and_floor(largest, gate, oldest, created)
        while r < len(times) and (cursor[MOMENT] == len(at) or times[r] < until):
            if created < len(starts) and starts[created] <= times[r]:
                created = begin_views(views, created, times[r])
                oldest, floor = oldest_and_floor(largest, gate, oldest, created)
            if row_scores[r] < floor:
                r += 1
                continue
            taker = oldest
            while taker < created and row_scores[r] < gate[taker]:
                taker += 1
            if taker < created:
                if table.sizes[FREE] == 0:
                    cursor[ROW], cursor[CREATED] = r, created
                    return sizes[: cursor[MOMENT] - first], objects[:filled], scores[:filled]
                insert(table, views, taker, created, times[r], rows.object[r], row_scores[r], rows.arrival[r])
                floor = lowest_gate(gate, oldest, created)
            r += 1
        cursor[ROW], cursor[CREATED] = r, created
        if cursor[MOMENT] == len(at):
            return sizes, objects[:filled], scores[:filled]
        m = cursor[MOMENT]
        while m < len(at) and at[m] == until:
            v = view[m]
            wanted = min(k[m], views.held[v]) if 0 <= v < cursor[CREATED] else 0
            objects, scores = with_room(objects, scores, filled, wanted)
            if wanted:
                extract(table, views.start[v], wanted, objects[filled:], scores[filled:])
            filled += wanted
            sizes[m - first] = wanted
            m += 1
        for g in range(cursor[MOMENT], m):
            if 0 <= view[g] < cursor[CREATED]:
                shrink(table, views, view[g], until)
        cursor[MOMENT] = m


@nested_njit
def insert(
    table: Table, views: Views, taker: int, created: int, time: int, object: int, score: float, arrival: int
) -> None:
    """Enter a row into all its views from `taker` on; O(views), plus O(list) if it enters."""
    slot = occupy(table, time, object, score, arrival)
    rank(table, slot)
    gate, wanted, held, place, start = views.gate, views.k, views.held, views.place, views.start
    for v in range(taker, created):
        if score < gate[v] or wanted[v] == 0:
            continue
        last = place[v]
        if held[v] < wanted[v]:
            if held[v] == 0 or outranks(table, last, slot):
                place[v] = slot
            held[v] += 1
            if held[v] == wanted[v]:
                gate[v] = table.score[place[v]]
        elif score > gate[v] or outranks(table, slot, last):
            up = table.better[last]
            while table.time[up] < start[v]:
                up = table.better[up]
            place[v] = up
            gate[v] = table.score[up]
            release(table, last)
        else:
            continue
        table.holders[slot] += 1
    if table.holders[slot] == 0:  # it only tied with gates
        table.holders[slot] = 1
        release(table, slot)


@nested_njit
def next_better(table: Table, slot: int, start: int) -> int:
    """The next object above `slot` in the view that begins at `start`."""
    slot = table.better[slot]
    while slot >= 0 and table.time[slot] < start:
        slot = table.better[slot]
    return slot


@nested_njit
def shrink(table: Table, views: Views, view: int, now: int) -> None:
    """After an output: drop what the view's later outputs do not need."""
    pass_outputs(views, view, now)
    while views.held[view] > views.k[view]:
        last = views.place[view]
        views.place[view] = next_better(table, last, views.start[view])
        views.held[view] -= 1
        release(table, last)
    if views.k[view] == 0:
        views.place[view] = NOWHERE
        views.gate[view] = np.inf
    elif views.held[view] == views.k[view]:
        views.gate[view] = table.score[views.place[view]]


@nested_njit
def extract(table: Table, start: int, wanted: int, objects: Int64, scores: Float64) -> None:
    """The result extractor: walks down the list and takes the objects in the view."""
    filled, place = 0, 0
    while filled < wanted:
        slot = table.ranked[place]
        if table.time[slot] >= start:
            objects[filled] = table.object[slot]
            scores[filled] = table.score[slot]
            filled += 1
        place += 1


@njit(cache=True)
def fill(table: Table, views: Views, created: int, now: int) -> None:
    """Fill empty views from a table of ranked objects, and free unneeded objects."""
    size = table.sizes[RANKED]
    slots = table.ranked[:size].copy()
    for v in range(created):
        pass_outputs(views, v, now)
        for p in range(size):
            if views.held[v] == views.k[v]:
                break
            if table.time[slots[p]] >= views.start[v]:
                table.holders[slots[p]] += 1
                views.held[v] += 1
                views.place[v] = slots[p]
        full = views.held[v] == views.k[v]
        views.gate[v] = -np.inf if not full else table.score[views.place[v]] if views.k[v] else np.inf
    for slot in slots:
        if table.holders[slot] == 0:
            table.holders[slot] = 1
            release(table, slot)
