"""Keeps the rows of all groups within the longest window, and answers new rows in columns."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import TIME_MAX, TIME_MIN, Array, Int64, UInt64, read_only
from skyband.columns.rows import Rows
from skyband.columns.rows_behind_answers import carried_values
from skyband.groups.small_groups.entries import SmallGroupEntries
from skyband.groups.small_groups.host import SmallGroupAnswers
from skyband.groups.small_groups.per_row import NO_KEYS, SmallGroupsPerRow
from skyband.queries.time_columns import moments

from skyband_totals.fixed_point import MOST, worth
from skyband_totals.row_features.features_kernels import features_of_rows
from skyband_totals.row_features.query import NO_SUM, distinct_column, sum_column

if TYPE_CHECKING:
    from skyband_totals.row_features.query import RowFeatures

_ANY_NUMBER = 2**62
"""The limit of entries of a group: any number."""


class FeaturesTable(SmallGroupsPerRow):
    """The rows of each group in its longest window, by time, with a number for each sum and distinct count.

    A turn walks the rows of the groups with new ones: O(these rows · windows · columns), and O(groups) if the windows
    of some groups have become empty.
    """

    def __init__(self, query: "RowFeatures", answers: pa.Schema) -> None:
        self._sums = [sum_column(place) for place in range(len(query.sums))]
        self._distinct = [distinct_column(place) for place in range(len(query.distinct))]
        self._windows = np.array([window.length for window in query.windows], np.int64)
        self._span, self._before, self._unit = query.span, query.before, query.unit
        self._carried, self._schema = len(query.carry), answers
        self._due = TIME_MAX
        """No window becomes empty before this."""
        self._dropped: Counter[str] = Counter()
        kinds: dict[str, npt.DTypeLike] = {"time": np.int64}
        kinds |= dict.fromkeys(self._sums, np.int64) | dict.fromkeys(self._distinct, np.uint64)
        super().__init__(SmallGroupEntries(kinds))

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
        columns: dict[str, Array] = {"time": np.concatenate([entries["time"], rows.times])[order]}
        columns |= {name: np.concatenate([entries[name], rows[name]])[order] for name in (*self._sums, *self._distinct)}
        owners, new = owners[order], order >= old
        last = columns["time"][np.append(np.flatnonzero(owners[1:] != owners[:-1]), len(owners) - 1)]
        stays = columns["time"] > (last - self._span)[owners]
        self._entries.put(
            keys,
            np.bincount(owners[stays], minlength=len(keys)),
            {name: column[stays] for name, column in columns.items()},
        )
        self._due = min(self._due, int(last.min()) + self._span)
        self._count_invalid_values(rows)
        answers = self._answers(rows, owners, columns, new)
        return SmallGroupAnswers(answers, np.repeat(keys, stops - starts), NO_KEYS, ())

    def _answers(self, rows: Rows, owners: Int64, columns: Mapping[str, Array], new: Array) -> pa.RecordBatch:
        sums = np.array([columns[name] for name in self._sums], np.int64).reshape(-1, len(owners))
        codes = [np.unique(columns[name], return_inverse=True) for name in self._distinct]
        # The code of null, if any, is not a value.
        nulls = [bool(len(values)) and values[0] == 0 for values, _ in codes]
        of = np.array([code - null for (_, code), null in zip(codes, nulls, strict=True)], np.int64)
        counts, totals, different = features_of_rows(
            owners, read_only(columns["time"]), sums, of.reshape(-1, len(owners)), self._windows, self._before
        )
        arrays: list[Any] = [moments(rows.times, self._schema.field("time").type)]
        for window in range(len(self._windows)):
            arrays.append(counts[window][new])
            arrays += [pa.array(worth(total[new], self._unit), from_pandas=True) for total in totals[window]]
            arrays += [number[new] for number in different[window]]
        kinds = self._schema.types[len(arrays) :]
        arrays += [carried_values(rows, number, kind) for number, kind in enumerate(kinds)]
        whole = [column if isinstance(column, pa.Array) else pa.array(column) for column in arrays]
        return pa.RecordBatch.from_arrays(whole, schema=self._schema)

    def _count_invalid_values(self, rows: Rows) -> None:
        codes = np.array([np.abs(rows[name]) - MOST for name in self._sums]).reshape(-1, len(rows))
        if (codes > 0).any():
            self._dropped.update({why: int((codes == code).any(axis=0).sum()) for code, why in NO_SUM.items()})

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
        for name in self._sums:
            entries.column(name, np.int64, len(owners), at_least=-MOST, at_most=MOST + max(NO_SUM))
        for name in self._distinct:
            entries.column(name, np.uint64, len(owners))
        self._due = TIME_MIN
