"""What sla knows of one object."""

from collections import deque
from typing import Self

from attrs import define


@define
class Known:
    """An object's valid values a stream, oldest first, their totals, and how often it has reported each stream."""

    values: list[deque[float]]
    totals: list[float]
    counts: list[int]
    valid: int = 0

    @classmethod
    def of(cls, streams: int) -> Self:
        """An object of which nothing is known yet."""
        return cls([deque() for _ in range(streams)], [0.0] * streams, [0] * streams)

    def reported(self, stream: int, once: bool) -> int:
        """How often it has reported a stream: since it is remembered, or validly."""
        return self.counts[stream] if once else len(self.values[stream])

    def add(self, stream: int, value: float) -> None:
        """Its newest value of a stream."""
        self.values[stream].append(value)
        self.counts[stream] += 1
        self.valid += 1
        self._sum(stream)

    def drop(self, stream: int) -> None:
        """Without its oldest value of a stream."""
        self.values[stream].popleft()
        self.valid -= 1
        self._sum(stream)

    def _sum(self, stream: int) -> None:
        total = 0.0
        for value in reversed(self.values[stream]):
            total += value
        self.totals[stream] = total
