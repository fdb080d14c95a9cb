"""Which shards a row goes to: to one by hash, or, where rows have to meet in pairs, to the cells of a matrix.

The cells of a matrix are shards. Each input row has a row and a column of the matrix, both by hash: it is kept
in the cells of its matrix row, for those to come, and meets those kept before it in the cells of its matrix column. A
row and a column have one cell in common, so every two input rows meet, and in one shard only: no pair is found twice
and none is missed, whatever the data. On r · c shards an input row is sent to r + c − 1 of them, each keeps 1/r of the
input and has 1/c of it meet those.

Source: the join matrix of Okcan and Riedewald, Processing Theta-Joins using MapReduce, SIGMOD 2011.
"""

import math

import numpy as np
import pyarrow as pa
from attrs import frozen

from skyband.arrays import Int8, Int64, UInt64
from skyband.roles.sharding import BUILD, PROBE

PLACES = pa.binary(32)
"""The type of `places_of`."""


@frozen
class Partitioning:
    """The rows of a frame as they go to shards; a row may go to several."""

    rows: Int64
    """int64[m]: places in the frame."""
    shards: Int64
    """int64[m]: where each goes."""
    parts: Int8 | None = None
    """int8[m]: what it does there, PROBE, BUILD or BOTH (in one shard only); None where each row goes to one shard."""


def by_hash(hashes: UInt64, shards: int) -> Partitioning:
    """Each row to one shard, rows of equal hash (uint64[n]) to the same. O(n)."""
    return Partitioning(np.arange(len(hashes)), _one_of(hashes >> np.uint64(32), shards))


def by_cell(hashes: UInt64, rows: int, columns: int) -> Partitioning:
    """Each input row to the cells of its row and column in a matrix of shards. O(n · rows · columns)."""
    inputs = np.arange(len(hashes))
    parts = np.zeros((len(inputs), rows, columns), np.int8)
    parts[inputs, _one_of(hashes >> np.uint64(32), rows), :] |= BUILD
    parts[inputs, :, _one_of(hashes & np.uint64(0xFFFFFFFF), columns)] |= PROBE
    flat = parts.reshape(len(inputs), rows * columns)
    places, shards = np.nonzero(flat)
    return Partitioning(places, shards, flat[places, shards])


def matrix_rows(shards: int) -> int:
    """The rows of the matrix that so many shards make: as square as it can be, with no fewer columns than rows.

    To meet costs more than to be kept, and to be sent, kept and sorted is what does not get less with more columns.
    """
    return max(rows for rows in range(1, math.isqrt(shards) + 1) if shards % rows == 0)


def places_of(times: Int64, codes: Int64, ties: UInt64, sides: Int8 | None = None) -> pa.Array:
    """PLACES[n]: where rows stand in the order of all rows, whatever others a shard has: bytes that compare as they do.

    Time, code, side (0 or 1, where rows have one) and tie, then the number among those equal in these, which are in the
    same shards.
    """
    again = (times[1:] == times[:-1]) & (codes[1:] == codes[:-1]) & (ties[1:] == ties[:-1])
    if sides is not None:
        again &= sides[1:] == sides[:-1]
    place = np.arange(len(times))
    number = place - np.maximum.accumulate(np.where(np.append(False, again), 0, place))
    signs = np.uint64(1 << 63)
    last = [ties, number.view(np.uint64)]
    if sides is not None:  # a bit before the others, of which there are so many less for the number
        bit = np.uint64(63)
        last = [sides.astype(np.uint64) << bit | ties >> np.uint64(1), ties << bit | last[1]]
    columns = [times.view(np.uint64) ^ signs, codes.view(np.uint64) ^ signs, *last]
    packed = np.stack(columns, axis=1).astype(">u8")
    return pa.Array.from_buffers(PLACES, len(times), [None, pa.py_buffer(packed.tobytes())])


def _one_of(hashes: UInt64, count: int) -> Int64:
    if count & (count - 1) == 0:  # a division takes several times as long
        return (hashes & np.uint64(count - 1)).view(np.int64)
    return (hashes % np.uint64(count)).astype(np.int64)
