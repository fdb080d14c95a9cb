"""sketch/se-fm: the paper's SE-FM, which hashes every key into each of thousands of time-stamped FM arrays."""

from typing import ClassVar

from attrs import define
from skyband.arrays import Int64, UInt64

from skyband_distinct.salts import salt
from skyband_distinct.sketch_sizes import fm_arrays, fm_recent
from skyband_distinct.stamps.first_gap import first_gaps, power_of_mean
from skyband_distinct.stamps.recent_keys import RecentKeys
from skyband_distinct.stamps.stamp_sketch import StampSketch
from skyband_distinct.stamps.stamp_table import StampTable
from skyband_distinct.stamps.stamping import stamp_all
from skyband_distinct.time_order import youngest_first


@define(eq=False)
class SeFm(StampSketch):
    """Thousands of time-stamped Flajolet-Martin arrays, each of which every key marks (SE-FM).

    In each of l = (2 / epsilon²) ln(1 / delta) arrays, a key draws level j with probability 2^−(j + 1), and stamps it
    with its time. The number of keys since a moment is 2 to the mean of the first level without a stamp since then,
    over 0.7735. The 1 / epsilon most recent keys are kept as well, and answer smaller counts exactly. Each answer is
    off by at most epsilon with probability 1 − delta.

    Corrections to the paper's text: every row stamps, not only keys that are new to the list of recent keys; a stamp
    never goes back, so that times may arrive in any order; and the list answers while it is not full.
    `sketch/pcsa-ml` has the same guarantee with one store a key.

    Parameters
    ----------
    epsilon : float, default 0.02
        relative error that delta of the answers may exceed (at least 0.001 and below 1)
    delta : float, default 0.05
        share of the answers that may be off by more than epsilon (at least 1e-09 and below 1)
    seed : int, default 0
        seed of the hashes; only sketches with equal seeds merge (at least 0 and at most 9223372036854775807)

    Complexity
    ----------
    Update O(l / 64 · log l) a distinct key of a batch; estimate O(l · log n) for n keys. Memory is about 8 bytes · l ·
    (log2(n) + 6).

    References
    ----------
    Zhang, Zhang, Cheema and Lin, Counting distinct objects over sliding windows, 2010, sections 3.1 and 3.2, algorithms
    1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> import skyband
    >>> sketch = skyband.create("sketch", "se-fm")
    >>> sketch.update(times=np.arange(10), keys=np.arange(10, dtype=np.uint64) % 4)
    >>> sketch.estimate(since=7)
    3.0
    >>> sketch.bounds(since=7)
    (3.0, 3.0)
    """

    name: ClassVar[str] = "se-fm"

    def __attrs_post_init__(self) -> None:
        self._salt = salt(self.seed)
        self._recent = RecentKeys(fm_recent(self.epsilon) + 1)
        self._table = StampTable(fm_arrays(self.epsilon, self.delta))

    def _stamp(self, times: Int64, keys: UInt64) -> Int64 | None:
        times, keys = youngest_first(times, keys)
        self._table.fill(lambda room, levels: stamp_all(room, levels, times, keys, self._salt))
        return None

    def _read(self, since: int) -> float:
        arrays = self._table.arrays
        # With few keys, the power of the mean is half a key too high.
        return power_of_mean(first_gaps(self._table.stamps, since), arrays) - 0.5
