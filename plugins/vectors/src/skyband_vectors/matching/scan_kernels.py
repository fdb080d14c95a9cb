"""Scans tiles of approximate cosines for pairs that may match, and decides those by the definition: compiled code."""

from typing import Any, NamedTuple

import numpy as np
from skyband.arrays import Float64, Int8, Int64
from skyband.kernels.nested import kernel_njit, nested_njit
from skyband_setjoin.matching.answers import MATCH, arrange, with_room

from skyband_vectors.matching.definition_kernels import COSINE_KIND, DOT_KIND, inner, similarity
from skyband_vectors.role import Float32

HIT = np.dtype([("row", np.int64), ("earlier", np.int64), ("similarity", np.float64)])
"""A match: the row of the batch, the number of the earlier vector, and how similar they are."""

_STRIDE = 64
_ROUNDED = 1.2e-7
"""More than the rounding of a cosine to float32."""
_SLACK = 1e-10
"""More than the relative error of a squared distance."""
_SHORT, _LONG = 1e-20, 1e30
"""Products of two lengths between which no float32 product over- or underflows so that it matters."""


class Vectors(NamedTuple):
    """Some vectors with what a scan needs of each. All arrays are read-only, so that kernels are compiled once."""

    entries: Float32
    squares: Float64
    """The squared lengths, by the definition."""
    lengths: Float64
    sides: Int8
    numbers: Int64

    def part(self, rows: Any) -> "Vectors":
        """Some of the rows: a slice, places or a mask."""
        return Vectors(*(values[rows] for values in self))


@nested_njit(fastmath=True)
def _product(x, y):
    """x · y in float32, in any order: some five times as fast as by the definition."""
    total = np.float32(0.0)
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@nested_njit
def is_below(kind, x, y, length, other, bar, margin):
    """Whether a product in float32 shows that two vectors of these lengths do not reach the bar.

    margin: how far such a product of vectors of length 1 may be from their cosine.
    """
    both = length * other
    if not (_SHORT <= both <= _LONG):
        return False
    cosine = np.float64(_product(x, y)) / both
    if kind == COSINE_KIND:
        return cosine < bar - margin
    return not _may_match(kind, cosine, bar, margin, length, other)


@nested_njit
def _may_match(kind, cosine, bar, margin, length, other):
    """Whether vectors of these lengths and about this cosine, too small by at most `margin`, may reach the bar."""
    product = (np.float64(cosine) + margin) * (length * other)
    if kind == DOT_KIND:
        return product >= bar
    square = length * length + other * other
    return 2.0 * product >= (square - bar * bar) - _SLACK * (square + bar * bar)


@nested_njit
def _count(cosines, start, stop, kind, bar, margin, length, lengths):
    """How many of cosines[start:stop] may reach the bar; a loop without branches, for several at a time."""
    count = 0
    if kind == COSINE_KIND:
        limit = np.float32(bar - margin - _ROUNDED)
        for j in range(start, stop):
            count += cosines[j] >= limit
    else:
        for j in range(start, stop):
            count += _may_match(kind, cosines[j], bar, margin, length, lengths[j])
    return count


@kernel_njit
def candidates(cosines, kind, bars, margin, lengths, others):
    """How many pairs of a tile may match: cosines float32[n, m], and a bar for each row."""
    count = 0
    for i in range(len(cosines)):
        count += _count(cosines[i], 0, len(others), kind, bars[i], margin, lengths[i], others)
    return count


@nested_njit
def _sink(heap, size):
    """Move the first value of a heap, whose smallest is to be first, to its place."""
    place = 0
    while 2 * place + 1 < size:
        child = 2 * place + 1
        if child + 1 < size and heap[child + 1] < heap[child]:
            child += 1
        if heap[place] <= heap[child]:
            return
        heap[place], heap[child] = heap[child], heap[place]
        place = child


@nested_njit
def _raise_bar(heap, size, value):
    """Add a value to the largest of a row, `size` of them so far; returns how many there are then."""
    if size == len(heap):
        heap[0] = value
        _sink(heap, size)
        return size
    heap[size], place = value, size
    while place > 0 and heap[place] < heap[(place - 1) // 2]:
        heap[place], heap[(place - 1) // 2] = heap[(place - 1) // 2], heap[place]
        place = (place - 1) // 2
    return size + 1


@kernel_njit
def scan(
    cosines, begins, ends, stays, drops, kind, two, margin, whole, new, old, bars, best, sizes, counts, hits, used
):  # fmt: skip
    """Add the matches of each row of a batch among old[begins[i]:ends[i]], in order; returns hits and their number.

    cosines: float32[n, m], about the cosines of new and old vectors. bars: what a match has to reach, or, if `best` has
    found as many as are asked for, to exceed; best float64[n, k], k = 0 for all matches, sizes of them so far. counts:
    the matches of each row. stays: which old vectors may be matched; drops: the old ones are the batch itself, and a
    row that matches does not stay. margin: how far `cosines` may be below the true ones. whole: how far a product of
    all entries may be, which is tried next; 0: `cosines` are such products.
    """
    most = best.shape[1]
    for i in range(len(begins)):
        row, begin, end = cosines[i], begins[i], ends[i]
        while begin < end:
            stop = min(begin + _STRIDE, end)
            if _count(row, begin, stop, kind, bars[i], margin, new.lengths[i], old.lengths):
                for j in range(begin, stop):
                    if not stays[j] or (two and old.sides[j] == new.sides[i]):
                        continue
                    if not _count(row, j, j + 1, kind, bars[i], margin, new.lengths[i], old.lengths):
                        continue
                    x, y = new.entries[i], old.entries[j]
                    if whole > 0 and is_below(kind, x, y, new.lengths[i], old.lengths[j], bars[i], whole):
                        continue
                    product = inner(x, y)
                    value = similarity(kind, product, new.squares[i], old.squares[j])
                    full = most > 0 and sizes[i] == most
                    # Earlier ones come first and win a tie.
                    if value < bars[i] or (full and value == bars[i]):
                        continue
                    hits = with_room(hits, used)
                    hits[used].row, hits[used].earlier, hits[used].similarity = i, old.numbers[j], value
                    used += 1
                    counts[i] += 1
                    if most:
                        sizes[i] = _raise_bar(best[i], sizes[i], value)
                        if sizes[i] == most:
                            bars[i] = max(bars[i], best[i, 0])
            begin = stop
        if drops and counts[i] > 0:
            stays[i] = False
    return hits, used


@kernel_njit
def arrange_hits(hits, used, counts, most):
    """The matches of a batch in the contract's order: cuts int64[n + 1], and MATCH[at least cuts[-1]].

    The hits of a row are by number. most: 0 for all, by number; else how many, the most similar first.
    """
    ends = np.cumsum(counts)
    places = ends - counts
    matches = np.empty(used, MATCH)
    for hit in range(used):
        place = places[hits[hit].row]
        places[hits[hit].row] += 1
        matches[place].earlier, matches[place].similarity = hits[hit].earlier, hits[hit].similarity
    cuts, total = np.zeros(len(counts) + 1, np.int64), 0
    for i in range(len(counts)):
        begin = ends[i] - counts[i]
        count = arrange(matches[begin : ends[i]], counts[i], most) if most else counts[i]
        for j in range(count):
            matches[total + j].earlier = matches[begin + j].earlier
            matches[total + j].similarity = matches[begin + j].similarity
        total += count
        cuts[i + 1] = total
    return cuts, matches
