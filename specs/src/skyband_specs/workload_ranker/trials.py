"""Windows of thousands of rows and hundreds of answers each, compared with sorting."""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np
from attrs import define, field, frozen
from skyband.roles import TopKQuery

from skyband_specs.driver import Case, Trial
from skyband_specs.workload_ranker.oracle import moments
from skyband_specs.workload_ranker.streams import WorkloadStream


@define
class _Run:
    """A backend, by its `id`, with the number of rows it has had and its answers."""

    rows: int = 0
    backend: int = 0
    answers: list[Any] = field(factory=list)


@frozen(eq=False)
class WorkloadTrial(Trial):
    """Every answer of a workload with large windows, from the first row on."""

    _runs: list["_Run"] = field(factory=list, init=False)
    """The last two backends that began with the first row, each with its answers so far."""

    @property
    def stops(self) -> Sequence[int]:
        """A few rows, then evenly over the stream."""
        return [7, *(len(self.stream) * part // 5 for part in range(1, 6))]

    def feed(self, backend: Any, start: int, stop: int) -> None:
        """One update, its answers kept for `answers`; a backend may be restored between two updates."""
        part = slice(start, stop)
        answers = backend.update(self.stream.times[part], self.stream.objects[part], self.stream.scores[part])
        run = next((run for run in reversed(self._runs) if start and run.rows == start), None)
        if run is None:
            run = _Run()
            self._runs[:] = [*self._runs[-1:], run]
        run.rows, run.backend = stop, id(backend)
        run.answers += [(a.at, a.query, a.objects.tolist(), a.scores.tolist()) for a in answers]

    def answers(self, backend: Any, stop: int) -> Any:  # noqa: ARG002
        """All answers so far; those of the latest run if the backend was restored since its last update."""
        run = next((run for run in reversed(self._runs) if run.backend == id(backend)), self._runs[-1])
        return [backend.now, *run.answers]

    def by_definition(self, stop: int) -> Any:
        """The same, each window sorted."""
        before = max((other for other in self.stops if other < stop), default=0)
        step = self.parameters["by"] == "rows"
        after = int(self.stream.times[before - 1]) + step if before else int(self.stream.times[0])
        until = int(self.stream.times[stop - 1]) + step
        earlier = self.expected(before)[1:] if before else []
        return [until, *earlier, *self._between(after, until)]

    def _between(self, after: int, until: int) -> list[Any]:
        answers = []
        for number, own in enumerate(self.parameters["queries"]):
            query = TopKQuery(*own)
            for at in moments(query, after, until):
                first, last = np.searchsorted(self.stream.times, [at - query.window, at])
                objects, scores = self.stream.objects[first:last], self.stream.scores[first:last]
                best = np.lexsort((objects, -scores))[: query.k]
                answers.append((at, number, objects[best].tolist(), scores[best].tolist()))
        return sorted(answers, key=lambda answer: answer[:2])


def trials(case: Case) -> Iterator[WorkloadTrial]:
    """Many queries, two of them equal, with large k; windows over times that many rows share, and over rows."""
    return iter(_trials(6 if case.long else 1))


@cache
def _trials(more: int) -> list[WorkloadTrial]:
    rng = np.random.default_rng([25])
    many = [
        (int(window), int(slide), int(k), int(phase))
        for window, slide, k, phase in zip(
            rng.integers(50, 4000, 40),
            rng.integers(150, 900, 40),
            rng.integers(1, 400, 40),
            rng.integers(0, 150, 40),
            strict=True,
        )
    ]
    large = [(6000, 1500, 1200), (6000, 1500, 1200), (3000, 1500, 2), (4500, 750, 333, 11)]
    few = [(40, 700, 5), (600, 900, 3)]
    rows = 9000 * more
    return [
        WorkloadTrial("many queries", {"queries": [*many, many[3]], "by": "time"}, scored(1, rows, by_rows=False)),
        WorkloadTrial("for long", {"queries": few, "by": "rows"}, scored(3, 70_000 * more, by_rows=True)),
        WorkloadTrial("large k", {"queries": large, "by": "rows"}, scored(2, rows, by_rows=True)),
    ]


def scored(seed: int, rows: int, by_rows: bool) -> WorkloadStream:
    """Scores of any kind, half of them one unit in the last place apart, which single precision cannot distinguish."""
    rng = np.random.default_rng([26, seed])
    times = np.arange(rows) if by_rows else np.cumsum(rng.choice([0, 0, 1, 2], rows)) - 3000
    near = np.nextafter(1.0, 2.0) + rng.integers(-9, 9, rows) * 2.0**-52
    scores = np.where(rng.random(rows) < 0.5, near, rng.normal(0.0, 1e3, rows))
    numbers = rng.integers(0, 5000, rows)
    objects = np.choose(numbers % 3, [numbers << 32, -numbers, numbers + (3 << 34)])
    return WorkloadStream(times.astype(np.int64), objects, scores)
