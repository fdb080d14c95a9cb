"""The state of an operator: written to snapshots, restored, and passed between shards.

The operations that change it are in `operator`.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from attrs import define, field

from skyband import snapshot
from skyband.arrays import Array, UInt64
from skyband.columns import keyed_frames
from skyband.errors import SnapshotError
from skyband.groups import state_arrays
from skyband.groups.processor import GroupProcessor
from skyband.operator.bound_query import BoundQuery
from skyband.operator.fingerprint import check_parameters, check_same, defaults_of
from skyband.operator.groups import Groups
from skyband.operator.logged_batch import is_time
from skyband.operator.shard import Shard
from skyband.operator.state_row_checks import StateRowChecks
from skyband.operator.waiting_rows import WaitingRows
from skyband.operator.withheld_answers import WithheldAnswers
from skyband.queries.error_attribution import attributed
from skyband.queries.output_modes import ALL
from skyband.snapshot import Snapshot
from skyband.state_validation import StateReader
from skyband.version import __version__
from skyband.watermark import Clock, EventTimeProgress

if TYPE_CHECKING:
    from skyband.groups.broadcast_state import BroadcastState
    from skyband.operator.answer_changes import AnswerChanges
    from skyband.operator.groups_of_zones import GroupsOfZones

_BROADCAST, _WHOLE, _ASKED = "broadcast", "whole table", "asked"

LAYOUT = 2
"""The layout version of an operator's snapshot."""


