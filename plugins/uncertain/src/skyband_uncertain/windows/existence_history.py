"""The existence probabilities that a window keeps: a growable array that drops its front."""

import numpy as np
from attrs import define, field
from skyband.arrays import Float64


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
