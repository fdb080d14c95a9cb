"""The base of all windows: the probabilities kept, their snapshot, and the case alpha = 1."""

from abc import abstractmethod
from collections.abc import Mapping

import numpy as np
import skyband.kernels.numba_compiler_patches  # noqa: F401 - lets numba continue without a cache folder
from attrs import define, field
from numba import njit
from skyband.arrays import Array, Float64, Int64
from skyband.roles.window import Window
from skyband.state_validation import StateReader

from skyband_uncertain.windows.eviction_threshold import Threshold


@define(eq=False)
class History:
    """Probabilities of the tuples from position `base` on; amortised O(1) per arrival."""

    base: int = 0
    count: int = 0
    buffer: Float64 = field(factory=lambda: np.empty(64))

    def extend(self, probabilities: Float64, start: int) -> int:
        """Drop the tuples before position `start`, then add the youngest; returns how many were dropped."""
        forgotten = 0
        if self.count + len(probabilities) > len(self.buffer):
            forgotten = start - self.base
            remaining = self.buffer[forgotten : self.count]
            needed = len(remaining) + len(probabilities)
            buffer = self.buffer if 2 * needed <= len(self.buffer) else np.empty(max(64, 3 * needed))
            buffer[: len(remaining)] = remaining.copy()
            self.buffer, self.base, self.count = buffer, start, len(remaining)
        self.buffer[self.count : self.count + len(probabilities)] = probabilities
        self.count += len(probabilities)
        return forgotten

    def since(self, start: int) -> Float64:
        """A copy of the probabilities from position `start` on."""
        return self.buffer[start - self.base : self.count].copy()

    @classmethod
    def of(cls, probabilities: Float64, start: int) -> "History":
        """A history that begins at position `start`."""
        history = cls(base=start)
        history.extend(probabilities, start)
        return history


@njit(cache=True, nogil=True)
def evict_certain(p: Float64, start: int, first: int, certain: int, size: int, starts: Int64) -> int:
    """starts[i] = the start after arrival first + i; `certain` counts the tuples after `start` with p = 1.

    Returns `certain` at the end. Positions count from the start of the array `p`.
    """
    for i in range(first, len(p)):
        if i > start and p[i] == 1.0:
            certain += 1
        while certain >= size:
            start += 1
            if p[start] == 1.0:
                certain -= 1
        starts[i - first] = start
    return certain


MOST_POSITIONS = 2**62
"""More tuples than any stream has; sums of two positions fit in int64."""


@define(eq=False)
class KeptWindow(Window):
    """A window whose state follows from the probabilities it keeps and the position of the oldest."""

    _history: History = field(factory=History, init=False)
    _threshold: Threshold = field(init=False)
    _certain: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self._threshold = Threshold.of(self.alpha, self.beta)

    def _append(self, probabilities: Float64) -> Int64:
        self._shift(self._history.extend(probabilities, self._start))
        history = self._history
        first = history.count - len(probabilities)
        if not self._threshold.certain:
            return self._decide(first) + history.base
        starts = np.empty(len(probabilities), np.int64)
        p = history.buffer[: history.count]
        self._certain = evict_certain(p, self._start - history.base, first, self._certain, self.size, starts)
        return starts + history.base

    @abstractmethod
    def _decide(self, first: int) -> Int64:
        """The starts after the arrivals from index `first` of the history's buffer on, as indices into it."""

    def _shift(self, forgotten: int) -> None:
        """The history dropped its first tuples: shift indices into it."""

    def _taken_over(self) -> None:
        """Update after the history was replaced by one that begins at `start`."""

    def _kept(self) -> Float64:
        return self._history.since(self._start)

    def _state(self) -> dict[str, Array]:
        return {"bounds": np.array([self._start, self._end]), "probabilities": self._kept()}

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        self._start, self._end = reader.ascending("bounds", 2, at_least=0, at_most=MOST_POSITIONS).tolist()
        probabilities = reader.column("probabilities", np.float64, self._end - self._start, at_least=0, at_most=1)
        reader.require(len(probabilities) > 0 or self._end == 0, "bounds", "must include the youngest tuple")
        self._history = History.of(probabilities, self._start)
        self._certain = int((probabilities[1:] == 1.0).sum())
        self._taken_over()

    @property
    def nbytes(self) -> int:
        """Bytes of the probabilities kept."""
        return 8 * len(self)
