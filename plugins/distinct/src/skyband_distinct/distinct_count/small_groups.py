"""The small groups of distinct-count: few keys each, with their last times, and latest values if these are added up.

Counts and sums are exact.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import Array, Int64, read_only
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput, PassResult, SmallGroupTable
from skyband.kernels.grouped_order import order_by_group
from skyband.queries.time_columns import moments
from skyband.roles import KeyBitmap, Sketch
from skyband.rules.small_groups_with_rules import SmallGroupsWithRules
from skyband.state_validation import StateReader
from skyband.windows.schedule import Schedule

from skyband_distinct.distinct_count.small_groups_kernels import KeyColumns, count_keys
from skyband_distinct.time_order import order_by_time

ProcessorFactory = Callable[..., GroupProcessor]
"""Creates a processor from the time of the last row and the keys' last times, the keys, and any values, by time."""
_NO_VALUES, _NO_ROWS, _NO_CELLS = np.empty(0), read_only(np.empty(0)), np.empty(0, np.int32)


class SmallDistinctCounts(SmallGroupTable):
    """Groups of up to `most` keys in a window: 16 bytes a key. O(keys + rows + answers · keys of a group) a pass."""

    kept: ClassVar[Mapping[str, npt.DTypeLike]] = {"key": np.uint64, "time": np.int64}
    taken: ClassVar[Mapping[str, npt.DTypeLike]] = {"key": np.uint64}
    gives_zeros: ClassVar[bool] = True
    """Whether a moment is answered if all windows are empty."""

    def __init__(
        self,
        schedule: Schedule,
        windows: Sequence[str],
        most: int,
        answers: pa.Schema,
        processor: ProcessorFactory,
        sketch: Sketch | None = None,
    ) -> None:
        """sketch: a new one, if groups may have more keys than it counts exactly; its bitmap then counts like it."""
        self._labels = pa.array(windows, pa.string())
        self._processor = processor
        self._sketch = sketch
        super().__init__(schedule, most, answers)

    def run_pass(self, step: PassInput) -> PassResult:
        entries, rows, bitmap = step.entries, step.rows, self._bitmap_for(step)
        adds, exact, shape = "value" in self.kept, self.most, (0, 64)
        cells = row_cells = _NO_CELLS
        if bitmap is not None and self._sketch is not None:
            exact, shape = self._sketch.exact_up_to, (bitmap.rows, bitmap.width)
            cells, row_cells = bitmap.cells(entries["key"]), bitmap.cells(rows["key"])
        count, columns, grown, session, number, counts, sums, places, filled = count_keys(
            step.session_spans, KeyColumns(entries["key"], entries["time"], entries.get("value", _NO_VALUES), cells),
            KeyColumns(rows["key"], step.times, rows.get("value", _NO_ROWS), row_cells), step.moments.at,
            self.schedule.slides_with_longest_window, self.starts(step), self.most,
            self.gives_zeros and not self.schedule.has_gaps, adds, exact, shape,
        )  # fmt: skip
        windows = counts.shape[1]
        bounded = np.repeat(counts.reshape(-1, 1).astype(np.float64), 3, axis=1)
        if len(places) and bitmap is not None:
            bounded[places] = bitmap.estimates(filled)
        at = np.repeat(step.moments.at[number], windows)
        answers = [moments(at, self.schema.field("at").type), *self.labels_of(step, number)]
        answers += [pa.array(column) for column in bounded.T]
        answers += [pa.array(sums.reshape(-1))] * 3 if adds else []
        remaining = dict(zip(self.kept, columns, strict=False))
        return PassResult(count, remaining, grown, np.repeat(session, windows), answers)

    def _bitmap_for(self, step: PassInput) -> KeyBitmap | None:
        """The bitmap for counts that are not exact; None if no group can have that many keys."""
        sessions, sketch = step.sessions, self._sketch
        if sketch is None or not len(sessions.key):
            return None
        largest = (sessions.size + sessions.stop - sessions.start).max()
        return sketch.bitmap() if largest > sketch.exact_up_to else None

    def labels_of(self, step: PassInput, number: Int64) -> list[pa.Array]:  # noqa: ARG002
        """The label columns of the answers at the moments of these numbers."""
        return [self._labels.take(pa.array(np.tile(np.arange(len(self._labels)), len(number))))]

    def processor(self, last: int, entries: Mapping[str, Array]) -> GroupProcessor:
        order = order_by_time(entries["time"], entries["key"])
        columns = [entries[name][order] for name in ("time", "key", *(["value"] if "value" in entries else []))]
        return self._processor(last, *columns)

    def entry_order(self, entries: Mapping[str, Array], owners: Int64) -> Int64:
        return order_by_group(np.bincount(owners), entries["key"])

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        keys = state.column("key", np.uint64)
        rising = (keys[1:] > keys[:-1]) | (owners[1:] != owners[:-1])
        state.require(bool(rising.all()), "key", "a group's keys must be ascending, each once")


class SmallSums(SmallDistinctCounts):
    """Small groups whose values, within `bounds`, are added up: 24 bytes a key."""

    kept: ClassVar[Mapping[str, npt.DTypeLike]] = {"key": np.uint64, "time": np.int64, "value": np.float64}
    taken: ClassVar[Mapping[str, npt.DTypeLike]] = {"key": np.uint64, "value": np.float64}

    def __init__(self, *args: Any, bounds: tuple[float, float]) -> None:
        self._bounds = bounds
        super().__init__(*args)

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        super().check_entries(state, owners)
        least, most = self._bounds
        state.column("value", np.float64, len(owners), at_least=least, at_most=most)


class SmallDistinctCountsWithRules(SmallGroupsWithRules, SmallDistinctCounts):
    """Small groups that answer rules with windows up to `longest`."""

    gives_zeros = False

    def labels_of(self, step: PassInput, number: Int64) -> list[pa.Array]:
        rule = pa.array(step.moments.query[number])
        return [self._rules.names.take(rule), self._rules.windows.take(rule)]
