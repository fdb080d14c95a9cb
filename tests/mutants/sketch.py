"""Broken sketches, one bug each, beside the correct one they are made from."""

from collections.abc import Mapping
from typing import ClassVar, Self

import numpy as np
from attrs import define, field
from skyband import BackendInfo
from skyband.arrays import Array, Int64, UInt64
from skyband.roles import Sketch


@define(eq=False)
class Reference(Sketch):
    """The definition in a dictionary: the latest time of each key."""

    name: ClassVar[str] = "reference"

    _last: dict[int, int] = field(factory=dict, init=False)

    def _update(self, times: Int64, keys: UInt64) -> None:
        for time, key in zip(times.tolist(), keys.tolist(), strict=True):
            self._see(key, time)

    def _see(self, key: int, time: int) -> None:
        self._last[key] = max(time, self._last.get(key, time))

    def estimate(self, since: int) -> float:
        return float(sum(time >= since for time in self._last.values()))

    def _merge(self, other: Self) -> None:
        for key, time in other._last.items():
            self._see(key, time)

    def __len__(self) -> int:
        return len(self._last)

    @property
    def nbytes(self) -> int:
        return 16 * len(self._last)

    def _state(self) -> dict[str, Array]:
        keys = sorted(self._last)
        now = [] if self._now is None else [self._now]
        return {
            "keys": np.array(keys, np.uint64),
            "last": np.array([self._last[key] for key in keys], np.int64),
            "now": np.array(now, np.int64),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        self._last = dict(zip(state["keys"].tolist(), state["last"].tolist(), strict=True))
        self._now = int(state["now"][0]) if len(state["now"]) else None


INFO = BackendInfo(
    "sketch", "reference", "tests.mutants.sketch:Reference", "the definition", "exact", "DESIGN, section 4"
)
REFERENCE = (INFO, Reference)
