"""Compiled code that finds the values of the pairs kept by a sweep."""

from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit

_1 = np.uint64(1)
_FREE = -1


@njit(inline="always")
def _slot_of(table: Any, hashes: Any, value: Any) -> Any:
    """The slot of a hash's row, or the free slot where it belongs."""
    mask = np.uint64(len(table) - 1)
    slot = value & mask
    while table[slot] != _FREE and hashes[table[slot]] != value:
        slot = (slot + _1) & mask
    return slot


@nested_njit
def _raise(table: Any, hashes: Any, times: Any, values: Any, row_hashes: Any, row_times: Any, row_values: Any) -> None:
    for row in range(len(row_hashes)):
        place = table[_slot_of(table, hashes, row_hashes[row])]
        if place != _FREE and times[place] == row_times[row]:
            values[place] = max(values[place], row_values[row])


@njit(cache=True)
def values_of(
    times: Any, hashes: Any, kept_times: Any, kept_hashes: Any, kept_values: Any, new_times: Any, new_hashes: Any,
    new_values: Any,
) -> Any:  # fmt: skip
    """float64[n]: for each of n pairs of distinct hashes, the largest value of the rows with its hash and time.

    The rows are previously kept pairs and new ones. O(n + rows) expected, because hashes are spread evenly.
    """
    slots = 16
    while slots < 2 * len(hashes):
        slots *= 2
    table = np.full(slots, _FREE, np.int64)
    for row in range(len(hashes)):
        table[_slot_of(table, hashes, hashes[row])] = row
    values = np.full(len(hashes), -np.inf)
    _raise(table, hashes, times, values, kept_hashes, kept_times, kept_values)
    _raise(table, hashes, times, values, new_hashes, new_times, new_values)
    return values
