"""sketch/mine: keeps the latest time of every key, and counts when queried."""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64, UInt64, moment
from skyband.roles import Sketch
from skyband.state_validation import StateReader


@define(eq=False)
class MineSketch(Sketch):
    """The exact count: a dictionary with the latest time of every key.

    Parameters
    ----------
    None.

    Complexity
    ----------
    Update O(1) a row; estimate O(keys). Memory is O(keys not forgotten).

    References
    ----------
    The definition: keys whose latest time is at or after the moment.

    Examples
    --------
    >>> import numpy as np
    >>> import skyband
    >>> sketch = skyband.create("sketch", "mine")
    >>> sketch.update(times=np.arange(10), keys=np.arange(10, dtype=np.uint64) % 4)
    >>> sketch.estimate(since=7)
    3.0
    """

    name: ClassVar[str] = "mine"

    _latest: dict[int, int] = field(factory=dict, init=False)

    def _update(self, times: Int64, keys: UInt64) -> None:
        for time, key in zip(times.tolist(), keys.tolist(), strict=True):
            self._latest[key] = max(time, self._latest.get(key, time))

    def estimate(self, since: int) -> float:
        since = moment("since", since)  # raises InputError unless it is a moment
        return float(sum(time >= since for time in self._latest.values()))

    def forget(self, before: int) -> None:
        before = moment("before", before)
        self._latest = {key: time for key, time in self._latest.items() if time >= before}

    def _merge(self, other: Self) -> None:
        for key, time in other._latest.items():
            self._latest[key] = max(time, self._latest.get(key, time))

    def __len__(self) -> int:
        return len(self._latest)

    @property
    def nbytes(self) -> int:
        return 16 * len(self._latest)

    def _state(self) -> dict[str, Array]:
        keys = sorted(self._latest)  # one order, however the rows came
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "keys": np.array(keys, np.uint64),
            "times": np.array([self._latest[key] for key in keys], np.int64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)  # a state may come from anyone: check it before using it
        self._now = reader.optional("now")
        keys = reader.ascending("keys", dtype=np.uint64, strictly=True)
        self._latest = dict(zip(keys.tolist(), reader.column("times", np.int64, len(keys)).tolist(), strict=True))
