"""Small groups with windows counted in rows: each has its own moments, which follow from its rows."""

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Int64, UInt64
from skyband.columns import column_ops
from skyband.columns.hashing import hash_column
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import RankedRowsOfGroups
from skyband.groups import state_arrays
from skyband.groups.small_groups.entries import SmallGroupEntries
from skyband.groups.small_groups.host import SmallGroupAnswers, SmallGroups
from skyband.groups.small_groups.passes import DueMoments, pass_input_of
from skyband.groups.small_groups.per_row import NO_KEYS, SmallGroupsPerRow
from skyband.groups.small_groups.promotion import groups_that_grew
from skyband.groups.small_groups.sessions import Sessions
from skyband.groups.small_groups.store import SmallGroupStore
from skyband.groups.small_groups.table import SmallGroupTable
from skyband.kernels.sorted_arrays import among
from skyband.state_validation import StateReader
from skyband.windows.schedule import Moments

_MOST = 2**62


class CarriedRowsOfGroups:
    """Stores the rows of inactive groups; those of active ones are in a RankedRowsOfGroups meanwhile."""

    def __init__(self, rows: RankedRowsOfGroups) -> None:
        self._rows = rows
        self._schema = rows.frame().schema
        names = [name for name in self._schema.names if name != "group"]
        numbers = {"time": np.int64, "id": np.int64, "value": np.float64}
        self._entries = SmallGroupEntries({name: numbers.get(name, self._schema.field(name).type) for name in names})

    def load(self, keys: UInt64) -> None:
        """Load the rows of these groups (ascending), and no others."""
        size, columns = self._entries.parts(keys)
        columns["group"] = np.repeat(keys, size)
        stored = [pa.array(columns[field.name], field.type) for field in self._schema]
        self._rows.hold(pa.RecordBatch.from_arrays(stored, schema=self._schema))

    def store(self, keys: UInt64, before: Int64) -> None:
        """Store the loaded rows of these groups that are not before these numbers; unloads all."""
        rows = self._rows.held(keys, before)
        size = np.bincount(np.searchsorted(keys, rows.column("group").to_numpy()), minlength=len(keys))
        columns = {name: rows.column(name) for name in self._entries.columns}
        plain = {name: columns[name].to_numpy() for name in ("time", "id", "value")}
        self._entries.put(keys, size.astype(np.int64), {**columns, **plain})
        self._rows.hold(rows.slice(0, 0))

    def absorb(self, other: "CarriedRowsOfGroups", keys: UInt64) -> None:
        """Take over the rows of these groups, none of which has one here."""
        self._entries.absorb(other._entries, keys)

    def dump_state(self) -> dict[str, Array]:
        """Flat arrays in canonical form."""
        return self._entries.dump_state()

    def load_state(self, arrays: Mapping[str, Array], groups: UInt64, seen: Int64) -> None:
        """Load the result of `dump_state`, for groups (ascending) with `seen` rows each. Raises SnapshotError."""
        state, owners = self._entries.load_state(arrays, _MOST)
        own = self._entries.key
        state.require(bool(among(own, groups).all()), "group", "must be groups of this state")
        times = state.column("time", np.int64, len(owners), at_least=0)
        rising = (times[1:] > times[:-1]) | (owners[1:] != owners[:-1])
        state.require(bool(rising.all()), "time", "must be in order within a group")
        limits = seen[np.searchsorted(groups, own)][owners] if len(own) else times
        state.require(not (times >= limits).any(), "time", "must be below the group's number of rows")


_ROW_COUNT, _SINCE = "seen", "since."


