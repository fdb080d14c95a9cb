"""What a counter is asked, and its crossings as plain data, to compare and print."""

from typing import Any

import numpy as np

from skyband_detect.conformance.streams import MomentStream
from skyband_detect.role import DISTINCT, ROWS, UNSEEN, Falls


def asks_of(parameters: Any) -> list[tuple[int, int, bool]]:
    """Windows, bounds and whether each time counts: the longest, shorter ones, and one of them twice."""
    longest, most = parameters["longest"], parameters.get("most", 1)
    if parameters.get("measure") == UNSEEN:
        return [(window, 1, False) for window in (longest, max(1, longest // 3), 1, longest)]
    bounds = dict.fromkeys([most, max(1, most // 2), 1])
    windows = dict.fromkeys([longest, max(1, longest // 3), 1])
    return [(window, bound, each) for window in windows for bound in bounds for each in (False, True)]


def push(backend: Any, times: Any, keys: Any, values: Any, asks: Any = None) -> list[tuple[int, ...]]:
    """The crossings of some rows as plain data."""
    asks = asks_of(backend.parameters()) if asks is None else asks
    windows, bounds, each = zip(*asks, strict=True) if asks else ((), (), ())
    further: dict[str, Any] = {} if backend.measure == UNSEEN else {"at_least": np.array(bounds, np.int64)}
    further |= {"each": np.array(each, np.bool_)}
    own_values = values if backend.measure == DISTINCT else None
    crossings = backend.update(times, keys, own_values, windows=np.array(windows, np.int64), **further)
    return list(zip(*(column.tolist() for column in crossings[:5]), strict=True))


def falls_of(parameters: Any) -> list[tuple[int, int]]:
    """Windows and bounds that keys may fall below: the longest and shorter ones, the largest and smaller ones."""
    longest, most = parameters["longest"], parameters.get("most", 1)
    bounds = dict.fromkeys([most, max(1, most // 2), 1])
    return [(window, bound) for window in dict.fromkeys([longest, max(1, longest // 3)]) for bound in bounds]


def plain_falls(falls: Falls) -> list[tuple[int, ...]]:
    """Falls as (moment, place of the bound, key, rows that remain)."""
    columns = (falls.times, falls.asks, falls.keys, falls.value)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def push_falling(backend: Any, times: Any, keys: Any, asks: Any = None, **further: Any) -> list[tuple[int, ...]]:
    """The falls that some rows reveal, as plain data."""
    windows, below = zip(*(falls_of(backend.parameters()) if asks is None else asks), strict=True)
    limits = {"fall_windows": np.array(windows, np.int64), "below": np.array(below, np.int64)}
    if backend.measure != ROWS:
        limits = {}
    values = {"values": keys} if backend.measure == DISTINCT else {}
    return plain_falls(backend.update(times, keys, **values, **limits, **further).falls)


def at(time: int, rows: Any) -> tuple[Any, Any, Any]:
    """The columns of rows at one time."""
    keys, values = (np.array(column, np.uint64) for column in zip(*rows, strict=True))
    return np.full(len(rows), time, np.int64), keys, values


def rows_of(stream: MomentStream, start: int, stop: int) -> list[tuple[int, int, int]]:
    """Entries start..stop as (time, key, value) rows."""
    return list(zip(*(column.tolist() for column in stream.flat(start, stop)), strict=True))
