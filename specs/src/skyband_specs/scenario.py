"""The benchmark of a role: a generated stream, and a query for each window size."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from attrs import frozen

ROW_MICROSECONDS = 6_000_000
"""Microseconds between rows if windows are times: ten rows are a minute."""
ROWS_OF_WINDOW, TUPLES_OF_WINDOW = "rows of the window", "tuples of the window"
"""The names of the axis of windows; an uncertain window contains this many existing tuples."""


@frozen
class Scenario:
    """The benchmark of a role; SCENARIO in the module `scenarios` of its conformance package."""

    stream: str
    axis: str
    windows: tuple[int, ...]
    rows: int
    make: Callable[[int, int], tuple[dict[str, Any], pa.Table]]
    """(rows, window) -> the query's keys and the table to query."""
