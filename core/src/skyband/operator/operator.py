"""The operator: a query bound to backends, running. It takes frames, returns answers, and can be snapshotted.

Every engine runs this one class, so that all engines agree. Rows wait until the watermark passes them and then go
to their group's processor in one canonical order, so answers do not depend on batches, partitions or the order of
arrival within `delay`.
"""

import time as clock
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from skyband import snapshot
from skyband.arrays import TIME_MAX, TIME_MIN, Array, UInt64
from skyband.columns import keyed_frames
from skyband.columns.grouped_rows import GroupedRows
from skyband.columns.state_frame_checks import refused_as_damage
from skyband.errors import BrokenError, ConfigError, EngineError, InputError, PluginError, SnapshotError
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.instants import instant
from skyband.operator.answer_release import AnswerRelease
from skyband.operator.bound_query import BoundQuery
from skyband.operator.groups import Groups, Until
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.metrics import Counters, Metrics, check_sum
from skyband.operator.operator_state import OperatorState, check_fits, shard_of
from skyband.operator.shard import Shard
from skyband.operator.state_row_checks import StateRowChecks
from skyband.operator.step_pieces import ends_of_pieces, joined
from skyband.queries.error_attribution import attributed, check_answers
from skyband.queries.query import AHEAD, Query
from skyband.registry import Binding
from skyband.roles.thread_guard import REMEDY
from skyband.watermark import EventTimeProgress, Ticking
from skyband.windows.schedule import TooManyMomentsError

if TYPE_CHECKING:
    from skyband.groups.broadcast_state import RefusedRows
    from skyband.operator.groups_of_zones import GroupsOfZones
    from skyband.operator.static_broadcast_table import WholeTable


