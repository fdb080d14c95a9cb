"""object-ranker/mine: keeps every valid report, and scores every object again for each answer."""

from collections import deque
from collections.abc import Mapping
from typing import ClassVar

import numpy as np
from attrs import define, field
from skyband.arrays import Array, Float64, Int32, Int64
from skyband.roles import ObjectRanker
from skyband.roles.object_ranker import REDUCTIONS
from skyband.state_validation import StateReader

Report = tuple[int, int, int, float]
"""(time, stream, object, value)"""


@define(eq=False)
class MineObjectRanker(ObjectRanker):
    """Keeps every valid report, and scores every object again for each answer.

    Parameters
    ----------
    by : str, default "time"
        whether windows are times or row counts (one of time, rows)
    k : int
        objects in an answer (at least 1)
    window : int
        length of the window, in the unit of the times or in rows (at least 1)
    streams : int
        number of streams that report attributes, numbered from 0 (at least 1 and at most 65536)
    aggregate : str | weights | function, default "sum"
        score of an object from its valid values, one per stream, 0 if it has none (sum, mean, min, max, a weight per
        stream, or a monotone function)
    upper : float, default 1.0
        no value is above this (above 0)
    lower : float, default 0.0
        no value is below this; may be below 0 if `repeats` is latest, largest, smallest or mean (at most 0)
    repeats : str | int, default "latest"
        which of an object's valid reports in a stream counts: the latest, largest, smallest or mean; or a promise
        that it reports never again, at most once per window, or m times per window, summed (latest, largest, smallest,
        mean, never, per-window, or a number)

    Complexity
    ----------
    A row costs O(1) amortised, an answer O(valid reports). Every valid report is retained.

    References
    ----------
    The definition: the aggregate of an object's valid values.

    Examples
    --------
    >>> import skyband
    >>> ranker = skyband.create("object-ranker", "mine", k=2, window=10, streams=2)
    >>> ranker.update(times=[1, 2, 3], streams=[0, 1, 0], objects=[7, 7, 8], values=[0.5, 0.25, 0.625])
    >>> objects, scores = ranker.top()
    >>> objects.tolist(), scores.tolist()
    ([7, 8], [0.75, 0.625])
    """

    name: ClassVar[str] = "mine"

    _reports: deque[Report] = field(factory=deque, init=False)
    _known: dict[int, list[Report]] = field(factory=dict, init=False)
    """The valid reports of each object that has any, oldest first."""
    _spent: dict[int, set[int]] = field(factory=dict, init=False)
    """The streams that each of them has reported, expired reports included."""

    def _update(self, times: Int64, streams: Int32, objects: Int64, values: Float64) -> None:
        columns = (times.tolist(), streams.tolist(), objects.tolist(), values.tolist())
        for report in zip(*columns, strict=True):
            self._advance(report[0] + (self.by == "rows"))
            if self._breaks_the_promise(report):
                self._repeated += 1
                continue
            _, stream, name, _ = report
            self._reports.append(report)
            self._known.setdefault(name, []).append(report)
            self._spent.setdefault(name, set()).add(stream)

    def _breaks_the_promise(self, report: Report) -> bool:
        _, stream, name, _ = report
        if self.repeats in REDUCTIONS:
            return False
        if self.repeats == "never":
            return stream in self._spent.get(name, ())
        return sum(other[1] == stream for other in self._known.get(name, ())) >= self.occurrences

    def _advance(self, now: int) -> None:
        while self._reports and self._reports[0][0] < now - self.window:
            name = self._reports.popleft()[2]
            del self._known[name][0]
            if not self._known[name]:
                del self._known[name], self._spent[name]

    def top(self) -> tuple[Int64, Float64]:
        scores = {name: self._score(reports) for name, reports in self._known.items()}
        best = sorted(scores, key=lambda name: (-scores[name], name))[: self.k]
        return np.array(best, np.int64), np.array([scores[name] for name in best], np.float64)

    def _score(self, reports: list[Report]) -> float:
        totals = [self._value([value for _, at, _, value in reports if at == stream]) for stream in range(self.streams)]
        if callable(self.aggregate):
            return float(self.aggregate(np.array(totals)))
        if self.aggregate in ("min", "max"):
            return min(totals) if self.aggregate == "min" else max(totals)
        score = 0.0
        for stream, total in enumerate(totals):
            score += total if isinstance(self.aggregate, str) else self.aggregate[stream] * total
        return score / self.streams if self.aggregate == "mean" else score

    def _value(self, reports: list[float]) -> float:
        if not reports:
            return 0.0
        if self.repeats in ("largest", "smallest"):
            return max(reports) if self.repeats == "largest" else min(reports)
        total = 0.0
        for value in reports[:-2:-1] if self.repeats == "latest" else reversed(reports):
            total += value  # newest first: the role says in which order floats are added
        return total / len(reports) if self.repeats == "mean" else total

    def __len__(self) -> int:
        return len(self._reports)

    @property
    def nbytes(self) -> int:
        return 32 * len(self._reports) + 16 * sum(map(len, self._spent.values()))

    def _state(self) -> dict[str, Array]:
        times, streams, objects, values = zip(*self._reports, strict=True) if self._reports else ((), (), (), ())
        spent = sorted((name, stream) for name, streams in self._spent.items() for stream in streams)
        return {
            "now": np.array([] if self._now is None else [self._now], np.int64),
            "repeated": np.array([self._repeated], np.int64),
            "times": np.array(times, np.int64),
            "streams": np.array(streams, np.int64),
            "objects": np.array(objects, np.int64),
            "values": np.array(values, np.float64),
            "spent": np.array(spent, np.int64).reshape(-1),
        }

    def _load(self, state: Mapping[str, Array]) -> None:
        read = StateReader(state)  # a state may come from anyone: check it before using it
        self._now = read.optional("now")
        self._repeated = read.number("repeated", at_least=0, at_most=2**62)
        read.column("streams", np.int64, at_least=0, at_most=self.streams - 1)
        columns = (state[name].tolist() for name in ("times", "streams", "objects", "values"))
        for report in zip(*columns, strict=True):
            self._reports.append(report)
            self._known.setdefault(report[2], []).append(report)
        for name, stream in state["spent"].reshape(-1, 2).tolist():
            self._spent.setdefault(name, set()).add(stream)
        read.require(self._known.keys() <= self._spent.keys(), "spent", "must list what each object has reported")
