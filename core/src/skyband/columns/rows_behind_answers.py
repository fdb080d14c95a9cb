"""Finds the row behind an answer, by its object and window, and the columns carried from it."""

from collections.abc import Sequence
from copy import copy
from functools import lru_cache
from typing import ClassVar, Literal, Self

import numpy as np
import pyarrow as pa

from skyband.arrays import Array, Float64, Int64, UInt64
from skyband.columns import keyed_frames
from skyband.columns.row_codes import place_among_equal, row_codes
from skyband.columns.rows import Rows
from skyband.errors import SnapshotError
from skyband.kernels.sorted_arrays import among

_LEAST = 1024
_OWN = ("time", "id", "value")
_OWN_FIELDS = tuple(pa.field(name, pa.float64() if name == "value" else pa.int64()) for name in _OWN)

Which = Literal["latest", "largest", "smallest", "each"]


def carried(number: int) -> str:
    """The frame column of the carried column with this number."""
    return f"carry.{number}"


def carried_values(rows: Rows, number: int, kind: pa.DataType) -> pa.Array:
    """The carried column with this number, in the type of the answers."""
    column = rows[carried(number)]
    return (pa.array(column) if isinstance(column, np.ndarray) else column).cast(kind)


@lru_cache(maxsize=64)
def _no_rows(fields: tuple[pa.Field, ...]) -> pa.RecordBatch:
    """An empty batch of these columns; cached, because each of many groups needs one."""
    return pa.RecordBatch.from_pylist([], schema=pa.schema(fields))


