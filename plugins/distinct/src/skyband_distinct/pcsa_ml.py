"""sketch/pcsa-ml: a time stamp for every cell of a PCSA table, and the likeliest count behind those filled."""

from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Int64, UInt64

from skyband_distinct import sketch_parameters
from skyband_distinct.key_hashing import salt
from skyband_distinct.likelihood import filled_since, likeliest
from skyband_distinct.recent_keys import BLOCK, RecentKeys
from skyband_distinct.sketch_sizes import likelihood_arrays, likelihood_recent
from skyband_distinct.stamp_sketch import StampSketch
from skyband_distinct.stamp_table import StampTable
from skyband_distinct.stamping import stamp_one


@define(eq=False)
class PcsaMl(StampSketch):
    """Time-stamped PCSA, read by maximum likelihood: the default, one hash and one store a key.

    Each key has one array and, with probability 2^-(j + 1), level j; their cell keeps its youngest time. The cells
    younger than a moment are the PCSA table of the keys since that moment, and how many each level has is all there
    is to know: the likeliest count follows from them alone, without correction factors, at any size.

    At most epsilon off with probability 1 - delta, for each answer by itself. Small counts are exact, because the
    8 / epsilon most recent keys are kept besides. At epsilon 0.02, delta 0.05: 4995 arrays, relative standard
    error 0.92 %.

    Update O(1) a key; estimate O(arrays * log(keys / arrays)); memory 8 bytes * arrays * (log2(keys / arrays) + 4)
    or so.

    References: Flajolet and Martin 1985, section 5, for the table; Zhang et al. 2010, section 3, for the stamps; the
    likelihood is that of Lang 2017 (CPC), solved for the count.
    """

    name: ClassVar[str] = "pcsa-ml"

    epsilon: float = sketch_parameters.epsilon()
    delta: float = sketch_parameters.delta()
    seed: int = sketch_parameters.seed()

    _salt: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._salt = salt(self.seed)
        self._recent = RecentKeys(likelihood_recent(self.epsilon))
        self._table = StampTable(likelihood_arrays(self.epsilon, self.delta))

    def _stamp(self, times: Int64, keys: UInt64) -> Int64:
        highs = np.empty((len(times) + BLOCK - 1) // BLOCK, np.int64)
        self._table.fill(lambda room, levels: stamp_one(room, levels, times, keys, self._salt, highs))
        return highs

    def _read(self, since: int) -> float:
        return float(likeliest(filled_since(self._table.stamps, since), self._table.arrays))
