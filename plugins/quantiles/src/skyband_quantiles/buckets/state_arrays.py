"""Converts the contents of a history to arrays for compiled code, and back."""

import numpy as np
from skyband.arrays import Array

from skyband_quantiles.buckets.contents import Contents, without_nodes
from skyband_quantiles.buckets.history import (
    ENTRIES_END,
    FEW,
    FIXED,
    LAST,
    LIVE,
    NODE_ROWS,
    NODE_START,
    NODES,
    ORDERED,
    PHASE,
    PLACED,
    RAW,
    RAW_START,
    SHIFT,
    SOME_ENTRIES,
    SOME_NODES,
    SOME_PLACES,
    SORTED,
    TABLED,
    USED,
    History,
    empty,
    with_entries,
    with_nodes,
    with_places,
    with_raw,
)


def contents_of(history: History, oldest: int, cuts: int) -> Contents:
    """The contents of a history; while all rows are raw, without those before `oldest`."""
    numbers = history.numbers
    begin = int(numbers[RAW_START])
    raw = slice(begin, begin + int(numbers[RAW]))
    times, values = history.times[raw], history.values[raw]
    order = np.lexsort((values, times))
    times, values = times[order], values[order]
    if not numbers[NODES]:
        alive = times >= oldest
        return without_nodes(times[alive], values[alive], int(numbers[PHASE]), cuts)
    live = history.order[: numbers[ORDERED]]
    live = live[np.argsort(history.ids[live])]
    became = np.zeros(len(history.ids), np.int64)
    became[live] = np.arange(len(live))
    nodes = slice(int(numbers[NODE_START]), int(numbers[NODE_START] + numbers[NODES]))
    sizes = history.size[nodes].copy()
    owner = np.repeat(np.arange(len(sizes)), sizes)
    entries = np.repeat(history.start[nodes] - np.cumsum(sizes) + sizes, sizes) + np.arange(int(sizes.sum()))
    place = became[history.place[entries]]
    by_place = np.lexsort((place, owner))
    return Contents(
        int(numbers[PHASE]), int(numbers[SHIFT]), history.ids[live], history.least[live], history.largest[live],
        history.first[nodes].copy(), history.last[nodes].copy(), history.rows[nodes].copy(), sizes, place[by_place],
        history.count[entries][by_place], history.above[nodes].copy(), int(numbers[FIXED]), times, values,
    )  # fmt: skip


def history_of(contents: Contents, latest: int | None, windows: int) -> History:
    """A history with these contents; the slots of its places are not filled yet."""
    cuts = contents.above.shape[1]
    raw, nodes, entries, places = (
        len(column) for column in (contents.times, contents.first, contents.place, contents.ids)
    )
    history = with_raw(empty(cuts, windows), max(FEW, 2 * raw))
    numbers = history.numbers
    numbers[PHASE], numbers[RAW], numbers[LAST] = contents.phase, raw, latest or 0
    history.times[:raw], history.values[:raw] = contents.times, contents.values
    if not nodes:
        return history
    history = with_places(history, max(SOME_PLACES, places + places // 4))
    history = with_nodes(with_entries(history, max(SOME_ENTRIES, entries + entries // 4)), max(SOME_NODES, 2 * nodes))
    numbers[SHIFT], numbers[PLACED], numbers[TABLED], numbers[FIXED] = contents.shift, raw, 1, contents.fixed
    numbers[USED] = numbers[LIVE] = numbers[SORTED] = numbers[ORDERED] = places
    numbers[NODES], numbers[NODE_ROWS], numbers[ENTRIES_END] = nodes, contents.rows.sum(), entries
    for name, column in (("ids", contents.ids), ("least", contents.least), ("largest", contents.largest)):
        getattr(history, name)[:places] = column
    history.order[:places] = np.arange(places)
    for name in ("first", "last", "rows", "above"):
        getattr(history, name)[:nodes] = getattr(contents, name)
    history.size[:nodes], history.start[:nodes] = contents.sizes, np.cumsum(contents.sizes) - contents.sizes
    history.place[:entries], history.count[:entries] = contents.place, contents.count
    history.places[:raw] = contents.of_raw
    history.total[:places] = _totals(contents)
    return history


def _totals(contents: Contents) -> Array:
    """The rows of each place, in nodes and raw ones."""
    totals = np.bincount(contents.of_raw, minlength=len(contents.ids))
    np.add.at(totals, contents.place, contents.count)
    return totals
