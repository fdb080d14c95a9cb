"""Processes one group of a query that answers each row on arrival, with its matches among earlier rows."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Float64, Int64
from skyband.columns.gaps_in_row_numbers import without_gaps
from skyband.columns.integer_ids import numbers_column
from skyband.columns.keyed_frames import PART
from skyband.columns.row_store_by_position import RowStore
from skyband.columns.rows import Rows
from skyband.config.calendar_lengths import CalendarLength
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.answer_columns import ProcessorAnswers, RawAnswers
from skyband.groups.partitioning import PLACES, places_of
from skyband.groups.per_row_processor import PerRowProcessor
from skyband.groups.plain_turns import NO_MOMENTS, AnswersOfTurns, PlainTurn
from skyband.groups.processor import BackendProcessor
from skyband.registry import Binding
from skyband.roles.sharding import PROBE

from skyband_setjoin.row_matches.answers import MATCH_TIME, Answered, RowColumns, columns_of
from skyband_setjoin.row_matches.query import KEPT, MATCH_PLACE, PAIRS, PLACE, MatchingQuery
from skyband_setjoin.set_matcher import Matches

WHEN = "when"
"""The column with the time of each row, if row numbers replace times."""
_FEW_ROWS = 4
"""Rows per group in a turn of many groups, on average."""


def at_their_times(rows: Rows) -> Rows:
    """The rows with their times again, if row numbers replaced these."""
    return Rows(rows[WHEN], {name: rows[name] for name in rows.names if name != WHEN})


class MatchingProcessor(BackendProcessor, PerRowProcessor):
    """Feeds a matcher, and adds the ids, times and columns of rows to its answers.

    The matcher is of the query's only role. Its `update`, `update_together`, `seen` and `sides` are those of a
    `SetMatcher`, with the arrays of `_payload` in place of offsets and tokens.
    """

    _backend: Any

    def __init__(self, query: MatchingQuery, matcher: Binding, answers: pa.Schema) -> None:
        self._query = query
        self._binding = matcher
        self._schema = answers
        self._shared = PLACE in answers.names
        self._columns = RowColumns(query, answers)
        self._further = [MATCH_TIME, *([MATCH_PLACE] if self._shared else [])]
        self._begin()

    @staticmethod
    @abstractmethod
    def _payload(rows: Rows) -> tuple[Array, ...]:
        """The arguments of `update` between times and sides: what is compared of each row."""

    def _begin(self) -> None:
        self._backend = self._binding.create(**self._query.backend_parameters(self._query.roles[0]))
        kinds = {MATCH_TIME: pa.int64(), MATCH_PLACE: PLACES}
        further = [pa.field(name, kinds[name]) for name in self._further]
        self._window_rows = RowStore([*self._columns.of_match(), *further])
        """What answers contain of a match, for the rows of the window: id, carried columns, time and place."""
        self._last: int | None = None
        self._empty_at = TIME_MAX

    def _pass(self, last: int) -> None:
        """Note the time of the last row."""
        self._last, self._empty_at = last, TIME_MAX if self._query.rows else self._query.empty_at(last)

    def begin_with(self, rows: Rows) -> Self:
        """Continue from the rows of a small group, which are all kept, including its last row.

        Over windows in rows, rows that the group no longer has are added, so that they count in the window, and match
        nothing. Rows before its first row are left out.
        """
        if self._query.rows:
            rows, gone = without_gaps(rows)
            self._take_with_gaps(at_their_times(rows), gone)
        else:
            self._take(rows)
        self._pass(int(rows.times[-1]))
        return self

    @abstractmethod
    def _take_with_gaps(self, rows: Rows, gone: Array) -> None:
        """Feed rows to the matcher; those where bool[n] is true are to match nothing."""

    @property
    def next_at(self) -> int:
        """The time when the window is empty, so that the group can be dropped."""
        return self._empty_at

    @property
    def empty(self) -> bool:
        return self._last is None

    def advance(self, rows: Rows, until: int) -> ProcessorAnswers | None:
        answers = super().advance(rows, until)
        if self.next_at <= until and self.next_at != TIME_MAX:
            self._begin()
        return answers

    @classmethod
    def plain_turns(
        cls, processors: Sequence[Self], times: Int64, spans: Int64, until: int
    ) -> Sequence[PlainTurn | None]:
        """A turn of each processor with rows, over windows in time, with an earlier row in its window and at its end.

        Shards that share a group have one group only, so they have no turns.
        """
        query = processors[0]._query
        if query.rows or processors[0]._shared:
            return super().plain_turns(processors, times, spans, until)
        before = np.array([TIME_MIN if p._last is None else p._last for p in processors], np.int64)
        plain = (spans[:, 1] > spans[:, 0]) & (before > TIME_MIN)
        last = times[spans[:, 1] - 1] if len(times) else before
        if isinstance(query.window, CalendarLength):
            before, empty_at = query.schedule.empty_at(np.where(plain, before, last)), query.schedule.empty_at(last)
            plain &= (before > last) & (empty_at > until)
            ends = empty_at.tolist()
        else:
            window = query.window.length
            plain &= (last.view(np.uint64) - before.view(np.uint64) < window) & (last > max(until - window, TIME_MIN))
            ends = [time + window for time in last.tolist()]
        return [
            PlainTurn(NO_MOMENTS, time, end) if goes_on else None
            for goes_on, time, end in zip(plain.tolist(), last.tolist(), ends, strict=True)
        ]

    @classmethod
    def turns(cls, processors: Sequence[Self], rows: Rows, spans: Int64, turns: Sequence[PlainTurn]) -> AnswersOfTurns:
        """Copy the rows of these processors together; they are few enough to keep until each has copied its own."""
        first, sizes = processors[0], spans[:, 1] - spans[:, 0]
        cuts = np.append(0, np.cumsum(sizes))
        rows = rows.take(np.arange(cuts[-1]) + np.repeat(spans[:, 0] - cuts[:-1], sizes))
        times, stored, window = first._query.places_of(rows.times), first._stored(rows), first._backend.window
        few = len(rows) <= _FEW_ROWS * len(processors)
        payload, sides = first._payload(rows), first._sides(rows)
        bounds = np.column_stack([cuts[:-1], cuts[1:]])
        matchers = [processor._backend for processor in processors]
        own_cuts, earlier, similarity = type(first._backend).update_together(
            matchers, times, *payload, sides, spans=bounds
        )
        ends, matches = own_cuts[cuts].tolist(), list[list[pa.Array]]()
        each = zip(processors, turns, bounds.tolist(), pairwise(ends), strict=True)
        for processor, turn, (start, stop), (begin, end) in each:
            store = processor._window_rows
            if few:
                store.defer(times, stored, start, stop)
            else:
                store.update(times[start:stop], [column[start:stop] for column in stored])
            if end > begin:
                matches.append(store.lookup(earlier[begin:end]))
            processor._last, processor._empty_at = turn.last, turn.following
            store.forget(int(times[stop - 1]) - window)
        together = [pa.concat_arrays(column) for column in zip(*matches, strict=True)]
        answers = first._answers(rows, np.diff(own_cuts), similarity, together)
        if answers is None:
            return AnswersOfTurns([], [0] * len(processors))
        arrivals = cast(Answered, answers.parts).arrivals
        return AnswersOfTurns([answers], np.diff(arrivals.searchsorted(cuts)).tolist())

    def finish(self, rows: Rows, latest: int) -> RawAnswers | None:  # noqa: ARG002 - no moment is waited for
        return self.arrive(rows) if len(rows) else None

    def rows_in_session(self, times: Int64) -> int:
        if self._query.rows or not len(times):
            return len(times)
        length = self._query.place_length
        places = self._query.places_of(np.append(times[0] if self._last is None else self._last, times))
        if places[-1] - places[0] < length:
            return len(times)
        apart = np.flatnonzero(places[1:] - places[:-1] >= length)
        return int(apart[0]) if len(apart) else len(times)

    def arrive(self, rows: Rows) -> RawAnswers | None:
        if self.next_at <= rows.times[0]:
            self._begin()
        begins = self._begins(rows.times)
        cuts, earlier, similarity = self._take(rows)
        matches = self._window_rows.lookup(earlier) if len(earlier) else []
        answers = self._answers(rows, cuts[1:] - cuts[:-1], similarity, matches)
        if begins:
            # All earlier rows are too old for the next ones: start over, so that batches make no difference.
            self._begin()
            self._take(rows.slice(begins, len(rows)))
        number, window = self._backend.seen, self._backend.window
        last = rows.times[-1:]
        self._window_rows.forget((number + 1 if self._query.rows else int(self._query.places_of(last)[0])) - window)
        self._pass(int(last[0]))
        return answers

    def _begins(self, times: Int64) -> int:
        """The last row, in time, before which a non-empty window became empty; 0 for none, or the first."""
        length, places = self._query.place_length, times if self._query.rows else self._query.places_of(times)
        if self._query.rows or places[-1] - places[0] < length:
            return 0
        apart = np.flatnonzero(places[1:] - places[:-1] >= length)
        return int(apart[-1]) + 1 if len(apart) else 0

    def _take(self, rows: Rows, parts: Array | None = None) -> Matches:
        """Feed rows to the matcher; parts: as of its `update`, by default those of a shared group."""
        number = self._backend.seen
        by_rows = self._query.rows
        when = np.arange(number, number + len(rows)) if by_rows else self._query.places_of(rows.times)
        self._window_rows.update(when, self._stored(rows))
        parts = rows[PART] if self._shared else parts
        return self._backend.update(when, *self._payload(rows), self._sides(rows), parts)

    def _stored(self, rows: Rows) -> list[pa.Array]:
        """What answers contain of each row as a match."""
        stored = [*self._columns.ids(rows), *self._columns.carried_of_match(rows), numbers_column(rows.times)]
        return [*stored, _places(rows)] if self._shared else stored

    def _sides(self, rows: Rows) -> Array | None:
        return rows["side"] if self._backend.sides == 2 else None

    def _answers(
        self, rows: Rows, counts: Int64, similarity: Float64, matches: Sequence[pa.Array]
    ) -> RawAnswers | None:
        """counts: the number of matches of each row, of one group or of many. matches: their stored columns."""
        if self._query.output == PAIRS and not len(similarity):
            return None
        arrivals, places = self._answered(rows, counts)
        if not len(arrivals):
            return None
        own = _places(rows).take(pa.array(arrivals)) if self._shared else None
        parts = Answered(self._columns, self._columns.needed(rows), arrivals, places, similarity, matches, own)
        return RawAnswers(self._schema, columns_of, parts, len(arrivals))

    def _answered(self, rows: Rows, counts: Int64) -> tuple[Int64, Int64]:
        """The row of each answer, and which of all matches it contains, -1 for none."""
        if self._query.output == PAIRS:
            least = np.zeros(len(rows), np.int64)
        else:
            least = (rows[PART] & PROBE).astype(np.int64) if self._shared else np.ones(len(rows), np.int64)
        sizes = np.maximum(counts, least)
        arrivals = np.repeat(np.arange(len(rows)), sizes)
        places = np.full(len(arrivals), -1)
        places[np.repeat(counts > 0, sizes)] = np.arange(counts.sum())
        if self._query.output == KEPT and not self._shared:
            return arrivals[places < 0], places[places < 0]
        return arrivals, places

    def _frames(self) -> dict[str, pa.RecordBatch]:
        """The columns of the window's rows for a state: a frame of each kind, with the times."""
        window = self._window_rows.frame()
        further = len(self._further)
        alone = {name: _renamed(window, name) for name in self._further}
        places = alone.get(MATCH_PLACE, _NO_PLACES)
        ids = window.select(window.schema.names[:-further])
        return {"ids": ids, "times": alone[MATCH_TIME], "places": places}

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        arrays = state_arrays.with_prefix("matcher", self._backend.dump_state())
        for name, frame in self._frames().items():
            arrays |= state_arrays.frame_to_array(name, frame)
        return {"last": self._last}, arrays

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:
        if header["last"] is not None:
            self._pass(header["last"])
        self._backend.load_state(state_arrays.without_prefix("matcher", arrays))
        like = self._frames()
        ids, times, places = (state_arrays.frame_from_array(name, arrays, like[name]) for name in like)
        further = [times, *([places] if self._shared else [])]
        if any(frame.column("time") != ids.column("time") for frame in further):
            raise SnapshotError("is inconsistent: the ids, times and places of its rows do not belong to the same rows")
        columns = [*ids.columns, *(frame.column("name") for frame in further)]
        self._window_rows.load_state(
            pa.RecordBatch.from_arrays(columns, schema=self._window_rows.frame().schema), self._backend.seen
        )


_NO_PLACES = pa.RecordBatch.from_pylist([], schema=pa.schema([("time", pa.int64()), ("name", PLACES)]))


def _renamed(window: pa.RecordBatch, name: str) -> pa.RecordBatch:
    """One column of the rows of a window, next to the times."""
    return pa.RecordBatch.from_arrays([window.column("time"), window.column(name)], names=["time", "name"])


def _places(rows: Rows) -> pa.Array:
    return places_of(rows.times, rows["code"], rows["tie"], rows["side"] if "side" in rows.names else None)
