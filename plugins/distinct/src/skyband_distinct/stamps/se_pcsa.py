"""sketch/se-pcsa: the paper's SE-PCSA, which hashes every key into zeta of thousands of time-stamped FM arrays."""

from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Int64, UInt64
from skyband.config.parameters import integer, number
from skyband.errors import ConfigError, Problem

from skyband_distinct import sketch_parameters
from skyband_distinct.salts import salt
from skyband_distinct.sketch_sizes import fm_arrays, pcsa_recent
from skyband_distinct.stamps.first_gap import first_gaps, power_of_mean
from skyband_distinct.stamps.recent_keys import RecentKeys
from skyband_distinct.stamps.stamp_sketch import StampSketch
from skyband_distinct.stamps.stamp_table import StampTable
from skyband_distinct.stamps.stamping import stamp_strata

_ARRAYS_A_KEY = 100
"""The arrays that each key stamps in the paper's experiments."""


@define(eq=False)
class SePcsa(StampSketch):
    """SE-FM in which a key marks only `zeta` of the arrays (SE-PCSA): faster, without a proven bound.

    It was as accurate as `sketch/se-fm` in every experiment, but arrays that share keys are not independent, so no
    bound is proven. The estimate is unbiased only from a few keys an array on: between 1 / epsilon keys, the paper's
    number of recent keys, and about 7 l / zeta keys, for l arrays, it would be several times too high. So the
    8 l / zeta most recent keys are kept and answer small counts exactly: 1204 keys by default. The root mean square
    error of larger counts is 0.6 %.

    Corrections to the paper's text: the mean is over all l arrays and scaled by l / zeta, and a key stamps one array in
    each of zeta strata, so that it draws none twice.

    Parameters
    ----------
    epsilon : float, default 0.02
        target relative error; determines the size (at least 0.001 and below 1)
    delta : float, default 0.05
        share of the answers that may miss epsilon; determines the size (at least 1e-09 and below 1)
    zeta : int, default None
        arrays that each key stamps, at most all; by default 100, or all if there are fewer (at least 1)
    seed : int, default 0
        seed of the hashes; only sketches with equal seeds merge (at least 0 and at most 9223372036854775807)

    Complexity
    ----------
    Update O(zeta) a key; estimate O(l · log n) for n keys. Memory is about 8 bytes · l · (log2(n · zeta / l) + 6).

    References
    ----------
    Zhang, Zhang, Cheema and Lin, Counting distinct objects over sliding windows, 2010, section 3.3. Flajolet and
    Martin, Probabilistic counting algorithms for data base applications, 1985, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> import skyband
    >>> sketch = skyband.create("sketch", "se-pcsa")
    >>> sketch.update(times=np.arange(10), keys=np.arange(10, dtype=np.uint64) % 4)
    >>> sketch.estimate(since=7)
    3.0
    >>> sketch.bounds(since=7)
    (3.0, 3.0)
    """

    name: ClassVar[str] = "se-pcsa"

    epsilon: float = number(0.02, at_least=0.001, below=1, help="target relative error; determines the size")
    delta: float = number(
        0.05, at_least=1e-9, below=1, help="share of the answers that may miss epsilon; determines the size"
    )
    zeta: int | None = integer(
        None, at_least=1, help="arrays that each key stamps, at most all; by default 100, or all if there are fewer"
    )
    seed: int = sketch_parameters.seed()

    _stamped: int = field(init=False)
    _firsts: UInt64 = field(init=False)
    _widths: UInt64 = field(init=False)

    def __attrs_post_init__(self) -> None:
        arrays = fm_arrays(self.epsilon, self.delta)
        if self.zeta is not None and self.zeta > arrays:
            raise ConfigError(Problem("zeta", f"must be at most {arrays}, the number of arrays (got {self.zeta})"))
        self._stamped = min(_ARRAYS_A_KEY, arrays) if self.zeta is None else self.zeta
        self._salt = salt(self.seed)
        self._recent = RecentKeys(pcsa_recent(self.epsilon, arrays, self._stamped) + 1)
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
