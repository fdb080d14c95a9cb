"""Sets of integers as ascending arrays.

Since 2.3, numpy's own set functions use a hash table, which is about forty times slower than sorting.
"""

import numpy as np

from skyband.arrays import Array, Int64, read_only

_FEW = 1024
"""Fewer values than this are found faster by numpy than compiled code is loaded."""


def distinct(*parts: Array) -> Array:
    """The distinct values of all parts (one dtype), ascending. O(n log n)."""
    values = np.sort(np.concatenate(parts))
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values


def among(values: Array, members: Array) -> Array:
    """bool[m]: whether each value is among the members, which ascend. O(m log n), as `search_sorted`."""
    if not len(members):
        return np.zeros(len(values), bool)
    equal: Array = members[np.minimum(search_sorted(members, values), len(members) - 1)] == values
    return equal


def search_sorted(members: Array, values: Array) -> Int64:
    """int64[m]: `numpy.searchsorted`, in a fifth of its time if both are ascending keys of groups. O(m log n)."""
    if len(values) < _FEW or values.dtype != np.uint64 or members.dtype != np.uint64:
        return np.searchsorted(members, values)
    from skyband.kernels.selection import search_ascending  # imported on use: it loads numba

    places: Int64 = search_ascending(read_only(members), read_only(values))
    return places
