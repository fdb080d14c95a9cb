"""Rows that are known by their numbers, of which some are gone."""

from collections.abc import Iterator

import numpy as np

from skyband.arrays import Array
from skyband.columns.rows import Rows


def without_gaps(rows: Rows) -> tuple[Rows, Array]:
    """All rows from the first number to the last, and which of them (bool[n]) were gone: each as the one after it."""
    numbers = np.arange(rows.times[0], rows.times[-1] + 1)
    places = np.searchsorted(rows.times, numbers)
    filled = rows.take(places)
    filled.times = numbers
    return filled, rows.times[places] != numbers


def sessions(rows: Rows) -> Iterator[Rows]:
    """The rows in parts without a number missing."""
    cuts = np.flatnonzero(np.diff(rows.times) != 1) + 1
    for start, stop in zip([0, *cuts.tolist()], [*cuts.tolist(), len(rows)], strict=True):
        yield rows.slice(start, stop)
