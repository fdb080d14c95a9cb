# mypy: disable-error-code="untyped-decorator"
"""The k-th smallest of some numbers without sorting them, in compiled code."""

from typing import Any

from skyband.kernels.nested import nested_njit


@nested_njit
def kth(values: Any, low: int, high: int, k: int) -> Any:
    """The k-th smallest (from 0) of `values`, of which all before `low` are no larger and all from `high` no smaller.

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
