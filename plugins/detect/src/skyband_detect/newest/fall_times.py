"""When keys fall below bounds if no further row comes: a heap of moments for each window and bound."""

from collections.abc import Sequence

import numpy as np
from skyband.arrays import Array, Int64

from skyband_detect.newest.falls_kernels import begin_heap, first_fall, settle, take_due
from skyband_detect.newest.newest_kernels import (
    COUNT,
    FALL_ASK,
    FALL_KEY,
    FALL_TIME,
    FALL_VALUE,
    NEVER,
    FallAsks,
    Rings,
)
from skyband_detect.role import Below, Falls

_FEWEST = 64


class FallTimes:
    """The heaps of the windows and bounds last asked about. They follow from the rings, and are in no state."""

    def __init__(self) -> None:
        self._asks: tuple[bytes, bytes] | None = None
        self._heaps: list[Int64] = []
        self._sizes: list[int] = []

    @property
    def nbytes(self) -> int:
        """Bytes of the heaps."""
        return sum(heap.nbytes for heap in self._heaps)

    def reset(self) -> None:
        """Forget all heaps, as keys came in other ways than by `settle`."""
        self._asks, self._heaps, self._sizes = None, [], []

    def begin(self, rings: Rings, below: Below, now: int | None) -> FallAsks:
        """Make the heaps for these windows and bounds, unless they are those of the last time. O(keys log keys)."""
        asks = FallAsks(*below, NEVER if now is None else now)
        named = (below.windows.tobytes(), below.bounds.tobytes())
        if named != self._asks:
            keys = int(rings.meta[COUNT])
            self._heaps = [np.empty((keys + _FEWEST, 2), np.int64) for _ in below.windows]
            pairs = zip(below.windows.tolist(), below.bounds.tolist(), self._heaps, strict=True)
            self._sizes = [begin_heap(rings, window, bound, asks.now, heap) for window, bound, heap in pairs]
            self._asks = named
        return asks

    def settle(self, rings: Rings, asks: FallAsks, until: int, records: Int64, keeps: bool) -> Falls:
        """The falls after `asks.now` and up to `until`: those in `records`, and those of keys without rows since.

        records: int64[m, 4] by rows, with keys that have reached a bound. keeps: whether they may be asked for again.
        """
        of_rows = records[records[:, FALL_TIME] != NEVER]
        pieces = [of_rows]
        for ask, (window, bound) in enumerate(zip(asks.windows.tolist(), asks.bounds.tolist(), strict=True)):
            heap, size = self._heaps[ask], self._sizes[ask]
            due = np.empty(size, np.int64)
            rest = take_due(heap, size, until, due)
            new = records[(records[:, FALL_ASK] == ask) & (records[:, FALL_TIME] == NEVER), FALL_KEY]
            bits = np.unique(np.concatenate([due[: size - rest], new]))
            if rest + len(bits) > len(heap):
                heap = np.concatenate([heap, np.empty((len(heap) + len(bits), 2), np.int64)])
                self._heaps[ask] = heap
            found = np.empty((len(bits), 3), np.int64)
            self._sizes[ask], fallen = settle(rings, bits, window, bound, asks.now, until, heap, rest, found, keeps)
            number, moments, values = found[:fallen].T
            pieces.append(np.column_stack([np.full(fallen, ask), bits[number], moments, values]))
        return _in_order(pieces)

    def first(self, rings: Rings, asks: FallAsks) -> int | None:
        """The earliest moment after `asks.now` at which a key falls."""
        firsts = []
        for ask, (window, bound) in enumerate(zip(asks.windows.tolist(), asks.bounds.tolist(), strict=True)):
            moment, self._sizes[ask] = first_fall(rings, window, bound, asks.now, self._heaps[ask], self._sizes[ask])
            firsts += [] if moment == NEVER else [moment]
        return min(firsts, default=None)


def _in_order(pieces: Sequence[Array]) -> Falls:
    """Falls by time, bound and key."""
    records = np.concatenate(pieces)
    keys = np.ascontiguousarray(records[:, FALL_KEY]).view(np.uint64)
    order = np.lexsort((keys, records[:, FALL_ASK], records[:, FALL_TIME]))
    asks, times, values = (np.ascontiguousarray(records[order, part]) for part in (FALL_ASK, FALL_TIME, FALL_VALUE))
    return Falls(keys[order], asks, times, values)
