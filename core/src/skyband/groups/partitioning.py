"""Assigns rows to shards: to one by hash or, where rows must meet in pairs, to the cells of a matrix.

The cells of a matrix are shards. Each input row has a row and a column of the matrix, both by hash: it is kept
in the cells of its matrix row, for later rows, and meets earlier rows kept in the cells of its matrix column. A
row and a column share one cell, so every two input rows meet in exactly one shard: no pair is found twice and none
is missed, whatever the data. On r · c shards an input row is sent to r + c − 1 of them; each shard keeps 1/r of the
input, and 1/c of the input meets it there.

Source: the join matrix of Okcan and Riedewald, Processing Theta-Joins using MapReduce, SIGMOD 2011.
"""

import math
from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from attrs import field, frozen

from skyband.arrays import Array, Int8, Int64, UInt64
from skyband.roles.sharding import BUILD, PROBE

PLACES = pa.binary(32)
"""The type of `places_of`."""


@frozen
class Partitioning:
    """The rows of a frame as assigned to shards; a row may go to several."""

    rows: Int64
    """int64[m]: places in the frame."""
    shards: Int64
    """int64[m]: the shard of each."""
    parts: Int8 | None = None
    """int8[m]: what it does there, PROBE, BUILD or BOTH (in one shard only); None if each row goes to one shard."""
    columns: Mapping[str, Array] = field(factory=dict)
    """Columns of the frame that differ by shard: [m] each."""


def by_hash(hashes: UInt64, shards: int) -> Partitioning:
    """Each row to one shard, by its hash (uint64[n]). O(n)."""
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
    """The number of rows of the matrix that `shards` shards form: as square as possible, with at least as many columns.

    Meeting costs more than keeping; and more columns do not reduce the costs of sending, keeping and sorting.
    """
    return max(rows for rows in range(1, math.isqrt(shards) + 1) if shards % rows == 0)


def places_of(times: Int64, codes: Int64, ties: UInt64, sides: Int8 | None = None) -> pa.Array:
    """PLACES[n]: the places of rows in the order of all rows, in any shard, as bytes that compare in that order.

    By time, code, side (0 or 1, if rows have one) and tie, then by number among rows equal in these, in any shard.
    """
    again = (times[1:] == times[:-1]) & (codes[1:] == codes[:-1]) & (ties[1:] == ties[:-1])
    if sides is not None:
        again &= sides[1:] == sides[:-1]
    place = np.arange(len(times))
    number = place - np.maximum.accumulate(np.where(np.append(False, again), 0, place))
    signs = np.uint64(1 << 63)
    last = [ties, number.view(np.uint64)]
    if sides is not None:  # one bit before the others; the number gets one bit less
        bit = np.uint64(63)
        last = [sides.astype(np.uint64) << bit | ties >> np.uint64(1), ties << bit | last[1]]
    columns = [times.view(np.uint64) ^ signs, codes.view(np.uint64) ^ signs, *last]
    packed = np.stack(columns, axis=1).astype(">u8")
    return pa.Array.from_buffers(PLACES, len(times), [None, pa.py_buffer(packed.tobytes())])


def _one_of(hashes: UInt64, count: int) -> Int64:
    if count & (count - 1) == 0:  # a division takes several times as long
        return (hashes & np.uint64(count - 1)).view(np.int64)
    return (hashes % np.uint64(count)).astype(np.int64)
