"""Small groups as one table: their rows wait, then one compiled pass walks the sessions of all of them.

A query that holds its small groups so says what is kept of a row (an entry), how a pass takes rows in and answers, and
how a processor goes on from the entries of a group that has grown. Keys, buffer, moments, names and state are here.
"""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64, UInt64
from skyband.columns import numbers_or_lists
from skyband.columns.ids import ValuesInUse
from skyband.columns.numbers_or_lists import Column, Kind
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRowsOfGroups, Which, carried, carried_values
from skyband.errors import PluginError, SnapshotError
from skyband.groups import state_arrays
from skyband.groups.processor import GroupProcessor
from skyband.groups.sessions import GroupColumns, Sessions, sessions_of
from skyband.groups.small_group_entries import entry_arrays
from skyband.groups.small_group_pass import DueMoments, pass_input_of
from skyband.groups.small_group_pass import PassInput as PassInput
from skyband.groups.small_group_pass import PassResult as PassResult
from skyband.groups.small_groups import Promoted, SmallGroupAnswers, SmallGroups
from skyband.kernels.sorted_arrays import among, distinct
from skyband.state_validation import StateReader
from skyband.windows.schedule import Moments, Schedule

_NOBODY = np.empty(0, np.uint64)
_NOTHING = SmallGroupAnswers(None, _NOBODY, _NOBODY, ())
_FEWEST_BUFFERED = 1 << 16