class RankedRows:
    """The rows of a group that an answer may still need, in order of arrival, with their carried columns.

    `which` row represents an object: the latest, the one with its largest or smallest value (the latest of equal
    ones), or each row, identified by its value. It keeps one row per object for "latest", rows not beaten by a later
    one of the object for "largest" and "smallest", and the whole window for "each". Lookup: O(n log n) for n rows.
    """

    _own: ClassVar[tuple[pa.Field, ...]] = _OWN_FIELDS

    def __init__(self, fields: Sequence[pa.Field], which: Which) -> None:
        named = [field.with_name(carried(number)) for number, field in enumerate(fields)]
        self._which = which
        self._before: int | None = None
        self._settled = _no_rows((*self._own, *named))
        self._schema = self._settled.schema
        self._new: list[pa.RecordBatch] = []
        self._rows = 0

    def update(self, times: Int64, rows: Rows, values: Float64) -> None:
        """Add rows at these times (ascending): columns `object` and those to carry, with a value each."""
        if len(self._schema) == len(_OWN) or not len(times):
            return
        columns = [pa.array(times), pa.array(rows["object"]), pa.array(values + 0.0)]
        for number in range(len(self._schema) - len(_OWN)):
            columns.append(carried_values(rows, number, self._schema.types[len(columns)]))
        self._new.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
        self._rows += len(times)

    def lookup(self, answers: Int64, ids: Int64, values: Float64, since: Int64, until: Int64) -> list[pa.Array]:
        """The carried columns of the row behind each entry of answers: int64[m] or float64[m] each.

        An entry belongs to the answer with this number, names this object with this score, and covers the rows with
        since <= time < until. Of equal entries in one answer, the first gets the latest row.
        """
        if len(self._schema) == len(_OWN):
            return []
        table = self._together()
        return self._carried(table, self._places(table, answers, [ids], values + 0.0, since, until))

    def _carried(self, table: pa.RecordBatch, places: Int64) -> list[pa.Array]:
        return [table.column(number).take(pa.array(places)) for number in range(len(self._own), len(self._schema))]

    def merge(self, other: "RankedRows") -> None:
        """Add the rows of another, which shares no object with this one: sorted by time, then by object."""
        table = keyed_frames.concatenated([self.frame(), other.frame()])
        order = np.lexsort([table.column(name).to_numpy() for name in ("id", "time")])
        self._settled = table.take(pa.array(order))

    def forget(self, before: int) -> None:
        """All later answers use rows from this time on."""
        self._before = before
        if self._rows > 2 * len(self._settled) + _LEAST:
            self._settle()

    def frame(self) -> pa.RecordBatch:
        """All rows, in one canonical form."""
        self._settle()
        return self._settled

    def load_state(self, frame: pa.RecordBatch) -> None:
        """Load the result of `frame`. Raises SnapshotError if its rows are not in order of time."""
        self._settled = frame
        if not len(frame):
            return
        own = [frame.column(field.name) for field in self._own]
        when = own[0].to_numpy(zero_copy_only=False)
        if any(column.null_count for column in own) or (when[1:] < when[:-1]).any():
            raise SnapshotError("contradicts itself: rows to carry must be in the order of their times")

    def copy(self) -> Self:
        """A copy that adds and forgets rows independently."""
        twin = copy(self)
        twin._new = [*self._new]
        return twin

    def _together(self) -> pa.RecordBatch:
        return keyed_frames.concatenated([self._settled, *self._new])

    def _settle(self) -> None:
        if not self._rows and not len(self._settled):
            return
        table = self._together()
        self._new, self._rows = [], 0
        times = table.column("time").to_numpy()
        stays = np.ones(len(table), bool) if self._before is None else times >= self._before
        self._settled = self._without_reached(table, stays)

    def _without_reached(self, table: pa.RecordBatch, candidates: Array) -> pa.RecordBatch:
        """The `candidates`, bool[n], that represent their object in some later answer."""
        if self._which != "each":
            values = table.column("value").to_numpy()
            ranked = np.zeros(len(table)) if self._which == "latest" else self._signed(values)
            candidates = candidates & _unreached(self._who(table), ranked)
        return table.filter(pa.array(candidates))

    def _who(self, table: pa.RecordBatch) -> list[Array]:
        """The columns that identify an object."""
        return [table.column("id").to_numpy()]

    def _signed(self, values: Float64) -> Float64:
        return -values if self._which == "smallest" else values

    def _places(
        self, table: pa.RecordBatch, answers: Int64, who: list[Array], values: Float64, since: Int64, until: Int64
    ) -> Int64:
        """int64[m]: the place in the table of the row behind each entry."""
        times, _, ranked = (table.column(name).to_numpy() for name in _OWN)
        columns = [np.concatenate(both) for both in zip(self._who(table), who, strict=True)]
        if self._which == "each":
            columns.append(np.concatenate([ranked, values]))
        codes = row_codes(columns)
        own_codes, wanted_codes = codes[: len(table)], codes[len(table) :]
        order = np.lexsort((times, own_codes))
        distinct_times, width = np.unique(times), len(times) + 1
        keys = own_codes[order] * width + np.searchsorted(distinct_times, times[order])
        starts = np.searchsorted(keys, wanted_codes * width + np.searchsorted(distinct_times, since))
        stops = np.searchsorted(keys, wanted_codes * width + np.searchsorted(distinct_times, until))
        last = stops - 1
        if self._which == "each":
            last = last - place_among_equal(row_codes([answers, wanted_codes]))
        if (last < starts).any():
            raise SnapshotError("contradicts itself: the state has no row for an object in its answers")
        if self._which in ("largest", "smallest"):
            last = _last_best(self._signed(ranked)[order], starts, stops)
        return order[last]