@define(eq=False)
class OperatorState:
    """The groups, waiting rows, time reached, and withheld answers. A new one is the state without rows."""

    bound: BoundQuery
    watermark: int | None = field(default=None, init=False)
    """The watermark in microseconds since the epoch; None before the first row."""
    clock: Clock = field(init=False)
    joined_at: dict[str, int | None] = field(init=False)
    """The query's parts, each with the watermark at which it joined the checkpoint; None if it began with it."""
    broadcast: "BroadcastState | None" = field(init=False)
    """The state of the query's second table; None if it has none."""
    whole_table: UInt64 = field(factory=lambda: np.empty(0, np.uint64), init=False)
    """uint64[n], ascending: hashes of the second table's rows as last given, if it is not a stream."""
    groups: "Groups | GroupsOfZones" = field(init=False)
    waiting: WaitingRows = field(factory=WaitingRows, init=False)
    withheld: WithheldAnswers = field(init=False)
    changes: "AnswerChanges | None" = field(init=False)
    """The tracker of changes, if the query reports those; None if it returns whole answers."""

    @clock.default
    def _at_the_start(self) -> Clock:
        query = self.bound.query
        idle = None if query.idle is None else query.idle.length
        return Clock(query.delay.length, idle, EventTimeProgress.nowhere(query.source_count))

    @joined_at.default
    def _from_the_start(self) -> dict[str, int | None]:
        return dict.fromkeys(self.bound.query.subqueries)

    @broadcast.default
    def _nothing_said(self) -> "BroadcastState | None":
        state = self.bound.execution.broadcast_state()
        if state is not None:
            state.group_by(pa.schema(self.bound.query.group_fields(self.bound.schema)))
            state.read_from(self.bound.schema)
        return state

    @groups.default
    def _no_groups(self) -> "Groups | GroupsOfZones":
        if self.bound.query.zone_column is not None:
            from skyband.operator.groups_of_zones import GroupsOfZones  # on use, as few queries have zones

            return GroupsOfZones(self.bound, self.bound.query.zone_column)
        by = pa.schema(self.bound.query.group_fields(self.bound.schema))
        return Groups(by, self.fresh_processor, self.bound.small_groups(), self.broadcast)

    @withheld.default
    def _nothing_withheld(self) -> WithheldAnswers:
        return WithheldAnswers.none(self.bound.execution, self.bound.whole_answers, self.broadcast)

    @changes.default
    def _nothing_answered(self) -> "AnswerChanges | None":
        if self.bound.query.answers == ALL:
            return None
        from skyband.operator.answer_changes import AnswerChanges  # on use, as few queries report changes

        return AnswerChanges(self.bound.execution, self.bound.whole_answers, self.broadcast)

    @property
    def _joined(self) -> dict[str, int]:
        """The parts that joined the checkpoint, each with the watermark at that time."""
        return {part: watermark for part, watermark in self.joined_at.items() if watermark is not None}

    def fresh_processor(self, group: int | None = None) -> GroupProcessor:
        """A new processor of a group, by its key; None: of any group."""
        processor = self.bound.processor(self._joined)
        if self.broadcast is not None:
            processor.listen(self.broadcast, group)
        return processor

    @property
    def _asked(self) -> list[str]:
        """The values of the query's `evolvable` keys, as its answers name them."""
        values = [getattr(self.bound.query, key) for key in self.bound.query.evolvable]
        return [str(each) for value in values for each in (value if isinstance(value, tuple) else [value])]

    # Snapshots. A state belongs to one query, its backends and their parameters: call `check_fits` first.

    def dump(self, shard: Shard | None) -> bytes:
        """The state as bytes, for `load`: a versioned header plus plain arrays."""
        with attributed(self.bound.query, self.bound.bindings):
            arrays = state_arrays.with_prefix("groups", self.groups.dump_state())
        waiting = self.waiting.dump_state()
        if waiting is not None:
            arrays["waiting"] = waiting
        arrays["clock"] = np.array(self.clock.to_list(), np.int64)
        parts, withheld = self.withheld.dump_state()
        arrays |= withheld
        arrays |= {} if self.changes is None else self.changes.dump_state()
        if self.broadcast is not None:
            self.pass_broadcast()
            arrays |= state_arrays.with_prefix(_BROADCAST, self.broadcast.dump_state())
        if len(self.whole_table):
            arrays[_WHOLE] = self.whole_table
        header: dict[str, Any] = {
            "layout": LAYOUT,
            "operator": self.bound.fingerprint(),
            "backends": self.bound.backend_parameters,
            "watermark": self.watermark,
            "joined_at": self.joined_at,
            "skyband": __version__,
        }
        if shard is not None:
            header["shard"] = shard.to_header()
        if parts:
            header["withheld"] = parts
        if self.changes is not None and self.bound.query.evolvable:
            header[_ASKED] = self._asked
        return snapshot.encode(header, arrays)

    def load(self, state: Snapshot, shard: Shard | None, joined: int | None) -> bool:
        """On a new one: load a state that fits. Parts that it lacks join at `joined`, or its watermark.

        Returns whether the query has other parts. Raises SnapshotError if the state is damaged; this object must then
        be discarded.
        """
        query = self.bound.query
        self.watermark, joined_at = state.header["watermark"], state.header["joined_at"]
        if not all(time is None or is_time(time) for time in (self.watermark, *joined_at.values())):
            raise SnapshotError(f"contradicts itself: {self.watermark!r} or one of {joined_at!r:.200} is not a time")
        clock = StateReader(state.arrays).column("clock", np.int64, len(self.clock.to_list()))
        self.clock.load_state(clock.tolist())
        if joined is not None and self.changes is not None:
            self._check_asked_before(state.header.get(_ASKED, []))
        joined = self.watermark if joined is None else joined
        self.joined_at = {part: joined_at.get(part, joined) for part in query.subqueries}
        if "waiting" in state.arrays:
            rows = StateRowChecks(query, self.bound.schema, shard)
            self.waiting.load_state(rows.checked(keyed_frames.from_bytes(state.arrays["waiting"])), self.watermark)
        changed = {*joined_at} != {*query.subqueries}
        if self.broadcast is not None:
            self.broadcast.load_state(state_arrays.without_prefix(_BROADCAST, state.arrays))
            self.pass_broadcast()
            if _WHOLE in state.arrays:
                self.whole_table = StateReader(state.arrays).ascending(_WHOLE, dtype=np.uint64)
        self.groups.start_from(self._joined)
        self.groups.load_state(state_arrays.without_prefix("groups", state.arrays), changed, self.watermark)
        self.withheld.load_state(state.header.get("withheld"), state.arrays, self.watermark)
        if self.changes is not None:
            self.changes.load_state(state.arrays, self.watermark)
        if query.by and shard is not None:
            shard.check_groups(self.groups.keys)
            shard.check_groups(self.withheld.groups)
            if self.changes is not None:
                shard.check_groups(self.changes.groups)
        return changed

    def _check_asked_before(self, asked: Any) -> None:
        """Raise SnapshotError if later micro-batches reported changes of answers that are not asked for now."""
        current = self._asked
        stay = {*asked} <= {*current} if self.bound.query.subqueries else asked == current
        if not stay:
            keys = ", ".join(self.bound.query.evolvable)
            raise SnapshotError(
                f'the checkpoint was made by a job with other {keys}: with answers = "changes" removed answers would '
                "not be reported; change it back, make a savepoint, and start the changed job from that"
            )

    # Transfers between shards, when a stream starts with another number of shards.

    def begin_with(
        self, keys: UInt64, values: pa.RecordBatch, processors: Sequence[GroupProcessor], at: int, latest: int
    ) -> None:
        """On a new one: start with these groups, at a moment up to which all is answered; `latest`: time of any row."""
        self.clock.add(EventTimeProgress([latest] * self.bound.query.source_count, latest))
        self.watermark = at
        self.pass_broadcast()
        assert isinstance(self.groups, Groups)  # states of groups with their own zones are rejected
        self.groups.begin(keys, values, processors)

    def align_with(self, other: "OperatorState") -> None:
        """On a new one: take the time of another shard, before `absorb` or `merge` of its groups."""
        self.watermark, self.joined_at = other.watermark, dict(other.joined_at)
        self.clock.load_state(other.clock.to_list())
        if self.broadcast is not None and other.broadcast is not None:
            self.broadcast.load_state(other.broadcast.dump_state())
            self.pass_broadcast()
            self.whole_table = other.whole_table
        self.groups.start_from(self._joined)

    def absorb(self, other: "OperatorState", select: Callable[[UInt64], Array]) -> None:
        """Take over the selected groups (uint64[n] -> bool[n]) of another shard, with their rows."""
        self._check_beside(other)
        self.groups.absorb(other.groups, select(other.groups.keys))  # type: ignore[arg-type]  # of one query
        self.waiting.absorb(other.waiting, select)
        self.withheld.absorb(other.withheld, select)
        if self.changes is not None and other.changes is not None:
            self.changes.absorb(other.changes, select)

    def pass_broadcast(self) -> None:
        if self.broadcast is not None and self.watermark is not None:
            self.broadcast.pass_to(self.watermark)
        newest = self.clock.progress.newest
        if self.broadcast is not None and self.changes is not None and newest is not None:
            self.broadcast.report_from(newest)  # the watermark of a finished stream is later

    def merge(self, other: "OperatorState") -> None:
        """Merge all of another shard's state, without groups."""
        self._check_beside(other)
        assert isinstance(self.groups, Groups)
        assert isinstance(other.groups, Groups)  # a zone per group needs `by`
        self.groups.merge(other.groups)
        self.waiting.merge(other.waiting)
        self.withheld.merge(other.withheld)

    def _check_beside(self, other: "OperatorState") -> None:
        times = [(state.watermark, state.clock.to_list(), state.joined_at) for state in (self, other)]
        if times[0] != times[1]:
            raise SnapshotError(f"contradicts itself: its shards are at {times[0]} and {times[1]}")
        rows_of = [{} if state.broadcast is None else state.broadcast.dump_state() for state in (self, other)]
        if any(rows_of) and snapshot.encode({}, rows_of[0]) != snapshot.encode({}, rows_of[1]):
            raise SnapshotError("contradicts itself: its shards have different rows of the second table")


def check_fits(bound: BoundQuery, state: Snapshot) -> None:
    """Raise SnapshotError unless a snapshot has this query, these backends and these parameters."""
    if "operator" in state.header and state.header.get("layout") != LAYOUT:
        by, current = state.header.get("skyband"), __version__
        raise SnapshotError(f"the checkpoint was made by skyband {by}, this is {current}: give this job a new one")
    check_same(state.header.get("operator"), bound.fingerprint(), defaults_of(bound.query))
    for role, parameters in state.header["backends"].items():
        check_parameters(bound.bindings[role], parameters, bound.query.backend_parameters(role))


def shard_of(state: Snapshot, here: Shard | None) -> Shard | None:
    """The shard of a snapshot; `here` if it has none. Raises SnapshotError if the two differ."""
    shard = Shard.from_header(state.header.get("shard"))
    if None not in (shard, here) and shard != here:
        raise SnapshotError(f"the state is of {shard}, not of {here}: the shards were mixed up")
    return here if shard is None else shard
