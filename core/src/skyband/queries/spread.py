"""Which shards a row goes to: to one by hash, or, where rows have to meet in pairs, to the cells of a matrix.

The cells of a matrix are shards. A row has a line and a column of it, both by hash: it is kept in the cells of its
line, for rows to come, and meets those kept before it in the cells of its column. A line and a column have one cell in
common, so every two rows meet, and in one shard only: no pair is found twice and none is missed, whatever the data.
On l · c shards a row is sent to l + c − 1 of them, each keeps 1/l of the rows and has 1/c of them meet those.

Source: the join matrix of Okcan and Riedewald, Processing Theta-Joins using MapReduce, SIGMOD 2011.
"""

import math

import numpy as np
from attrs import frozen

from skyband.arrays import Int8, Int64, UInt64
from skyband.roles.pair_ranker import KEPT, MEETS


@frozen
class Spread:
    """The rows of a frame as they go to shards; a row may go to several."""

    rows: Int64
    """int64[m]: places in the frame."""
    shards: Int64
    """int64[m]: where each goes."""
    parts: Int8 | None = None
    """int8[m]: what it does there, MEETS, KEPT or BOTH (in one shard only); None where each row goes to one shard."""


def by_hash(hashes: UInt64, shards: int) -> Spread:
    """Each row to one shard, rows of equal hash (uint64[n]) to the same. O(n)."""
    return Spread(np.arange(len(hashes)), _one_of(hashes >> np.uint64(32), shards))


def by_cell(hashes: UInt64, lines: int, columns: int) -> Spread:
    """Each row to the cells of its line and its column in a matrix of shards, line by line. O(n · lines · columns)."""
    rows = np.arange(len(hashes))
    parts = np.zeros((len(rows), lines, columns), np.int8)
    parts[rows, _one_of(hashes >> np.uint64(32), lines), :] |= KEPT
    parts[rows, :, _one_of(hashes & np.uint64(0xFFFFFFFF), columns)] |= MEETS
    flat = parts.reshape(len(rows), lines * columns)
    places, shards = np.nonzero(flat)
    return Spread(places, shards, flat[places, shards])


def lines_of(shards: int) -> int:
    """The lines of the matrix that so many shards make: as square as it can be, with no fewer columns than lines.

    To meet costs more than to be kept, and to be sent, kept and sorted is what does not get less with more columns.
    """
    return max(lines for lines in range(1, math.isqrt(shards) + 1) if shards % lines == 0)


def _one_of(hashes: UInt64, count: int) -> Int64:
    return (hashes % np.uint64(count)).astype(np.int64)