class RankedRowsOfGroups(RankedRows):
    """The rows of many groups with windows in time: rows before a time are added before later ones are looked up."""

    _own: ClassVar[tuple[pa.Field, ...]] = (*_OWN_FIELDS, pa.field("group", pa.uint64()))

    def add(self, keys: UInt64, times: Int64, ids: Int64, values: Float64, columns: Sequence[pa.Array]) -> None:
        """Add rows of these groups, in time order within each, none before earlier ones; `columns` are carried."""
        order = pa.array(np.argsort(times, kind="stable"))
        own = [pa.array(column) for column in (times, ids, values + 0.0, keys)]
        self._new.append(pa.RecordBatch.from_arrays([*own, *columns], schema=self._schema).take(order))
        self._rows += len(times)

    def of_groups(
        self, answers: Int64, groups: UInt64, ids: Int64, values: Float64, since: Int64, until: Int64
    ) -> list[pa.Array]:
        """As `lookup`, for entries of these groups (uint64[m])."""
        table = self._together()
        return self._carried(table, self._places(table, answers, [groups, ids], values + 0.0, since, until))

    def take_group(
        self, group: int, until: int, left: int, times: Int64, ids: Int64, values: Float64
    ) -> dict[str, pa.Array]:
        """Forget the rows of a group up to `until`; for these rows, in order of arrival, the carried columns by name.

        left: how many of the last forgotten rows arrived after all of these. A row that a later one of its object
        replaced gets that one's columns.
        """
        table = self._together()
        gone = (table.column("group").to_numpy() == group) & (table.column("time").to_numpy() <= until)
        self._settled, self._new, self._rows = table.filter(pa.array(~gone)), [], 0
        rows = table.filter(pa.array(gone))
        rows = rows.slice(0, len(rows) - left)
        back = np.arange(len(times))[::-1]  # of equal rows the first lookup gets the latest
        ends = times if self._which == "each" else np.full(len(times), times[-1])
        group_and_id = [np.full(len(times), group, np.uint64), ids[back]]
        places = self._places(rows, times[back], group_and_id, values[back] + 0.0, times[back], ends[back] + 1)
        return {carried(number): column for number, column in enumerate(self._carried(rows, places[back]))}

    def hold(self, rows: pa.RecordBatch) -> None:
        """Replace all rows by these, in order of arrival within each group. Their times may be numbers."""
        self._settled, self._new, self._rows = rows, [], 0

    def held(self, groups: UInt64, before: Int64) -> pa.RecordBatch:
        """By group, the rows that later answers may need: of each of these groups (ascending) from `before` on."""
        table = self._together()
        times, group = (table.column(name).to_numpy() for name in ("time", "group"))
        remaining = self._without_reached(table, times >= before[np.searchsorted(groups, group)])
        order = np.argsort(remaining.column("group").to_numpy(), kind="stable")
        return remaining.take(pa.array(order))

    def absorb(self, other: "RankedRowsOfGroups", keys: UInt64) -> None:
        """Add another's rows of these groups, none of which is here."""
        added = other.frame()
        added = added.filter(pa.array(among(added.column("group").to_numpy(), keys)))
        table = keyed_frames.concatenated([self.frame(), added])
        order = np.lexsort([table.column(name).to_numpy() for name in ("group", "time")])
        self._settled = table.take(pa.array(order))

    def _who(self, table: pa.RecordBatch) -> list[Array]:
        return [table.column(name).to_numpy() for name in ("group", "id")]


def _unreached(who: list[Array], values: Float64) -> Array:
    """bool[n]: rows in order of arrival that no later one of the same object beats."""
    codes = row_codes(who)
    ranks = row_codes([values])
    order = np.lexsort([-np.arange(len(codes)), codes])  # object by object, each from its latest row back
    keys = codes[order] * (len(codes) + 1) + ranks[order]
    highest = np.maximum.accumulate(keys) if len(keys) else keys
    stays = np.ones(len(codes), bool)
    stays[order[1:]] = keys[1:] > highest[:-1]
    return stays


def _last_best(values: Float64, starts: Int64, stops: Int64) -> Int64:
    """int64[m]: for each stretch of values, none empty, the last place of its maximum."""
    sizes = stops - starts
    cuts = np.append(0, np.cumsum(sizes))
    places = np.arange(cuts[-1]) - np.repeat(cuts[:-1] - starts, sizes)
    if not len(places):
        return starts
    best = np.maximum.reduceat(values[places], cuts[:-1])
    last = np.where(values[places] == np.repeat(best, sizes), places, -1)
    return np.maximum.reduceat(last, cuts[:-1])
