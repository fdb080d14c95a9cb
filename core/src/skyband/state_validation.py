"""Reads a backend's state without trusting it: each array must have the right type, length and range.

A snapshot's checksum detects accidents, not intent, and an older version may have stored something else in an array. A
`_load` that reads its arrays through a `StateReader` raises SnapshotError, naming the array, before compiled code
uses an index out of range.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from skyband.arrays import Array, Int64, offsets_of
from skyband.errors import InputError, SnapshotError


class StateReader:
    """A state whose arrays are checked as they are read. O(1) per array, O(n) if values are checked.

    >>> state = StateReader({"times": np.array([3, 5]), "slots": np.array([0, 2], np.int32)})
    >>> times = state.ascending("times", at_most=9)
    >>> state.column("slots", np.int32, len(times), at_least=0, at_most=1)
    Traceback (most recent call last):
        ...
    skyband.errors.SnapshotError: contradicts itself: slots: must be from 0 to 1 (got 2)
    """

    def __init__(self, state: Mapping[str, Array]) -> None:
        self._state = state

    @property
    def arrays(self) -> Mapping[str, Array]:
        """All arrays, unchecked."""
        return self._state

    def column(
        self,
        name: str,
        dtype: npt.DTypeLike,
        length: int | None = None,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> Array:
        """The array `name`, read-only, of this dtype and length, every value within the bounds and none NaN."""
        if name not in self._state:
            raise SnapshotError(f"lacks its array {name!r}: another version wrote it")
        values = self._state[name]
        if values.dtype != dtype:  # formats the message only on failure: small states are read by the thousand
            self.require(False, name, f"must be {np.dtype(dtype)} (got {values.dtype})")
        if length is not None and len(values) != length:
            self.require(False, name, f"must have {length} values (got {len(values)})")
        if len(values) and not (at_least is None and at_most is None):
            self._within(name, values.min(), values.max(), at_least, at_most)
        return values

    def number(self, name: str, at_least: int | None = None, at_most: int | None = None) -> int:
        """The single value of an int64 array."""
        return int(self.column(name, np.int64, 1, at_least=at_least, at_most=at_most)[0])

    def optional(self, name: str) -> int | None:
        """The single value of an int64 array; None if it is empty."""
        values = self.column(name, np.int64).tolist()
        self.require(len(values) <= 1, name, "must have at most one value")
        return values[0] if values else None

    def ascending(
        self,
        name: str,
        length: int | None = None,
        *,
        dtype: npt.DTypeLike = np.int64,
        strictly: bool = False,
        at_least: int | None = None,
        at_most: int | None = None,
    ) -> Array:
        """An array of integers, each at least the one before, or above it if `strictly`. O(n)."""
        values = self.column(name, dtype, length)
        falls = values[1:] <= values[:-1] if strictly else values[1:] < values[:-1]
        self.require(not falls.any(), name, "must be ascending")
        if len(values):
            self._within(name, values[0], values[-1], at_least, at_most)
        return values

    def sizes(self, name: str, parts: int | None, total: int) -> Int64:
        """int64[parts]: the lengths of the parts of an array of `total` values."""
        values = self.column(name, np.int64, parts, at_least=0, at_most=total)
        within = len(values) < 2**62 // max(total, 1) and int(values.sum()) == total
        self.require(within, name, f"must add up to {total}, the number of values")
        return values

    def offsets(self, name: str, parts: int | None, total: int) -> Int64:
        """int64[parts + 1]: the offsets of the parts of an array of `total` values, and its end."""
        values = self.column(name, np.int64, None if parts is None else parts + 1)
        try:
            offsets_of(name, values, total)
        except InputError as error:
            raise SnapshotError(f"contradicts itself: {error}") from error
        return values

    def require(self, fine: bool, name: str, message: str) -> None:
        """Raise SnapshotError about the array `name` unless `fine`."""
        if not fine:
            raise SnapshotError(f"contradicts itself: {name}: {message}")

    def _within(self, name: str, least: Any, most: Any, at_least: float | None, at_most: float | None) -> None:
        """Raise unless both are within the bounds; NaN, which numpy returns as the minimum if present, is not."""
        low, high = -np.inf if at_least is None else at_least, np.inf if at_most is None else at_most
        for value in (least.item(), most.item()):
            if not low <= value <= high:
                self.require(False, name, f"must be from {low} to {high} (got {value!r})")
