"""The values of all features for some questions, from the kept rows of their groups."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import Array, Int64, read_only

from skyband_totals.row_aggregates.role import CONDITION, ROWS
from skyband_totals.row_aggregates.storages import INSIDE, OUTSIDE
from skyband_totals.row_features.layout import Layout, mask_column

if TYPE_CHECKING:
    from skyband_totals.row_features.query import RowFeatures


class Questions(NamedTuple):
    """Rows that are answered, in order of these columns."""

    owners: Int64
    times: Int64


class _Values(NamedTuple):
    """The values that some features share: those that are counted, and where they are."""

    items: Any
    times: Int64
    before: Int64 | None
    """int64[n + 1]: the number of values that are counted before each row; None if all rows are."""
    wrong: Int64 | None
    """int64[n + 1]: the number of values before each row that make windows null; None if there are none."""


class WindowValues:
    """Answers questions about kept rows, in columns."""

    def __init__(self, query: "RowFeatures", layout: Layout) -> None:
        features = query.all_features
        self._layout, self._before = layout, query.looks_before
        self._lengths = np.array(sorted({window.length for window in query.all_windows}), np.int64)
        place = {int(length): number for number, length in enumerate(self._lengths)}
        self._aggregates = [feature.new_aggregate(query.unit) for feature in features]
        self._windows = [
            np.array([place[window.length] for window in feature.windows or query.windows]) for feature in features
        ]
        self._order = query.feature_order

    def answers(self, owners: Int64, columns: Mapping[str, Any], questions: Questions) -> list[pa.Array]:
        """The columns of features. owners: int64[n], the groups of kept rows, whose times ascend within each."""
        from skyband_totals.row_aggregates.places_kernels import places_of  # on use, because it loads numba

        times = read_only(columns["time"])
        first, stop = places_of(owners, times, questions.owners, questions.times, self._lengths, self._before)
        return self._at(columns, first, stop, questions.times)

    def just_before(self, columns: Mapping[str, Any], now: int) -> list[pa.Array]:
        """The columns of features of one group at a moment after all of its rows, each of one value."""
        times = columns["time"]
        first = np.searchsorted(times, now - self._lengths)[:, None]
        return self._at(columns, first, np.array([len(times)]), np.array([now]))

    def _at(self, columns: Mapping[str, Any], first: Int64, stop: Int64, at: Int64) -> list[pa.Array]:
        shared: dict[Any, _Values] = {}
        results = [self._feature(number, columns, first, stop, at, shared) for number in range(len(self._windows))]
        return [results[number][window] for number, window in self._order]

    def _feature(
        self, number: int, columns: Mapping[str, Any], first: Int64, stop: Int64, at: Int64, shared: dict[Any, _Values]
    ) -> list[pa.Array]:
        """A column for each window of a feature."""
        aggregate, windows = self._aggregates[number], self._windows[number]
        key = (*self._layout.sources[number], aggregate.keeps)
        if key not in shared:
            shared[key] = self._values(number, columns)
        values = shared[key]
        begins, ends = first[windows], stop
        if values.before is not None:
            begins, ends = values.before[begins], values.before[ends]
        whole = aggregate.as_column(
            aggregate._over(values.items, begins, ends, values.times, at), self._layout.kinds[number]
        )
        if values.wrong is not None:
            is_wrong = (values.wrong[stop] > values.wrong[first[windows]]).reshape(-1)
            whole = pc.if_else(pa.array(is_wrong), pa.scalar(None, whole.type), whole) if is_wrong.any() else whole
        return [whole.slice(len(at) * place, len(at)) for place in range(len(windows))]

    def _values(self, number: int, columns: Mapping[str, Any]) -> _Values:
        column, mask = self._layout.sources[number]
        times, keeps = read_only(columns["time"]), self._aggregates[number].keeps
        meets = None if mask is None else columns[mask_column(mask)] != 0
        if keeps == CONDITION:
            return _Values(meets, times, None, None)
        codes = None
        if column is None:
            values: Any = len(times)
        else:
            parts = self._layout.parts(column, columns)
            codes, values = column.storage.codes(parts), column.storage.items(parts, keeps)
        if meets is not None:
            codes = np.where(meets, INSIDE if codes is None else codes, OUTSIDE)
        if codes is None:
            return _Values(values, times, None, None)
        inside = codes == INSIDE
        values = int(inside.sum()) if keeps == ROWS else values.pick(inside)
        wrong = codes > OUTSIDE
        return _Values(values, times[inside], _counted(inside), _counted(wrong) if wrong.any() else None)


def _counted(mask: Array) -> Int64:
    """int64[n + 1]: how many are true before each place."""
    counts: Int64 = np.append(0, np.cumsum(mask))
    return counts
