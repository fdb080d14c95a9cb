"""sketch/pcsa-ml: a PCSA table with a time stamp in each cell, read by maximum likelihood."""

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define
from skyband.arrays import Float64, Int64, UInt64, read_only
from skyband.kernels.mixing import mix
from skyband.kernels.nested import kernel_njit
from skyband.roles import KeyBitmap

from skyband_distinct.salts import salt
from skyband_distinct.sketch_sizes import likelihood_arrays, likelihood_recent
from skyband_distinct.stamps.likelihood import LEVELS, likeliest
from skyband_distinct.stamps.recent_keys import BLOCK, RecentKeys
from skyband_distinct.stamps.stamp_sketch import StampSketch
from skyband_distinct.stamps.stamp_table import StampTable
from skyband_distinct.stamps.stamping import LAST_LEVEL, bits_set, stamp_one, zeros_below

_32, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


class StampBitmap(KeyBitmap):
    """One row for each level, with a cell for each array, padded with empty cells to whole words."""

    rows = LEVELS

    def __init__(self, arrays: int, salt: Any, bounded: Callable[[Float64], Float64]) -> None:
        """bounded: turns the likeliest counts into estimates with bounds."""
        self.width = -(-arrays // 64) * 64
        self._arrays, self._salt, self._bounded = arrays, salt, bounded

    def cells(self, keys: UInt64) -> npt.NDArray[np.int32]:
        cells: npt.NDArray[np.int32] = cells_of(read_only(keys), np.uint64(self._arrays), self._salt, self.width)
        return cells

    def estimates(self, filled: Int64) -> Float64:
        return self._bounded(likeliest_of_each(read_only(filled), self._arrays))


@kernel_njit
def cells_of(keys: Any, arrays: np.uint64, salt: np.uint64, width: int) -> Any:
    """The cell of each key, as `stamping.stamp_one` stamps it. O(n)."""
    cells = np.empty(len(keys), np.int32)
    arrays, wide = arrays & _LOW, np.uint64(width)
    for row in range(len(keys)):
        word = mix(keys[row] ^ salt)
        cells[row] = np.int32(bits_set(zeros_below(word | LAST_LEVEL)) * wide + (((word >> _32) * arrays) >> _32))
    return cells


@kernel_njit
def likeliest_of_each(filled: Any, arrays: int) -> Any:
    """The likeliest number of keys for each row of filled cells."""
    counts = np.empty(len(filled))
    for place in range(len(filled)):
        reached = filled.shape[1]
        while reached > 0 and filled[place, reached - 1] == 0:
            reached -= 1
        counts[place] = likeliest(filled[place, :reached], arrays)
    return counts


_MOST_CELLS = 1 << 20
"""The largest table whose cells are counted again for each answer: larger ones do not fit a processor's caches."""


@define(eq=False)
class PcsaMl(StampSketch):
    """A table of time stamps (PCSA), read by maximum likelihood: one hash and one store a key. The default.

    A key belongs to one of many arrays and, with probability 2^−(j + 1), to its level j; that cell of the table keeps
    the youngest time. The cells stamped since a moment are those that the keys since that moment filled. Their number
    in each level determines the likeliest number of keys, which is the estimate.

    Each answer is off by at most epsilon with probability 1 − delta. Small counts are exact, because the 8 / epsilon
    most recent keys are kept as well. At epsilon 0.02 and delta 0.05 there are 4995 arrays, and the relative standard
    error is 0.92 %.

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
    Update O(1) a key; estimate O(arrays · log(keys / arrays)). Memory is about 8 bytes · arrays · (log2(keys / arrays)
    + 4). With fewer keys than arrays it is 32 to 64 bytes a key not forgotten (`forget`).

    References
    ----------
    The table: Flajolet and Martin, Probabilistic counting algorithms for data base applications, 1985, section 5. The
    time stamps: Zhang, Zhang, Cheema and Lin, Counting distinct objects over sliding windows, 2010, section 3. The
    likelihood: Lang, Back to the future: an even more nearly optimal cardinality estimation algorithm (CPC), 2017.

    Examples
    --------
    >>> import numpy as np
    >>> import skyband
    >>> sketch = skyband.create("sketch", "pcsa-ml")
    >>> sketch.update(times=np.arange(10), keys=np.arange(10, dtype=np.uint64) % 4)
    >>> sketch.estimate(since=7)
    3.0
    >>> sketch.bounds(since=7)
    (3.0, 3.0)
    """

    name: ClassVar[str] = "pcsa-ml"

    def __attrs_post_init__(self) -> None:
        self._salt = salt(self.seed)
        self._recent = RecentKeys(likelihood_recent(self.epsilon) + 1)
        self._table = StampTable(likelihood_arrays(self.epsilon, self.delta), begin_small=True)

    def _stamp(self, times: Int64, keys: UInt64) -> Int64:
        highs = np.empty((len(times) + BLOCK - 1) // BLOCK, np.int64)
        is_stamped = self._table.stamp_few(times, keys, self._salt, highs)
        if is_stamped < len(times):
            rest = times[is_stamped:], keys[is_stamped:], self._salt, highs[is_stamped // BLOCK :]
            self._table.fill(lambda room, levels: stamp_one(room, levels, *rest))
        return highs

    def _read(self, since: int) -> float:
        return float(likeliest(self._table.filled_since(since), self._table.arrays))

    def bitmap(self) -> StampBitmap | None:
        bitmap = StampBitmap(self._table.arrays, self._salt, self._with_bounds)
        return bitmap if bitmap.rows * bitmap.width <= _MOST_CELLS else None
