# mypy: disable-error-code="no-untyped-def"
"""The sets in the window, in compiled code: two power-of-two rings, one of sets and one of their tokens."""

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from skyband.arrays import Int64
from skyband.kernels.nested import nested_njit, shared_njit
from skyband.kernels.sorting import sort

SET = np.dtype(
    [
        ("time", np.int64),
        ("number", np.int64),
        ("start", np.int64),
        ("stamp", np.int64),
        ("size", np.int32),
        ("side", np.int32),
        ("hits", np.int64),
        ("level", np.float64),
    ]
)
"""A set: its number in the stream, and the start of its tokens.

stamp: the set compared with it last; hits: how many later sets have at least similarity `level` to it.
"""

FIRST, NEXT, TOKENS, SMALLEST, MEASURED = range(5)
LEAST = 16
_NO_SIZE = 2**31 - 1


class Sets(NamedTuple):
    """Sets FIRST to NEXT − 1 of all sets added, set i in records[i & mask].

    marks:   int64[5], indexed by FIRST, NEXT, TOKENS (tokens ever stored: the next set's start), SMALLEST (no set with
             tokens has fewer) and MEASURED, which was NEXT when all sets were last scanned for SMALLEST
    records: SET[power of two]
    tokens:  int64[power of two], a set's tokens ascending and distinct at start, start + 1, … & mask
    """

    marks: Any
    records: Any
    tokens: Any


def new(first: int = 0) -> Sets:
    """An empty window whose next set is number `first`."""
    return Sets(np.array([first, first, 0, _NO_SIZE, first], np.int64), np.zeros(LEAST, SET), np.zeros(LEAST, np.int64))


@shared_njit
def normalise(tokens, start, stop, scratch):
    """Write the distinct tokens of tokens[start:stop] to `scratch`, ascending; returns their number and signature.

    Each of the signature's 64 bits is the parity of the number of tokens mapped to it. So two signatures differ in at
    most as many bits as there are tokens in one set only. (Sandes et al., Bitmap-Xor; bits that any token sets would
    all be set in a long set.)
    """
    size = stop - start
    for i in range(size):
        scratch[i] = tokens[start + i]
    sort(scratch, size)
    distinct = 0
    signature = np.uint64(0)
    for i in range(size):
        if i == 0 or scratch[i] != scratch[distinct - 1]:
            scratch[distinct] = scratch[i]
            distinct += 1
            signature ^= np.uint64(1) << (mixed(scratch[i]) >> np.uint64(58))
    return distinct, signature


@nested_njit
def mixed(token):
    """A 64-bit hash of a token, whose high bits are the best; tokens may be small numbers or hashes."""
    x = np.uint64(token)
    x = (x ^ (x >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return x ^ (x >> np.uint64(29))


@shared_njit
def has_room(sets, size):
    """Whether a set of `size` tokens can be appended."""
    marks = sets.marks
    full = marks[NEXT] - marks[FIRST] == len(sets.records)
    return not full and marks[TOKENS] - _oldest_token(sets) + size <= len(sets.tokens)


@shared_njit
def enlarged(sets, size):
    """The sets with room for one more, of `size` tokens."""
    marks, records, ring = sets.marks, sets.records, sets.tokens
    oldest = _oldest_token(sets)
    if marks[NEXT] - marks[FIRST] == len(records):
        records = _moved(records, marks[FIRST], marks[NEXT], 2 * len(records))
    room = len(ring)
    while room < marks[TOKENS] - oldest + size:
        room *= 2
    if room > len(ring):
        ring = _moved(ring, oldest, marks[TOKENS], room)
    return Sets(marks, records, ring)


@shared_njit
def append(sets, number, time, side, tokens, size):
    """Append a set of `size` normalised tokens, for which there must be room."""
    marks, records, ring = sets.marks, sets.records, sets.tokens
    record = records[marks[NEXT] & (len(records) - 1)]
    record.time = time
    record.number = number
    record.start = marks[TOKENS]
    record.size = size
    record.stamp = -1
    record.hits = 0
    record.level = 0.0
    record.side = side
    mask = len(ring) - 1
    for i in range(size):
        ring[(marks[TOKENS] + i) & mask] = tokens[i]
    marks[TOKENS] += size
    marks[NEXT] += 1
    if size:
        marks[SMALLEST] = min(marks[SMALLEST], size)


@shared_njit
def expire(sets, horizon):
    """Forget the sets older than `horizon`."""
    marks, records = sets.marks, sets.records
    while marks[FIRST] < marks[NEXT] and records[marks[FIRST] & (len(records) - 1)].time < horizon:
        marks[FIRST] += 1


@shared_njit
def trim(sets):
    """Free memory after a burst: rings less than an eighth full shrink to a quarter.

    SMALLEST is computed again if all sets that it was computed from have expired.
    """
    measure(sets)
    marks, records, ring = sets.marks, sets.records, sets.tokens
    if len(records) > LEAST and 8 * (marks[NEXT] - marks[FIRST]) < len(records):
        records = _moved(records, marks[FIRST], marks[NEXT], max(len(records) // 4, LEAST))
    oldest = _oldest_token(sets)
    if len(ring) > LEAST and 8 * (marks[TOKENS] - oldest) < len(ring):
        ring = _moved(ring, oldest, marks[TOKENS], max(len(ring) // 4, LEAST))
    return Sets(marks, records, ring)


@nested_njit
def measure(sets):
    """Compute SMALLEST again if the sets of that size may have expired: once for as many new sets as there are sets."""
    marks, records = sets.marks, sets.records
    if marks[NEXT] - marks[MEASURED] < marks[NEXT] - marks[FIRST]:
        return
    marks[SMALLEST], marks[MEASURED] = _NO_SIZE, marks[NEXT]
    for number in range(marks[FIRST], marks[NEXT]):
        size = np.int64(records[number & (len(records) - 1)].size)
        if size:
            marks[SMALLEST] = min(marks[SMALLEST], size)


@nested_njit
def overlap(sets, record, tokens, size):
    """How many of the `size` normalised tokens are also in the set of `record`."""
    return shared(sets.tokens, record.start, record.start + record.size, tokens, size)


@njit(cache=True, inline="always")
def shared(ring, start, stop, tokens, size):
    """How many of the `size` normalised tokens are among those of the ring from `start` to `stop`."""
    mask = len(ring) - 1
    i, j, common = 0, start, 0
    while i < size and j < stop:
        token, other = tokens[i], ring[j & mask]
        common += token == other
        i += token <= other
        j += other <= token
    return common


@nested_njit
def _oldest_token(sets):
    marks, records = sets.marks, sets.records
    if marks[FIRST] == marks[NEXT]:
        return marks[TOKENS]
    return records[marks[FIRST] & (len(records) - 1)].start


@nested_njit
def _moved(ring, start, stop, room):
    larger = np.empty(room, ring.dtype)
    old, new = len(ring) - 1, room - 1
    for i in range(start, stop):
        larger[i & new] = ring[i & old]
    return larger


def sizes(sets: Sets, offsets: Int64) -> Int64:
    """int64[n]: the number of tokens of each set held, and of each new one."""
    places = np.arange(int(sets.marks[FIRST]), int(sets.marks[NEXT])) & (len(sets.records) - 1)
    return np.concatenate([sets.records["size"][places].astype(np.int64), np.diff(offsets)])
