"""Row numbers, some of which are missing."""

from collections.abc import Iterator

import numpy as np

from skyband.arrays import Array
from skyband.columns.rows import Rows


def without_gaps(rows: Rows) -> tuple[Rows, Array]:
    """Rows for all numbers from first to last; bool[n] marks missing ones, filled with the row after them."""
    numbers = np.arange(rows.times[0], rows.times[-1] + 1)
    places = np.searchsorted(rows.times, numbers)
    filled = rows.take(places)
    filled.times = numbers
    return filled, rows.times[places] != numbers


def sessions(rows: Rows) -> Iterator[Rows]:
    """The rows, split where a number is missing."""
    cuts = np.flatnonzero(np.diff(rows.times) != 1) + 1
    for start, stop in zip([0, *cuts.tolist()], [*cuts.tolist(), len(rows)], strict=True):
        yield rows.slice(start, stop)
