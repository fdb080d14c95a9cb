"""sketch/se-pcsa: the paper's SE-PCSA, every key hashed into zeta of thousands of stamped FM arrays."""

from typing import Any, ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Int64, UInt64
from skyband.config.parameters import integer, number
from skyband.errors import ConfigError, Problem

from skyband_distinct.first_gap import first_gaps, power_of_mean
from skyband_distinct.key_hashing import salt
from skyband_distinct.recent_keys import RecentKeys
from skyband_distinct.sketch_sizes import fm_arrays, pcsa_recent
from skyband_distinct.stamp_sketch import StampSketch
from skyband_distinct.stamp_table import StampTable
from skyband_distinct.stamping import stamp_strata

_ARRAYS_A_KEY = 100
"""Arrays that each key stamps in the paper's experiments."""


@define(eq=False)
class SePcsa(StampSketch):
    """SE-PCSA: SE-FM at zeta arrays a key instead of all l (the paper's section 3.3).

    As accurate as SE-FM in every experiment, but without a proof: arrays that share keys are not independent, and
    the estimate holds on average only from a few keys an array on. Hence heuristic.

    Corrected where the paper's text is wrong: the mean is over all l arrays and scaled by l / zeta; each key stamps
    one array in each of zeta strata, so that none is drawn twice. Between the paper's 1 / epsilon recent keys and
    about 7 l / zeta keys the estimate is several times too high, so 8 l / zeta recent keys are kept: 1204 by default,
    and the rms error of larger counts is 0.6 %.

    Update O(zeta) a key; estimate O(l * log n); memory 8 bytes * l * (log2(n * zeta / l) + 6) or so.

    References: Zhang et al. 2010, section 3.3; Flajolet and Martin 1985, section 4.
    """

    name: ClassVar[str] = "se-pcsa"

    epsilon: float = number(0.02, at_least=0.001, below=1, help="relative error aimed at; sizes the sketch")
    delta: float = number(0.05, at_least=1e-9, below=1, help="share of the answers that may miss it; sizes the sketch")
    zeta: int | None = integer(
        None, at_least=1, help="arrays that each key stamps, at most as many as there are; none: 100, or all of fewer"
    )
    seed: int = integer(0, at_least=0, at_most=2**63 - 1, help="sketches merge only if their seeds agree")

    _stamped: int = field(init=False)
    _salt: Any = field(init=False)
    _firsts: UInt64 = field(init=False)
    _widths: UInt64 = field(init=False)

    def __attrs_post_init__(self) -> None:
        arrays = fm_arrays(self.epsilon, self.delta)
        if self.zeta is not None and self.zeta > arrays:
            raise ConfigError(Problem("zeta", f"must be at most {arrays}, the arrays there are (got {self.zeta})"))
        self._stamped = min(_ARRAYS_A_KEY, arrays) if self.zeta is None else self.zeta
        self._salt = salt(self.seed)
        self._recent = RecentKeys(pcsa_recent(self.epsilon, arrays, self._stamped))
        self._table = StampTable(arrays)
        edges = np.arange(self._stamped + 1, dtype=np.int64) * arrays // self._stamped
        self._firsts, self._widths = edges[:-1].astype(np.uint64), np.diff(edges).astype(np.uint64)

    def _stamp(self, times: Int64, keys: UInt64) -> Int64 | None:
        self._table.fill(
            lambda room, levels: stamp_strata(room, levels, times, keys, self._salt, self._firsts, self._widths)
        )
        return None

    def _read(self, since: int) -> float:
        arrays = self._table.arrays
        return power_of_mean(first_gaps(self._table.stamps, since), arrays) * arrays / self._stamped
