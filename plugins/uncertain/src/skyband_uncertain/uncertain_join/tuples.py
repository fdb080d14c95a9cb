"""The uncertain tuples of a join, of one group or of many."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Float64, Int64

from skyband_uncertain.uncertain_tuples import Samples


class Tuples(NamedTuple):
    """Some tuples of one group or of many: side int8, id int64, existence and time, their samples, in order, and the
    columns to carry.
    """

    side: Array
    code: Int64
    chance: Float64
    time: Int64
    samples: Samples
    carried: list[pa.Array]

    @property
    def counts(self) -> Array:
        """int32[n]: how many samples each has."""
        return np.diff(self.samples.offsets).astype(np.int32)

    def and_also(self, other: "Tuples") -> "Tuples":
        """These and others."""
        mine, theirs = self.samples, other.samples
        offsets = np.concatenate([mine.offsets, theirs.offsets[1:] + mine.offsets[-1]])
        points = np.concatenate([mine.points(), theirs.points()], axis=1)
        weights = np.concatenate([mine.probabilities, theirs.probabilities])
        samples = Samples(offsets, points[0], weights, tuple(points[1:]))
        side, code, chance, time = (np.concatenate(pair) for pair in zip(self[:4], other[:4], strict=True))
        both = [pa.concat_arrays(pair) for pair in zip(self.carried, other.carried, strict=True)]
        return Tuples(side, code, chance, time, samples, both)

    def of_rows(self, rows: Int64) -> "Tuples":
        """The tuples of these rows."""
        behind = [column.take(pa.array(rows)) for column in self.carried]
        samples = self.samples.of_rows(rows)
        return Tuples(self.side[rows], self.code[rows], self.chance[rows], self.time[rows], samples, behind)
