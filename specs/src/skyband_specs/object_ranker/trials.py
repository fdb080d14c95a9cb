"""Thousands of objects in a window, compared with dictionaries."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
from attrs import frozen
from skyband.arrays import Float64

from skyband_specs.driver import Case, Trial
from skyband_specs.object_ranker.oracle import scorer
from skyband_specs.object_ranker.streams import ObjectStream


class FastObjectOracle:
    """Takes reports one by one, O(1) each for objects with few, and knows the answer at `now`."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.k, self.window, self.streams = (parameters[name] for name in ("k", "window", "streams"))
        self.once = parameters.get("repeats", "never") == "never"
        repeats = parameters.get("repeats")
        self.most = repeats if isinstance(repeats, int) else 1
        self.score = scorer(parameters.get("aggregate", "sum"))
        self.step = int(parameters.get("by") == "rows")
        self.now: int | None = None
        self.repeated = 0
        self._valid: deque[tuple[int, int]] = deque()
        self._known: dict[int, deque[tuple[int, float]]] = {}
        self._seen: dict[int, set[int]] = {}

    def add(self, time: int, stream: int, name: int, value: float) -> None:
        """Take a report, unless it breaks the promise `repeats`."""
        self.now = time + self.step
        while self._valid and self._valid[0][0] < self.now - self.window:
            gone = self._valid.popleft()[1]
            self._known[gone].popleft()
            if not self._known[gone]:
                del self._known[gone], self._seen[gone]
        mine = self._known.setdefault(name, deque())
        streams = self._seen.setdefault(name, set())
        if (stream in streams) if self.once else sum(other == stream for other, _ in mine) >= self.most:
            self.repeated += 1
            return
        streams.add(stream)
        mine.append((stream, value))
        self._valid.append((time, name))

    def top(self) -> tuple[list[int], list[float]]:
        """The best k objects and their scores."""
        scores = {name: self._score(reports) for name, reports in self._known.items()}
        best = sorted(scores.items(), key=lambda entry: (-entry[1], entry[0]))[: self.k]
        return [name for name, _ in best], [score for _, score in best]

    def _score(self, reports: deque[tuple[int, float]]) -> float:
        totals = [0.0] * self.streams
        for stream, value in reversed(reports):
            totals[stream] += value
        return self.score(totals)


@frozen(eq=False)
class ObjectTrial(Trial):
    """The top k of a large window, after each of some batches."""

    @property
    def stops(self) -> Sequence[int]:
        """A few rows, then evenly over the stream."""
        return [10, 200, *(len(self.stream) * part // 8 for part in range(1, 9))]

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One update."""
        rows = slice(start, stop)
        times = np.arange(start, stop) if backend.by == "rows" else self.stream.times[rows]
        backend.update(times, self.stream.streams[rows], self.stream.objects[rows], self.stream.values[rows])

    def answers(self, backend: Any, stop: int) -> Any:  # noqa: ARG002
        """`now`, the reports left out, and the top k."""
        objects, scores = backend.top()
        return [backend.now, backend.repeated, objects.tolist(), scores.tolist()]

    def by_definition(self, stop: int) -> Any:
        """The same, found for all stops at once."""
        oracle = FastObjectOracle(self.parameters)
        columns = (self.stream.streams, self.stream.objects, self.stream.values)
        times = range(len(self.stream)) if oracle.step else self.stream.times.tolist()
        for row, report in enumerate(zip(times, *(column.tolist() for column in columns), strict=True), 1):
            oracle.add(*report)
            if row in self.stops:
                self._found[row] = [oracle.now, oracle.repeated, *oracle.top()]
        return self._found[stop]


def trials(case: Case) -> Iterator[ObjectTrial]:
    """Large k, many streams, many objects, many reports per object; each aggregate and each way to repeat reports.

    Estimates only use few streams.
    """
    return iter(_trials(8 if case.long else 1, 70 if case.info.guarantee == "exact" else 7))


@cache
def _trials(more: int, many: int) -> list[ObjectTrial]:
    def trial(label: str, rows: int, objects: int, **parameters: Any) -> ObjectTrial:
        options = {"aggregate": "sum", "repeats": "never", "by": "time", "upper": 1.0, **parameters}
        return ObjectTrial(
            label, options, reports(len(label), rows * more, options["streams"], objects, options["upper"])
        )

    return [
        trial("large k", 12_000, 2500, k=300, window=6000, streams=3, aggregate=(0.3, 1.7, 1.0)),
        trial("many streams", 9000, 150, k=20, window=4000, streams=many, aggregate="mean", by="rows"),
        trial("three times a window", 9000, 300, k=40, window=5000, streams=2, repeats=3, upper=10.0),
        trial("one best value", 8000, 1500, k=1100, window=7000, streams=5, aggregate="max", repeats="per-window"),
        trial("one worst value", 8000, 400, k=70, window=3000, streams=2, aggregate="min", repeats="per-window"),
        trial("for long", 70_000, 25, k=9, window=50, streams=3),
    ]


def reports(seed: int, rows: int, streams: int, objects: int, upper: float) -> ObjectStream:
    """Reports of `objects` objects at a time, gradually replaced; some values one unit in the last place apart.

    Ids have equal low halves, equal high halves, or are negative.
    """
    rng = np.random.default_rng([22, seed])
    number = np.arange(rows) * 2 // streams // 3 + rng.integers(0, objects, rows)
    ids = np.choose(number % 3, [number << 32, -number, number + (7 << 33)])
    return ObjectStream(
        np.cumsum(rng.choice([0, 1, 2], rows)) - 5000,
        rng.integers(0, streams, rows).astype(np.int32),
        ids,
        np.where(rng.random(rows) < 0.3, _neighbours(rng, rows) * upper, rng.random(rows) * upper),
    )


def _neighbours(rng: np.random.Generator, rows: int) -> Float64:
    return np.asarray(0.75 + rng.integers(0, 5, rows) * 2.0**-53, np.float64)
