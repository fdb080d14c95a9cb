"""The answers of a total-ranker: a single one, or those of many moments and windows as flat arrays."""

from collections.abc import Iterator, Sequence
from typing import Self

import numpy as np
from attrs import field, frozen
from skyband.arrays import Array, Float64, Int64

UNKNOWN = -1
"""The number of objects if a backend that keeps only some of them does not know it."""


@frozen(eq=False)
class Top:
    """The objects of one answer, total descending, then object ascending, and bounds for the others."""

    objects: Int64
    """int64[r]."""
    totals: Float64
    """float64[r]: each object's total, an estimate unless the backend is exact."""
    low: Float64
    """float64[r]: the true total is at least this, as far as the backend's guarantee goes."""
    high: Float64
    """float64[r]: the true total is at most this."""
    grand: float
    """The total of all objects: rows, weights, or (object, value) pairs."""
    grand_low: float
    grand_high: float
    rest: float
    """No object outside of the answer has a total above this."""
    objects_in_all: int = field(default=UNKNOWN, kw_only=True)
    """The number of objects with a total above 0, in the answer or not; UNKNOWN if the backend does not know."""

    @property
    def shares(self) -> Float64:
        """float64[r]: the totals as parts of `grand`."""
        return self.totals / self.grand if self.grand else self.totals


@frozen(eq=False)
class Tops(Sequence[Top]):
    """Many answers in flat arrays: answer i is objects[offsets[i]:offsets[i + 1]] and the totals and bounds there.

    The answers of q moments over m windows are ordered by moment, then window: number moment · m + window.
    """

    offsets: Int64
    """int64[q · m + 1]."""
    objects: Int64
    totals: Float64
    low: Float64
    high: Float64
    grand: Float64
    """float64[q · m], like the next three."""
    grand_low: Float64
    grand_high: Float64
    rest: Float64
    objects_in_all: Int64 = field(kw_only=True)
    """int64[q · m]."""

    @objects_in_all.default
    def _unknown(self) -> Int64:
        return np.full(len(self.grand), UNKNOWN)

    def __len__(self) -> int:
        return len(self.grand)

    def __getitem__(self, number: int) -> Top:  # type: ignore[override]  # no slices
        place = range(len(self))[number]
        part = slice(self.offsets[place], self.offsets[place + 1])
        numbers = (float(column[place]) for column in (self.grand, self.grand_low, self.grand_high, self.rest))
        columns = self.objects[part], self.totals[part], self.low[part], self.high[part]
        return Top(*columns, *numbers, objects_in_all=int(self.objects_in_all[place]))

    def __iter__(self) -> Iterator[Top]:
        return (self[number] for number in range(len(self)))

    @classmethod
    def joined(cls, tops: "Sequence[Tops]") -> Self:
        """The answers of one or more rankers, one after another."""
        names = ("objects", "totals", "low", "high", "grand", "grand_low", "grand_high", "rest", "objects_in_all")
        columns = {name: np.concatenate([getattr(part, name) for part in tops]) for name in names}
        sizes = np.concatenate([np.diff(part.offsets) for part in tops])
        return cls(offsets=np.append(0, np.cumsum(sizes)), **columns)

    @classmethod
    def of(cls, tops: Sequence[Top]) -> Self:
        """Single answers as flat arrays."""
        columns = [_joined(np.float64, [getattr(top, name) for top in tops]) for name in ("totals", "low", "high")]
        numbers = [
            np.array([getattr(top, name) for top in tops], np.float64)
            for name in ("grand", "grand_low", "grand_high", "rest")
        ]
        offsets = np.cumsum([0, *(len(top.objects) for top in tops)], dtype=np.int64)
        counts = np.array([top.objects_in_all for top in tops], np.int64)
        objects = _joined(np.int64, [top.objects for top in tops])
        return cls(offsets, objects, *columns, *numbers, objects_in_all=counts)


def _joined(kind: type, parts: list[Array]) -> Array:
    return np.concatenate([np.empty(0, kind), *parts])


EMPTY_TOP = Top(np.empty(0, np.int64), np.empty(0), np.empty(0), np.empty(0), 0.0, 0.0, 0.0, 0.0, objects_in_all=0)
"""The answer over a window without rows."""
