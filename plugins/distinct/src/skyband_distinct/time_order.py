"""Sorts a batch by time."""

from typing import Any

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba compile without a writable cache
from numba import njit
from skyband.arrays import Array, Int64, UInt64
from skyband.kernels.mixing import mix


def youngest_first(times: Int64, keys: UInt64) -> tuple[Int64, UInt64]:
    """The youngest row of each distinct key, by time descending. O(n), and a sort if times go back."""
    times, keys = oldest_first(times, keys)
    rows = last_rows(keys)
    return times[rows], keys[rows]


def oldest_first(times: Int64, *columns: Array) -> tuple[Array, ...]:
    """The rows by time ascending. O(n), and a sort if times go back."""
    if not (times[1:] < times[:-1]).any():
        return times, *columns
    order = np.argsort(times, kind="stable")
    return times[order], *(column[order] for column in columns)


def order_by_time(times: Int64, keys: UInt64) -> Int64:
    """The order of pairs by time ascending, then key: a single sort if no times are equal."""
    order = np.argsort(times)
    ordered = times[order]
    return np.lexsort((keys, times)) if (ordered[1:] == ordered[:-1]).any() else order


def in_one_order(times: Int64, hashes: UInt64, *columns: Array) -> tuple[Array, ...]:
    """Sorts pairs that are descending in time by hash where times are equal; further columns follow them."""
    if not (times[1:] == times[:-1]).any():
        return times, hashes, *columns
    order = np.lexsort((hashes, ~times))
    return times[order], hashes[order], *(column[order] for column in columns)


@njit(cache=True)
def last_rows(keys: Any) -> Any:
    """int64[distinct]: the last row of each distinct key, from the end to the start."""
    slots = 16
    while slots < 2 * len(keys):
        slots *= 2
    mask = np.uint64(slots - 1)
    table = np.full(slots, -1, np.int64)
    rows = np.empty(len(keys), np.int64)
    count = 0
    for row in range(len(keys) - 1, -1, -1):
        slot = mix(keys[row]) & mask
        while table[slot] >= 0 and keys[table[slot]] != keys[row]:
            slot = (slot + np.uint64(1)) & mask
        if table[slot] < 0:
            table[slot] = row
            rows[count] = row
            count += 1
    return rows[:count]