class SmallGroupTable(SmallGroups):
    """Groups of at most `most` entries: a key, a time and a number a group, and the columns of `kept` for each entry.

    Rows wait in a buffer until a moment is due, or they are as many as the entries: a turn that answers nothing costs
    nothing but its rows. Whether a group grows out of the table follows from its rows alone: what no moment after a row
    needs is forgotten before entries are counted. Entries have a column `time`; where `named` is the type of ids that
    do not tell the values, rows have a column `name`, and rows and entries the column that `identity` names.

    A column is of a numpy type, of `pa.large_list(pa.int64())`, lists of any lengths such as the tokens of a set, or of
    another Arrow type where it is only given back.
    """

    kept: ClassVar[Mapping[str, Kind]]
    """The columns of an entry."""
    taken: ClassVar[Mapping[str, Kind]]
    """The columns of rows that a pass reads."""
    identity: ClassVar[str] = "object"
    """The column of ids."""
    ranked_by: ClassVar[str | None] = None
    """The column of values, where an object's row is told by its value in what it carries."""

    def __init__(
        self,
        schedule: Schedule,
        most: int,
        answers: pa.Schema,
        named: pa.DataType | None = None,
        *,
        at_once: bool = False,
        carry: Sequence[pa.Field] = (),
        which: Which = "latest",
    ) -> None:
        """at_once: rows do not wait for a moment, where a pass counts those that it drops.

        carry: columns of an answer that come from the row behind it; which: the row of an object that this is.
        """
        self.schedule = schedule
        self.most = most
        self.schema = answers
        self._at_once = at_once or not schedule.gapless
        self.names = None if named is None else ValuesInUse(named)
        """The values behind ids, where ids do not tell them."""
        self._carry = [field.type for field in carry]
        self.rows_behind = RankedRowsOfGroups(carry, which) if carry else None
        """The rows that an answer may come from, where more is asked of them."""
        self._key = _NOBODY
        self._last, self._count = np.empty(0, np.int64), np.empty(0, np.int64)
        self._entries = {name: numbers_or_lists.empty(kind) for name, kind in self.kept.items()}
        carried_kinds = {carried(number): kind for number, kind in enumerate(self._carry)}
        self._no_rows = {name: numbers_or_lists.empty(kind) for name, kind in {**self.taken, **carried_kinds}.items()}
        self._buffer: list[tuple[UInt64, Int64, dict[str, Column]]] = []
        self._buffered = 0
        self._due, self._reached, self._until = TIME_MAX, TIME_MIN, TIME_MIN

    @abstractmethod
    def run_pass(self, step: PassInput) -> PassResult:
        """Take in rows and answer moments, session by session."""

    @abstractmethod
    def processor(self, last: int, entries: Mapping[str, Column]) -> GroupProcessor:
        """One that goes on from these entries, in order of time, the last row at `last`: its moments up to then are
        answered.
        """

    @abstractmethod
    def check_entries(self, state: StateReader, owners: Int64) -> None:
        """Raise SnapshotError where the entries of a state (int64[n]: the group of each) cannot be."""

    def entry_order(self, entries: Mapping[str, Column], owners: Int64) -> Int64 | None:  # noqa: ARG002
        """By group (owners: int64[n], that of each entry), the order of the entries in a state, where a pass does not
        always leave them in the same.
        """
        return None

    def signed(self, values: Array) -> Array:
        """Values as entries have them, and back."""
        return values

    def due_moments(self, moments: Moments, latest: int | None) -> Moments:  # noqa: ARG002
        """Those of the moments that are to be answered; `latest`: where an input that has ended had its last row."""
        return moments

    def moments_of(self, sessions: Sessions, times: Int64, latest: int | None) -> DueMoments:  # noqa: ARG002
        """The moments of all sessions, each with rows at some of `times` or before; `latest` as in `due_moments`."""
        moments = self.due_moments(self.schedule.within(sessions.begin, sessions.end), latest)
        return DueMoments(moments, sessions.spans(moments))

    def starts(self, step: PassInput) -> Int64:
        """int64[m, w]: where each window of the moments begins."""
        return self.schedule.starts_at(step.moments.at)

    def first_due(self, time: int) -> int:
        """When a row at `time` has something to do."""
        return int(self.schedule.after(time))

    def next_due(self) -> int:
        """When groups answered up to the moment reached have something to do."""
        return self.schedule.next_due(self._last, self._until) if len(self._key) else TIME_MAX

    def is_due(self, until: int) -> bool:
        """Whether there is something to do up to a moment."""
        return self._due <= until

    def last_moment(self, latest: int) -> int:
        """The last moment that an input has whose last row is at `latest`."""
        return int(self.schedule.each_after(latest).max())

    def oldest(self, time: Any) -> Any:
        """Entries before this are not needed once rows and moments up to `time` (an int or int64[n]) are taken in."""
        return self.schedule.oldest(time)

    def values(self, ids: Int64) -> pa.Array:
        """The values behind ids, where ids do not tell them."""
        assert self.names is not None
        return self.names.lookup(ids)

    @property
    def keys(self) -> UInt64:
        return distinct(self._key, *(keys for keys, _, _ in self._buffer))

    @property
    def retained(self) -> int:
        return len(self._entries["time"]) + self._buffered

    def add(self, keys: UInt64, rows: Rows) -> None:
        if not len(rows):
            return
        if self.names is not None:
            self.names.learn(rows[self.identity], rows["name"])
        self._buffer.append((keys, rows.times, self.taken_of(rows) | self.carry_of(keys, rows.times, rows)))
        self._buffered += len(rows)
        first = TIME_MIN if self._at_once else self.first_due(int(rows.times.min()))
        self._due = min(self._due, first)

    def taken_of(self, rows: Rows) -> dict[str, Column]:
        """The columns of rows that a pass reads."""
        return {name: numbers_or_lists.of_kind(rows[name], kind) for name, kind in self.taken.items()}

    def carry_of(self, keys: UInt64, times: Int64, rows: Rows) -> dict[str, Column]:
        """The columns to carry of rows of these groups (uint64[n]) at these times, which answers may be of from now."""
        behind = [carried_values(rows, number, kind) for number, kind in enumerate(self._carry)]
        if self.rows_behind is not None:
            values = np.zeros(len(rows)) if self.ranked_by is None else rows[self.ranked_by]
            self.rows_behind.add(keys, times, rows[self.identity], values, behind)
        return {carried(number): column for number, column in enumerate(behind)}

    def advance(self, until: int) -> SmallGroupAnswers:
        self._until = max(until, self._until)
        # A pass reads every entry held, so that rows wait for a moment that is due, or until they are as many as those.
        few = self._buffered <= max(self.retained - self._buffered, _FEWEST_BUFFERED)
        return _NOTHING if few and not self.is_due(until) else self._run(None)

    def finish(self, latest: int) -> SmallGroupAnswers:
        if latest == TIME_MIN and not len(self.keys):  # no row has come, and no moment comes after that
            return _NOTHING
        self._until = max(self.last_moment(latest), self._until)
        return self._run(latest)

    def canonical(self) -> tuple[SmallGroups, SmallGroupAnswers]:
        if self._until == TIME_MIN or (not self._buffer and self._reached == self._until):
            return self, _NOTHING
        # Where passes fell must not be seen in a state: it is that of a table with no row waiting.
        twin = copy(self)  # a pass replaces its columns, and writes to none
        twin.names = None if self.names is None else self.names.copy()
        twin.rows_behind = None if self.rows_behind is None else self.rows_behind.copy()
        return twin, twin._run(None)

    def columns_behind(
        self, step: PassInput, session: Int64, moment: Int64, ids: Int64, values: Array, since: Int64
    ) -> list[pa.Array]:
        """The columns to carry of each row of the answers.

        session, moment, ids, values: int64[m] or float64[m], of each row its session, the number of its moment, its
        object and its value; since: int64[moments], where the window of each begins. O(n log n) for n rows held.
        """
        if self.rows_behind is None:
            return []
        at = step.moments.at[moment]
        answer, group = session * len(step.moments.at) + moment, step.sessions.key[session]
        return self.rows_behind.of_groups(answer, group, ids, values, since[moment], at)

    def _run(self, latest: int | None) -> SmallGroupAnswers:
        """Walk all groups, with the rows of the buffer, to the moment reached."""
        keys, times, rows = self._ready()
        stored = GroupColumns(self._key, self._last, self._count)
        sessions = sessions_of(self.schedule, stored, self._reached, self._until, keys, times)
        due = self.moments_of(sessions, times, latest)
        oldest = np.full(len(sessions.key), self.oldest(self._until))
        step = pass_input_of(sessions, self._entries, times, rows, due, oldest)
        result = self.run_pass(step)
        outgrew = result.grown >= 0
        promoted = self.promoted(step, result) if outgrew.any() else ()
        # Of a group only its last session goes on, if it has not ended, nor has an entry too many.
        emptied = sessions.key[sessions.final & sessions.ended]
        stays = sessions.final & ~sessions.ended & ~outgrew
        self._key, self._last, self._count = sessions.key[stays], sessions.last[stays], result.size[stays]
        survivors = slice(None) if stays.all() else np.repeat(stays, result.size)
        self._entries = {name: numbers_or_lists.pick(values, survivors) for name, values in result.entries.items()}
        self._reached = self._until
        self._due = self.next_due()
        answers = pa.RecordBatch.from_arrays(list(result.answers), schema=self.schema) if len(result.session) else None
        if self.names is not None:
            self.names.keep(self._entries[self.identity], lazily=True)
        if self.rows_behind is not None:
            self.rows_behind.forget(self.oldest(self._until))
        return SmallGroupAnswers(answers, sessions.key[result.session], emptied, promoted)

    def _ready(self) -> tuple[UInt64, Int64, dict[str, Column]]:
        """The buffer by group, each in time order."""
        buffer, self._buffer, self._buffered = self._buffer, [], 0
        if len(buffer) == 1:
            return buffer[0]
        pieces = [(np.empty(0, np.uint64), np.empty(0, np.int64), self._no_rows), *buffer]
        keys, times = (np.concatenate([piece[place] for piece in pieces]) for place in (0, 1))
        rows = {name: numbers_or_lists.joined([piece[2][name] for piece in pieces]) for name in self._no_rows}
        order = np.lexsort((times, keys))  # stable: rows of one time stay in the operator's canonical order
        return keys[order], times[order], {name: numbers_or_lists.pick(rows[name], order) for name in rows}

    def promoted(self, step: PassInput, result: PassResult) -> list[Promoted]:
        """Those that have an entry too many, each with its entries and the rows not taken in."""
        first = np.cumsum(result.size) - result.size
        leaving = []
        for session in np.flatnonzero(result.grown >= 0).tolist():
            own = slice(first[session], first[session] + result.size[session])
            rest = slice(result.grown[session], step.sessions.stop[session])
            order = np.argsort(result.entries["time"][own], kind="stable")
            entries = {name: numbers_or_lists.pick(values[own], order) for name, values in result.entries.items()}
            key = int(step.sessions.key[session])
            if self.rows_behind is not None:
                values = entries["time"] if self.ranked_by is None else self.signed(entries[self.ranked_by])
                columns = entries["time"], entries[self.identity], values
                until, remaining = int(step.sessions.last[session]), rest.stop - rest.start
                entries |= self.rows_behind.take_group(key, until, remaining, *columns)
            rows = {name: column[rest] for name, column in step.rows.items()}
            if self.names is not None:
                rows["name"] = self.names.lookup(rows[self.identity])
            last = int(step.times[rest.start - 1])
            processor = self.processor(last, entries)
            leaving.append(Promoted(key, processor, Rows(step.times[rest], rows)))
        return leaving

    def absorb(self, other: SmallGroups, keys: UInt64) -> None:
        if not isinstance(other, SmallGroupTable) or self._buffer or other._buffer:
            raise PluginError("small groups are taken over from a table of their kind, both as loaded")
        if self._until not in (TIME_MIN, other._until):
            raise SnapshotError(f"contradicts itself: groups are answered up to {self._until} and {other._until}")
        theirs = among(other._key, keys)
        rows = np.repeat(theirs, other._count)
        if self.names is not None and rows.any():
            ids = distinct(other._entries[self.identity][rows])
            self.names.learn(ids, other.values(ids))
        if self.rows_behind is not None and other.rows_behind is not None:
            self.rows_behind.absorb(other.rows_behind, other._key[theirs])
        key = np.concatenate([self._key, other._key[theirs]])
        order = np.argsort(key)
        count = np.concatenate([self._count, other._count[theirs]])
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        by_group = np.argsort(np.repeat(place, count), kind="stable")
        self._entries = {
            name: numbers_or_lists.pick(
                numbers_or_lists.joined([column, numbers_or_lists.pick(other._entries[name], rows)]), by_group
            )
            for name, column in self._entries.items()
        }
        last = np.concatenate([self._last, other._last[theirs]])
        self._key, self._last, self._count = key[order], last[order], count[order]
        self._until = self._reached = other._until
        self._due = self.next_due()

    def dump_state(self) -> dict[str, Array]:
        columns = {"group": self._key, "last": self._last, "count": self._count, "until": np.array([self._until])}
        order = self.entry_order(self._entries, np.repeat(np.arange(len(self._count)), self._count))
        ordered = {
            name: values if order is None else numbers_or_lists.pick(values, order)
            for name, values in self._entries.items()
        }
        named = (
            {}
            if self.names is None
            else state_arrays.frame_to_array("names", self.names.frame(self._entries[self.identity]))
        )
        if self.rows_behind is not None:
            named |= state_arrays.frame_to_array("carried", self.rows_behind.frame())
        return {**columns, **entry_arrays(ordered), **named}

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        if not arrays:  # of a version that had a processor for each group
            return
        state = StateReader(arrays)
        until = state.number("until")
        groups = state.ascending("group", dtype=np.uint64, strictly=True)
        lasts = state.column("last", np.int64, len(groups), at_least=-(2**62), at_most=min(until, 2**62) - 1)
        entries = StateReader(state_arrays.without_prefix("entries", arrays))
        times = entries.column("time", np.int64)
        counts = state.sizes("count", len(groups), len(times))
        state.require(int(counts.max(initial=0)) <= self.most, "count", f"must be at most {self.most}")
        owners = np.repeat(np.arange(len(groups)), counts)
        state.require(not (times > lasts[owners]).any(), "entries.time", "must be at most the group's last")
        columns = {name: numbers_or_lists.read(entries, name, kind, len(times)) for name, kind in self.kept.items()}
        self.check_entries(entries, owners)
        if self.names is not None:
            self.names.load_state(state_arrays.frame_from_array("names", arrays, self.names.no_names()))
        if self.rows_behind is not None:
            self.rows_behind.load_state(state_arrays.frame_from_array("carried", arrays, self.rows_behind.frame()))
        self._key, self._last, self._count = groups, lasts, counts
        self._entries = columns
        self._until = self._reached = until
        self._due = self.next_due()
