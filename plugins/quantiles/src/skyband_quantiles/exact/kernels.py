"""The loops over rows and moments that Python calls, and answers since any moment."""

from typing import Any

import numpy as np
from skyband.kernels.nested import kernel_njit, nested_njit

from skyband_quantiles.exact.balance import look_around, split, target_of
from skyband_quantiles.exact.queues import (
    CHUNK,
    FREED,
    PUSHED,
    QUEUES,
    ROWS,
    append,
    expire,
    following_place,
    pass_by,
    point_anew,
    range_of,
)
from skyband_quantiles.exact.selection import answer

SPARE_CHUNKS, SPARE_QUEUES = 8, 2
"""The chunks that must be free before a row is added."""
_LOOK = 1024
"""The number of rows after which expired ones are dropped."""


@nested_njit
def _push(queues: Any, value: float, time: int, longest: int, target: int) -> Any:
    """Add a row, for which there must be room. Returns the best size of queues."""
    number = range_of(queues, value)
    queue = queues.order[number]
    append(queues, queue, value, time)
    queues.numbers[ROWS] += 1
    if queues.size[queue] > 2 * target and not queues.one[queue]:
        split(queues, number)
    queues.numbers[PUSHED] += 1
    if queues.numbers[PUSHED] >= _LOOK:
        queues.numbers[PUSHED] = 0
        look_around(queues, time - longest)
        return target_of(queues)
    return target


@kernel_njit
def run(
    queues: Any, times: Any, values: Any, row: int, moments: Any, moment: int, windows: Any, longest: int,
    parts: Any, ascending: Any, limits: Any, rows: Any, found: Any, shares: Any,
) -> Any:  # fmt: skip
    """Add rows and answer moments, from a row and a moment on; returns those at which it lacks room, or the ends.

    rows: int64[m, w], found: float64[m, w, q, 3], shares: float64[m, w, a, 3], written to.
    """
    target = target_of(queues)
    while row < len(times) or moment < len(moments):
        stop = len(times)
        if moment < len(moments):
            while row < stop and times[row] < moments[moment]:
                if queues.numbers[FREED] < SPARE_CHUNKS or queues.numbers[QUEUES] + SPARE_QUEUES > len(queues.order):
                    return row, moment
                target = _push(queues, values[row], times[row], longest, target)
                row += 1
            for window in range(len(windows)):
                pass_by(queues, window, moments[moment] - windows[window])
                rows[moment, window] = answer(
                    queues, window, parts, ascending, limits, found[moment, window], shares[moment, window]
                )
            look_around(queues, moments[moment] - longest)
            queues.numbers[PUSHED] = 0
            target = target_of(queues)
            moment += 1
        else:
            while row < stop:
                if queues.numbers[FREED] < SPARE_CHUNKS or queues.numbers[QUEUES] + SPARE_QUEUES > len(queues.order):
                    return row, moment
                target = _push(queues, values[row], times[row], longest, target)
                row += 1
    return row, moment


@kernel_njit
def ask(queues: Any, since: int, parts: Any, ascending: Any, limits: Any, values: Any, shares: Any) -> Any:
    """Answer since any moment; returns the number of rows."""
    point_anew(queues, since)
    return answer(queues, len(queues.reached) - 1, parts, ascending, limits, values, shares)


@kernel_njit
def forget(queues: Any, since: int) -> None:
    """Drop the rows before `since`."""
    expire(queues, since)


@kernel_njit
def rows_of(queues: Any) -> Any:
    """All rows: times int64[n], values float64[n], queue by queue."""
    rows = queues.numbers[ROWS]
    times, values = np.empty(rows, np.int64), np.empty(rows)
    done = 0
    for number in range(queues.numbers[QUEUES]):
        queue = queues.order[number]
        size = queues.size[queue]
        place = CHUNK * queues.head[queue] + np.int64(queues.start[queue])
        for row in range(size):
            times[done], values[done] = queues.times[place], queues.values[place]
            done += 1
            if row + 1 < size:
                place = following_place(queues, place)
    return times, values
