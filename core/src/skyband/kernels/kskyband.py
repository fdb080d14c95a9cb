"""A k-skyband driven from Python, for callers without a compiled loop; see `kskyband_kernels` for the structure."""

import numpy as np
import numpy.typing as npt

from skyband.arrays import TIME_MIN, Array, Int64
from skyband.kernels import kskyband_kernels
from skyband.kernels.kskyband_kernels import ITEM, NOW, PENDING, SIZE, K


class KSkyband:
    """A k-skyband driven from Python.

    Parameters: k, the most items in an answer; room, the fewest items buffered between flushes.
    Reading the items (`topk`, `items`, `len`) flushes first; `lower_bound`, `crop` and `admits` refer to the
    items at the last flush.

    >>> band = KSkyband(k=1)
    >>> band.add(scores=[0.5, 0.9, 0.4], expiries=[30, 10, 20], keys=[1, 2, 3])
    >>> band.topk(1)["key"].tolist(), band.topk(1, since=11)["key"].tolist(), len(band)
    ([2], [1], 2)
    """

    def __init__(self, k: int, room: int = 64) -> None:
        self.band = kskyband_kernels.new(k, room)

    def add(
        self,
        scores: npt.ArrayLike,
        expiries: npt.ArrayLike,
        ties: npt.ArrayLike = 0,
        keys: npt.ArrayLike = 0,
    ) -> None:
        """Add items: float64[n] scores (never NaN), int64[n] expiries, ties and keys; scalars are broadcast."""
        columns = np.broadcast_arrays(np.atleast_1d(scores), expiries, ties, keys)
        batch = np.empty(len(columns[0]), ITEM)
        for name, values in zip(ITEM.names or (), columns, strict=True):
            batch[name] = values
        while len(batch):
            if kskyband_kernels.is_full(self.band):
                self.flush()
            counts, buffer = self.band.counts, self.band.buffer
            pending = int(counts[PENDING])
            room = min(len(buffer) - pending, len(batch))
            buffer[pending : pending + room] = batch[:room]
            counts[PENDING] += room
            batch = batch[room:]

    def advance(self, now: int) -> None:
        """Drop items that expire before `now`."""
        self.band.counts[NOW] = max(int(self.band.counts[NOW]), now)

    def flush(self) -> None:
        """Merge items added since the last flush and drop those that no longer matter."""
        counts = self.band.counts  # checked here too: a flushed band need not compile the kernel
        if counts[PENDING] or (counts[SIZE] and self.band.ends[0] < counts[NOW]):
            self.band = kskyband_kernels.flush(self.band)

    def lower_bound(self, expiry: int) -> float:
        """The k-th best score at moment `expiry` at the last flush; −inf if fewer are alive."""
        return float(kskyband_kernels.lower_bound(self.band, expiry))

    def crop(self, bound: float) -> int:
        """The smallest expiry for which an item with score at most `bound` may still matter."""
        return int(kskyband_kernels.crop(self.band, bound))

    def admits(self, score: float, expiry: int, tie: int = 0, key: int = 0) -> bool:
        """False if and only if k items of the last flush are known to dominate this one."""
        return bool(kskyband_kernels.admits(self.band, score, expiry, tie, key))

    def topk(self, k: int | None = None, since: int = TIME_MIN) -> Array:
        """The best `k` (by default and at most K) items alive at `since` (at least `now`), as ITEM[r]."""
        self.flush()
        limit = int(self.band.counts[K])
        best: Array = kskyband_kernels.topk(self.band, limit if k is None else min(k, limit), since)
        return best

    def items(self) -> Array:
        """A copy of the kept items, ITEM[n] in order B."""
        self.flush()
        kept: Array = self.band.items[: self.band.counts[SIZE]].copy()
        return kept

    def expiries(self) -> Int64:
        """The expiries of the kept items in order E, int64[n] ascending."""
        self.flush()
        ends: Int64 = self.band.ends[: self.band.counts[SIZE]].copy()
        return ends

    def __len__(self) -> int:
        self.flush()
        return int(self.band.counts[SIZE])

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays, including slack."""
        return sum(array.nbytes for array in self.band)
