"""A history of histograms for compiled code: the youngest rows as they are, older ones as counts by bucket."""

from typing import Any, NamedTuple

import numpy as np

STEP = 1024
"""Rows between two steps, in which what has expired goes and what is old is summed up."""
BASE = 32
"""Rows of a fresh node, at most."""
PLACES = 1024
"""Buckets there are, at most, before they are made wider, as far as `alpha` lets them."""
FEW, SOME_PLACES, SOME_NODES, SOME_ENTRIES = 16, 320, 64, 1024
NOTHING = -1

(
    SHIFT, PHASE, DUE, LAST, RAW_START, RAW, PLACED, NODE_START, NODES, FIXED, NODE_ROWS, ENTRIES_END, USED, FREE, LIVE,
    SORTED, ORDERED, TABLED,
) = range(18)  # fmt: skip
"""Of `numbers`.

SHIFT: bits of a key that are not in an id; PHASE: rows since the step; DUE: 1 where a step has not ended; LAST: time of
the last row; RAW_START, RAW: where the raw rows begin, and how many; PLACED: those of them that have a place;
NODE_START, NODES: the nodes; FIXED: the oldest of them, which a union made; NODE_ROWS: rows in nodes; ENTRIES_END:
where the entries end; USED: places that were ever used; FREE: the first free one below; LIVE: places with an id;
SORTED, ORDERED: places in `order`, of which the first are by id; TABLED: 1 where rows have places.
"""


class History(NamedTuple):
    """Rows since a while, for compiled code.

    numbers: int64[18]
    times, values, places: int64, float64, int32[raw]: the raw rows, oldest first
    first, last, rows: int64[nodes]: times of the first and last row of a node, and its rows
    start, size: int64[nodes]: its entries; above: int64[nodes, cuts]: rows above each cut, -1 unknown
    place, count: int32, int64[entries]: how many rows of a node are in a bucket
    ids, least, largest, total: int64, float64, float64, int64[room]: a bucket, by place; following: the next free one
    slots: int32[2^b]: the place of an id, by hash; order: int32[room]: places by id
    older: int64[w + 1, room]: by window the rows in nodes whose last row is before `begun` int64[w + 1]; `passed`
    int64[w + 1]: these nodes, counted from NODE_START, and `passed_rows` int64[w + 1]
    scratch: int64[room], zeros; touched: int32[room]; maybe: int64[room], zeros; likely: float64[room], zeros
    sure_below, maybe_below, likely_below: int64, int64, float64[room + 1], sums while an answer is made
    """

    numbers: Any
    times: Any
    values: Any
    places: Any
    first: Any
    last: Any
    rows: Any
    start: Any
    size: Any
    above: Any
    place: Any
    count: Any
    ids: Any
    least: Any
    largest: Any
    total: Any
    following: Any
    slots: Any
    order: Any
    older: Any
    begun: Any
    passed: Any
    passed_rows: Any
    scratch: Any
    touched: Any
    maybe: Any
    likely: Any
    sure_below: Any
    maybe_below: Any
    likely_below: Any


RAW_COLUMNS = ("times", "values", "places")
NODE_COLUMNS = ("first", "last", "rows", "start", "size", "above")
ENTRY_COLUMNS = ("place", "count")
PLACE_COLUMNS = ("ids", "least", "largest", "total", "following", "order", "scratch", "touched", "maybe", "likely")
SUM_COLUMNS = ("sure_below", "maybe_below", "likely_below")


def empty(cuts: int, windows: int = 0) -> History:
    """No rows, and room for few."""
    rows = windows + 1
    numbers = np.zeros(18, np.int64)
    numbers[FREE] = NOTHING
    return History(  # type: ignore[call-arg]
        numbers, np.zeros(FEW, np.int64), np.zeros(FEW), np.zeros(FEW, np.int32),
        *(np.zeros(0, np.int64) for _ in range(5)), np.zeros((0, cuts), np.int64),
        np.zeros(0, np.int32), np.zeros(0, np.int64),
        np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int32),
        np.zeros(0, np.int32), np.zeros(0, np.int32),
        np.zeros((rows, 0), np.int64), np.full(rows, -(2**63)), np.zeros(rows, np.int64), np.zeros(rows, np.int64),
        np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64), np.zeros(0),
        np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0),
    )  # fmt: skip


def with_raw(history: History, room: int) -> History:
    """The same with room for so many raw rows."""
    return _with(history, RAW_COLUMNS, room)


def with_nodes(history: History, room: int) -> History:
    """The same with room for so many nodes."""
    return _with(history, NODE_COLUMNS, room)


def with_entries(history: History, room: int) -> History:
    """The same with room for so many entries."""
    return _with(history, ENTRY_COLUMNS, room)


def with_places(history: History, room: int) -> History:
    """The same with room for so many places, and slots that are at most half full, all empty yet."""
    old = len(history.ids)
    older = np.zeros((len(history.older), room), np.int64)
    older[:, :old] = history.older
    bits = max(int(2 * room - 1).bit_length(), 4)
    slots = np.full(1 << bits, NOTHING, np.int32)
    return _with(_with(history, PLACE_COLUMNS, room), SUM_COLUMNS, room + 1)._replace(older=older, slots=slots)


def with_windows(history: History, windows: int) -> History:
    """The same with no row passed by any of so many windows."""
    rows = windows + 1
    return history._replace(
        older=np.zeros((rows, len(history.ids)), np.int64),
        begun=np.full(rows, -(2**63)), passed=np.zeros(rows, np.int64), passed_rows=np.zeros(rows, np.int64),
    )  # fmt: skip


def _with(history: History, names: tuple[str, ...], room: int) -> History:
    made = {}
    for name in names:
        column = getattr(history, name)
        made[name] = np.zeros((room, *column.shape[1:]), column.dtype)
        made[name][: len(column)] = column
    return history._replace(**made)