class SmallRowWindows(SmallGroupsPerRow):
    """Groups answered by a table's `run_pass`, each over its last rows; times are row numbers, from 0.

    A micro-batch costs what its rows do: only groups with rows are visited. The rows of each group are counted. A query
    that joined a checkpoint answers over rows from then on: each group then held has, for each such query, the number
    of its first row.
    """

    _entries: SmallGroupStore

    def __init__(self, table: SmallGroupTable, parts: Sequence[str] = ()) -> None:
        """table: defines entries and the pass; it is not modified. parts: the query's `subqueries`."""
        self._table = table
        self._parts = parts
        self._queries = hash_column(pa.array(parts, pa.string()))
        self._carried = None if table.rows_behind is None else CarriedRowsOfGroups(table.rows_behind)
        super().__init__(SmallGroupStore(table, [_ROW_COUNT]))

    def take_dropped(self) -> Mapping[str, int]:
        return self._table.take_dropped()

    def take(self, keys: UInt64, starts: Int64, stops: Int64, rows: Rows) -> SmallGroupAnswers:
        table, entries = self._table, self._entries
        if table.names is not None:
            table.names.learn(rows[table.identity], rows["name"])
        size, entry_places = entries.parts(keys)
        row_counts = entries.number(_ROW_COUNT, keys)
        until = row_counts + stops - starts
        numbers = np.arange(len(rows)) + np.repeat(row_counts - starts, stops - starts)
        going_on = np.zeros(len(keys), bool)
        sessions = Sessions(
            keys, ~going_on, np.cumsum(size) - size, size, starts, stops, until - 1, row_counts, until, going_on
        )
        inputs = table.taken_of(rows)
        if self._carried is not None:
            self._carried.load(keys)
            inputs |= table.carry_of(np.repeat(keys, stops - starts), numbers, rows)
        step = pass_input_of(
            sessions,
            entry_places,
            numbers,
            inputs,
            DueMoments(*self._moments(keys, row_counts, until)),
            table.oldest(until),
        )
        result = table.run_pass(step)
        # A group with too many entries gets a processor, with the rows that were not taken in.
        stays = result.grown < 0
        promoted = groups_that_grew(table, step, result)
        survivors = slice(None) if stays.all() else np.repeat(stays, result.size)
        remaining = {name: column_ops.pick(result.entries[name], survivors) for name in entries.columns}
        entries.put(keys[stays], result.size[stays], remaining, {_ROW_COUNT: until[stays]})
        for group in promoted:
            group.processor.start_from(self._begun(np.array([group.key], np.uint64)))
        if len(promoted):
            entries.remove(keys[~stays])
        if self._carried is not None:
            self._carried.store(keys, table.oldest(until))
        answers = pa.RecordBatch.from_arrays(list(result.answers), schema=table.schema) if len(result.session) else None
        entries.forget_names()
        return SmallGroupAnswers(answers, keys[result.session], NO_KEYS, promoted)

    def _begun(self, key: UInt64) -> dict[str, int]:
        """For the queries that joined, the row of a group (uint64[1]) at which each begins."""
        return {
            self._parts[int(name.removeprefix(_SINCE))]: int(self._entries.number(name, key)[0])
            for name in self._entries.numbers
            if name != _ROW_COUNT
        }

    def _moments(self, keys: UInt64, row_counts: Int64, until: Int64) -> tuple[Moments, tuple[Int64, Int64]]:
        """The moments that the rows of each group cause, and the range of each group's moments."""
        # A query that joined answers only windows that begin no earlier than it did.
        moments, owner = self._table.schedule.of_each(row_counts, until)
        due = np.ones(len(owner), bool)
        for name in self._entries.numbers:
            if name != _ROW_COUNT:
                query = int(name.removeprefix(_SINCE))
                since = self._entries.number(name, keys)[owner]
                due &= (moments.query != query) | (moments.at - self._table.schedule.windows[query] >= since)
        if not due.all():
            moments, owner = Moments(moments.at[due], moments.query[due]), owner[due]
        groups = np.arange(len(keys))
        begins, ends = (np.searchsorted(owner, groups, side=side) for side in ("left", "right"))
        return moments, (begins, ends)

    def absorb(self, other: SmallGroups, keys: UInt64) -> None:
        if isinstance(other, SmallRowWindows):
            own, others = self._entries, other._entries
            for source, target in ((own, others), (others, own)):
                for name in source.numbers.keys() - target.numbers.keys():
                    target.numbers[name] = np.zeros(len(target.key), np.int64)
            if self._carried is not None and other._carried is not None:
                self._carried.absorb(other._carried, keys)
        super().absorb(other, keys)

    def dump_state(self) -> dict[str, Array]:
        carried = {} if self._carried is None else self._carried.dump_state()
        return {**super().dump_state(), "queries": self._queries, **state_arrays.with_prefix("carried", carried)}

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        state, table = StateReader(arrays), self._table
        query_ids = state.column("queries", np.uint64).tolist()
        numbers = self._entries.numbers
        numbers |= {name: np.empty(0, np.int64) for name in arrays if name.startswith(_SINCE)}
        entries, owners = self._entries.load_state(arrays, table.most)
        times = entries.column("time", np.int64, len(owners), at_least=0)
        self._entries.numbers = self._since(query_ids)
        row_counts = self._entries.numbers[_ROW_COUNT]
        state.require(
            not (times >= row_counts[owners]).any(), "entries.time", "must be below the group's number of rows"
        )
        if self._carried is not None:
            self._carried.load_state(state_arrays.without_prefix("carried", arrays), self._entries.key, row_counts)

    def _check(self) -> None:
        """Raise AssertionError if entries and row numbers contradict one another."""
        super()._check()
        entries = self._entries
        row_counts, times = entries.numbers[_ROW_COUNT], entries.parts(entries.key)[1]["time"]
        assert not (times >= row_counts[entries.owners]).any(), "an entry is of a row yet to come"
        assert (row_counts > 0).all(), "a group without a row is held"
        for name, since in entries.numbers.items():
            assert name == _ROW_COUNT or ((since >= 0) & (since <= row_counts)).all(), "a query joins with a later row"

    def _since(self, query_ids: list[int]) -> dict[str, Int64]:
        """The numbers of groups from a state with queries `query_ids`: other queries begin with the next row."""
        own_numbers, schedule = self._entries.numbers, self._table.schedule
        row_counts = own_numbers[_ROW_COUNT]
        numbers = {_ROW_COUNT: row_counts}
        for number, query in enumerate(self._queries.tolist()):
            since = own_numbers.get(f"{_SINCE}{query_ids.index(query)}") if query in query_ids else row_counts.copy()
            # Once every window begins later, the number has no effect and is dropped.
            if since is not None and (since + schedule.windows[number] > row_counts + 1).any():
                numbers[f"{_SINCE}{number}"] = since
        return numbers
