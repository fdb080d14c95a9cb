"""What passes over small groups of sets do with tokens, in compiled code."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import Array, Int8, Int64
from skyband.kernels.nested import nested_njit
from skyband.kernels.sorting import sort


class PlacedSets(NamedTuple):
    """The sets of a pass as compiled code takes them: see `SetsInOrder`, whose first columns these are."""

    heads: Int64
    rows: Int64
    stops: Int64
    order: Int64
    times: Int64
    sides: Int8
    offsets: Int64
    tokens: Int64
    ended: Array
    """bool: of each session whether nothing of it is needed once it is answered."""
    oldest: Int64
    """Sets of a session before this are needed no longer."""


@njit(cache=True)
def distinct_tokens(offsets: Any, tokens: Any) -> Any:
    """The tokens of each set ascending, each once: (offsets int64[n + 1], tokens int64[m]). O(m log m)."""
    new_offsets, new_tokens = np.zeros(len(offsets), np.int64), np.empty(len(tokens), np.int64)
    longest = 0
    for number in range(len(offsets) - 1):
        longest = max(longest, offsets[number + 1] - offsets[number])
    own = np.empty(longest, np.int64)
    written = 0
    for number in range(len(offsets) - 1):
        size = offsets[number + 1] - offsets[number]
        for place in range(size):
            own[place] = tokens[offsets[number] + place]
        sort(own, size)
        for place in range(size):
            if place == 0 or own[place] != own[place - 1]:
                new_tokens[written] = own[place]
                written += 1
        new_offsets[number + 1] = written
    return new_offsets, new_tokens[:written].copy()


@nested_njit
def shared_tokens(offsets: Any, tokens: Any, one: Any, other: Any) -> int:
    """How many tokens two sets share. O(tokens of both)."""
    here, stop = offsets[one], offsets[one + 1]
    there, end = offsets[other], offsets[other + 1]
    common = 0
    while here < stop and there < end:
        mine, theirs = tokens[here], tokens[there]
        common += mine == theirs
        here += mine <= theirs
        there += theirs <= mine
    return common
