"""sketch/pcsa-ml: a time stamp for every cell of a PCSA table, and the likeliest count behind those filled."""

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Int64, UInt64
from skyband.parameters import integer, number
from skyband.roles import Sketch

from skyband_distinct.likelihood import LEVELS, likeliest
from skyband_distinct.mixing import salt
from skyband_distinct.sizes import likelihood_arrays
from skyband_distinct.table_kernels import NEVER, filled_since, stamp


@define(eq=False)
class PcsaMl(Sketch):
    """Time-stamped PCSA, read by maximum likelihood."""

    name: ClassVar[str] = "pcsa-ml"

    epsilon: float = number(0.02, at_least=0.001, below=1, help="relative error that delta of the answers may exceed")
    delta: float = number(0.05, above=0, below=1, help="share of the answers that may be off by more than epsilon")
    seed: int = integer(0, at_least=0, at_most=2**63 - 1, help="sketches merge only if their seeds agree")

    _salt: Any = field(init=False)
    _stamps: Array = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._salt = salt(self.seed)
        self._stamps = np.empty((0, likelihood_arrays(self.epsilon, self.delta)), np.int64)

    def __len__(self) -> int:
        return int(np.count_nonzero(self._stamps != NEVER))

    @property
    def nbytes(self) -> int:
        """Bytes of the table."""
        return self._stamps.nbytes

    def _update(self, times: Int64, keys: UInt64) -> None:
        row = stamp(self._stamps, times, keys, self._salt, 0)
        while row < len(keys):
            self._grow(min(len(self._stamps) + 4, LEVELS))
            row = stamp(self._stamps, times, keys, self._salt, row)

    def _grow(self, levels: int) -> None:
        grown = np.full((levels, self._stamps.shape[1]), NEVER, np.int64)
        grown[: len(self._stamps)] = self._stamps
        self._stamps = grown

    def estimate(self, since: int) -> float:
        """Distinct keys with time >= `since`; 0 where there are none."""
        if self._now is None or since > self._now:
            return 0.0
        counts = filled_since(self._stamps, max(since, NEVER + 1))
        return round(likeliest(counts, self._stamps.shape[1]), 3)

    def _merge(self, other: Self) -> None:
        levels = len(other._stamps)
        if levels > len(self._stamps):
            self._grow(levels)
        np.maximum(self._stamps[:levels], other._stamps, out=self._stamps[:levels])

    def _state(self) -> dict[str, Array]:
        filled = self._stamps != NEVER
        stamps = self._stamps[filled]
        now = self._now or 0
        back = (np.uint64(now % 2**64) - stamps.view(np.uint64)) if len(stamps) else stamps.view(np.uint64)
        width = (int(back.max()).bit_length() + 7) // 8 if len(back) else 0
        planes = back.astype("<u8").view(np.uint8).reshape(-1, 8)[:, :width]
        levels = int(np.flatnonzero(filled.any(axis=1)).max(initial=-1)) + 1
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "levels": np.array([levels], np.int64),
            "filled": np.packbits(filled[:levels]),
            "width": np.array([width], np.int64),
            "stamps": planes.reshape(-1).copy(),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        if not len(state["now"]):
            return
        self._now = int(state["now"][0])
        levels, width = int(state["levels"][0]), int(state["width"][0])
        arrays = self._stamps.shape[1]
        filled = np.unpackbits(state["filled"], count=levels * arrays).view(bool).reshape(levels, arrays)
        back = np.zeros((int(filled.sum()), 8), np.uint8)
        back[:, :width] = state["stamps"].reshape(-1, width) if width else 0
        self._stamps = np.full((levels, arrays), NEVER, np.int64)
        self._stamps[filled] = (np.uint64(self._now % 2**64) - back.reshape(-1).view("<u8")).view(np.int64)
