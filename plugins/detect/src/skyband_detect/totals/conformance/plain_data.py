"""What a key-total is asked, and its answers as plain data, to compare and print."""

from typing import Any

import numpy as np
from skyband.arrays import Array, UInt64

from skyband_detect.conformance.streams import MomentStream
from skyband_detect.total_role import MEAN, QUANTILE, SUM
from skyband_detect.totals.conformance.oracle import Ask


def asks_of(parameters: Any) -> list[Ask]:
    """Windows, bounds and whether each time counts: the longest, shorter ones, and one of them twice."""
    longest, measure = parameters["longest"], parameters.get("measure", SUM)
    windows = dict.fromkeys([longest, max(1, longest // 3), 1])
    bounds: list[tuple[int, int, int]]
    if measure == SUM:
        bounds = [(7, 0, 1), (0, 0, 1), (-3, 0, 1), (40, 0, 1)]
    elif measure == MEAN:
        bounds = [(2, 333_333_333, 1), (-1, 500_000_000, 3), (0, 0, 2), (4, 1, 1)]
    else:
        bounds = [(0, 500_000_000, 1), (0, 990_000_000, 3), (0, 1, 1), (0, 1_000_000_000, 2)]
    return [(window, *bound, each) for window in windows for bound in bounds for each in (False, True)]


def values_for(measure: str, values: UInt64) -> Array:
    """The values of a stream as those of a measure: units of either sign, or halves."""
    small = (values % np.uint64(13)).astype(np.int64) - 5
    return small / 2 if measure == QUANTILE else small


def push(backend: Any, times: Any, keys: Any, values: UInt64, asks: Any = None) -> list[tuple[Any, ...]]:
    """The answers for some rows as plain data."""
    asks = asks_of(backend.parameters()) if asks is None else asks
    windows, at_least, billionths, least, each = zip(*asks, strict=True) if asks else ((),) * 5
    further: dict[str, Any] = {}
    if backend.measure != QUANTILE:
        further["at_least"] = np.array(at_least, np.int64)
    if backend.measure != SUM:
        further |= {"billionths": np.array(billionths, np.int64), "least": np.array(least, np.int64)}
    reached = backend.update(
        times, keys, values_for(backend.measure, values), windows=np.array(windows, np.int64),
        each=np.array(each, np.bool_), **further,
    )  # fmt: skip
    return list(zip(*(column.tolist() for column in reached), strict=True))


def rows_of(measure: str, stream: MomentStream, start: int, stop: int) -> list[tuple[Any, ...]]:
    """Entries start..stop as (time, key, value) rows."""
    times, keys, values = stream.flat(start, stop)
    return list(zip(times.tolist(), keys.tolist(), values_for(measure, values).tolist(), strict=True))
