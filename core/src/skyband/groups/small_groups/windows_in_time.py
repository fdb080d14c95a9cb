"""Small groups with windows in time: their rows wait, then one pass of a table visits the sessions of all."""

from collections.abc import Mapping
from copy import copy

import numpy as np
import pyarrow as pa

from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64, UInt64
from skyband.columns import column_ops
from skyband.columns.column_ops import Column
from skyband.columns.grouped_rows import row_order
from skyband.columns.rows import Rows
from skyband.errors import PluginError, SnapshotError
from skyband.groups import state_arrays
from skyband.groups.broadcast_state import BroadcastState
from skyband.groups.small_groups.host import SmallGroupAnswers, SmallGroups
from skyband.groups.small_groups.passes import PassInput, PassResult, pass_input_of
from skyband.groups.small_groups.promotion import groups_that_grew
from skyband.groups.small_groups.sessions import GroupColumns, sessions_of
from skyband.groups.small_groups.store import SmallGroupStore
from skyband.groups.small_groups.table import SmallGroupTable
from skyband.kernels.sorted_arrays import among, distinct
from skyband.state_validation import StateReader

_NO_KEYS = np.empty(0, np.uint64)
_NO_ANSWERS = SmallGroupAnswers(None, _NO_KEYS, _NO_KEYS, ())
_FEWEST_BUFFERED = 1 << 16
_LAST = "last"


