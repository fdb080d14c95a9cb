"""Drives a workload ranker in the common checks."""

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from attrs import evolve
from skyband import BackendInfo
from skyband.roles import Answer, TopKQuery

from skyband_specs.driver import Case, Driver, Trial, advances
from skyband_specs.memoized_oracle import answer_once
from skyband_specs.odd_streams import NAMES, moved, neighbours, numbered
from skyband_specs.workload_ranker import trials
from skyband_specs.workload_ranker.oracle import Row, SmallGroupAnswers, Workload, answers
from skyband_specs.workload_ranker.streams import WorkloadStream, bursts, steady, tiny

STEADY_ROWS = 16_000
ODD_ROWS = 60
HIGHEST = float(np.finfo(np.float64).max)


class WorkloadRankerDriver(Driver):
    """Feeds (times, objects, scores), and asks for every answer that the rows so far still take part in."""

    role: ClassVar[str] = "workload-ranker"

    def cases(self, info: BackendInfo) -> Sequence[Mapping[str, Any]]:
        """Windows that slides do not divide, slides longer than windows, phases, k above n; in time and in rows."""
        mixed = [(5, 2, 1), (3, 4, 2, 1), (7, 3, 3, 2), (2, 5, 2), (1, 1, 1), (5, 5, 2), (11, 4, 2, 9)]
        shared = [(8, 4, 3), (6, 2, 1), (4, 4, 2), (8, 4, 1)]
        return [
            {"queries": [(4, 2, 2)], "by": "time"},
            {"queries": mixed, "by": "time"},
            {"queries": [*shared, (3, 1, 2), (30, 20, 100)], "by": "rows"},
            {"queries": [(60, 20, 9), (31, 40, 60, 7), *shared], "by": "time"},
        ]

    def tiny(self, case: Case) -> Iterator[WorkloadStream]:
        """All streams of a few rows."""
        return tiny(_by_rows(case))

    def seeded(self, case: Case, seed: int) -> WorkloadStream:
        """Ties, bursts and silences."""
        return bursts(seed, _by_rows(case))

    def steady(self, case: Case) -> WorkloadStream:
        """One row a moment."""
        return steady(_by_rows(case), STEADY_ROWS)

    def odd(self, case: Case) -> Iterator[tuple[str, WorkloadStream]]:
        """Ids with equal parts, scores close to each other and at their limits, times at theirs."""
        plain = bursts(4, _by_rows(case), ODD_ROWS)
        for label, name in NAMES.items():
            yield f"objects {label}", evolve(plain, objects=name(numbered(plain.objects)))
        yield "scores beside one another", evolve(plain, scores=neighbours(1, ODD_ROWS, 1e3))
        yield (
            "scores at both ends of float64",
            evolve(plain, scores=neighbours(2, ODD_ROWS, HIGHEST) * (-1.0) ** plain.objects),
        )
        if not _by_rows(case):
            room = 1 + max(query[0] + query[1] for query in case.parameters["queries"])
            for label, times in moved(plain.times, room):
                yield f"times {label}", evolve(plain, times=times)

    def acts(self, case: Case, stream: WorkloadStream, stop: int) -> Sequence[tuple[str, Callable[[Any], Any]]]:
        """To advance to the next row, possibly before any row, or past all valid rows."""
        longest = max(query[0] + query[1] for query in case.parameters["queries"])
        return advances(case, stream.times, stop, longest)

    def trials(self, case: Case) -> Iterable[Trial]:
        """Large streams, each with a fast oracle."""
        return trials.trials(case)

    def feed(self, backend: Any, stream: WorkloadStream, start: int, stop: int) -> None:
        """One update; the role's own checks look at its result."""
        part = slice(start, stop)
        backend.update(stream.times[part], stream.objects[part], stream.scores[part])

    def answers(self, backend: Any, stream: WorkloadStream, stop: int) -> list[Any]:
        """`now`, and all future answers until the longest window is empty, from a copy of the backend."""
        backend = getattr(backend, "_backend", backend)
        if backend.now is None:
            return [None]
        ahead = copy.deepcopy(backend).advance(backend.now + horizon(backend.queries))
        return [backend.now, *map(plain, ahead)]

    def expected(self, case: Case, stream: WorkloadStream, stop: int) -> list[Any]:
        """The same by definition."""
        if stop == 0:
            return [None]
        repeats = case.parameters.get("repeats", "each")
        return _by_definition(case.parameters["queries"], repeats, stream, stop, reached(case, stream, stop))

    def bad_inputs(self, backend: Any) -> Sequence[tuple[str, Callable[[], Any]]]:
        """Wrong lengths, dtypes, shapes, NaN, and times that go back."""
        now = backend.now
        by_rows = backend.by == "rows"
        good = np.arange(now, now + 3) if by_rows else np.full(3, now)
        ids, scores = np.arange(3), np.array([1.0, 2.0, 3.0])

        def update(times: Any, objects: Any, scores: Any) -> Callable[[], Any]:
            return lambda: backend.update(times, objects, scores)

        calls = [
            ("fewer objects than times", update(good, ids[:2], scores)),
            ("more scores than times", update(good[:2], ids[:2], scores)),
            ("a score that is NaN", update(good, ids, [1.0, np.nan, 2.0])),
            ("a time that is not whole", update([now, now + 0.5, now + 1], ids, scores)),
            ("an object that is not whole", update(good, [1, 2.5, 3], scores)),
            ("objects that are text", update(good, np.array(["a", "b", "c"]), scores)),
            ("times in two dimensions", update(good.reshape(3, 1), ids, scores)),
            ("a time before now", update([now - 1, now, now], ids, scores)),
            ("a time that goes back within the batch", update([now, now + 2, now + 1], ids, scores)),
            ("a moment before now", lambda: backend.advance(now - 1)),
            ("a moment past 64 bits", lambda: backend.advance(2**63)),
            ("a fraction of a moment", lambda: backend.advance(now + 0.5)),
        ]
        if by_rows:
            calls.append(("a row number left out", update([now, now + 2, now + 3], ids, scores)))
        return calls


@answer_once
def _by_definition(queries: Any, repeats: str, stream: WorkloadStream, stop: int, now: int) -> list[Any]:
    workload = Workload([TopKQuery(*query) for query in queries], repeats=repeats)
    return [now, *answers(workload, rows_of(stream, stop), now, now + horizon(workload.queries))]


def workload_of(backend: Any) -> Workload:
    """The queries of a backend, from the start."""
    return Workload(backend.queries, repeats=getattr(backend, "repeats", "each"))


def plain(answer: Answer) -> SmallGroupAnswers:
    """An answer as plain data."""
    return answer.at, answer.query, tuple(answer.objects.tolist()), tuple(answer.scores.tolist())


def rows_of(stream: WorkloadStream, stop: int) -> list[Row]:
    """The first rows of a stream in the oracle's form."""
    columns = (stream.times, stream.objects, stream.scores)
    return list(zip(*(column[:stop].tolist() for column in columns), strict=True))


def reached(case: Case, stream: WorkloadStream, stop: int) -> int:
    """The `now` after the first `stop` rows."""
    return int(stream.times[stop - 1]) + _by_rows(case)


def horizon(queries: Sequence[TopKQuery]) -> int:
    """How long after a row an answer may contain it."""
    return max(query.window + query.slide for query in queries)


def _by_rows(case: Case) -> bool:
    return case.parameters.get("by") == "rows"


DRIVER = WorkloadRankerDriver()
