"""What was known of a group's windows when they ended, to be compared with later ones."""

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from skyband.arrays import Array, Float64
from skyband.state_validation import StateReader

ENTRY = 200
"""The bytes of an entry besides its arrays."""


class Ended(NamedTuple):
    """A window that ended at a moment, with one or more rows."""

    at: int
    rows: int
    numbers: Float64
    """Its answers."""
    encoded: Array
    """uint8[n]: more about it."""


class EarlierWindows:
    """The windows that ended within a lag, by the number of the window, in order of their ends."""

    def __init__(self, windows: int) -> None:
        self._windows = windows
        self.clear()

    def clear(self) -> None:
        """Forget all."""
        self._ended = [deque[Ended]() for _ in range(self._windows)]
        self._bytes = 0

    def __len__(self) -> int:
        return sum(map(len, self._ended))

    @property
    def nbytes(self) -> int:
        """Bytes of all entries. O(windows)."""
        return self._bytes + ENTRY * len(self)

    def add(self, window: int, ended: Ended) -> None:
        """Remember a window, which ended later than those before."""
        self._ended[window].append(ended)
        self._bytes += ended.numbers.nbytes + ended.encoded.nbytes

    def find(self, window: int, at: int) -> Ended | None:
        """The window that ended at a moment, None if it had no rows; forgets those that ended earlier."""
        entries = self._ended[window]
        while entries and entries[0].at < at:
            old = entries.popleft()
            self._bytes -= old.numbers.nbytes + old.encoded.nbytes
        return entries[0] if entries and entries[0].at == at else None

    def to_arrays(self) -> dict[str, Array]:
        """Flat arrays for a state."""
        entries = [(number, ended) for number, entries in enumerate(self._ended) for ended in entries]
        columns = {
            "of": [number for number, _ in entries],
            "at": [ended.at for _, ended in entries],
            "rows": [ended.rows for _, ended in entries],
            "sizes": [len(ended.numbers) for _, ended in entries],
            "bytes": [len(ended.encoded) for _, ended in entries],
        }
        arrays: dict[str, Array] = {name: np.array(column, np.int64) for name, column in columns.items()}
        arrays["numbers"] = np.concatenate([np.empty(0), *(ended.numbers for _, ended in entries)])
        arrays["encoded"] = np.concatenate([np.empty(0, np.uint8), *(ended.encoded for _, ended in entries)])
        return arrays

    def load(self, arrays: Mapping[str, Array], before: int, least: int) -> None:
        """Load the result of `to_arrays`, of windows that ended earlier than `before`, each with `least` or more
        numbers. Raises SnapshotError.
        """
        read = StateReader(arrays)
        of = read.column("of", np.int64, at_least=0, at_most=len(self._ended) - 1)
        at = read.column("at", np.int64, len(of), at_most=before - 1)
        rows = read.column("rows", np.int64, len(of), at_least=1)
        numbers, encoded = read.column("numbers", np.float64, at_least=-np.inf), read.column("encoded", np.uint8)
        sizes, lengths = read.sizes("sizes", len(of), len(numbers)), read.sizes("bytes", len(of), len(encoded))
        read.require(bool((sizes >= least).all()), "sizes", f"must be at least {least}")
        rising = (of[1:] > of[:-1]) | ((of[1:] == of[:-1]) & (at[1:] > at[:-1]))
        read.require(bool(rising.all()), "at", "must be ascending for each window")
        parts = np.split(numbers, np.cumsum(sizes)[:-1]), np.split(encoded, np.cumsum(lengths)[:-1])
        for number, *entry in zip(of.tolist(), at.tolist(), rows.tolist(), *parts, strict=False):
            self.add(number, Ended(*entry))
