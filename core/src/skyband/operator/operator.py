"""The operator: a query bound to backends, running. Takes frames, gives answers, can be snapshotted.

Every engine hosts this one class, which is why they agree. Rows wait until the watermark passes them and then
go to their group's processor in one canonical order, so neither batches nor partitions nor the order of arrival within
`delay` can be seen in an answer.
"""

import time as clock
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from skyband import snapshot
from skyband.arrays import TIME_MIN, Array, Int64, UInt64
from skyband.columns import keyed_frames
from skyband.errors import BrokenError, ConfigError, PluginError, SnapshotError
from skyband.groups import state_arrays
from skyband.groups.execution import Execution, execution_of
from skyband.groups.processor import GroupProcessor
from skyband.operator.answer_changes import AnswerChanges
from skyband.operator.fingerprint import check_parameters, check_same, defaults_of, fingerprint
from skyband.operator.groups import Bound, Groups
from skyband.operator.logged_batch import LoggedBatch, is_time
from skyband.operator.metrics import Counters, Metrics
from skyband.operator.rows_of_states import RowsOfStates
from skyband.operator.shard import Shard
from skyband.operator.waiting_rows import WaitingRows
from skyband.operator.withheld_answers import WithheldAnswers
from skyband.queries.error_attribution import attributed, check_answers
from skyband.queries.frame_checks import refused_as_damage
from skyband.queries.query import AHEAD, ALL, Query
from skyband.registry import Binding
from skyband.roles.thread_guard import REMEDY
from skyband.snapshot import Snapshot
from skyband.state_validation import StateReader
from skyband.version import __version__
from skyband.watermark import Clock, EventTimeProgress, Ticking

LAYOUT = 2
"""Of an operator's snapshot."""


