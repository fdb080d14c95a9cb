"""A history of histograms for compiled code: the latest rows unchanged, older ones as counts by bucket."""

from typing import Any, NamedTuple

import numpy as np

STEP = 1024
"""The rows between two steps, which drop expired rows and sum up old ones."""
BASE = 32
"""The most rows of a new node."""
PLACES = 1024
"""The most buckets before they are made wider, as far as `alpha` allows."""
FEW, SOME_PLACES, SOME_NODES, SOME_ENTRIES = 16, 320, 64, 1024
NOTHING = -1

(
    SHIFT, PHASE, DUE, LAST, RAW_START, RAW, PLACED, NODE_START, NODES, FIXED, NODE_ROWS, ENTRIES_END, USED, FREE, LIVE,
    SORTED, ORDERED, TABLED,
) = range(18)  # fmt: skip
"""The indices of `numbers`.

SHIFT: bits of a key that are not in an id; PHASE: rows since the step; DUE: 1 if a step has not ended; LAST: time of
the last row; RAW_START, RAW: start and number of the raw rows; PLACED: those of them with a place; NODE_START, NODES:
the nodes; FIXED: the oldest of them, which a union made; NODE_ROWS: rows in nodes; ENTRIES_END: the end of the entries;
USED: places that were ever used; FREE: the first free one of these; LIVE: places with an id; SORTED, ORDERED: places in
`order` that are sorted by id, and all; TABLED: 1 if rows have places.
"""


class History(NamedTuple):
    """Recent rows, for compiled code.

    numbers: int64[18]
    times, values, places: int64, float64, int32[raw]: the raw rows, oldest first
    first, last, rows: int64[nodes]: times of the first and last row of a node, and its rows
    start, size: int64[nodes]: its entries; above: int64[nodes, cuts]: rows above each cut, -1 unknown
    place, count: int32, int64[entries]: the rows of a node in a bucket
    ids, least, largest, total: int64, float64, float64, int64[room]: a bucket, by place; following: the next free one
    slots: int32[2^b]: the place of an id, by hash; order: int32[room]: places by id
    older: int64[w + 1, room]: for each window the rows in nodes with their last row before `begun` int64[w + 1];
    `passed` int64[w + 1]: the number of these nodes, from NODE_START on, and `passed_rows` int64[w + 1]
    scratch: int64[room], zeros; touched: int32[room]; maybe: int64[room], zeros; likely: float64[room], zeros
    sure_below, maybe_below, likely_below: int64, int64, float64[room + 1], sums during an answer
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
    """A history without rows, with room for a few."""
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
    """The history with room for `room` raw rows."""
    return _with(history, RAW_COLUMNS, room)


def with_nodes(history: History, room: int) -> History:
    """The history with room for `room` nodes."""
    return _with(history, NODE_COLUMNS, room)


def with_entries(history: History, room: int) -> History:
    """The history with room for `room` entries."""
    return _with(history, ENTRY_COLUMNS, room)


def with_places(history: History, room: int) -> History:
    """The history with room for `room` places, and empty slots that will be at most half full."""
    old = len(history.ids)
    older = np.zeros((len(history.older), room), np.int64)
    older[:, :old] = history.older
    bits = max(int(2 * room - 1).bit_length(), 4)
    slots = np.full(1 << bits, NOTHING, np.int32)
    return _with(_with(history, PLACE_COLUMNS, room), SUM_COLUMNS, room + 1)._replace(older=older, slots=slots)


def with_windows(history: History, windows: int) -> History:
    """The history with no row passed by any of `windows` windows."""
    rows = windows + 1
    return history._replace(
        older=np.zeros((rows, len(history.ids)), np.int64),
        begun=np.full(rows, -(2**63)), passed=np.zeros(rows, np.int64), passed_rows=np.zeros(rows, np.int64),
    )  # fmt: skip


def _with(history: History, names: tuple[str, ...], room: int) -> History:
    columns = {}
    for name in names:
        column = getattr(history, name)
        columns[name] = np.zeros((room, *column.shape[1:]), column.dtype)
        columns[name][: len(column)] = column
    return history._replace(**columns)
