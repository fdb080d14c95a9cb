"""The uncertain tuples of a join, for one group or many."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64

from skyband_uncertain.uncertain_tuples import Samples


class Tuples(NamedTuple):
    """Tuples of one group or many: side int8, id int64, existence and time, their ordered samples, and the columns to
    carry.
    """

    side: Array
    code: Int64
    chance: Float64
    time: Int64
    samples: Samples
    carried: list[pa.Array]

    @property
    def counts(self) -> Array:
        """int32[n]: the number of samples of each tuple."""
        return np.diff(self.samples.offsets).astype(np.int32)

    def and_also(self, other: "Tuples") -> "Tuples":
        """These tuples followed by others."""
        own, added = self.samples, other.samples
        offsets = np.concatenate([own.offsets, added.offsets[1:] + own.offsets[-1]])
        points = np.concatenate([own.points(), added.points()], axis=1)
        weights = np.concatenate([own.probabilities, added.probabilities])
        samples = Samples(offsets, points[0], weights, tuple(points[1:]))
        side, code, chance, time = (np.concatenate(pair) for pair in zip(self[:4], other[:4], strict=True))
        both = [pa.concat_arrays(pair) for pair in zip(self.carried, other.carried, strict=True)]
        return Tuples(side, code, chance, time, samples, both)

    def of_rows(self, rows: Int64) -> "Tuples":
        """The tuples of these rows."""
        behind = [column.take(pa.array(rows)) for column in self.carried]
        samples = self.samples.of_rows(rows)
        return Tuples(self.side[rows], self.code[rows], self.chance[rows], self.time[rows], samples, behind)
