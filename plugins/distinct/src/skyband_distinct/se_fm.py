"""sketch/se-fm: the paper's SE-FM, every key hashed into every one of thousands of stamped FM arrays."""

from typing import Any, ClassVar

from attrs import define, field
from skyband.arrays import Int64, UInt64

from skyband_distinct import sketch_parameters
from skyband_distinct.first_gap import first_gaps, power_of_mean
from skyband_distinct.key_hashing import salt
from skyband_distinct.recent_keys import RecentKeys
from skyband_distinct.sketch_sizes import fm_arrays, fm_recent
from skyband_distinct.stamp_sketch import StampSketch
from skyband_distinct.stamp_table import StampTable
from skyband_distinct.stamping import stamp_all
from skyband_distinct.time_order import youngest_first


@define(eq=False)
class SeFm(StampSketch):
    """SE-FM: stamped Flajolet-Martin arrays and the most recent distinct keys (the paper's Algorithms 1 and 2).

    Each key draws a level, j with probability 2^-(j + 1), in each of l = (2 / epsilon^2) ln(1 / delta) arrays,
    and stamps it with its time. The count since a moment is 2 to the mean first level not stamped since, over
    0.7735; the 1 / epsilon most recent keys answer smaller counts exactly. At most epsilon off with probability
    1 - delta, for each answer by itself: the arrays are independent.

    Corrected where the paper's text is wrong: every row stamps, not only keys new to the list; stamps are maxima,
    so times may come in any order; the list answers while it is not full.

    Update O(l / 64 * log l) a distinct key of a batch; estimate O(l * log n); memory 8 bytes * l * (log2(n) + 6)
    or so.

    References: Zhang et al. 2010, sections 3.1 and 3.2.
    """

    name: ClassVar[str] = "se-fm"

    epsilon: float = sketch_parameters.epsilon()
    delta: float = sketch_parameters.delta()
    seed: int = sketch_parameters.seed()

    _salt: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._salt = salt(self.seed)
        self._recent = RecentKeys(fm_recent(self.epsilon))
        self._table = StampTable(fm_arrays(self.epsilon, self.delta))

    def _stamp(self, times: Int64, keys: UInt64) -> Int64 | None:
        times, keys = youngest_first(times, keys)
        self._table.fill(lambda room, levels: stamp_all(room, levels, times, keys, self._salt))
        return None

    def _read(self, since: int) -> float:
        arrays = self._table.arrays
        # Half a key is by how much the power of the mean is too high when there are few.
        return power_of_mean(first_gaps(self._table.stamps, since), arrays) - 0.5