@define(eq=False)
class Operator:
    """One shard of a query: all its groups, the rows that wait for the watermark, and the watermark."""

    query: Query
    bindings: Mapping[str, Binding]
    schema: pa.Schema
    """Schema of the source."""
    shared: bool = False
    """Whether it is one of several shards without groups, whose answers are merged into one."""
    shard: Shard | None = None
    """Which shard it is, where its state is kept for another to go on with; None takes that of a state it restores."""

    watermark: int | None = field(default=None, init=False)
    """Microseconds since the epoch; None before the first row."""
    _clock: Clock = field(init=False)
    _joined_at: dict[str, int | None] = field(init=False)
    """The query's parts, each with the watermark at which it joined the checkpoint; None where it began with it."""
    _groups: Groups = field(init=False)
    _waiting: WaitingRows = field(factory=WaitingRows, init=False)
    _withheld: WithheldAnswers = field(init=False)
    _changes: AnswerChanges | None = field(init=False)
    """What tells of changes where the query gives those; None where it gives whole answers."""
    _finished: bool = field(default=False, init=False)
    """The last step was the end of the input for now, and touched what is withheld."""
    _counters: Counters = field(factory=Counters, init=False)
    _whole: bool = field(default=True, init=False)
    """No turn was cut short, by Ctrl-C or an error."""

    @_clock.default
    def _at_the_start(self) -> Clock:
        idle = None if self.query.idle is None else self.query.idle.length
        return Clock(self.query.delay.length, idle, EventTimeProgress.nowhere(self.query.source_count))

    @_joined_at.default
    def _from_the_start(self) -> dict[str, int | None]:
        return dict.fromkeys(self.query.subqueries)

    @_groups.default
    def _no_groups(self) -> Groups:
        by = pa.schema(self.query.group_fields(self.schema))
        small_groups = self.execution.small_groups(self.bindings, self._answers) if self.query.by else None
        return Groups(by, self._processor, small_groups)

    @_withheld.default
    def _nothing_withheld(self) -> WithheldAnswers:
        return WithheldAnswers.none(self.execution, self._whole_answers)

    @_changes.default
    def _nothing_answered(self) -> AnswerChanges | None:
        return None if self.query.answers == ALL else AnswerChanges(self.execution, self._whole_answers)

    @cached_property
    def execution(self) -> Execution[Any]:
        """How its query is answered."""
        return execution_of(self.query)

    @cached_property
    def _answers(self) -> pa.Schema:
        return pa.schema((self.query.shard_fields if self.shared else self.query.answer_fields)(self.schema))

    @cached_property
    def _whole_answers(self) -> pa.Schema:
        """Schema of what the groups answer."""
        return self._answers if self.shared else self.query.whole_schema(self.schema)

    @property
    def result_schema(self) -> pa.Schema:
        """Schema of what is given: the answers, or the changes in them."""
        return self._answers if self.shared else self.query.result_schema(self.schema)

    def add(self, frame: pa.RecordBatch) -> None:
        """Take in a frame (made by `encode`). Rows before the watermark are late: counted and dropped."""
        self._check_whole()
        own = keyed_frames.own(frame)
        counters = self._counters
        counters.rows_in += int(np.count_nonzero(own))
        if self.watermark is not None:
            times = frame.column(keyed_frames.TIME).to_numpy()
            late = times < self.watermark
            if late.any():
                counters.late_by = max(counters.late_by, self.watermark - int(times.min()) + self.query.delay.length)
                counters.rows_late += int(np.count_nonzero(late & own))
                frame = frame.filter(pa.array(~late))
        self._waiting.add(frame)

    def count_dropped(self, counts: Mapping[str, int]) -> None:
        """Count rows that did not come to be in a frame, by reason."""
        self._counters.rows_in += sum(counts.values())
        self._counters.dropped.update(counts)

    def step(self, progress: EventTimeProgress, ticking: Ticking | None = None) -> pa.RecordBatch:
        """The rows added since the last step, in all shards, came as far as `progress`: answer what it lets pass.

        Ticks move it too, where there are any: while rows stay away, or to the end of the input.
        """
        self.drop_ahead(progress)
        self._clock.add(progress)
        by_rows, newest, before = self._clock.watermark(), self._clock.progress.newest, self.watermark
        marks = [] if by_rows is None else [by_rows]
        finishing = False
        if ticking is not None and newest is not None:
            marks += self._idled(ticking, newest)
            # Rows that come with a tick tell that the input was not complete then, and others may follow them.
            finishing = ticking.finish and progress.newest is None and progress.tick > TIME_MIN
            marks += [self._end(newest)] if finishing else []
        answers = self._advance(max(marks)) if marks else _no_rows(self._whole_answers)
        return self._due(answers, before, finishing)

    def _due(self, answers: pa.RecordBatch, before: int | None, finishing: bool) -> pa.RecordBatch:
        """What of a step's answers, and of those withheld, is given; before: the watermark before the step."""
        count, newest = len(self._withheld), self._clock.progress.newest
        self._finished = False
        if finishing and newest is not None:
            answers = self._withheld.at_the_end(answers, newest)
            self._finished = count + len(self._withheld) > 0 or self._changes is not None
            return self._as_given(answers, lambda: self.execution.query.schedule.each_after(newest))
        if not self._goes_on(before):
            return self._as_given(answers, lambda: TIME_MIN)
        answers = self._withheld.given_with(answers) if count else answers
        return self._as_given(answers, lambda: TIME_MIN if self.watermark is None else self.watermark)

    def _as_given(self, answers: pa.RecordBatch, answered: Callable[[], int | Int64]) -> pa.RecordBatch:
        """Answers as the query gives them: whole, or what changed; answered: up to which moment all were given."""
        if self._changes is None:
            return answers
        if not len(answers) + len(self._changes):
            return _no_rows(self.result_schema)
        return self._changes.take(answers, answered())

    def _goes_on(self, before: int | None) -> bool:
        """Whether a stream that was finished up to a watermark had a row since that was not late, or was idle."""
        newest = self._clock.progress.newest
        return before is None or (newest is not None and newest >= before) or self.watermark != before

    def drop_ahead(self, progress: EventTimeProgress) -> int | None:
        """Drop rows added since the last step that are `ahead` of all others, and what `progress` tells of them.

        Returns the latest time of the others; None where the query drops none, or there are no rows.
        """
        if self.query.ahead is None or not progress.spans:
            return None
        limit = progress.cut_ahead(self._clock.progress.newest, self.query.ahead.length)
        if limit is not None:
            self.drop_after(limit)
        return limit

    def drop_after(self, limit: int) -> None:
        """Drop waiting rows later than this, and count those that are this shard's own."""
        self._counters.dropped[AHEAD] += self._waiting.drop_after(limit)

    def _idled(self, ticking: Ticking, newest: int) -> list[int]:
        """Where silence puts the watermark, `newest` being the latest time of any row so far; nowhere while it lasts
        less than `idle_after`."""
        idle_time = self._clock.idle_time(ticking.started)
        if ticking.idle_after is None or idle_time < ticking.idle_after:
            return []
        if pa.types.is_integer(self.schema.field(self.query.time).type):
            return [newest + 1]  # numbers do not go on with the clock, but no row waits any longer
        return [self._clock.allowing_delay(newest + idle_time)]

    def _end(self, newest: int) -> int:
        """Where the watermark is once all is given that the end of an input with this latest time gives."""
        end = self.execution.end(newest)
        return self._processor().end(newest) if end is None else end

    def advance(self, watermark: int) -> pa.RecordBatch:
        """No row before `watermark` will come any more: answer every moment up to it. It never goes back."""
        return self._as_given(self._advance(watermark), lambda: watermark)

    def _advance(self, watermark: int) -> pa.RecordBatch:
        if self.watermark is None or watermark > self.watermark:
            self.watermark = watermark
        return self._run(Bound(self.watermark))

    def finish(self, latest: int) -> pa.RecordBatch:
        """The input has ended, `latest` its last time in any group or shard: answer up to the moment after that."""
        answers = self._run(Bound(None, latest))
        answers = self._withheld.at_the_end(answers, latest) if len(self._withheld) else answers
        return self._as_given(
            answers, lambda: self.execution.query.schedule.each_after(latest) if latest > TIME_MIN else TIME_MIN
        )

    def take_metrics(self) -> Metrics:
        """What was done since this was last called."""
        self._counters.dropped.update(self._groups.take_dropped())
        counters, self._counters = self._counters, Counters()
        return counters.metrics(self._groups.retained, len(self._groups))

    @property
    def groups(self) -> Groups:
        """All its groups."""
        return self._groups

    @property
    def waiting(self) -> int:
        """Rows that wait for the watermark."""
        return len(self._waiting)

    @property
    def progress(self) -> EventTimeProgress:
        """How far all rows so far have come."""
        return self._clock.progress

    def largest_groups(self, most: int) -> list[tuple[dict[str, Any], int, int]]:
        """The groups with the largest states, each by its values: items retained and bytes. Small ones are not told."""
        return self._groups.largest(most)

    def _run(self, until: Bound) -> pa.RecordBatch:
        """Give each group that has rows before the until, or a moment to answer, its turn."""
        started = clock.perf_counter()
        self._check_whole()
        self._whole = False  # until it comes to its end
        with attributed(self.query, self.bindings):
            answers = self._groups.run(self._waiting.release(until.watermark, self.query.ties), until)
        self._whole = True
        self._counters.seconds += clock.perf_counter() - started
        if answers is None:
            return _no_rows(self._whole_answers)
        check_answers(self.query, answers, self._whole_answers)
        return answers

    def _check_whole(self) -> None:
        """Raise BrokenError where a turn was cut short: its rows are in some groups and not in others."""
        if not self._whole:
            raise BrokenError(f"the operator of {self.query.kind} was called after a call was cut short: {REMEDY}")

    def fresh_processor(self) -> GroupProcessor:
        """That of a group without rows."""
        return self._processor()

    def _processor(self) -> GroupProcessor:
        processor = self.execution.processor(self.bindings, self._answers)
        if self._joined and not self.query.rows:  # a group knows its own rows
            processor.start_from(self._joined)
        return processor

    @property
    def _joined(self) -> dict[str, int]:
        """The parts that joined the checkpoint, each with the watermark then."""
        return {part: watermark for part, watermark in self._joined_at.items() if watermark is not None}

    def logged_batch(self, given: Sequence[bytes]) -> bytes:
        """The turn just done, in which it was given these frames, for another to `replay` with."""
        return LoggedBatch((), self.watermark, self._clock.to_list(), self._finished).encode(given)

    def replay(self, turns: Sequence[LoggedBatch]) -> None:
        """Become what one that took these turns after this one's last became. Their answers were given by that one."""
        rows, goes_on = self._rows_of_states, False
        for turn in turns:
            if len(turn.clock) != len(self._clock.to_list()):
                raise SnapshotError(
                    f"holds a turn of {len(turn.clock)} times, this query has {len(self._clock.to_list())}"
                )
            if turn.finished:
                self._catch_up()  # answers of before are not among those that it withheld
            for frame in turn.frames:
                self.add(rows.checked(frame))  # drops what was late then
            mark = self.watermark
            before, after = (TIME_MIN if one is None else one for one in (mark, turn.watermark))
            if after < before:
                raise SnapshotError(f"contradicts itself: a turn's watermark goes back from {before} to {after}")
            self.watermark = turn.watermark
            self._clock.load_state(turn.clock)
            if self.query.ahead is not None and self._clock.progress.newest is not None:
                self.drop_after(self._clock.progress.newest)
            self._due(self._catch_up() if turn.finished else _no_rows(self._whole_answers), mark, turn.finished)
            goes_on = not turn.finished and (goes_on or self._goes_on(mark))
        answers, watermark = self._catch_up(), self.watermark
        self._as_given(answers, lambda: watermark if goes_on and watermark is not None else TIME_MIN)
        self.take_metrics()

    def _catch_up(self) -> pa.RecordBatch:
        if self.watermark is None:
            return _no_rows(self._whole_answers)
        with refused_as_damage():  # what the query's own checks let pass
            return self._advance(self.watermark)

    def begin_with(
        self, keys: UInt64, values: pa.RecordBatch, processors: Sequence[GroupProcessor], at: int, latest: int
    ) -> None:
        """On a fresh one: begin with these groups, at a moment up to which all is answered; `latest`: of any row."""
        self._clock.add(EventTimeProgress([latest] * self.query.source_count, latest))
        self.watermark = at
        self._groups.begin(keys, values, processors)

    def align_with(self, other: "Operator") -> None:
        """On a fresh one: come as far in time as another shard, to `absorb` or `merge` its groups."""
        self.watermark, self._joined_at = other.watermark, dict(other._joined_at)
        self._clock.load_state(other._clock.to_list())
        self._groups.start_from(self._joined)

    def absorb(self, other: "Operator", chosen: Callable[[UInt64], Array]) -> None:
        """Take over those groups (uint64[n] -> bool[n]) of a shard that was just restored, with their rows."""
        self._check_beside(other)
        self._groups.absorb(other._groups, chosen(other._groups.keys))
        self._waiting.absorb(other._waiting, chosen)
        self._withheld.absorb(other._withheld, chosen)
        if self._changes is not None and other._changes is not None:
            self._changes.absorb(other._changes, chosen)

    def merge(self, other: "Operator") -> None:
        """Take over the state and rows of a shard without groups that was just restored. See `Query.unmerged`."""
        self._check_beside(other)
        self._groups.merge(other._groups)
        self._waiting.merge(other._waiting)
        self._withheld.merge(other._withheld)

    def _check_beside(self, other: "Operator") -> None:
        mine, theirs = ((one.watermark, one._clock.to_list(), one._joined_at) for one in (self, other))
        if mine != theirs:
            raise SnapshotError(f"contradicts itself: its shards stand at {mine} and {theirs}")

    def snapshot(self) -> bytes:
        """The operator as bytes, for `load_state`: a versioned header plus plain arrays."""
        self._check_whole()
        with attributed(self.query, self.bindings):
            arrays = state_arrays.with_prefix("groups", self._groups.dump_state())
        waiting = self._waiting.dump_state()
        if waiting is not None:
            arrays["waiting"] = waiting
        arrays["clock"] = np.array(self._clock.to_list(), np.int64)
        parts, withheld = self._withheld.dump_state()
        arrays |= withheld
        arrays |= {} if self._changes is None else self._changes.dump_state()
        header: dict[str, Any] = {
            "layout": LAYOUT,
            "operator": fingerprint(self.query, self.bindings, self.schema),
            "backends": self._own_parameters,
            "watermark": self.watermark,
            "joined_at": self._joined_at,
            "skyband": __version__,
        }
        if self.shard is not None:
            header["shard"] = self.shard.to_header()
        if parts:
            header["withheld"] = parts
        return snapshot.encode(header, arrays)

    def restore(self, blob: bytes, joined: int | None = None) -> bool:
        """Become the operator a snapshot was taken of. Raises SnapshotError where it is of another query or backend.

        Parts of the query that the snapshot's did not have join at the watermark `joined`, or the snapshot's; returns
        whether it has other parts.
        """
        try:
            return self._load(snapshot.decode(blob), joined)
        except (SnapshotError, ConfigError, PluginError):
            raise
        except Exception as error:  # a header of another shape
            raise SnapshotError(f"the state cannot be read: {type(error).__name__}: {error}") from error

    def _load(self, held: Snapshot, joined: int | None) -> bool:
        if "operator" in held.header and held.header.get("layout") != LAYOUT:
            by, here = held.header.get("skyband"), __version__
            raise SnapshotError(f"the checkpoint was made by skyband {by}, this is {here}: give this job a new one")
        check_same(
            held.header.get("operator"), fingerprint(self.query, self.bindings, self.schema), defaults_of(self.query)
        )
        for role, parameters in held.header["backends"].items():
            check_parameters(self.bindings[role], parameters, self.query.backend_parameters(role))
        # Nothing is taken over before all of it fits.
        fresh = Operator(self.query, self.bindings, self.schema, self.shared, self._shard_of(held))
        changed = fresh._take_over(held, joined)
        for name in ("shard", "watermark", "_clock", "_joined_at", "_waiting", "_withheld", "_changes", "_groups"):
            setattr(self, name, getattr(fresh, name))
        self._whole = True
        return changed

    def _shard_of(self, held: Snapshot) -> Shard | None:
        """Which shard a state is of; older states do not say."""
        shard = Shard.from_header(held.header.get("shard"))
        if None not in (shard, self.shard) and shard != self.shard:
            raise SnapshotError(f"the state is of {shard}, not of {self.shard}: they were taken for one another")
        return self.shard if shard is None else shard

    def _take_over(self, held: Snapshot, joined: int | None) -> bool:
        self.watermark, joined_at = held.header["watermark"], held.header["joined_at"]
        if not all(time is None or is_time(time) for time in (self.watermark, *joined_at.values())):
            raise SnapshotError(f"contradicts itself: no time is {self.watermark!r}, or one of {joined_at!r:.200}")
        if "clock" in held.arrays:  # checkpoints of before there was one go on from their watermark
            clock = StateReader(held.arrays).column("clock", np.int64, len(self._clock.to_list()))
            self._clock.load_state(clock.tolist())
        joined = self.watermark if joined is None else joined
        self._joined_at = {part: joined_at.get(part, joined) for part in self.query.subqueries}
        if "waiting" in held.arrays:
            rows = self._rows_of_states.checked(keyed_frames.from_bytes(held.arrays["waiting"]))
            self._waiting.load_state(rows, self.watermark)
        changed = {*joined_at} != {*self.query.subqueries}
        self._groups.start_from(self._joined)
        self._groups.load_state(state_arrays.without_prefix("groups", held.arrays), changed)
        self._withheld.load_state(held.header.get("withheld"), held.arrays, self.watermark)
        if self._changes is not None:
            self._changes.load_state(held.arrays, self.watermark)
        if self.query.by and self.shard is not None:
            for kept in (self._groups.keys, self._withheld.groups, *([self._changes.groups] if self._changes else [])):
                self.shard.check_groups(kept)
        return changed

    @property
    def _rows_of_states(self) -> RowsOfStates:
        return RowsOfStates(self.query, self.schema, self.shard)

    @cached_property
    def _own_parameters(self) -> dict[str, dict[str, str]]:
        """By role, the backend's own parameters as text, defaults and all: another version's may be others."""
        by_role = {}
        for role, binding in self.bindings.items():
            query_parameters = self.query.backend_parameters(role)
            every = {name: snapshot.text(v) for name, v in binding.create(**query_parameters).parameters().items()}
            by_role[role] = {name: value for name, value in every.items() if name not in query_parameters}
        return by_role


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
