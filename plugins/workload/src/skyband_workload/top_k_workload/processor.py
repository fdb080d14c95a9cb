"""One group's stream of top-k-workload: passes scores to a workload ranker and turns its answers into rows."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
from attrs import astuple
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Float64, Int64
from skyband.columns.gaps_in_row_numbers import without_gaps
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRows, Which
from skyband.columns.values_by_id import ValuesById, learn_together, values_together
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.answer_columns import AnswerColumns, ProcessorAnswers, as_batch
from skyband.groups.plain_turns import AnswersOfTurns, PlainTurn
from skyband.groups.processor import BackendProcessor
from skyband.groups.windowed_processor import ScheduledProcessor
from skyband.queries.composite_ids import several
from skyband.queries.shared_keys import SMALLEST
from skyband.registry import Binding
from skyband.roles import Answer, Answers, TopKQuery, WorkloadRanker
from skyband.state_validation import StateReader

from skyband_workload.top_k_workload.query import BEST, EACH, TopKWorkload

_NO_OBJECTS, _NO_SCORES = np.empty(0, np.int64), np.empty(0)

_MOST_MOMENTS = 1 << 20
"""The most moments answered in a call: after a gap, many more may be due, most of them empty, so it is split."""


class WorkloadProcessor(BackendProcessor, ScheduledProcessor):
    """The ranker of one group, which starts over once its longest window is empty: further silence is then free."""

    _backend: WorkloadRanker

    def __init__(self, query: TopKWorkload, ranker: Binding, answers: pa.Schema) -> None:
        self._query = query
        self._backend_parameters = query.backend_parameters("workload-ranker")
        super().__init__(query.schedule, query.rows)
        self._most_time = int(min(_MOST_MOMENTS / (1 / self._schedule.slides).sum(), 2.0**62)) or 1
        """The time in which about `_MOST_MOMENTS` moments fall."""
        self._mirrored = query.order == SMALLEST
        """Rankers rank the largest first; for the smallest first, they get negated scores."""
        self._which: Which = "each"
        if query.repeats == BEST:
            self._which = "smallest" if self._mirrored else "largest"
        self._several = len(several(query.object))
        self._carry = [answers.field(name) for name in (*several(query.object), *query.carry)]
        self._since: Int64 | None = None
        self._ends: Int64 | None = None
        self._labels = {"query": pa.array([each.name for each in query.queries], pa.string())}
        self._binding = ranker
        self._schema = answers
        self._answers: list[AnswerColumns] = []
        self._unwritten: Sequence[Answer] = ()
        """The answers of the row with which it began."""
        self.clear()

    def clear(self) -> None:
        self._backend = cast(WorkloadRanker, self._binding.create(**self._backend_parameters))
        self._names = ValuesById(pa.int64() if self._several else self._schema.field("object").type)
        self._ranked_rows = RankedRows(self._carry, self._which)

    def begin(self, last: int, rows: Rows) -> "WorkloadProcessor":
        """Continue from the rows of a small group that may still be in answers; moments up to `last` are answered."""
        self._names.update(rows.times, rows)
        self._ranked_rows.update(rows.times, rows, rows["score"])
        if self._rows:
            self._begin_in_rows(rows)
        else:
            self._backend.update(rows.times, rows["object"], self._signed(rows["score"]))
            self._backend.advance(last)
        self._last = last
        self._count = last + 1 if self._rows else 0
        return self

    def _begin_in_rows(self, rows: Rows) -> None:
        """Enough later rows rank before each dropped row: any row that these beat as well can replace it.

        If an object is in an answer only once, a row that its next row beats.
        """
        all_rows, gone = without_gaps(rows)
        scores = np.where(gone, -np.inf, self._signed(all_rows["score"]))
        objects = all_rows["object"]
        if self._query.repeats == EACH:
            objects = np.where(gone, np.iinfo(np.int64).max, objects)
        self._backend.advance(int(all_rows.times[0]))
        self._backend.update(all_rows.times[:-1], objects[:-1], scores[:-1])
        self._unwritten = self._backend.update(all_rows.times[-1:], objects[-1:], scores[-1:])

    def _signed(self, scores: Float64) -> Float64:
        """Convert scores to those of the ranker, or back."""
        return 0.0 - scores if self._mirrored else scores

    def start_from(self, since: Mapping[str, int]) -> None:
        self._since = np.array([since.get(part, TIME_MIN) for part in self._query.subqueries], np.int64)

    @property
    def next_at(self) -> int:
        if self._rows or self._last is None:
            return TIME_MAX
        moment = int(self._schedule.after(max(self._last, self._backend.now or self._last)))
        return moment if moment <= self._last + self._horizon else TIME_MAX

    def finish(self, rows: Rows, latest: int) -> ProcessorAnswers | None:
        if self._rows:  # each window in rows ends with a row, and none with the time `latest`
            return self.advance(rows, latest)
        self._ends = self._schedule.each_after(latest)
        try:
            return self.advance(rows, int(self._ends.max()))
        finally:
            self._ends = None

    def take(self, times: Int64, rows: Rows, until: int) -> None:
        self._write(self._unwritten)
        self._unwritten = ()
        quiet = self._long_silences(times)
        for start, stop in pairwise([0, *quiet, len(times)]):
            if stop > start:
                if start in quiet:
                    self._reach(int(times[start]))
                part = rows.slice(start, stop)
                answers = self._backend.update(times[start:stop], part["object"], self._signed(part["score"]))
                self._names.update(times[start:stop], part)
                self._ranked_rows.update(times[start:stop], part, part["score"])
                self._write(answers)
        if not self._rows:  # only up to a moment: so the state does not depend on the watermarks of its turns
            self._reach(self._schedule.latest(until))

    @classmethod
    def plain_turns(
        cls, processors: Sequence[Self], times: Int64, spans: Int64, until: int
    ) -> Sequence[PlainTurn | None]:
        """Of each that has seen rows and carries no columns, with windows in time and without a long gap."""
        first, schedule = processors[0], processors[0]._schedule
        named = first._names.needed or first._names.tells_itself
        if cls is not WorkloadProcessor or first._rows or first._carry or not named:
            return super().plain_turns(processors, times, spans, until)
        moment, has_rows = schedule.latest(until), spans[:, 1] > spans[:, 0]
        before = np.array([each._last if each._since is None and each._last is not None else TIME_MIN
                           for each in processors])  # fmt: skip
        last = before.copy()
        last[has_rows] = times[spans[has_rows, 1] - 1]
        plain = before > TIME_MIN
        before[~plain] = last[~plain] = 0  # any value: so that no sum overflows
        plain &= (schedule.empty_at(last) > until) & (last + schedule.horizon >= moment)
        plain &= ~schedule.has_ended(before, last) & (np.maximum(last, moment) - before <= first._most_time)
        due, following = np.array([moment]), int(schedule.after(moment))
        return [
            PlainTurn(due, time, following) if is_plain else None
            for is_plain, time in zip(plain.tolist(), last.tolist(), strict=True)
        ]

    @classmethod
    def turns(cls, processors: Sequence[Self], rows: Rows, spans: Int64, turns: Sequence[PlainTurn]) -> AnswersOfTurns:
        first, rankers = processors[0], [processor._backend for processor in processors]
        objects, scores = (rows["object"], first._signed(rows["score"])) if len(rows) else (_NO_OBJECTS, _NO_SCORES)
        until = np.concatenate([turn.due for turn in turns])
        cuts, tops = type(rankers[0]).answers_together(rankers, rows.times, objects, scores, spans=spans, until=until)
        ends, names = tops.offsets[cuts], None
        if first._names.needed:
            each = [processor._names for processor in processors]
            learn_together(each, rows, spans)
            names = values_together(each, tops.objects, ends)
        for processor, turn in zip(processors, turns, strict=True):
            processor._last = turn.last
            processor._names.forget(turn.last - processor._horizon)
        return AnswersOfTurns(
            [first._answers_as_rows(tops, names)] if len(tops.objects) else [], np.diff(ends).tolist()
        )

    def _long_silences(self, times: Int64) -> list[int]:
        """The rows after a gap so long that its moments are answered in several calls."""
        now = self._backend.now
        if self._rows or not len(times) or times[-1] - (times[0] if now is None else now) <= self._most_time:
            return []
        waits = np.diff(times, prepend=times[:1] if now is None else now)
        silences: list[int] = np.flatnonzero(waits > self._most_time).tolist()
        return silences

    def _reach(self, until: int) -> None:
        """Answer all moments up to `until`, at most `_MOST_MOMENTS` or so in a call."""
        now = self._backend.now
        while now is not None and now < until:
            now = min(now + self._most_time, until)
            self._write(self._backend.advance(now))

    def _write(self, each: Sequence[Answer]) -> None:
        """Append answers as rows."""
        answers = Answers.of(each)
        if not len(answers.objects):
            return
        rows, due = self._answers_as_rows(answers), self._due(answers)
        self._answers.append(rows if due.all() else rows.pick(np.repeat(due, np.diff(answers.offsets))))

    def _answers_as_rows(self, answers: Answers, names: pa.Array | None = None) -> AnswerColumns:
        """Answers of its queries as rows; names: those of the objects, looked up if not given."""
        begins = answers.at - self._schedule.windows[answers.query]
        return self._as_rows(answers, answers.query, begins, self._labels, names)

    def _as_rows(
        self, tops: Answers, part: Int64, begins: Int64, labels: Mapping[str, pa.Array], names: pa.Array | None = None
    ) -> AnswerColumns:
        """Answers as rows; part, begins: int64[a], for each its index in `labels` and the start of its window."""
        sizes = np.diff(tops.offsets)
        ranks = np.arange(1, len(tops.objects) + 1) - np.repeat(tops.offsets[:-1], sizes)
        scores = self._signed(tops.scores)
        until = np.repeat(tops.at, sizes)
        carried: list[pa.Array] = []
        if self._carry:
            since, answer = np.repeat(begins, sizes), np.repeat(np.arange(len(tops)), sizes)
            carried = self._ranked_rows.lookup(answer, tops.objects, scores, since, until)
        columns = [
            until,
            np.repeat(part, sizes),
            ranks,
            *(carried[: self._several] or [self._names.for_answers(tops.objects) if names is None else names]),
            scores,
            *carried[self._several :],
        ]
        return AnswerColumns(self._schema, columns, labels)

    def _due(self, answers: Answers) -> Array:
        """bool[a]: whether each answer is at most at the end and over a window that cannot lack rows."""
        due = np.ones(len(answers), bool)
        if self._ends is not None:
            due &= answers.at <= self._ends[answers.query]
        if self._since is not None:
            due &= answers.at - self._schedule.windows[answers.query] >= self._since[answers.query]
        return due

    def collect(self) -> ProcessorAnswers | None:
        if self._last is not None:
            self._names.forget(self._last - self._horizon)
            self._ranked_rows.forget(self._last - self._horizon)
        parts, self._answers = self._answers, []
        if len(parts) <= 1:
            return parts[0] if parts else None
        return as_batch(parts)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The ranker's state and its queries, which may have changed by the time it is loaded."""
        queries = np.array([astuple(query) for query in self._backend.queries], np.int64).reshape(-1)
        ranker = state_arrays.with_prefix("ranker", self._backend.dump_state())
        names = state_arrays.frame_to_array("names", self._names.frame()) if self._names.needed else {}
        header: dict[str, Any] = {"last": self._last, "count": self._count}
        if self._rows and self._since is not None:
            header["since"] = self._since.tolist()
        return header, {
            "queries": queries,
            **ranker,
            **names,
            **state_arrays.frame_to_array("carried", self._ranked_rows.frame()),
        }

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        last, count = header["last"], header["count"]
        queries = self._queries(StateReader(arrays))
        configured = self._backend_parameters["queries"]
        if queries != configured:
            parameters = {**self._backend_parameters, "queries": queries}
            self._backend = cast(WorkloadRanker, self._binding.create(**parameters))
        self._backend.load_state(state_arrays.without_prefix("ranker", arrays))
        now = self._backend.now
        passed = last is None if now is None else type(last) is int and last <= now
        if not passed or type(count) is not int or not 0 <= count < 2**62:
            raise SnapshotError(f"is inconsistent: a ranker at {now} cannot have seen {count!r} rows up to {last!r}")
        self._last, self._count = last, count
        if "since" in header:
            self._since = self._since_of(header["since"], queries)
        if self._names.needed:
            self._names.load_state(state_arrays.frame_from_array("names", arrays, self._names.frame()))
        rows = self._ranked_rows
        rows.load_state(state_arrays.frame_from_array("carried", arrays, rows.frame()))
        if queries != configured:
            self._backend.reconfigure(configured)

    def _since_of(self, moments: Any, queries: Sequence[TopKQuery]) -> Int64:
        """int64[q]: the first row of each query, from those of the queries of a state."""
        fits = isinstance(moments, list) and len(moments) == len(queries)
        if not fits or not all(type(row) is int and TIME_MIN <= row <= self._count for row in moments):
            raise SnapshotError(f"is inconsistent: queries cannot begin with the rows {moments!r:.200}")
        by_query = dict(zip(queries, moments, strict=True))
        return np.array([by_query.get(query, TIME_MIN) for query in self._backend_parameters["queries"]], np.int64)

    def _queries(self, state: StateReader) -> tuple[TopKQuery, ...]:
        """The queries of a state."""
        numbers = state.column("queries", np.int64)
        state.require(len(numbers) > 0 and len(numbers) % 4 == 0, "queries", "must have four numbers each")
        return tuple(TopKQuery(*numbers[place : place + 4].tolist()) for place in range(0, len(numbers), 4))
