"""The operator: a query bound to backends, running. Takes frames, gives answers, can be snapshotted.

Every engine hosts this one class, which is why they agree. Rows wait until the watermark passes them and then
go to their group's lane in one canonical order, so neither batches nor partitions nor the order of arrival within
`delay` can be seen in an answer.
"""

import time as clock
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from attrs import define, field, frozen

import skyband
from skyband import frames, snapshot
from skyband.errors import SnapshotError
from skyband.groups import Goal, Groups
from skyband.identity import check_parameters, check_same, fingerprint
from skyband.queries import states
from skyband.queries.lane import Lane
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.snapshot import Snapshot
from skyband.watermark import FIRST, Clock, Reach, Ticking

LAYOUT = 2
"""Of an operator's snapshot."""


@frozen
class Metrics:
    """What an operator has done since its metrics were last taken, and what it holds now."""

    rows_in: int
    """Rows of the source, whatever became of them."""
    rows_late: int
    left_out: Mapping[str, int]
    """Rows that no answer can come from, by reason: one of the query's `leaves_out`."""
    retained: int
    groups: int
    seconds: float


@frozen
class Turned:
    """One turn of an operator: the frames it was given, and where time stood after it."""

    frames: Sequence[pa.RecordBatch]
    watermark: int | None
    clock: Sequence[int]

    def encode(self, frames: Sequence[bytes]) -> bytes:
        """As bytes, for `decode`; the frames as they came."""
        arrays = {f"{number:06}": np.frombuffer(frame, np.uint8) for number, frame in enumerate(frames)}
        return snapshot.encode({"watermark": self.watermark, "clock": list(self.clock)}, arrays)

    @classmethod
    def decode(cls, blob: bytes) -> "Turned":
        """Raises SnapshotError where the bytes are damaged."""
        held = snapshot.decode(blob)
        given = [frames.from_bytes(held.arrays[name]) for name in sorted(held.arrays)]
        return cls(given, held.header["watermark"], held.header["clock"])


