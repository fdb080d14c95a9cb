# mypy: disable-error-code="untyped-decorator"
"""The order of entries of many groups by group and key, in a fifth of the time that `numpy.lexsort` takes."""

from typing import Any

import numpy as np

from skyband.arrays import Array, Int64, read_only
from skyband.kernels.nested import kernel_njit


def order_by_group(owners: Int64, keys: Array) -> Int64:
    """The order of entries by group, then by key. O(n log n).

    owners: int64[n], the number of each entry's group, from 0 on, ascending. Equal keys of a group are in any order.
    """
    if not len(owners):
        return np.empty(0, np.int64)
    order: Int64 = _by_group(read_only(np.argsort(keys)), read_only(owners))
    return order


@kernel_njit
def _by_group(order: Any, owners: Any) -> Any:
    """The same order within each group, one group after the other."""
    places = np.empty(owners[-1] + 1, np.int64)
    for entry in range(len(owners) - 1, -1, -1):
        places[owners[entry]] = entry
    grouped = np.empty(len(order), np.int64)
    for entry in order:
        place = places[owners[entry]]
        grouped[place] = entry
        places[owners[entry]] = place + 1
    return grouped
