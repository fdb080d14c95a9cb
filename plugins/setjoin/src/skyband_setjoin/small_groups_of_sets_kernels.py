"""Token operations of passes over small groups of sets, in compiled code."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import Array, Int8, Int64
from skyband.kernels.nested import nested_njit
from skyband.kernels.sorting import sort


class PlacedSets(NamedTuple):
    """The sets of a pass for compiled code: the columns of `RowsInOrder`, and their tokens."""

    heads: Int64
    rows: Int64
    stops: Int64
    order: Int64
    times: Int64
    sides: Int8
    offsets: Int64
    tokens: Int64
    ended: Array
    """bool[sessions]: whether a session is dropped once it is answered."""
    oldest: Int64
    """The place in each session before which its sets have expired."""


@njit(cache=True)
def distinct_tokens(offsets: Any, tokens: Any) -> Any:
    """The distinct tokens of each set, ascending: (offsets int64[n + 1], tokens int64[m]). O(m log m)."""
    new_offsets, new_tokens = np.zeros(len(offsets), np.int64), np.empty(len(tokens), np.int64)
    longest = 0
    for number in range(len(offsets) - 1):
        longest = max(longest, offsets[number + 1] - offsets[number])
    own = np.empty(longest, np.int64)
    used = 0
    for number in range(len(offsets) - 1):
        size = offsets[number + 1] - offsets[number]
        for place in range(size):
            own[place] = tokens[offsets[number] + place]
        sort(own, size)
        for place in range(size):
            if place == 0 or own[place] != own[place - 1]:
                new_tokens[used] = own[place]
                used += 1
        new_offsets[number + 1] = used
    return new_offsets, new_tokens[:used].copy()


@nested_njit
def shared_tokens(offsets: Any, tokens: Any, first: Any, second: Any) -> int:
    """The number of tokens that two sets share. O(tokens of both)."""
    i, stop = offsets[first], offsets[first + 1]
    j, end = offsets[second], offsets[second + 1]
    common = 0
    while i < stop and j < end:
        left, right = tokens[i], tokens[j]
        common += left == right
        i += left <= right
        j += right <= left
    return common
