"""The best objects in a window of reports, by the definition: keep every report, score every object each time."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from skyband_specs.object_ranker.streams import ObjectStream

FEW = 64
"""The most objects without valid reports that may be remembered."""


def _sum(values: list[float]) -> float:
    """From the newest to the oldest, rounding at each step."""
    total = 0.0
    for value in reversed(values):
        total += value
    return total


REDUCTIONS: Mapping[Any, Callable[[list[float]], float]] = {
    "latest": lambda values: values[-1],
    "largest": max,
    "smallest": min,
    "mean": lambda values: _sum(values) / len(values),
}
"""How an object's valid reports in a stream, oldest first, become one value if it may repeat them freely."""


class Report(NamedTuple):
    """One row: `time` is the row's number if rows are counted."""

    time: int
    stream: int
    object: int
    value: float


class Instance(NamedTuple):
    """The state of an object once its reports before `time` have expired, and the most it can become."""

    object: int
    time: int
    current: float
    best: float


class ObjectOracle:
    """Takes reports one by one and knows every answer."""

    def __init__(self, parameters: Mapping[str, Any]) -> None:
        self.k = parameters["k"]
        self.window = parameters["window"]
        self.streams = parameters["streams"]
        self.upper = parameters.get("upper", 1.0)
        self.rows = parameters.get("by", "time") == "rows"
        repeats = parameters.get("repeats", "latest")
        self.once = repeats == "never"
        self.most = repeats if isinstance(repeats, int) else 1
        self.reduce = REDUCTIONS.get(repeats)
        self.score = scorer(parameters.get("aggregate", "sum"))
        self.reports: list[Report] = []
        self.repeated = 0
        self.now: int | None = None
        self._seen: dict[int, set[int]] = {}

    def feed(self, stream: ObjectStream, start: int, stop: int) -> "ObjectOracle":
        """Take rows start..stop of a stream."""
        times = range(start, stop) if self.rows else stream.times[start:stop].tolist()
        rest = (column[start:stop].tolist() for column in (stream.streams, stream.objects, stream.values))
        for row in zip(times, *rest, strict=True):
            self.add(Report(*row))
        return self

    def add(self, report: Report) -> None:
        """Take a report, unless it breaks the promise `repeats`."""
        self.now = report.time + self.rows
        self.reports = self.valid(self.now)
        if len(self._seen) > 2 * len(self.reports) + FEW:
            alive = {other.object for other in self.reports}
            self._seen = {name: seen for name, seen in self._seen.items() if name in alive}
        mine = [other for other in self.reports if other.object == report.object]
        if not mine:
            self._seen[report.object] = set()
        alike = sum(other.stream == report.stream for other in mine)
        broken = report.stream in self._seen[report.object] if self.once else alike >= self.most
        if broken and self.reduce is None:
            self.repeated += 1
            return
        self._seen[report.object].add(report.stream)
        self.reports.append(report)

    def valid(self, now: int) -> list[Report]:
        """The reports valid at `now`, oldest first."""
        return [report for report in self.reports if report.time >= now - self.window]

    def scores(self, now: int) -> dict[int, float]:
        """Every object that has a valid report, with its score."""
        return {name: self._current(reports) for name, reports in _by_object(self.valid(now)).items()}

    def top(self, now: int) -> tuple[list[int], list[float]]:
        """The answer at `now`."""
        best = sorted(self.scores(now).items(), key=lambda entry: (-entry[1], entry[0]))[: self.k]
        return [name for name, _ in best], [score for _, score in best]

    def instances(self, now: int) -> list[Instance]:
        """One instance for each object and moment at which it has a valid report."""
        living = []
        for name, reports in _by_object(self.valid(now)).items():
            for time in sorted({report.time for report in reports}):
                alive = [report for report in reports if report.time >= time]
                living.append(Instance(name, time, self._current(alive), self._best(name, alive)))
        return living

    def necessary(self, now: int) -> list[Instance]:
        """The k-dominance set: instances with fewer than k other objects that are later and permanently above them."""
        every = self.instances(now)
        return [instance for instance in every if len(_dominators(instance, every)) < self.k]

    def _current(self, reports: list[Report]) -> float:
        return self.score(self._totals(reports))

    def _totals(self, reports: list[Report]) -> list[float]:
        values: list[list[float]] = [[] for _ in range(self.streams)]
        for report in reports:
            values[report.stream].append(report.value)
        return [(self.reduce or _sum)(valid) if valid else 0.0 for valid in values]

    def _best(self, name: int, alive: list[Report]) -> float:
        if self.reduce is not None:
            return self.score([self.upper] * self.streams)
        totals = self._totals(alive)
        for stream in range(self.streams):
            room = self.most - sum(report.stream == stream for report in alive)
            if not (self.once and stream in self._seen[name]):
                totals[stream] += room * self.upper
        return self.score(totals)


def scorer(aggregate: Any) -> Callable[[list[float]], float]:
    """The score of a vector of values, as a function."""
    if callable(aggregate):
        return lambda values: float(aggregate(np.array(values)))
    if aggregate in ("min", "max"):
        return min if aggregate == "min" else max
    weights = [1.0] * 10**3 if isinstance(aggregate, str) else aggregate

    def weighted(values: list[float]) -> float:
        total = 0.0
        for weight, value in zip(weights, values, strict=False):
            total += weight * value
        return total / len(values) if aggregate == "mean" else total

    return weighted


def _by_object(reports: Iterable[Report]) -> dict[int, list[Report]]:
    groups: dict[int, list[Report]] = defaultdict(list)
    for report in reports:
        groups[report.object].append(report)
    return groups


def _dominators(instance: Instance, every: list[Instance]) -> set[int]:
    """The objects permanently above it: none where the best is the most that any object can reach."""
    return {
        other.object
        for other in every
        if other.object != instance.object and other.time > instance.time and other.current > instance.best
    }
