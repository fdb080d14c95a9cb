"""What aggregates take: numbers, values with an order, or hashes, each with what several aggregates share."""

from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import Array, Int64, UInt64
from skyband.columns import column_ops
from skyband.columns.integer_ids import SIGN

from skyband_totals.fixed_point import MOST, fraction


class Numbers:
    """Numbers to calculate with, exactly: whole multiples of a unit, or any float64."""

    def __init__(self, numbers: Array, unit: float | None) -> None:
        self.numbers = numbers
        """int64[n], in units, each at most 2^53; or float64[n], finite, without a unit."""
        self.unit = unit

    def __len__(self) -> int:
        return len(self.numbers)

    def pick(self, mask: Array) -> "Numbers":
        """Those where `mask`, bool[n], is true."""
        return Numbers(self.numbers[mask], self.unit)

    @cached_property
    def whole(self) -> Int64 | None:
        """The numbers as int64[n], if all are whole and at most 2^53, as all units are; else None. O(n)."""
        if self.numbers.dtype == np.int64:
            return self.numbers
        if not ((np.abs(self.numbers) <= MOST) & (np.rint(self.numbers) == self.numbers)).all():
            return None
        return self.numbers.astype(np.int64)

    @property
    def ratio(self) -> tuple[float, float]:
        """The unit as its numerator and denominator, such as 1 and 100; 1 and 1 without a unit."""
        return (1.0, 1.0) if self.unit is None else fraction(self.unit)


class Values:
    """Values to compare and return: int64[n] or float64[n] in the order of the values, or an Arrow array."""

    def __init__(self, values: Any, kind: pa.DataType) -> None:
        self.values = values
        self.kind = kind
        """Their type."""

    def __len__(self) -> int:
        return len(self.values)

    def pick(self, mask: Array) -> "Values":
        """Those where `mask`, bool[n], is true."""
        return Values(column_ops.pick(self.values, mask), self.kind)

    @cached_property
    def keys(self) -> Array:
        """int64[n] or float64[n], in the order of the values; of text and bytes that of their bytes. O(n log n)."""
        if isinstance(self.values, np.ndarray):
            return self.values
        words = self.values.dictionary_encode()
        order = pc.sort_indices(words.dictionary).to_numpy()
        ranks: Int64 = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        return ranks[words.indices.to_numpy()] if len(order) else np.empty(0, np.int64)

    @cached_property
    def ascending(self) -> Int64:
        """int64[n]: the places of the values in their order. O(n log n)."""
        return np.argsort(self.keys, kind="stable")

    def at(self, places: Int64) -> pa.Array:
        """The values at these places; null for a place below 0. O(places)."""
        missing = places < 0
        if not isinstance(self.values, np.ndarray):
            return self.values.take(pa.array(places, mask=missing)).cast(self.kind)
        picks = self.values[np.where(missing, 0, places)] if len(self.values) else np.zeros(len(places), np.int64)
        if self.kind == pa.uint64():
            picks = picks.astype(np.int64, copy=False).view(np.uint64) ^ SIGN
        elif pa.types.is_floating(self.kind):
            narrow: Any = self.kind.to_pandas_dtype()
            picks = picks.astype(narrow)
        elif self.kind.bit_width == 32 and pa.types.is_temporal(self.kind):
            picks = picks.astype(np.int32)
        return pa.array(picks, mask=missing).cast(self.kind, safe=False)


class Hashes:
    """Hashes that distinguish values, uint64[n]."""

    def __init__(self, hashes: UInt64) -> None:
        self.hashes = hashes

    def __len__(self) -> int:
        return len(self.hashes)

    def pick(self, mask: Array) -> "Hashes":
        """Those where `mask`, bool[n], is true."""
        return Hashes(self.hashes[mask])

    @cached_property
    def codes(self) -> tuple[Int64, int]:
        """int64[n], a number from 0 for each different value, in any order; and how many there are. O(n)."""
        from skyband.kernels.group_numbers import number_groups  # on use, because it loads numba

        numbers, different, _ = number_groups(self.hashes)
        return numbers.astype(np.int64), len(different)
