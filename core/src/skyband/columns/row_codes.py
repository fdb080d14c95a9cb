"""Numbers rows by the values of several columns: equal rows get equal numbers."""

from collections.abc import Sequence

import numpy as np

from skyband.arrays import Array, Int64


def row_codes(columns: Sequence[Array]) -> Int64:
    """int64[n]: a number for each row, equal if all columns are equal. O(n log n)."""
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), bool)
    for column in columns:
        new[1:] |= column[order][1:] != column[order][:-1]
    codes = np.empty(len(order), np.int64)
    codes[order] = np.cumsum(new)
    return codes


def place_among_equal(codes: Int64) -> Int64:
    """int64[n]: the number of earlier entries with the same code. O(n log n)."""
    order = np.argsort(codes, kind="stable")
    place = np.arange(len(codes))
    new = np.append(True, codes[order][1:] != codes[order][:-1])[: len(codes)]
    places = np.empty(len(codes), np.int64)
    places[order] = place - np.maximum.accumulate(np.where(new, place, 0))
    return places
