"""The frequent-items sketch of a pane, from Apache DataSketches, and its contents as plain numbers."""

import struct
from typing import Any, NamedTuple, Self

import numpy as np
from attrs import define
from datasketches import PyLongsSerDe, frequent_items_sketch
from skyband.arrays import Int64

SIZES = range(3, 11)
"""Logarithms of the number of counters. Above 2^10 a sketch drops counters by a sample that depends on their order in
memory, so that a restored sketch would continue differently."""
LEAST = 0.0035
"""The least error that can be requested: sketches of the largest size keep it."""
_HEAD = struct.Struct("<8B2i2q")
_LONGS, _VERSION, _FAMILY = 4, 1, 10


def error_of(size: int) -> float:
    """The error that DataSketches declares for 2^size counters, as a part of the total weight."""
    return float(frequent_items_sketch.get_epsilon_for_lg_size(size))


def most_items(size: int) -> int:
    """The most counters in use of 2^size."""
    return 3 * 2**size // 4


class Summary(NamedTuple):
    """The contents of a sketch: low <= an object's weight <= low + error, with low 0 for unnamed objects."""

    weight: int
    error: int
    size: int
    """The logarithm of its current number of counters."""
    keys: Int64
    """int64[n], ascending."""
    lows: Int64

    @property
    def nbytes(self) -> int:
        """Bytes of the image."""
        return _HEAD.size + 16 * len(self.keys)

    def image(self, largest: int) -> bytes:
        """The sketch of at most 2^largest counters, as serialized by DataSketches."""
        head = (_LONGS, _VERSION, _FAMILY, largest, self.size, 0, 0, 0, len(self.keys), 0, self.weight, self.error)
        return _HEAD.pack(*head) + self.lows.astype("<i8").tobytes() + self.keys.astype("<i8").tobytes()

    def merged(self, other: Self, largest: int) -> "Summary":
        """The summary of both streams, merged by DataSketches."""
        union = PaneSketch.of(self, largest)
        union.sketch.merge(PaneSketch.of(other, largest).sketch)
        return union.summary()


@define(eq=False)
class PaneSketch:
    """A sketch that rows are added to."""

    sketch: Any
    largest: int

    def __deepcopy__(self, memo: Any) -> "PaneSketch":
        return PaneSketch.of(self.summary(), self.largest)

    @classmethod
    def empty(cls, largest: int) -> Self:
        """An empty sketch of at most 2^largest counters."""
        return cls(frequent_items_sketch(largest), largest)

    @classmethod
    def of(cls, summary: Summary, largest: int) -> Self:
        """The sketch with this summary."""
        return cls(frequent_items_sketch.deserialize(summary.image(largest), PyLongsSerDe()), largest)

    def update(self, objects: Int64, weights: Int64 | None) -> None:
        """Add rows of objects with these weights, or with weight 1."""
        update = self.sketch.update
        if weights is None:
            for key in objects.tolist():
                update(key)
            return
        for key, weight in zip(objects.tolist(), weights.tolist(), strict=True):
            update(key, weight)

    def summary(self) -> Summary:
        """Its contents. O(n log n)."""
        blob = self.sketch.serialize(PyLongsSerDe())
        size, count = blob[4], self.sketch.num_active_items
        numbers = np.frombuffer(blob, "<i8", offset=_HEAD.size) if count else np.empty(0, np.int64)
        lows, keys = numbers[:count].astype(np.int64), numbers[count:].astype(np.int64)
        order = np.argsort(keys)
        error = self.sketch.get_upper_bound("")  # the bound of an unnamed object
        return Summary(int(self.sketch.total_weight), int(error), size, keys[order], lows[order])