@define(eq=False)
class Operator:
    """One shard of a query: all its groups, the rows that wait for the watermark, and the watermark."""

    query: Query
    bindings: Mapping[str, Binding]
    schema: pa.Schema
    """Schema of the source."""
    shared: bool = False
    """Whether it is one of several shards without groups, whose answers are merged into one."""

    watermark: int | None = field(default=None, init=False)
    """Microseconds since the epoch; None before the first row."""
    _clock: Clock = field(init=False)
    _since: dict[str, int | None] = field(init=False)
    """The query's parts, each with the watermark at which it joined the checkpoint; None where it began with it."""
    _groups: Groups = field(init=False)
    _waiting: list[pa.RecordBatch] = field(factory=list, init=False)
    _rows_in: int = field(default=0, init=False)
    _rows_late: int = field(default=0, init=False)
    _left_out: Counter[str] = field(factory=Counter, init=False)
    _seconds: float = field(default=0.0, init=False)

    @_clock.default
    def _at_the_start(self) -> Clock:
        idle = None if self.query.idle is None else self.query.idle.length
        return Clock(self.query.delay.length, idle, Reach.nowhere(self.query.source_count))

    @_since.default
    def _from_the_start(self) -> dict[str, int | None]:
        return dict.fromkeys(self.query.parts)

    @_groups.default
    def _no_groups(self) -> Groups:
        by = pa.schema([self.schema.field(name) for name in self.query.by])
        crowd = self.query.crowd(self.bindings, self._answers) if self.query.by else None
        return Groups(by, self._lane, crowd)

    @property
    def _answers(self) -> pa.Schema:
        return pa.schema((self.query.shard_fields if self.shared else self.query.answer_fields)(self.schema))

    @property
    def result_schema(self) -> pa.Schema:
        """Schema of the answers."""
        return self._answers if self.shared else self.query.result_schema(self.schema)

    def add(self, frame: pa.RecordBatch) -> None:
        """Take in a frame (made by `encode`). Rows before the watermark are late: counted and dropped."""
        own = frames.own(frame)
        self._rows_in += int(np.count_nonzero(own))
        if self.watermark is not None:
            late = frame.column(frames.TIME).to_numpy() < self.watermark
            if late.any():
                self._rows_late += int(np.count_nonzero(late & own))
                frame = frame.filter(pa.array(~late))
        if len(frame):
            self._waiting.append(frame)

    def leave_out(self, counts: Mapping[str, int]) -> None:
        """Count rows that did not come to be in a frame, by reason."""
        self._rows_in += sum(counts.values())
        self._left_out.update(counts)

    def turn(self, reach: Reach, ticking: Ticking | None = None) -> pa.RecordBatch:
        """The rows added since the last turn, in all shards, came as far as `reach`: answer what the watermark passes.

        Ticks move it too, where there are any: while rows stay away, or to the end of the input.
        """
        self._clock.add(reach)
        by_rows = self._clock.watermark()
        marks = [] if by_rows is None else [by_rows]
        if ticking is not None and self._clock.reach.newest is not None:
            marks += self._ticked(ticking, self._clock.reach.newest, now=reach.tick)
        return self.advance(max(marks)) if marks else _no_rows(self.result_schema)

    def _ticked(self, ticking: Ticking, newest: int, now: int) -> list[int]:
        """Where a clock's ticks put the watermark, `newest` being the latest time of any row so far."""
        marks = []
        silence = self._clock.silence(ticking.started)
        if ticking.idle_after is not None and silence >= ticking.idle_after:
            if pa.types.is_integer(self.schema.field(self.query.time).type):
                marks.append(newest + 1)  # numbers do not go on with the clock, but no row waits any longer
            else:
                marks.append(newest - self.query.delay.length + silence)
        if ticking.finish and now > FIRST:
            marks.append(self._lane().end(newest))
        return marks

    def advance(self, watermark: int) -> pa.RecordBatch:
        """No row before `watermark` will come any more: answer every moment up to it. It never goes back."""
        if self.watermark is None or watermark > self.watermark:
            self.watermark = watermark
        return self._run(Goal(self.watermark))

    def finish(self, latest: int) -> pa.RecordBatch:
        """The input has ended, `latest` its last time in any group or shard: answer up to the moment after that."""
        return self._run(Goal(None, latest))

    def take_metrics(self) -> Metrics:
        """What was done since this was last called."""
        self._left_out.update(self._groups.take_left_out())
        left_out = {reason: count for reason, count in self._left_out.items() if count}
        taken = Metrics(
            self._rows_in, self._rows_late, left_out, self._groups.retained, len(self._groups), self._seconds
        )
        self._rows_in, self._rows_late, self._left_out, self._seconds = 0, 0, Counter(), 0.0
        return taken

    def _run(self, goal: Goal) -> pa.RecordBatch:
        """Give each group that has rows before the goal, or a moment to answer, its turn."""
        started = clock.perf_counter()
        answers = self._groups.run(self._release(goal.watermark), goal)
        self._seconds += clock.perf_counter() - started
        return _no_rows(self.result_schema) if answers is None else answers

    def _release(self, until: int | None) -> pa.RecordBatch | None:
        """The waiting rows before `until`, in canonical order."""
        if not self._waiting:
            return None
        waiting = frames.concatenated(self._waiting)
        self._waiting = []
        if until is not None:
            ready = waiting.column(frames.TIME).to_numpy() < until
            if not ready.all():
                waiting, later = frames.parted(waiting, ready)
                self._waiting = [later]
        return frames.ordered(waiting, self.query.order) if len(waiting) else None

    def _lane(self) -> Lane:
        lane = self.query.lane(self.bindings, self._answers)
        joined = {part: watermark for part, watermark in self._since.items() if watermark is not None}
        if joined:
            lane.limit(joined)
        return lane

    def turned(self, given: Sequence[bytes]) -> bytes:
        """The turn just done, in which it was given these frames, for another to `catch_up` with."""
        return Turned((), self.watermark, self._clock.packed()).encode(given)

    def catch_up(self, turns: Sequence[Turned]) -> None:
        """Become what one that took these turns after this one's last became. Their answers were given by that one."""
        for turn in turns:
            for frame in turn.frames:
                self.add(frame)  # drops what was late then
            self.watermark = turn.watermark
            self._clock.load(turn.clock)
        if self.watermark is not None:
            self.advance(self.watermark)
        self.take_metrics()

    def snapshot(self) -> bytes:
        """The operator as bytes, for `load`: a versioned header plus plain arrays."""
        arrays = states.under("groups", self._groups.state())
        if self._waiting:
            arrays |= states.framed("waiting", frames.concatenated(self._waiting))
        arrays["clock"] = np.array(self._clock.packed(), np.int64)
        header = {
            "layout": LAYOUT,
            "operator": fingerprint(self.query, self.bindings, self.schema),
            "backends": self._parameters(),
            "watermark": self.watermark,
            "since": self._since,
            "skyband": skyband.__version__,
        }
        return snapshot.encode(header, arrays)

    def load(self, blob: bytes, joined: int | None = None) -> bool:
        """Become the operator a snapshot was taken of. Raises SnapshotError where it is of another query or backend.

        Parts of the query that the snapshot's did not have join at the watermark `joined`, or the snapshot's; returns
        whether it has other parts.
        """
        held = snapshot.decode(blob)
        if "operator" in held.header and held.header.get("layout") != LAYOUT:
            by, here = held.header.get("skyband"), skyband.__version__
            raise SnapshotError(f"the checkpoint was made by skyband {by}, this is {here}: give this job a new one")
        check_same(held.header.get("operator"), fingerprint(self.query, self.bindings, self.schema))
        for role, parameters in held.header["backends"].items():
            check_parameters(self.bindings[role], parameters, self.query.given(role))
        # Nothing is taken over before all of it fits.
        fresh = Operator(self.query, self.bindings, self.schema, self.shared)
        changed = fresh._take_over(held, joined)
        for name in ("watermark", "_clock", "_since", "_waiting", "_groups"):
            setattr(self, name, getattr(fresh, name))
        return changed

    def _take_over(self, held: Snapshot, joined: int | None) -> bool:
        self.watermark = held.header["watermark"]
        if "clock" in held.arrays:  # checkpoints of before there was one go on from their watermark
            self._clock.load(held.arrays["clock"].tolist())
        since, joined = held.header["since"], self.watermark if joined is None else joined
        self._since = {part: since.get(part, joined) for part in self.query.parts}
        self._waiting = [frames.from_bytes(held.arrays["waiting"])] if "waiting" in held.arrays else []
        changed = {*since} != {*self.query.parts}
        self._groups.load(states.of("groups", held.arrays), changed)
        return changed

    def _parameters(self) -> dict[str, dict[str, str]]:
        """By role, the backend's own parameters as text, defaults and all: another version's may be others."""
        found: dict[str, dict[str, str]] = {}
        for role, binding in self.bindings.items():
            given = self.query.given(role)
            every = {name: snapshot.text(value) for name, value in binding.create(**given).parameters().items()}
            found[role] = {name: value for name, value in every.items() if name not in given}
        return found


def _no_rows(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array([], kind) for kind in schema.types], schema=schema)
