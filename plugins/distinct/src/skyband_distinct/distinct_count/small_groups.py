"""The small groups of distinct-count: the keys of groups that have few, each with its last time, counted exactly."""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import Array, Int64, UInt64
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_group_table import PassInput, PassResult, SmallGroupTable
from skyband.queries.time_columns import moments
from skyband.state_validation import StateReader
from skyband.windows.schedule import Schedule

from skyband_distinct.distinct_count.small_groups_kernels import count_keys

ProcessorFactory = Callable[[int, Int64, UInt64], GroupProcessor]
"""A processor from the time of the last row and the keys with their last times, ascending by time."""


class SmallDistinctCounts(SmallGroupTable):
    """Groups of at most `most` keys in a window: 16 bytes a key. O(keys + rows + answers · keys of a group) a pass."""

    kept: ClassVar[Mapping[str, npt.DTypeLike]] = {"key": np.uint64, "time": np.int64}
    taken: ClassVar[Mapping[str, npt.DTypeLike]] = {"key": np.uint64}

    def __init__(
        self,
        schedule: Schedule,
        windows: Sequence[str],
        most: int,
        answers: pa.Schema,
        processor: ProcessorFactory,
    ) -> None:
        self._labels = pa.array(windows, pa.string())
        self._processor = processor
        super().__init__(schedule, most, answers)

    def run_pass(self, step: PassInput) -> PassResult:
        entries = step.entries
        count, keys, times, grown, session, at, counts = count_keys(
            step.session_spans, entries["key"], entries["time"], step.times, step.rows["key"],
            step.moments.at, self.schedule.slides_with_longest_window,
            self.schedule.starts_at(step.moments.at), self.most,
        )  # fmt: skip
        windows = len(self._labels)
        labels = self._labels.take(pa.array(np.tile(np.arange(windows), len(at))))
        numbers = pa.array(counts.reshape(-1).astype(np.float64))
        answers = [moments(np.repeat(at, windows), self.schema.field("at").type), labels, *[numbers] * 3]
        return PassResult(count, {"key": keys, "time": times}, grown, np.repeat(session, windows), answers)

    def processor(self, last: int, entries: Mapping[str, Array]) -> GroupProcessor:
        order = np.lexsort((entries["key"], entries["time"]))
        return self._processor(last, entries["time"][order], entries["key"][order])

    def entry_order(self, entries: Mapping[str, Array], owners: Int64) -> Int64:
        return np.lexsort((entries["key"], owners))

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        keys = state.column("key", np.uint64)
        rising = (keys[1:] > keys[:-1]) | (owners[1:] != owners[:-1])
        state.require(bool(rising.all()), "key", "a group's keys must be ascending, each once")
