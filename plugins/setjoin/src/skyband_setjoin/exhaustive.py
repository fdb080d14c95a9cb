"""The loop of the two rankers without an index, in compiled code: compares each set with the whole window."""

from abc import abstractmethod
from typing import Any

import numpy as np
from attrs import define
from numba import njit
from skyband.arrays import TIME_MIN, Int8, Int64
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband_kernels import PENDING, SIZE, Band
from skyband.kernels.nested import nested_njit
from skyband.roles.sharding import BUILD, PROBE

from skyband_setjoin import sets as window
from skyband_setjoin.ranker import StockRanker, alike
from skyband_setjoin.sets import FIRST, NEXT
from skyband_setjoin.similarity_kernel import similarity


@njit(cache=True)
def take(sets, band, rule, own, times, offsets, tokens, sides, parts):
    """Take in a batch; returns the new (sets, band).

    rule: int64[4]: similarity kind, whether the skyband is recomputed, sides, length (negative: counts rows).
    parts: int8[n]: PROBE if a set is compared with the window, BUILD if it is added to it; else an empty set is added.
    """
    kind, afresh, two = rule[0], rule[1] == 1, rule[2] == 2
    length, rows = abs(rule[3]), rule[3] < 0
    scratch = np.empty(max(1, len(tokens)), np.int64)
    for row in range(len(times)):
        now = times[row] + rows
        horizon = now - length if now >= TIME_MIN + length else TIME_MIN
        window.expire(sets, horizon)
        kskyband_kernels.advance(band, horizon)
        size, _ = window.normalise(tokens, offsets[row], offsets[row + 1], scratch)
        marks, records = sets.marks, sets.records
        side = np.int64(sides[row])
        for other in range(marks[FIRST], marks[NEXT] if parts[row] & PROBE else marks[FIRST]):
            record = records[other & (len(records) - 1)]
            if two and record.side == side:
                continue
            common = window.overlap(sets, record, scratch, size)
            if common == 0:
                continue
            score = similarity(kind, own, common, size, np.int64(record.size))
            left, right = (marks[NEXT], other) if two and side == 0 else (other, marks[NEXT])
            if kskyband_kernels.admits(band, score, record.time, left, right):
                if kskyband_kernels.is_full(band):
                    band = kskyband_kernels.flush(band)
                kskyband_kernels.add(band, score, record.time, left, right)
        if afresh:
            band = _all_pending(band)
        band = kskyband_kernels.flush(band)
        size = size if parts[row] & BUILD else np.int64(0)
        sets = window.enlarged(sets, size)
        window.append(sets, marks[NEXT], times[row], side, scratch, size)
    return window.trim(sets), band


@nested_njit
def _all_pending(band):
    """Move all items from the skyband to the pending ones, to be sorted and pruned again."""
    counts = band.counts
    n, b = counts[SIZE], counts[PENDING]
    buffer = np.empty(max(n + b, len(band.buffer)), band.buffer.dtype)
    for i in range(b):
        buffer[i] = band.buffer[i]
    for i in range(n):
        buffer[b + i] = band.items[i]
    counts[SIZE] = 0
    counts[PENDING] = n + b
    return Band(counts, band.items, band.order, band.ends, buffer)


@njit(cache=True)
def load(sets, times, offsets, tokens, sides):
    """Put sets of normalised tokens back into an empty window."""
    scratch = np.empty(max(1, len(tokens)), np.int64)
    for row in range(len(times)):
        size, _ = window.normalise(tokens, offsets[row], offsets[row + 1], scratch)
        sets = window.enlarged(sets, size)
        window.append(sets, sets.marks[NEXT], times[row], np.int64(sides[row]), scratch, size)
    return sets


@define(eq=False)
class Exhaustive(StockRanker):
    """A ranker that compares each new set with every set in the window."""

    def _rule(self) -> Int64:
        length = self._length() if self.by == "time" else -self._length()
        return np.array([self._kind, self._afresh(), self.sides, length], np.int64)

    @abstractmethod
    def _afresh(self) -> bool:
        """Whether the stock is computed from scratch for each arrival."""

    def _update(self, times: Int64, offsets: Int64, tokens: Int64, sides: Int8, parts: Int8) -> None:
        rows = alike(times, offsets, tokens, sides, parts)
        result: Any = take(self._sets, self._stock.band, self._rule(), self._own, *rows)
        self._sets, self._stock.band = result
        self._own.check(lambda: window.sizes(self._sets, offsets))

    def _advance(self, now: int) -> None:
        window.expire(self._sets, self._horizon(now))
        self._sets = window.trim(self._sets)

    def _refill(self, first: int, times: Int64, offsets: Int64, tokens: Int64, sides: Int8) -> None:
        self._sets = load(window.new(first), *alike(times, offsets, tokens, sides))
