"""Reads states of sketch/pcsa-ml in place: selects the cells since a moment by their packed ages."""

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from skyband.arrays import TIME_MIN, Array, UInt64
from skyband.state_validation import StateReader

from skyband_distinct.salts import mixed, salt
from skyband_distinct.sketch_reader import Sample, SketchReader
from skyband_distinct.sketch_sizes import likelihood_arrays, likelihood_recent
from skyband_distinct.stamps.likelihood_formula import LEVELS, likeliest
from skyband_distinct.state_readers import Promised, distinct, promised


class PcsaMlReader(SketchReader):
    """O(bytes) a state, O(bytes) an estimate, which compares the ages byte by byte without unpacking them.

    A union needs no stamp table either: a cell is filled if it is young enough in any state.
    """

    def __init__(self, parameters: Mapping[str, Any], state: Mapping[str, Array]) -> None:
        self._promised = promised(Promised, parameters)
        self._arrays = likelihood_arrays(self._promised.epsilon, self._promised.delta)
        self._size = likelihood_recent(self._promised.epsilon) + 1
        reader = StateReader(state)
        self._now = reader.optional("now")
        latest = TIME_MIN if self._now is None else self._now
        self._times = times = reader.column("recent_times", np.int64)
        if len(times):
            reader.require(not (times[1:] > times[:-1]).any(), "recent_times", "must be descending")
            within = int(times[-1]) > TIME_MIN and int(times[0]) <= latest
            reader.require(within, "recent_times", "must be no later than now")
        self._keys = reader.column("recent_keys", np.uint64, len(times))
        self._overflowed = bool(reader.column("overflowed", np.int8, 1, at_least=0, at_most=1)[0])
        begun, count = self._now is not None, len(times)
        fits = count == self._size if self._overflowed else begun <= count <= (self._size - 1) * begun
        if not fits:
            message = f"cannot be {count} of at most {self._size} if overflowed is {self._overflowed}"
            reader.require(False, "recent_keys", message)
        ordered = np.sort(self._keys)
        reader.require(not (ordered[1:] == ordered[:-1]).any(), "recent_keys", "must be distinct")
        self._read_table(reader)

    def _read_table(self, reader: StateReader) -> None:
        levels, width = reader.column("levels", np.int64, 2).tolist()
        if not 0 <= levels <= LEVELS * self._overflowed or not 0 <= width <= 8:
            most = f"{LEVELS * self._overflowed} and 8"
            reader.require(False, "levels", f"must be at most {most} (got {levels} and {width})")
        cells = levels * self._arrays
        packed = reader.column("filled", np.uint8, (cells + 7) // 8)
        self._ends = [0]
        if levels:
            self._filled = np.unpackbits(packed, count=cells).view(bool)
            for start in range(0, cells, self._arrays):
                count = int(np.count_nonzero(self._filled[start : start + self._arrays]))
                self._ends.append(self._ends[-1] + count)
        ages = reader.column("ages", np.uint8, width * self._ends[-1])
        self._ages = ages.reshape(width, self._ends[-1])
        oldest = (self._now or 0) - TIME_MIN
        if self._ends[-1] and 2 ** (8 * width) > oldest:
            fine = not self._older(oldest - 1).any()
            reader.require(fine, "ages", f"must not reach back beyond the earliest time, from {self._now or 0}")

    @property
    def latest(self) -> int | None:
        return self._now

    @property
    def floor(self) -> int:
        return TIME_MIN

    @property
    def retained(self) -> int:
        return len(self._times) + int(self._ends[-1])

    def estimate(self, since: int) -> tuple[float, float, float]:
        if self._reaches_back(since):
            count = float(np.count_nonzero(self._times >= _time(since))) if since < 2**63 else 0.0
            return count, count, count
        young = self._young(since)
        ends = self._ends
        counts = [int(np.count_nonzero(young[ends[level] : ends[level + 1]])) for level in range(len(ends) - 1)]
        return self._estimate_of(counts)

    @classmethod
    def union(cls, readers: Sequence[Self], since: Sequence[int]) -> tuple[float, float, float]:
        """Exact if each state's recent keys reach back to its moment, even if those of a merged sketch would not."""
        pairs = list(zip(readers, since, strict=True))
        if all(reader._reaches_back(moment) for reader, moment in pairs):
            keys = np.concatenate([reader._keys_since(moment) for reader, moment in pairs])
            count = float(len(distinct(keys)))
            return count, count, count
        first = readers[0]
        table = np.zeros(LEVELS * first._arrays, bool)
        for reader, moment in pairs:
            table[reader._cells_since(moment)] = True
        return first._estimate_of(np.count_nonzero(table.reshape(LEVELS, first._arrays), axis=1).tolist())

    def samples(self, since: int) -> Sequence[Sample]:
        return [Sample(distinct(self._keys_since(since)), 1.0)] if self._reaches_back(since) else ()

    def _reaches_back(self, since: int) -> bool:
        """Whether the recent keys are all the keys since a moment."""
        return not self._overflowed or since > int(self._times[-1])

    def _keys_since(self, since: int) -> UInt64:
        return self._keys[self._times >= _time(since)] if since < 2**63 else self._keys[:0]

    def _cells_since(self, since: int) -> Any:
        """int64[n]: the cells of the keys since a moment. With few keys the table is empty, so they are hashed here."""
        if self._overflowed:
            return np.flatnonzero(self._filled)[self._young(since)]
        words = mixed(self._keys_since(since) ^ salt(self._promised.seed))
        low = words | np.uint64(1 << (LEVELS - 1))
        levels = np.bitwise_count((low - np.uint64(1)) & ~low).astype(np.int64)
        arrays = ((words >> np.uint64(32)) * np.uint64(self._arrays)) >> np.uint64(32)
        return levels * self._arrays + arrays.astype(np.int64)

    def _young(self, since: int) -> Any:
        """bool[filled]: which of the filled cells are stamped at `since` or later."""
        return ~self._older((self._now or 0) - since)

    def _older(self, limit: int) -> Any:
        """bool[filled]: which ages are above a limit, byte by byte from the lowest."""
        width = len(self._ages)
        if limit < 0 or limit >= 256**width:
            return np.full(self._ends[-1], limit < 0)
        older = np.zeros(self._ends[-1], bool)
        for plane, byte in zip(self._ages, limit.to_bytes(width, "little"), strict=True):
            older &= plane == byte
            older |= plane > byte
        return older

    def _estimate_of(self, counts: list[int]) -> tuple[float, float, float]:
        least = float(self._size)
        count = max(least, round(_solver()(counts, self._arrays), 3))
        low, high = self._promised.around(count)
        return count, max(low, least), high


def _solver() -> Callable[[Any, int], float]:
    """The compiled solver if it is already loaded: loading it takes longer than reading thousands of states."""
    if "skyband_distinct.stamps.likelihood" not in sys.modules:
        return likeliest
    compiled = sys.modules["skyband_distinct.stamps.likelihood"].likeliest
    return lambda counts, arrays: float(compiled(np.array(counts, np.int64), arrays))


def _time(since: int) -> int:
    return max(since, TIME_MIN + 1)