@define(eq=False)
class Operator:
    """One shard of a query: all its groups, the rows that wait for the watermark, and the watermark.

    It defines the micro-batch: rows come in, the watermark moves, groups answer. The results of its rows are in an
    `OperatorState`; what rows never change is in a `BoundQuery`.
    """

    query: Query
    bindings: Mapping[str, Binding]
    schema: pa.Schema
    """Schema of the source."""
    shared: bool = False
    """Whether it is one of several shards without groups, whose answers are merged."""
    shard: Shard | None = None
    """The shard it is, for a state that another operator resumes; None takes the shard of a restored state."""

    _bound: BoundQuery = field(init=False)
    _state: OperatorState = field(init=False)
    _release: AnswerRelease = field(init=False)
    _counters: Counters = field(factory=Counters, init=False)
    _waited: int = field(default=0, init=False)
    """Rows waiting when metrics were last taken, or when the state was restored or merged."""
    _whole: bool = field(default=True, init=False)
    """Whether no call was cut short, by Ctrl-C or an error."""

    @_bound.default
    def _bound_of_fields(self) -> BoundQuery:
        return BoundQuery(self.query, self.bindings, self.schema, self.shared)

    @_state.default
    def _state_of_no_rows(self) -> OperatorState:
        return OperatorState(self._bound)

    @_release.default
    def _release_of_state(self) -> AnswerRelease:
        return AnswerRelease(self._bound, self._state)

    @property
    def watermark(self) -> int | None:
        """The watermark in microseconds since the epoch; None before the first row."""
        return self._state.watermark

    @property
    def execution(self) -> Execution[Any]:
        """The execution of its query."""
        return self._bound.execution

    @property
    def result_schema(self) -> pa.Schema:
        """The schema of its output: answers, or changes of them."""
        return self._bound.result_schema

    def add(self, frame: pa.RecordBatch) -> None:
        """Add a frame (made by `encode`). Rows before the watermark are late: counted and dropped."""
        self._check_whole()
        counters = self._counters
        counters.rows_in += keyed_frames.own_count(frame)
        late = self._is_late(frame)
        if late is not None and self.watermark is not None:
            earliest = int(frame.column(keyed_frames.TIME).to_numpy().min())
            counters.late_by = max(counters.late_by, self.watermark - earliest + self.query.delay.length)
            counters.rows_late += int(np.count_nonzero(late & keyed_frames.own(frame)))
            frame = frame.filter(pa.array(~late))
        self._state.waiting.add(frame)

    def late_rows(self, frame: pa.RecordBatch) -> Array | None:
        """bool[n]: the rows of a frame that `add` would count as late; None if there are none."""
        late = self._is_late(frame)
        counted = None if late is None else late & keyed_frames.own(frame)
        return counted if counted is not None and counted.any() else None

    def _is_late(self, frame: pa.RecordBatch) -> Array | None:
        if self.watermark is None:
            return None
        late: Array = frame.column(keyed_frames.TIME).to_numpy() < self.watermark
        return late if late.any() else None

    def broadcast(self, rows: pa.Table) -> "RefusedRows":
        """Add rows of the query's second table, as one batch; returns rejected rows, which are not counted.

        The rows apply to moments later than the watermark. Raises InputError if the query has no such table, or the
        rows lack its columns.
        """
        self._check_whole()
        if self._state.broadcast is None:
            raise InputError(self.query.broadcast or "rules", f"this {self.query.kind} takes no second table")
        self._state.pass_broadcast()
        with attributed(self.query):
            return self._state.broadcast.take(rows, self.watermark)

    def broadcast_whole(self, table: "WholeTable") -> "RefusedRows":
        """As `broadcast`, for a whole table: rows that it had last time are skipped."""
        refused = self.broadcast(table.without(self._state.whole_table))
        self._state.whole_table = table.keys
        return refused

    def has_whole(self, table: "WholeTable") -> bool:
        """Whether this is the whole table that was added last."""
        return np.array_equal(self._state.whole_table, table.keys)

    def count_dropped(self, counts: Mapping[str, int]) -> None:
        """Count rows that never reached a frame, by reason."""
        self._counters.rows_in += sum(counts.values())
        self._counters.dropped.update(counts)

    def step(self, progress: EventTimeProgress, ticking: Ticking | None = None) -> pa.RecordBatch:
        """Answer the moments completed by the rows added since the last step, which reached `progress` in all shards.

        Ticks, if any, move time too: while no rows arrive, or to the end of the input.
        """
        self.drop_ahead(progress)
        self._state.clock.add(progress)
        by_rows, newest, before = self._state.clock.watermark(), self.progress.newest, self.watermark
        marks = [] if by_rows is None else [by_rows]
        finishing = False
        if ticking is not None and newest is not None:
            marks += self._idled(ticking, newest)
            # Rows that arrive with a tick show that the input was not complete; more may follow.
            finishing = ticking.finish and progress.newest is None and progress.tick > TIME_MIN
            marks += [self._end(newest)] if finishing else []
        answers = self._advance(max(marks)) if marks else self._bound.no_answers()
        return self._release.step(answers, before, finishing)

    def drop_ahead(self, progress: EventTimeProgress) -> int | None:
        """Drop rows added since the last step that are `ahead` of all others, also from `progress`.

        Returns the latest time of the others; None if the query drops none, or there are no rows.
        """
        if self.query.ahead is None or not progress.spans:
            return None
        limit = progress.cut_ahead(self.progress.newest, self.query.ahead.length)
        if limit is not None:
            self.drop_after(limit)
        return limit

    def drop_after(self, limit: int) -> None:
        """Drop waiting rows later than this, and count those that belong to this shard."""
        self._counters.dropped[AHEAD] += self._state.waiting.drop_after(limit)

    def _idled(self, ticking: Ticking, newest: int) -> list[int]:
        """The watermarks that idle time allows, with `newest` the latest time of any row; none before `idle_after` has
        passed."""
        idle_time = self._state.clock.idle_time(ticking.started)
        if ticking.idle_after is None or idle_time < ticking.idle_after:
            return []
        if pa.types.is_integer(self.schema.field(self.query.time).type):
            return [newest + 1]  # numbers do not advance with the clock, but no row waits any longer
        return [self._state.clock.allowing_delay(newest + idle_time)]

    def _end(self, newest: int) -> int:
        """The watermark once everything is answered that the end of an input with this latest time answers.

        All shards of a finished stream are there, whichever zones their groups have. Answers of zones at later moments
        up to it are withheld.
        """
        if self.query.zone_column is not None:
            return int(self.execution.query.schedule.end_in_any_zone(np.array([newest]))[0])
        end = self.execution.end(newest)
        return self.fresh_processor().end(newest) if end is None else end

    def advance(self, watermark: int) -> pa.RecordBatch:
        """No more rows before `watermark` will arrive: answer every moment up to it. It never goes back."""
        return self._release.up_to(watermark, self._advance(watermark))

    def _advance(self, watermark: int) -> pa.RecordBatch:
        before = self.watermark
        if before is None or watermark > before:
            self._state.watermark = watermark
        return self._run(Until(self.watermark), before)

    def finish(self, latest: int) -> pa.RecordBatch:
        """The input has ended, `latest` being its last time in any group or shard: answer up to the moment after it."""
        return self._release.finish(self._run(Until(None, latest), self.watermark), latest)

    def take_metrics(self) -> Metrics:
        """Metrics since the last call. Raises EngineError if a row is lost, or counted twice."""
        self._check_rows()
        self._counters.dropped.update(self._groups.take_dropped())
        counters, self._counters = self._counters, Counters()
        return counters.metrics(self._groups.retained, len(self._groups))

    def _check_rows(self) -> None:
        """Check that rows in, plus those that waited, equal rows late, dropped, passed to groups, or waiting."""
        counters, before = self._counters, self._waited
        self._waited = self._state.waiting.own
        accounted = counters.rows_late + sum(counters.dropped.values()) + counters.released + self._waited
        check_sum(counters.rows_in + before, accounted, f"the operator of {self.query.kind} had them")

    @property
    def _groups(self) -> "Groups | GroupsOfZones":
        return self._state.groups

    @property
    def groups(self) -> "Groups | GroupsOfZones":
        """All its groups."""
        return self._groups

    @property
    def waiting(self) -> int:
        """The number of rows that wait for the watermark."""
        return len(self._state.waiting)

    @property
    def progress(self) -> EventTimeProgress:
        """The times reached by all rows so far."""
        return self._state.clock.progress

    def largest_groups(self, most: int) -> list[tuple[dict[str, Any], int, int]]:
        """The groups with the largest states, by their values: items retained and bytes. Small groups are left out."""
        return self._groups.largest(most)

    def _run(self, until: Until, before: int | None = None) -> pa.RecordBatch:
        """Give a turn to each group that has rows before `until`, or a moment to answer.

        before: the watermark up to which all is answered.
        """
        started = clock.perf_counter()
        self._check_whole()
        self._whole = False  # until the end
        with attributed(self.query, self.bindings):
            ready = self._state.waiting.release(until.watermark)
            self._counters.released += sum(map(keyed_frames.own_count, ready))
            try:
                answers = self._answers(GroupedRows(ready, self.query.ties) if ready else None, until, before)
            except TooManyMomentsError as error:
                newest = self.progress.newest if until.latest is None else until.latest
                raise EngineError(f"{error}; the latest row is at {instant(newest or 0).plain()}") from error
        self._whole = True
        self._counters.seconds += clock.perf_counter() - started
        if answers is None:
            return self._bound.no_answers()
        check_answers(self.query, answers, self._bound.whole_answers)
        return answers

    def _answers(self, ready: GroupedRows | None, until: Until, before: int | None) -> pa.RecordBatch | None:
        """The answers of all groups, in pieces of time if they are many."""
        end = until.moment if until.latest is None else until.latest
        cuts = ends_of_pieces(self._bound, len(self._groups), before, ready, end)
        begin, answers = TIME_MIN, list[pa.RecordBatch]()
        for cut in cuts:
            rows = None if ready is None else ready.between(begin, cut)
            piece = self._groups.run(rows, Until(cut, silent=until.silent))
            answers += [] if piece is None else [piece]
            begin = cut
        rows = ready if ready is None or not cuts else ready.between(begin, TIME_MAX)
        last = self._groups.run(rows, until)
        answers += [] if last is None else [last]
        return joined(answers)

    def _check_whole(self) -> None:
        """Raise BrokenError if a call was cut short: its rows are in some groups but not in others."""
        if not self._whole:
            raise BrokenError(f"the operator of {self.query.kind} was called after a call was cut short: {REMEDY}")

    def fresh_processor(self) -> GroupProcessor:
        """A new group's processor."""
        return self._state.fresh_processor()

    def logged_batch(self, pieces: Sequence[bytes]) -> bytes:
        """The last micro-batch, with the frames it was given, for another operator to `replay`."""
        return self.last_turn().encode(pieces)

    def last_turn(self) -> LoggedBatch:
        """The time after the last micro-batch, without its frames."""
        return LoggedBatch((), self.watermark, self._state.clock.to_list(), self._release.finished)

    def replay(self, turns: Sequence[LoggedBatch]) -> None:
        """Become what an operator with this one's state became by these micro-batches, whose answers were given."""
        rows, goes_on = StateRowChecks(self.query, self.schema, self.shard), False
        for turn in turns:
            length = len(self._state.clock.to_list())
            if len(turn.clock) != length:
                raise SnapshotError(f"holds a micro-batch of {len(turn.clock)} times, but this query has {length}")
            if turn.finished:
                self._catch_up_as_given(goes_on)  # it did not withhold earlier answers
            for frame in turn.frames:
                self.add(rows.checked(frame))  # drops rows that were late then
            mark = self.watermark
            before, after = (TIME_MIN if time is None else time for time in (mark, turn.watermark))
            if after < before:
                raise SnapshotError(f"contradicts itself: a micro-batch's watermark goes back from {before} to {after}")
            self._state.watermark = turn.watermark
            self._state.clock.load_state(turn.clock)
            if self.query.ahead is not None and self.progress.newest is not None:
                self.drop_after(self.progress.newest)
            answers = self._catch_up() if turn.finished else self._bound.no_answers()
            self._release.step(answers, mark, turn.finished)
            goes_on = not turn.finished and (goes_on or self._release.goes_on(mark))
        self._catch_up_as_given(goes_on)
        self.take_metrics()

    def _catch_up_as_given(self, goes_on: bool) -> None:
        """Mark answers so far as given, up to the watermark if the stream continued after a finished micro-batch."""
        answers = self._catch_up(silent=self._state.changes is None)
        self._release.up_to(self.watermark if goes_on else None, answers)

    def _catch_up(self, silent: bool = False) -> pa.RecordBatch:
        """silent: the answers are not needed."""
        if self.watermark is None:
            return self._bound.no_answers()
        with refused_as_damage():  # for what the query's own checks accept
            return self._run(Until(self.watermark, silent=silent))

    def begin_with(
        self, keys: UInt64, values: pa.RecordBatch, processors: Sequence[GroupProcessor], at: int, latest: int
    ) -> None:
        """On a new one: start with these groups, at a moment up to which all is answered; `latest`: of any row."""
        self._state.begin_with(keys, values, processors, at, latest)

    def align_with(self, other: "Operator") -> None:
        """On a fresh one: take the time of another shard, before `absorb` or `merge` of its groups."""
        self._state.align_with(other._state)

    def absorb(self, other: "Operator", select: Callable[[UInt64], Array]) -> None:
        """Take over groups, selected by uint64[n] -> bool[n], and their rows from a shard that was just restored."""
        self._state.absorb(other._state, select)
        self._waited = self._state.waiting.own

    def merge(self, other: "Operator") -> None:
        """Merge the state and rows of a just restored shard without groups. See `Execution.unmerged`."""
        self._state.merge(other._state)
        self._waited = self._state.waiting.own

    def unite_withheld(self) -> None:
        """Unite answers that merged shards, all here, withheld for one moment."""
        self._state.withheld.unite()

    def snapshot(self) -> bytes:
        """The operator as bytes, for `restore`."""
        self._check_whole()
        return self._state.dump(self.shard)

    def restore(self, blob: bytes, joined: int | None = None) -> bool:
        """Become the operator of a snapshot. Raises SnapshotError if it has another query or backend.

        Parts of the query that the snapshot lacks join at the watermark `joined`, or the snapshot's; returns whether
        the query has other parts.
        """
        try:
            state = snapshot.decode(blob)
            check_fits(self._bound, state)
            shard = shard_of(state, self.shard)
            fresh = OperatorState(self._bound)
            changed = fresh.load(state, shard, joined)
        except (SnapshotError, ConfigError, PluginError):
            raise
        except Exception as error:  # a header of another shape
            raise SnapshotError(f"the state cannot be read: {type(error).__name__}: {error}") from error
        # Nothing changes before all of it fits.
        self.shard, self._state, self._whole = shard, fresh, True
        self._release = AnswerRelease(self._bound, fresh)
        self._counters, self._waited = Counters(), fresh.waiting.own
        return changed
