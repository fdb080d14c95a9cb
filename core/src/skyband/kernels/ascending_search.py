# mypy: disable-error-code="untyped-decorator"
"""`numpy.searchsorted` for keys that ascend, as those of groups mostly do: each search goes on from the last one."""

from typing import Any

import numpy as np

from skyband.kernels.nested import kernel_njit


@kernel_njit
def search_ascending(members: Any, values: Any) -> Any:
    """int64[m]: of each value how many members (ascending) are less.

    O(m log(n / m)) where the values ascend, O(m log n) where they do not.
    """
    places, low = np.empty(len(values), np.int64), 0
    for number, value in enumerate(values):
        if low > 0 and members[low - 1] >= value:
            low = 0
        high, step = low, 1
        while high < len(members) and members[high] < value:
            low = high + 1
            high += step
            step *= 2
        high = min(high, len(members))
        while low < high:
            middle = (low + high) // 2
            if members[middle] < value:
                low = middle + 1
            else:
                high = middle
        places[number] = low
    return places
