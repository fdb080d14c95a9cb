"""The base of the backends: the clock, the schedule, and a state of ranked objects only."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from attrs import define, field, setters
from skyband.arrays import Array, Float64, Int64, read_only
from skyband.errors import ConfigError, InputError, Problem, SnapshotError
from skyband.roles import Answers, TopKQuery, WorkloadRanker
from skyband.state_validation import StateReader

from skyband_workload.analyser import FROM_THE_START, MetaQuery, analyse, carried_over
from skyband_workload.extractor import Found, answers
from skyband_workload.scheduler import NEVER, Moments, Scheduler
from skyband_workload.table import Rows

STRETCH = 1 << 16
"""The rows executed at a time, which limits what is planned ahead and held for answers."""
MOST_ROWS = 2**62
"""The most rows of a stream."""
MOST_ANSWERS = 1 << 28
"""The most answers of a call: a gap with more is due to a wrong time, or to a slide that is far too short."""


@define(eq=False)
class MetaRanker(WorkloadRanker):
    """Runs the meta query of its workload part by part; a subclass executes it."""

    most_windows: ClassVar[int | None] = None
    """The most windows that may be open at once, if each takes memory."""

    _seen: int = field(default=0, init=False, on_setattr=setters.NO_OP)
    """The number of rows so far."""
    _last: int = field(default=0, init=False, on_setattr=setters.NO_OP)
    """The time of the last row."""
    _passed: int = field(default=0, init=False, on_setattr=setters.NO_OP)
    """Every moment up to this has been answered; without meaning before the first row."""
    _scheduler: Scheduler = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._check_windows(self.queries)
        self._begin(analyse(self.queries))

    def _check_windows(self, queries: Sequence[TopKQuery]) -> None:
        opened = sum(-(-query.window // query.slide) for query in queries)
        if self.most_windows is not None and opened > self.most_windows:
            remedy = "make windows shorter or slides longer, or use paneband, which does not"
            message = f"{self.name} plans each window, at most {self.most_windows:,} at once (got {opened:,}): {remedy}"
            raise ConfigError(Problem("queries", message))

    def _begin(self, meta: MetaQuery) -> None:
        """Become an empty ranker of `meta`."""
        self._scheduler = self._scheduler_of(meta)
        if self._seen:
            self._scheduler.look_from(self._passed)

    def _scheduler_of(self, meta: MetaQuery) -> Scheduler:
        return Scheduler(meta)

    @abstractmethod
    def _execute(self, rows: Rows, moments: Moments) -> Found:
        """Add rows and answer moments, in order of time, without updating `_seen`, `_last` and `_passed`."""

    @abstractmethod
    def _held(self) -> dict[str, Array]:
        """The retained objects as flat arrays, in a canonical form."""

    @abstractmethod
    def _read_held(self, state: StateReader) -> dict[str, Array]:
        """Read and check what `_held` returned from a state; `_seen`, `_last` and `_passed` are already set."""

    @abstractmethod
    def _hold(self, arrays: Mapping[str, Array]) -> None:
        """Load objects from `_held`. Called on an empty ranker."""

    @abstractmethod
    def _keep(self, arrays: Mapping[str, Array], origin: Int64) -> Mapping[str, Array]:
        """The part of `_held` that continues if query i was query origin[i] before (−1: it is new)."""

    def _check_silence(self, name: str, passed: int, now: int) -> None:
        owed = (now - passed) * self._scheduler.rate
        if self.by == "time" and owed > MOST_ANSWERS:
            message = f"about {owed:,.0f} answers are due from {passed} to {now}, but a call has at most"
            raise InputError(name, f"{message} {MOST_ANSWERS:,}: start a new ranker after such a gap")

    def _update(self, times: Int64, objects: Int64, scores: Float64) -> Sequence[Any]:
        self._check_silence("times", self._passed if self._seen else int(times[0]), int(times[-1]))
        if self._seen == 0:
            self._passed = int(times[0])
            self._scheduler.look_from(self._passed)
        times, objects, scores = read_only(times), read_only(objects), read_only(scores)
        stretches = []
        for begin in range(0, len(times), STRETCH):
            part = slice(begin, begin + STRETCH)
            arrival = np.arange(self._seen, self._seen + len(times[part]), dtype=np.int64)
            rows = Rows(times[part], objects[part], scores[part], read_only(arrival))
            stretches.append(self._pass(rows, self._reached(rows.time)))
        return answers(*zip(*stretches, strict=True))

    def _answers_until(self, now: int) -> Sequence[Any]:
        if self._seen:
            self._check_silence("now", self._passed, now)
        stretches = [self._pass(NO_ROWS, now)] if self._seen else [(NO_MOMENTS, _NO_ANSWERS)]
        return answers(*zip(*stretches, strict=True))

    @classmethod
    def _answers_together(
        cls, rankers: Sequence[Self], columns: tuple[Int64, Int64, Float64], spans: Int64, until: Int64
    ) -> tuple[Int64, Answers]:
        times = columns[0]
        for ranker, (start, stop), end in zip(rankers, spans.tolist(), until.tolist(), strict=True):
            passed = ranker._passed
            if stop > start:
                last = int(times[stop - 1])
                ranker._check_silence("times", passed if ranker._seen else int(times[start]), last)
                passed = last
            if (ranker._seen or stop > start) and passed < end:
                ranker._check_silence("until", passed, end)
        return cls._run_together(rankers, columns, spans, until)

    @classmethod
    def _run_together(
        cls, rankers: Sequence[Self], columns: tuple[Int64, Int64, Float64], spans: Int64, until: Int64
    ) -> tuple[Int64, Answers]:
        """`answers_together` after all checks."""
        return super()._answers_together(rankers, columns, spans, until)

    def _pass(self, rows: Rows, until: int) -> tuple[Moments, Found]:
        moments = self._scheduler.moments(self._passed, until)
        if not len(rows.time) and not len(moments.at):
            self._passed = until
            return moments, _NO_ANSWERS
        results = self._execute(rows, moments)
        self._note(len(rows.time), int(rows.time[-1]) if len(rows.time) else self._last, until)
        return moments, results

    def _note(self, count: int, last: int, until: int) -> None:
        """Record `count` more rows, the last of all at `last`, and that every moment up to `until` is answered."""
        self._seen += count
        self._last, self._passed = last, until

    def _reconfigure(self, queries: Sequence[TopKQuery]) -> None:
        self._check_windows(queries)
        joined = FROM_THE_START
        if self._seen:
            joined = max(self._passed, min(self._last, NEVER - 1) + 1)
        since, origin = carried_over(self.queries, self._scheduler.meta.since, queries, joined)
        arrays = self._keep(self._held(), origin)
        self._begin(analyse(queries, since))
        if self._seen:
            self._hold(arrays)

    def _state(self) -> dict[str, Array]:
        now = [] if self._now is None else [self._now]
        clock = {"now": np.array(now, np.int64), "seen": np.array([self._seen, self._last])}
        return {**clock, "since": self._scheduler.meta.since, **self._held()}

    def _load(self, state: Mapping[str, Array]) -> None:
        reader = StateReader(state)
        since = reader.column("since", np.int64)
        if len(since) != len(self.queries):
            raise SnapshotError(f"holds {len(since)} queries, but its parameters say {len(self.queries)}")
        self._seen, self._last = reader.column("seen", np.int64, 2).tolist()
        self._now = reader.optional("now")
        self._passed = self._now or 0
        by_rows = self.by == "rows"
        reader.require(0 <= self._seen <= MOST_ROWS, "seen", f"must be from 0 to {MOST_ROWS} (got {self._seen})")
        complete = self._seen == 0 or (self._now is not None and self._last <= self._now - by_rows)
        reader.require(complete, "seen", f"the last row must be before now (got {self._last}, now {self._now})")
        numbered = not by_rows or self._seen == 0 or self._last >= self._seen - 1
        reader.require(numbered, "seen", f"row {self._last} cannot be the last of {self._seen}")
        if (since != self._scheduler.meta.since).any():
            self._begin(analyse(self.queries, since.copy()))
        elif self._seen:
            self._scheduler.look_from(self._passed)
        arrays = self._read_held(reader)
        if self._seen:
            self._hold(arrays)


NO_ROWS = Rows(*(read_only(np.empty(0, kind)) for kind in (np.int64, np.int64, np.float64, np.int64)))
NO_MOMENTS = Moments(*(np.empty(0, np.int64) for _ in range(4)))
_NO_ANSWERS = Found(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
