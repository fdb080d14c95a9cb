"""Keeps the rows of all groups within the longest window, and answers new rows in columns."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64, UInt64
from skyband.columns import column_ops
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried_values
from skyband.groups.small_groups.entries import SmallGroupEntries
from skyband.groups.small_groups.host import SmallGroupAnswers
from skyband.groups.small_groups.per_row import NO_KEYS, SmallGroupsPerRow
from skyband.queries.time_columns import moments

from skyband_totals.row_aggregates.storages import check_entries
from skyband_totals.row_features.layout import layout_of
from skyband_totals.row_features.window_values import Questions, WindowValues

if TYPE_CHECKING:
    from skyband_totals.row_features.query import RowFeatures

_ANY_NUMBER = 2**62
"""The limit of entries of a group: any number."""


class FeaturesTable(SmallGroupsPerRow):
    """The rows of each group in its longest window, by time, with what is kept of each column.

    A turn walks the rows of the groups with new ones: O(these rows), and what each feature takes for a new row and a
    window; and O(groups) if the windows of some groups have become empty.
    """

    def __init__(self, query: "RowFeatures", answers: pa.Schema, schema: pa.Schema) -> None:
        """schema: that of the source."""
        self._layout = layout_of(query.all_features, query.unit, schema)
        self._values = WindowValues(query, self._layout)
        self._kinds = self._layout.columns
        self._span, self._schema = query.span, answers
        self._due = TIME_MAX
        """No window becomes empty before this."""
        self._dropped: Counter[str] = Counter()
        super().__init__(SmallGroupEntries({"time": np.int64, **self._kinds}))

    @property
    def nbytes(self) -> int:
        """Bytes of the kept rows."""
        return sum(column.nbytes for column in self._entries.columns.values())

    @property
    def next_end(self) -> int:
        """When the windows of the first group become empty; TIME_MAX without groups. O(groups)."""
        return int(self._ends().min(initial=TIME_MAX))

    def take(self, keys: UInt64, starts: Int64, stops: Int64, rows: Rows) -> SmallGroupAnswers:
        """Add rows and answer each of them; all rows of a time arrive together."""
        size, entries = self._entries.parts(keys)
        old, groups = int(size.sum()), np.arange(len(keys))
        owners = np.concatenate([np.repeat(groups, size), np.repeat(groups, stops - starts)])
        order = np.argsort(owners, kind="stable")
        columns: dict[str, Any] = {"time": np.concatenate([entries["time"], rows.times])[order]}
        for name, kind in self._kinds.items():
            own = column_ops.of_kind(rows[name], kind)
            columns[name] = column_ops.pick(column_ops.joined([entries[name], own]), order)
        owners = owners[order]
        last = columns["time"][np.append(np.flatnonzero(owners[1:] != owners[:-1]), len(owners) - 1)]
        stays = columns["time"] > (last - self._span)[owners]
        self._entries.put(
            keys,
            np.bincount(owners[stays], minlength=len(keys)),
            {name: column_ops.pick(column, stays) for name, column in columns.items()},
        )
        self._due = min(self._due, int(last.min()) + self._span)
        self._dropped += self._layout.rows_by_reason(rows)
        answers = self._answers(rows, owners, columns, owners[order >= old])
        return SmallGroupAnswers(answers, np.repeat(keys, stops - starts), NO_KEYS, ())

    def _answers(self, rows: Rows, owners: Int64, columns: Mapping[str, Any], of: Int64) -> pa.RecordBatch:
        features = self._values.answers(owners, columns, Questions(of, rows.times))
        arrays: list[Any] = [moments(rows.times, self._schema.field("time").type), *features]
        kinds = self._schema.types[len(arrays) :]
        arrays += [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def take_dropped(self) -> Mapping[str, int]:
        dropped, self._dropped = self._dropped, Counter()
        return dropped

    def advance(self, until: int) -> SmallGroupAnswers:
        answers = super().advance(until)
        if self._due > until or not len(self._entries.key):
            return answers
        ends = self._ends()
        emptied = self._entries.key[ends <= until]
        self._entries.remove(emptied)
        self._due = int(ends[ends > until].min(initial=TIME_MAX))
        return answers._replace(emptied=emptied)

    def _ends(self) -> Int64:
        """int64[g]: when the windows of each group become empty."""
        first, size = self._entries.lookup(self._entries.key)
        ends: Int64 = self._entries.columns["time"][first + size - 1] + self._span
        return ends

    def absorb(self, other: Any, keys: UInt64) -> None:
        super().absorb(other, keys)
        self._due = TIME_MIN

    def load_state(self, arrays: Mapping[str, Array]) -> None:
        entries, owners = self._entries.load_state(arrays, _ANY_NUMBER)
        times = entries.column("time", np.int64, len(owners), at_least=-(2**62), at_most=2**62)
        same = owners[1:] == owners[:-1]
        entries.require(bool((times[1:] >= times[:-1])[same].all()), "time", "must be ascending within a group")
        last = self._ends()[owners] - self._span
        entries.require(bool((times > last - self._span).all()), "time", "must be in a window of the group's last row")
        for name in self._kinds:
            check_entries(entries, name, len(owners))
        self._due = TIME_MIN
