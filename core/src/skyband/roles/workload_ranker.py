"""WorkloadRanker: many top-k queries over one stream."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from attrs import define, frozen

from skyband.arrays import Float64, Int64, column
from skyband.errors import InputError, Problem
from skyband.parameters import checked
from skyband.roles.clock import Clocked


@frozen(order=True)
class TopKQuery:
    """One query of a workload: at T = phase + j·slide the top k of [T − window, T)."""

    window: int
    slide: int
    k: int
    phase: int = 0


@frozen(eq=False)
class Answer:
    """What a query answers at one moment: objects int64[r] and scores float64[r], score descending, then object."""

    query: int
    at: int
    objects: Int64
    scores: Float64


def _as_queries(given: Any) -> Any:
    """Plain tuples (or TopKQuery) as TopKQuery; what does not fit stays as it is, for the check to name."""
    if not isinstance(given, Sequence) or isinstance(given, str):
        return given
    return tuple(
        TopKQuery(*entry) if isinstance(entry, Sequence) and 3 <= len(entry) <= 4 else entry for entry in given
    )


def _problems(queries: Any) -> list[Problem]:
    if not isinstance(queries, Sequence) or isinstance(queries, str) or not queries:
        return [Problem("queries", f"must be a list of (window, slide, k[, phase]) (got {queries!r})")]
    found = []
    for number, entry in enumerate(queries):
        query = _as_queries([entry])[0]
        place = f"queries[{number}]"
        if not isinstance(query, TopKQuery):
            found.append(Problem(place, f"must be (window, slide, k) or (window, slide, k, phase) (got {entry!r})"))
            continue
        for name, lowest in (("window", 1), ("slide", 1), ("k", 1), ("phase", 0)):
            value = getattr(query, name)
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < lowest:
                found.append(Problem(f"{place}.{name}", f"must be a whole number, at least {lowest} (got {value!r})"))
    return found


def _check_queries(value: Any) -> str | None:
    return "; ".join(map(str, _problems(value))) or None


@define(eq=False)
class WorkloadRanker(Clocked):
    """Answers a workload of (window, slide, k) queries, each at its own moments, from one shared state.

    A query answers at T = phase + j·slide, for every such T after the first event and at most `now`, empty
    answers included. All share one clock (`by`).
    """

    role: ClassVar[str] = "workload-ranker"

    queries: Sequence[TopKQuery] = checked(
        type="list of (window, slide, k[, phase])",
        check=_check_queries,
        bounds="windows, slides and k at least 1, phases at least 0",
        help="the queries, numbered from 0",
        converter=_as_queries,
    )

    def update(self, times: npt.ArrayLike, objects: npt.ArrayLike, scores: npt.ArrayLike) -> list[Answer]:
        """Take in objects (int64[n]) with scores (float64[n]) at times (int64[n]); each row is an object of its own.

        Moves `now` to the last time and returns the answers of every moment passed, in order of (at, query).
        Raises InputError, the ranker unchanged, on unequal lengths, times that go back or NaN scores.
        """
        moments: Int64 = column("times", times, np.int64)
        ids: Int64 = column("objects", objects, np.int64, len(moments))
        numbers: Float64 = column("scores", scores, np.float64, len(moments))
        missing = np.isnan(numbers)
        if missing.any():
            raise InputError("scores", "must be a number (got nan)", int(missing.argmax()))
        self._check_times(moments)
        if not len(moments):
            return []
        answers = self._update(moments, ids, numbers)
        self._now = self._reached(moments)
        return answers

    @abstractmethod
    def _update(self, times: Int64, objects: Int64, scores: Float64) -> list[Answer]: ...

    def advance(self, now: int) -> list[Answer]:  # type: ignore[override]
        """Move `now` on and return the answers of every moment passed; idempotent."""
        if self._now is not None and now < self._now:
            raise InputError("now", f"{now} is before {self._now}, the time already reached; times never go back")
        answers = self._answers_until(int(now))
        self._now = int(now)
        return answers

    @abstractmethod
    def _answers_until(self, now: int) -> list[Answer]:
        """The answers of every moment after the last one given and at most `now`."""
