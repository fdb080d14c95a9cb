"""The small groups of distinct-count with `against`: their keys, each with its last time in every pane."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array, Int64, read_only
from skyband.groups.small_groups.table import PassInput, PassResult
from skyband.queries.time_columns import moments
from skyband.state_validation import StateReader

from skyband_distinct.distinct_count.comparable_windows import with_ratio
from skyband_distinct.distinct_count.small_groups import SmallDistinctCounts
from skyband_distinct.distinct_count.small_groups_previous_kernels import count_keys_twice


class SmallPreviousCounts(SmallDistinctCounts):
    """Groups of at most `most` entries from the start of an earlier window on; a pane is the time between two moments.

    Windows begin at moments. So all rows of a pane are in the same windows, and one time for each key is enough.
    """

    def __init__(self, *args: Any, lag: int | None = None) -> None:
        """lag: how much earlier the other window ends; None: where the window begins."""
        self._lag = lag
        super().__init__(*args)

    def run_pass(self, step: PassInput) -> PassResult:
        entries, schedule = step.entries, self.schedule
        since = schedule.starts_at(step.moments.at)
        until = since[:, ::2].copy()
        if self._lag is not None:
            until[:] = step.moments.at[:, None] - self._lag
        count, keys, times, overflow, session, at, counts = count_keys_twice(
            step.session_spans, entries["key"], entries["time"], self._panes(entries["time"]), step.times,
            step.rows["key"], self._panes(step.times), step.moments.at, schedule.slides_with_longest_window,
            since, until, self.most,
        )  # fmt: skip
        windows = len(self._labels)
        labels = self._labels.take(pa.array(np.tile(np.arange(windows), len(at))))
        now, before = (counts[:, side::2].reshape(-1).astype(np.float64) for side in (0, 1))
        difference = now - before
        numbers = [*[now] * 3, before, *[difference] * 3, with_ratio(before, now)]
        answers = [moments(np.repeat(at, windows), self.schema.field("at").type), labels, *map(pa.array, numbers)]
        return PassResult(count, {"key": keys, "time": times}, overflow, np.repeat(session, windows), answers)

    def entry_order(self, entries: Mapping[str, Array], owners: Int64) -> Int64:
        return np.lexsort((entries["time"], entries["key"], owners))

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        keys = state.column("key", np.uint64)
        panes = self._panes(state.column("time", np.int64))
        other = owners[1:] != owners[:-1]
        rising = (keys[1:] > keys[:-1]) | ((keys[1:] == keys[:-1]) & (panes[1:] > panes[:-1])) | other
        state.require(bool(rising.all()), "key", "a group's keys must be ascending, each once a pane, in their order")

    def _panes(self, times: Int64) -> Int64:
        """The moment after each time."""
        return read_only(np.asarray(self.schedule.after(times), np.int64))
