"""What a role is benched on: a generated stream, and a query of each window size over it."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from attrs import frozen

ROW_MICROSECONDS = 6_000_000
"""Microseconds from row to row where windows are times: ten rows are a minute."""
ROWS_OF_WINDOW, TUPLES_OF_WINDOW = "rows of the window", "tuples of the window"
"""What the axis of windows is called; an uncertain one holds so many tuples that exist."""


@frozen
class Scenario:
    """How a role is benched; SCENARIO in the module `scenarios` of its conformance package."""

    stream: str
    axis: str
    windows: tuple[int, ...]
    rows: int
    make: Callable[[int, int], tuple[dict[str, Any], pa.Table]]
    """(rows, window) -> the query's keys and the table it is asked of."""
