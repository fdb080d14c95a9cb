"""top-k-workload: many top-k queries over one stream, answered together."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import astuple, define

from skyband.arrays import TIME_MAX, TIME_MIN, Array, Float64, Int64
from skyband.columns.ids import ValuesById
from skyband.columns.numbers import as_float64, is_number
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRows, Which
from skyband.config.parameters import choice
from skyband.errors import ConfigError, Problem, SnapshotError
from skyband.queries import state_arrays, top_k_merging
from skyband.queries.answer_columns import AnswerColumns, ProcessorAnswers, as_batch
from skyband.queries.carried_columns import (
    TIE,
    carry_columns,
    carry_fields,
    carry_inputs,
    carry_parameter,
    name_problems,
)
from skyband.queries.composite_ids import (
    Columns,
    answer_ids,
    columns_of,
    identity,
    identity_fields,
    identity_inputs,
    identity_names,
    missing,
    several,
    to_keys,
)
from skyband.queries.processor import GroupProcessor, ScheduledProcessor
from skyband.queries.query import Input, Query, column_name
from skyband.queries.rank_order import SMALLEST, order_parameter, score_order
from skyband.queries.row_encoding import at_field
from skyband.queries.row_numbers import without_gaps
from skyband.queries.schedule import Schedule
from skyband.queries.small_groups import SmallGroups, most_entries
from skyband.queries.workload_queries import NamedQuery, named_queries
from skyband.registry import Binding
from skyband.roles import Answer, Answers, Backend, TopKQuery, WorkloadRanker
from skyband.state_validation import StateReader

EACH, BEST = "each", "best"
"""Whether each row is ranked by itself, or an object once, by its best row."""


@define(eq=True)
class TopKWorkload(Query):
    """Ranks the rows of a stream by a score, for many queries with windows, slides and k of their own.

    Each row is ranked by itself: an object that comes twice can be ranked twice. With `repeats = "best"` it is in an
    answer once, by its row of the window that ranks first, the latest of equal ones; of the backends paneband can.
    Result columns: at, query, rank (from
    1), object, score. Of equal scores the smaller object ranks first where objects are integers, otherwise (decimals
    too) the one of smaller hash, so that all engines agree: the low 64 bits, as a signed number, of MurmurHash3_x64_128
    of the value (of text, its bytes in UTF-8). Rows whose object or score is null, or whose score is not a number, are
    left out and counted. An answer without objects has no rows.

    The queries may change between runs on one checkpoint: those that stay go on, and those that join answer over
    windows that begin at the watermark reached by then, or later. Windows in time stay in time, those in rows in rows.

    Where objects are not integers, the name of every object of the longest window is kept, not only of those that
    may still be answered: number them where there are millions.

    `object` may name several columns, which tell objects apart together: the answers then have these in the place of
    `object`, and equal scores rank by the hash of all of them. A row where one of them is null has no object.
    """

    kind: ClassVar[str] = "top-k-workload"
    roles: ClassVar[tuple[str, ...]] = ("workload-ranker",)
    compared_by: ClassVar[tuple[str, ...]] = ("query", "object")
    shard_by: ClassVar[str | None] = "key"
    evolvable: ClassVar[tuple[str, ...]] = ("queries",)
    drop_reasons: ClassVar[tuple[str, ...]] = ("null object", "no score")
    files: ClassVar[tuple[str, ...]] = ("queries",)

    object: Columns = identity(help="the column that names the object a row is about, or several that do together")
    score: str = column_name(help="the column of scores")
    queries: tuple[NamedQuery, ...] = named_queries(
        help="the queries, each with a name, window, slide and k, and perhaps a phase: a list, or a CSV or Parquet file"
    )
    order: str = order_parameter("scores")
    carry: tuple[str, ...] = carry_parameter(help="further columns of the ranked row to give with it")
    repeats: str = choice(
        EACH, BEST, default=EACH,
        help="where an object comes again: whether each of its rows is ranked, or the best one of the window only",
    )  # fmt: skip

    def __attrs_post_init__(self) -> None:
        taken = ("at", "query", "rank", "score", *self.by)
        problems = name_problems("object", several(self.object), taken)
        problems += name_problems("carry", self.carry, (*taken, *identity_names("object", self.object)))
        if problems:
            raise ConfigError(*problems)

    @property
    def rows(self) -> bool:
        return self.queries[0].window.rows

    @property
    def compared_columns(self) -> tuple[str, ...]:
        return ("query", *columns_of(self.object)) if several(self.object) else self.compared_by

    @property
    def subqueries(self) -> tuple[str, ...]:
        return tuple(query.definition for query in self.queries)

    @property
    def ties(self) -> tuple[str, ...]:
        carried = (TIE,) if self.carry else ()
        return ("object", "score", *carried) if self.rows or self.carry else ()

    def inputs(self) -> tuple[Input, ...]:
        return (
            *identity_inputs("object", self.object),
            Input("score", self.score, "a number", is_number),
            *carry_inputs(self.carry),
        )

    def encode_columns(self, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
        objects = [batch.column(name) for name in columns_of(self.object)]
        scores = as_float64(self.score, batch.column(self.score)).fill_null(np.nan).to_numpy(zero_copy_only=False)
        ids, keys, names = to_keys(objects)
        columns = {"object": pa.array(ids), "key": pa.array(keys), "score": pa.array(scores)}
        columns |= carry_columns((*several(self.object), *self.carry), batch)
        masks = zip(self.drop_reasons, (missing(objects), np.isnan(scores)), strict=True)
        return columns if names is None else {**columns, "name": names}, dict(masks)

    def answer_fields(self, schema: pa.Schema) -> list[pa.Field]:
        named = [pa.field("query", pa.string()), pa.field("rank", pa.int64())]
        ranked = [*identity_fields("object", self.object, schema), pa.field("score", pa.float64())]
        return [at_field(self, schema), *named, *ranked, *carry_fields(self.carry, schema)]

    @property
    def schedule(self) -> Schedule:
        """When its queries answer."""
        lengths = [query.lengths for query in self.queries]
        return Schedule(*zip(*((one.window, one.slide, one.phase) for one in lengths), strict=True))

    def backend_parameters(self, role: str) -> dict[str, Any]:  # noqa: ARG002 - there is one role
        lengths = tuple(query.lengths for query in self.queries)
        once = {} if self.repeats == EACH else {"repeats": self.repeats}
        return {"queries": lengths, "by": "rows" if self.rows else "time", **once}

    def unsupported_by(self, backend: Backend) -> list[Problem]:
        theirs = getattr(backend, "repeats", EACH)
        if theirs == self.repeats:
            return []
        return [Problem("repeats", f"says what a backend does: set it to {theirs!r} here, and drop it there")]

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return _WorkloadProcessor(self, bindings["workload-ranker"], answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> SmallGroups | None:
        """Where the answer is that of the definition, whatever the ranker, it is read off the rows of small groups."""
        most = most_entries(bindings["workload-ranker"], self.backend_parameters("workload-ranker"))
        carry = [answers.field(name) for name in (*several(self.object), *self.carry)]
        if not most or self.repeats != EACH or (self.rows and carry):
            return None

        def processor(last: int, rows: Rows) -> GroupProcessor:
            return _WorkloadProcessor(self, bindings["workload-ranker"], answers).begin(last, rows)

        from skyband.queries.small_row_windows import SmallRowWindows  # on use, because it loads numba
        from skyband.queries.small_workloads import SmallWorkloads

        table = SmallWorkloads(
            most, self.schedule, self.queries, answers, processor,
            mirrored=self.order == SMALLEST, carry=carry, several=len(several(self.object)),
        )  # fmt: skip
        return SmallRowWindows(table, self.subqueries) if self.rows else table

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no object, so the best of all are among the best of each."""
        keyed = answers.append_column(top_k_merging.ID, pa.array(answer_ids(answers, "object", self.object)))
        ranked = top_k_merging.merge_top_k(
            keyed, [*self.by, "at", "query"], [("score", score_order(self.order)), (top_k_merging.ID, "ascending")]
        )
        place = pc.index_in(ranked.column("query"), value_set=pa.array([query.name for query in self.queries]))
        most = np.array([query.k for query in self.queries])[place.to_numpy()]
        return top_k_merging.truncate(ranked, most, answers.column_names)


