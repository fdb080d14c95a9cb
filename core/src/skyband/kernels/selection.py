# mypy: disable-error-code="untyped-decorator"
"""The best k of many, by score and tie, without sorting them."""

from typing import Any

from skyband.kernels.nested import nested_njit


@nested_njit
def select(scores: Any, ties: Any, k: int) -> None:
    """Put the k best first, the least of them at k − 1: quickselect."""
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
