"""Compiled selection and search: the best k of many without sorting, and the places of values among sorted ones."""

from typing import Any

import numpy as np

from skyband.kernels.nested import kernel_njit, nested_njit


@nested_njit
def select(scores: Any, ties: Any, k: int) -> None:
    """Put the k best first, with the worst of them at k − 1: quickselect."""
    low, high = 0, len(scores) - 1
    while low < high:
        middle = (low + high) >> 1
        score, tie = scores[middle], ties[middle]
        i, j = low, high
        while i <= j:
            while scores[i] > score or (scores[i] == score and ties[i] < tie):
                i += 1
            while scores[j] < score or (scores[j] == score and ties[j] > tie):
                j -= 1
            if i <= j:
                scores[i], scores[j] = scores[j], scores[i]
                ties[i], ties[j] = ties[j], ties[i]
                i += 1
                j -= 1
        if k - 1 <= j:
            high = j
        elif k - 1 >= i:
            low = i
        else:
            return


@nested_njit
def kth(values: Any, low: int, high: int, k: int) -> Any:
    """The k-th smallest (from 0) of `values`; those before `low` are no larger, and those from `high` on no smaller.

    Moves numbers within [low, high) so that those before k are no larger, and those after it no smaller. O(n) expected.
    """
    high -= 1
    while low < high:
        middle = values[(low + high) >> 1]
        i, j = low, high
        while i <= j:
            while values[i] < middle:
                i += 1
            while values[j] > middle:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@kernel_njit
def search_ascending(members: Any, values: Any) -> Any:
    """int64[m]: the number of members (ascending) below each value, as in `numpy.searchsorted`.

    Each search continues from the last one, because groups' keys usually ascend: O(m log(n / m)), else O(m log n).
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