_MOST_MOMENTS = 1 << 20
"""Moments answered in one call. A silence may owe many times more, most of them empty: it is passed in parts."""


class _WorkloadProcessor(ScheduledProcessor):
    """One group's ranker. Once its longest window is empty it begins anew, so that silence costs nothing then."""

    def __init__(self, query: TopKWorkload, ranker: Binding, answers: pa.Schema) -> None:
        self._query = query
        self._backend_parameters = query.backend_parameters("workload-ranker")
        super().__init__(query.schedule, query.rows)
        self._most_time = int(min(_MOST_MOMENTS / (1 / self._schedule.slides).sum(), 2.0**62)) or 1
        """In which there are about as many moments."""
        self._mirrored = query.order == SMALLEST
        """Rankers know the largest first: of the smallest first they are given the negatives."""
        self._which: Which = "each"
        if query.repeats == BEST:
            self._which = "smallest" if self._mirrored else "largest"
        self._several = len(several(query.object))
        self._carry = [answers.field(name) for name in (*several(query.object), *query.carry)]
        self._since: Int64 | None = None
        self._ends: Int64 | None = None
        self._labels = {"query": pa.array([one.name for one in query.queries], pa.string())}
        self._binding = ranker
        self._schema = answers
        self._answers: list[AnswerColumns] = []
        self._unwritten: Sequence[Answer] = ()
        """Those of the row that it began with."""
        self.clear()

    def clear(self) -> None:
        self._ranker = cast(WorkloadRanker, self._binding.create(**self._backend_parameters))
        self._names = ValuesById(pa.int64() if self._several else self._schema.field("object").type)
        self._ranked_rows = RankedRows(self._carry, self._which)

    def begin(self, last: int, rows: Rows) -> "_WorkloadProcessor":
        """Go on from the rows of a small group that can still be answered, the moments up to `last` being answered."""
        self._names.update(rows.times, rows)
        self._ranked_rows.update(rows.times, rows, rows["score"])
        if self._rows:
            self._begin_in_rows(rows)
        else:
            self._ranker.update(rows.times, rows["object"], self._signed(rows["score"]))
            self._ranker.advance(last)
        self._last = last
        self._count = last + 1 if self._rows else 0
        return self

    def _begin_in_rows(self, rows: Rows) -> None:
        """Rows that have gone were beaten by enough later ones: any that these beat as well stand for them."""
        all_rows, gone = without_gaps(rows)
        scores = np.where(gone, -np.inf, self._signed(all_rows["score"]))
        objects = np.where(gone, np.iinfo(np.int64).max, all_rows["object"])
        self._ranker.advance(int(all_rows.times[0]))
        self._ranker.update(all_rows.times[:-1], objects[:-1], scores[:-1])
        self._unwritten = self._ranker.update(all_rows.times[-1:], objects[-1:], scores[-1:])

    def _signed(self, scores: Float64) -> Float64:
        """Scores as the ranker knows them, and back."""
        return 0.0 - scores if self._mirrored else scores

    def start_from(self, since: Mapping[str, int]) -> None:
        self._since = np.array([since.get(part, TIME_MIN) for part in self._query.subqueries], np.int64)

    @property
    def next_at(self) -> int:
        if self._rows or self._last is None:
            return TIME_MAX
        moment = int(self._schedule.after(max(self._last, self._ranker.now or self._last)))
        return moment if moment <= self._last + self._horizon else TIME_MAX

    def finish(self, rows: Rows, latest: int) -> ProcessorAnswers | None:
        self._ends = self._schedule.each_after(latest)
        try:
            return self.advance(rows, int(self._ends.max()))
        finally:
            self._ends = None

    def end(self, latest: int) -> int:
        return latest + 1 if self._rows else int(self._schedule.each_after(latest).max())

    def take(self, times: Int64, rows: Rows, until: int) -> None:
        self._write(self._unwritten)
        self._unwritten = ()
        now = self._ranker.now
        quiet = np.flatnonzero(np.diff(times, prepend=times[:1] if now is None else now) > self._most_time)
        for start, stop in pairwise([0, *([] if self._rows else quiet.tolist()), len(times)]):
            if stop > start:
                if start in quiet:
                    self._reach(int(times[start]))
                part = rows.slice(start, stop)
                found = self._ranker.update(times[start:stop], part["object"], self._signed(part["score"]))
                self._names.update(times[start:stop], part)
                self._ranked_rows.update(times[start:stop], part, part["score"])
                self._write(found)
        if not self._rows:  # no further than a moment: so its state does not tell at which watermarks it had a turn
            self._reach(self._schedule.latest(until))

    def _reach(self, until: int) -> None:
        """Answer every moment at most `until`, not too many in one call."""
        now = self._ranker.now
        while now is not None and now < until:
            now = min(now + self._most_time, until)
            self._write(self._ranker.advance(now))

    def _write(self, given: Sequence[Answer]) -> None:
        """Write answers down as rows."""
        found = Answers.of(given)
        if not len(found.objects):
            return
        sizes = np.diff(found.offsets)
        ranks = np.arange(1, len(found.objects) + 1) - np.repeat(found.offsets[:-1], sizes)
        scores = self._signed(found.scores)
        until = np.repeat(found.at, sizes)
        since = until - np.repeat(self._schedule.windows[found.query], sizes)
        answer = np.repeat(np.arange(len(found)), sizes)
        carried = self._ranked_rows.of(answer, found.objects, scores, since, until)
        columns = [
            until,
            np.repeat(found.query, sizes),
            ranks,
            *(carried[: self._several] or [self._names.for_answers(found.objects)]),
            scores,
            *carried[self._several :],
        ]
        due = self._due(found)
        answers = AnswerColumns(self._schema, columns, self._labels)
        self._answers.append(answers if due.all() else answers.pick(np.repeat(due, sizes)))

    def _due(self, found: Answers) -> Array:
        """bool[a]: which of these answers are neither after the end nor over windows that may lack rows."""
        due = np.ones(len(found), bool)
        if self._ends is not None:
            due &= found.at <= self._ends[found.query]
        if self._since is not None:
            due &= found.at - self._schedule.windows[found.query] >= self._since[found.query]
        return due

    def collect(self) -> ProcessorAnswers | None:
        if self._last is not None:
            self._names.forget(self._last - self._horizon)
            self._ranked_rows.forget(self._last - self._horizon)
        parts, self._answers = self._answers, []
        if len(parts) <= 1:
            return parts[0] if parts else None
        return as_batch(parts)

    @property
    def retained(self) -> int:
        return len(self._ranker)

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """The ranker's state with the queries it is of, which may be others when it is loaded."""
        queries = np.array([astuple(query) for query in self._ranker.queries], np.int64).reshape(-1)
        ranker = state_arrays.with_prefix("ranker", self._ranker.dump_state())
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
        mine = self._backend_parameters["queries"]
        if queries != mine:
            parameters = {**self._backend_parameters, "queries": queries}
            self._ranker = cast(WorkloadRanker, self._binding.create(**parameters))
        self._ranker.load_state(state_arrays.without_prefix("ranker", arrays))
        now = self._ranker.now
        passed = last is None if now is None else type(last) is int and last <= now
        if not passed or type(count) is not int or not 0 <= count < 2**62:
            raise SnapshotError(f"contradicts itself: a ranker at {now} cannot have seen {count!r} rows up to {last!r}")
        self._last, self._count = last, count
        if "since" in header:
            self._since = self._since_of(header["since"], queries)
        if self._names.needed:
            self._names.load_state(state_arrays.frame_from_array("names", arrays, self._names.frame()))
        rows = self._ranked_rows
        rows.load_state(state_arrays.frame_from_array("carried", arrays, rows.frame()))
        if queries != mine:
            self._ranker.reconfigure(mine)

    def _since_of(self, given: Any, queries: Sequence[TopKQuery]) -> Int64:
        """int64[q]: the row with which each query begins; given: those of a state's queries."""
        fits = isinstance(given, list) and len(given) == len(queries)
        if not fits or not all(type(row) is int and TIME_MIN <= row <= self._count for row in given):
            raise SnapshotError(f"contradicts itself: queries cannot begin with the rows {given!r:.200}")
        known = dict(zip(queries, given, strict=True))
        return np.array([known.get(query, TIME_MIN) for query in self._backend_parameters["queries"]], np.int64)

    def _queries(self, state: StateReader) -> tuple[TopKQuery, ...]:
        """Those of a state."""
        numbers = state.column("queries", np.int64)
        state.require(len(numbers) > 0 and len(numbers) % 4 == 0, "queries", "must have four numbers each")
        return tuple(TopKQuery(*numbers[place : place + 4].tolist()) for place in range(0, len(numbers), 4))
