"""Compares windows of distinct-count with the window before: which can be, and the ratio of their counts."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from skyband.arrays import Array
from skyband.config.calendar_lengths import CalendarLength, Length
from skyband.errors import Problem

ADDED = ("previous", "difference", "difference_low", "difference_high")
"""Columns whose values add up over shards; the ratio is computed from them."""
REMEMBERED = 160
"""The bytes of a count that is remembered with its bounds."""
_DAYS = {"day": 1, "week": 7}
_MONTHS = {"month": 1, "year": 12}


def moments_problems(every: Length, offset: int, windows: Mapping[str, Length]) -> list[Problem]:
    """Problems of windows, by their keys, whose previous window would not end at a moment."""
    problems = []
    for key, window in windows.items():
        if not _ends_at_moment(every, window):
            message = f"must be a multiple of `every` ({every}) with `against`, so that the window before has been"
            problems.append(Problem(key, f"{message} answered (got {window})"))
        elif isinstance(window, CalendarLength) and offset:
            message = "must be 0 with `against` and calendar windows, which begin where others end"
            return [Problem("offset", message)]
    return problems


def before_that_double(windows: Sequence[Length]) -> bool:
    """Whether each window and the one before are together one window of twice the length: months and years are not."""
    return not any(isinstance(window, CalendarLength) and window.unit in _MONTHS for window in windows)


def _ends_at_moment(every: Length, window: Length) -> bool:
    """Whether a window that ends at a moment begins at one."""
    if not isinstance(window, CalendarLength):
        return not isinstance(every, CalendarLength) and window.length % every.length == 0
    if window.so_far or not isinstance(every, CalendarLength):
        return True  # refused elsewhere
    for sizes in (_DAYS, _MONTHS):
        if every.unit in sizes and window.unit in sizes:
            return window.count * sizes[window.unit] % (every.count * sizes[every.unit]) == 0
    return every.unit == "day" and every.count == 1


def with_ratio(previous: Array, counts: Array) -> pa.Array:
    """Counts divided by the previous counts, float64[n] each; null where the previous count is 0."""
    none = previous == 0
    return pa.array(counts / np.where(none, 1.0, previous), mask=none)
