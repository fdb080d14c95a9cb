"""The valid reports of one object, for sla."""

from collections import deque
from collections.abc import Callable, Mapping
from typing import Self

from attrs import define


def _sum(values: deque[float]) -> float:
    """From the newest to the oldest, rounding at each step."""
    total = 0.0
    for value in reversed(values):
        total += value
    return total


REDUCE: Mapping[str | int, Callable[[deque[float]], float]] = {
    "latest": lambda values: values[-1],
    "largest": max,
    "smallest": min,
    "mean": lambda values: _sum(values) / len(values),
}
"""The reduction of one or more valid reports of a stream, by `repeats`; a promise sums them."""


@define
class Known:
    """An object's valid values per stream, oldest first, their reductions, and its number of reports per stream."""

    values: list[deque[float]]
    totals: list[float]
    counts: list[int]
    reduce: Callable[[deque[float]], float]
    valid: int = 0

    @classmethod
    def of(cls, streams: int, repeats: str | int) -> Self:
        """An object without reports."""
        return cls([deque() for _ in range(streams)], [0.0] * streams, [0] * streams, REDUCE.get(repeats, _sum))

    def reported(self, stream: int, once: bool) -> int:
        """How often it has reported a stream: in total since it is remembered (`once`), or the valid reports."""
        return self.counts[stream] if once else len(self.values[stream])

    def add(self, stream: int, value: float) -> None:
        """Add its newest value of a stream."""
        self.values[stream].append(value)
        self.counts[stream] += 1
        self.valid += 1
        self._reduce(stream)

    def drop(self, stream: int) -> None:
        """Drop its oldest value of a stream."""
        self.values[stream].popleft()
        self.valid -= 1
        self._reduce(stream)

    def _reduce(self, stream: int) -> None:
        values = self.values[stream]
        self.totals[stream] = self.reduce(values) if values else 0.0
