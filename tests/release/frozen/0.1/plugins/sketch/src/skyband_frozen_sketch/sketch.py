"""sketch/frozen-sketch: the latest time of every key, counted when asked."""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64, UInt64
from skyband.roles import Sketch
from skyband.state_validation import StateReader


@define(eq=False)
class FrozenSketch(Sketch):
    """The exact count, from a dictionary: update O(1) a row, estimate O(keys), memory O(keys not forgotten)."""

    name: ClassVar[str] = "frozen-sketch"

    _latest: dict[int, int] = field(factory=dict, init=False)

    def _update(self, times: Int64, keys: UInt64) -> None:
        for time, key in zip(times.tolist(), keys.tolist(), strict=True):
            self._latest[key] = max(time, self._latest.get(key, time))

    def estimate(self, since: int) -> float:
        return float(sum(time >= since for time in self._latest.values()))

    def forget(self, before: int) -> None:
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
        read = StateReader(state)  # anyone may have written a state: it is looked at before it is believed
        self._now = read.optional("now")
        keys = read.ascending("keys", dtype=np.uint64, strictly=True)
        self._latest = dict(zip(keys.tolist(), read.column("times", np.int64, len(keys)).tolist(), strict=True))