class SmallTimeWindows(SmallGroups):
    """Groups answered by a table's `run_pass`, all up to one moment; the time of each group's last row is stored.

    Rows wait in a buffer until a moment is due, or they are as many as the entries: a micro-batch without answers
    costs only its rows.
    """

    def __init__(self, table: SmallGroupTable) -> None:
        self._table = table
        self._entries = SmallGroupStore(table, [_LAST])
        kinds = {**table.taken, **table.carried_kinds}
        self._no_rows = {name: column_ops.empty(kind) for name, kind in kinds.items()}
        self._buffer: list[tuple[UInt64, Int64, dict[str, Column]]] = []
        self._buffered = 0
        self._due, self._reached, self._until = TIME_MAX, TIME_MIN, TIME_MIN

    def start_from(self, since: Mapping[str, int]) -> None:
        self._table.start_from(since)

    def listen(self, broadcast: BroadcastState) -> None:
        self._table.listen(broadcast)

    def take_dropped(self) -> Mapping[str, int]:
        return self._table.take_dropped()

    @property
    def keys(self) -> UInt64:
        return distinct(self._entries.key, *(keys for keys, _, _ in self._buffer))

    @property
    def retained(self) -> int:
        return self._entries.entries + self._buffered

    def sizes(self) -> tuple[UInt64, Int64, Int64]:
        return self._entries.sizes()

    def add(self, keys: UInt64, rows: Rows) -> None:
        if not len(rows):
            return
        table = self._table
        if table.names is not None:
            table.names.learn(rows[table.identity], rows["name"])
        self._buffer.append((keys, rows.times, table.taken_of(rows) | table.carry_of(keys, rows.times, rows)))
        self._buffered += len(rows)
        first = TIME_MIN if table.at_once else table.first_due(int(rows.times.min()))
        self._due = min(self._due, first)

    def advance(self, until: int) -> SmallGroupAnswers:
        self._until = max(until, self._until)
        # A pass reads every entry, so rows wait until a moment is due, or until they are as many as the entries.
        few = self._buffered <= max(self._entries.entries, _FEWEST_BUFFERED)
        return _NO_ANSWERS if few and not self._is_due(until) else self._run(None)

    def _is_due(self, until: int) -> bool:
        groups = (self._entries.key, *(keys for keys, _, _ in self._buffer))
        return self._due <= until or self._table.is_asked(groups, until)

    def finish(self, latest: int) -> SmallGroupAnswers:
        if latest == TIME_MIN and not len(self.keys):  # no rows, and so no moments
            return _NO_ANSWERS
        self._until = max(self._table.last_moment(latest), self._until)
        return self._run(latest)

    def canonical(self) -> tuple[SmallGroups, SmallGroupAnswers]:
        if self._until == TIME_MIN or (not self._buffer and self._reached == self._until):
            return self, _NO_ANSWERS
        # A state must not depend on when passes ran: it is that of a table without waiting rows.
        twin = copy(self)  # a pass replaces its columns, and modifies none
        twin._table = self._table.twin()
        twin._entries = self._entries.twin(twin._table)
        return twin, twin._run(None)

    def _run(self, latest: int | None) -> SmallGroupAnswers:
        """Process all groups, with the buffered rows, up to the moment reached."""
        table, entries = self._table, self._entries
        keys, times, rows = self._ready()
        columns, lasts = entries.in_order(), entries.numbers[_LAST]
        stored = GroupColumns(entries.key, lasts, entries.size)
        sessions = sessions_of(table.schedule, stored, self._reached, self._until, keys, times)
        due = table.moments_of(sessions, lasts, times, latest)
        oldest = np.full(len(sessions.key), table.oldest(self._until))
        step = pass_input_of(sessions, columns, times, rows, due, oldest)
        result = table.run_pass(step)
        promoted = groups_that_grew(table, step, result)
        self._keep(step, result)
        self._reached = self._until
        self._due = self._next_due()
        entries.forget_names()
        if table.rows_behind is not None:
            table.rows_behind.forget(table.oldest(self._until))
        answers = pa.RecordBatch.from_arrays(list(result.answers), schema=table.schema) if len(result.session) else None
        emptied = sessions.key[sessions.final & sessions.ended]
        return SmallGroupAnswers(answers, sessions.key[result.session], emptied, promoted)

    def _ready(self) -> tuple[UInt64, Int64, dict[str, Column]]:
        """The buffer by group, each in time order."""
        buffer, self._buffer, self._buffered = self._buffer, [], 0
        if len(buffer) == 1:
            return buffer[0]
        pieces = [(np.empty(0, np.uint64), np.empty(0, np.int64), self._no_rows), *buffer]
        keys, times = (np.concatenate([piece[place] for piece in pieces]) for place in (0, 1))
        rows = {name: column_ops.joined([piece[2][name] for piece in pieces]) for name in self._no_rows}
        order = row_order(keys, times)  # stable: rows of one time stay in the operator's canonical order
        return keys[order], times[order], {name: column_ops.pick(rows[name], order) for name in rows}

    def _keep(self, step: PassInput, result: PassResult) -> None:
        """Keep a group's last session, unless it has ended or has too many entries."""
        sessions = step.sessions
        stays = sessions.final & ~sessions.ended & (result.grown < 0)
        survivors = slice(None) if stays.all() else np.repeat(stays, result.size)
        remaining = {name: column_ops.pick(values, survivors) for name, values in result.entries.items()}
        self._entries.replace(sessions.key[stays], result.size[stays], remaining, {_LAST: sessions.last[stays]})

    def _next_due(self) -> int:
        lasts = self._entries.numbers[_LAST]
        return self._table.next_due(lasts, self._until) if len(lasts) else TIME_MAX

    def absorb(self, other: SmallGroups, keys: UInt64) -> None:
        if not isinstance(other, SmallTimeWindows) or self._buffer or other._buffer:
            raise PluginError("small groups can be taken over only from groups of the same class, both just loaded")
        if self._until not in (TIME_MIN, other._until):
            raise SnapshotError(f"contradicts itself: groups are answered up to {self._until} and {other._until}")
        own_rows, other_rows = self._table.rows_behind, other._table.rows_behind
        if own_rows is not None and other_rows is not None:
            own_rows.absorb(other_rows, other._entries.key[among(other._entries.key, keys)])
        self._entries.absorb(other._entries, keys)
        self._until = self._reached = other._until
        self._due = self._next_due()

    def dump_state(self) -> dict[str, Array]:
        state = self._entries.dump_state() | {"until": np.array([self._until])}
        if (behind := self._table.rows_behind) is not None:
            state |= state_arrays.frame_to_array("carried", behind.frame())
        return state

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        state, table = StateReader(arrays), self._table
        until = state.number("until")
        entries, owners = self._entries.load_state(arrays, table.most, least_number=-(2**62))
        lasts = state.column(_LAST, np.int64, len(self._entries.key), at_most=min(until, 2**62) - 1)
        times = entries.column("time", np.int64, len(owners))
        state.require(not (times > lasts[owners]).any(), "entries.time", "must be at most the group's last")
        if (behind := table.rows_behind) is not None:
            behind.load_state(state_arrays.frame_from_array("carried", arrays, behind.frame()))
        self._until = self._reached = until
        self._due = self._next_due()

    @property
    def until(self) -> int:
        return self._reached

    def _check(self) -> None:
        """Raise AssertionError if entries, groups, waiting rows and moments contradict one another."""
        self._entries._check()
        lasts = self._entries.numbers[_LAST]
        times = self._entries.parts(self._entries.key)[1]["time"]
        assert not (times > lasts[self._entries.owners]).any(), "an entry is later than its group's last row"
        assert self._buffered == sum(len(times) for _, times, _ in self._buffer), "all rows that wait must be counted"
        assert self._reached <= self._until, "a pass went further than was asked"
        assert (lasts < self._reached).all(), "a row was taken in before its time"
        ended = self._table.schedule.has_ended(lasts, self._reached) if len(lasts) else lasts
        assert not ended.any(), "a group is held that has ended"
        assert self._due <= self._next_due(), "a moment is due that no group waits for"
