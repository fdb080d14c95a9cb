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
from skyband.groups.small_groups.per_row import SmallGroupsPerRow
from skyband.kernels.sorted_arrays import distinct
from skyband.queries.time_columns import moments

from skyband_totals.row_aggregates.storages import check_entries
from skyband_totals.row_features.layout import ASKS, layout_of
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
        self._span, self._schema, self._asks = query.span, answers, query.asks is not None
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
        """Add rows and answer each of them, or only the questions; all rows of a time arrive together."""
        size, entries = self._entries.parts(keys)
        groups = np.arange(len(keys))
        of = np.repeat(groups, stops - starts)
        added, of_added, questions, of_questions = rows, of, rows, of
        if self._asks:
            is_question = rows[ASKS] != 0
            added, of_added = rows.pick(~is_question), of[~is_question]
            questions, of_questions = rows.pick(is_question), of[is_question]
        owners, columns = of_added, {"time": added.times, **self._kept_columns(added)}
        if size.any():
            owners = np.concatenate([np.repeat(groups, size), owners])
            order = np.argsort(owners, kind="stable")
            owners = owners[order]
            columns = {
                name: column_ops.pick(column_ops.joined([entries[name], column]), order)
                for name, column in columns.items()
            }
        sizes = self._keep(keys, owners, columns)
        self._dropped += self._layout.rows_by_reason(added)
        answers = self._answers(questions, owners, columns, of_questions) if len(questions) else None
        return SmallGroupAnswers(answers, keys[of_questions], keys[sizes == 0], ())

    def _kept_columns(self, rows: Rows) -> dict[str, Any]:
        return {name: column_ops.of_kind(rows[name], kind) for name, kind in self._kinds.items()}

    def _keep(self, keys: UInt64, owners: Int64, columns: Mapping[str, Any]) -> Int64:
        """Keep the rows in the longest window of each group's last row; int64[g]: the number of them."""
        times = columns["time"]
        last = np.full(len(keys), TIME_MIN)
        last[owners] = times  # they ascend within a group, so the last one stays
        stays = times > last[owners] - self._span
        sizes = np.bincount(owners[stays], minlength=len(keys))
        self._entries.put(keys, sizes, {name: column_ops.pick(column, stays) for name, column in columns.items()})
        self._due = min(self._due, int(last[sizes > 0].min(initial=TIME_MAX - self._span)) + self._span)
        return sizes

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
        return answers._replace(emptied=distinct(answers.emptied, emptied))

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
