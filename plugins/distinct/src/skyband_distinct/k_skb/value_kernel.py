"""Finds the values of the pairs that a sweep has kept, in compiled code."""

from typing import Any

import numpy as np
from numba import njit
from skyband.kernels.nested import nested_njit

_1 = np.uint64(1)
_FREE = -1


@njit(inline="always")
def _slot_of(table: Any, hashes: Any, value: Any) -> Any:
    """Where a hash's row is noted, or is to be."""
    mask = np.uint64(len(table) - 1)
    slot = value & mask
    while table[slot] != _FREE and hashes[table[slot]] != value:
        slot = (slot + _1) & mask
    return slot


@nested_njit
def _raise(table: Any, hashes: Any, times: Any, found: Any, of_hashes: Any, of_times: Any, values: Any) -> None:
    for row in range(len(of_hashes)):
        place = table[_slot_of(table, hashes, of_hashes[row])]
        if place != _FREE and times[place] == of_times[row]:
            found[place] = max(found[place], values[row])


@njit(cache=True)
def values_of(
    times: Any, hashes: Any, kept_times: Any, kept_hashes: Any, kept_values: Any, new_times: Any, new_hashes: Any,
    new_values: Any,
) -> Any:  # fmt: skip
    """float64[n]: the values of n pairs of distinct hashes: the largest of the rows with the same hash and time.

    The rows are pairs that were kept before and new ones. O(n + rows) expected, as hashes are spread evenly.
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
