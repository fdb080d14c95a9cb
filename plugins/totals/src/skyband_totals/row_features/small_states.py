"""The groups of row-features with `emit`: the rows of all in shared columns, from which their states are made."""

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from skyband.arrays import Int64, read_only
from skyband.columns import column_ops
from skyband.columns.column_ops import Column
from skyband.columns.rows import Rows
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.table import PassInput, PassResult, SmallGroupTable
from skyband.queries.time_columns import moments
from skyband.state_validation import StateReader

from skyband_totals.row_aggregates.places_kernels import places_of
from skyband_totals.row_aggregates.storages import check_entries
from skyband_totals.row_features.state_encoder import StateEncoder

if TYPE_CHECKING:
    from skyband_totals.row_features.query import RowFeatures

_ANY_NUMBER = 2**62
"""The limit of entries of a group: any number."""


class SmallStates(SmallGroupTable):
    """Groups of any number of rows, each with its time and what is kept of its columns, in order of time.

    A pass costs O(rows held), and O(bytes) for the states.
    """

    def __init__(self, query: "RowFeatures", answers: pa.Schema, schema: pa.Schema) -> None:
        self._encoder, self._longest = StateEncoder(query, schema), query.longest
        self.taken = self._encoder.kinds  # type: ignore[misc]
        self.kept = {"time": np.int64, **self.taken}  # type: ignore[misc]
        self._dropped: Counter[str] = Counter()
        assert query.schedule is not None
        super().__init__(query.schedule, _ANY_NUMBER, answers)

    def taken_of(self, rows: Rows) -> dict[str, Column]:
        self._dropped += self._encoder.layout.rows_by_reason(rows)
        return super().taken_of(rows)

    def take_dropped(self) -> Mapping[str, int]:
        dropped, self._dropped = self._dropped, Counter()
        return dropped

    def run_pass(self, step: PassInput) -> PassResult:
        sessions = step.sessions
        number = np.arange(len(sessions.key))
        owners = np.concatenate([np.repeat(number, sessions.size), np.repeat(number, sessions.stop - sessions.start)])
        order = np.argsort(owners, kind="stable")  # the entries of a session are earlier than its rows
        rows = {"time": step.times, **step.rows}
        columns = {
            name: column_ops.pick(column_ops.joined([step.entries[name], rows[name]]), order) for name in self.kept
        }
        owners, times = owners[order], columns["time"]
        session, at, first, stop = self._windows(step, owners, times)
        states = self._encoder.states(at, first, stop, times, columns)
        stays = (times >= step.oldest[owners]) & ~sessions.ended[owners]
        entries = {name: column_ops.pick(column, stays) for name, column in columns.items()}
        sizes = np.bincount(owners[stays], minlength=len(number))
        answers = [moments(at, self.schema.field("at").type), states]
        return PassResult(sizes, entries, np.full(len(number), -1), session, answers)

    def _windows(self, step: PassInput, owners: Int64, times: Int64) -> tuple[Int64, Int64, Int64, Int64]:
        """For each state its session and moment, and the places of its rows: the first, and the first after them."""
        begins, ends = step.spans
        counts = ends - begins
        session = np.repeat(np.arange(len(counts)), counts)
        place = np.arange(len(session)) + np.repeat(begins - (np.cumsum(counts) - counts), counts)
        at = step.moments.at[place]
        first, stop = places_of(owners, read_only(times), session, at, np.array([self._longest]), True)
        some = stop > first[0]
        if self._encoder.changed:
            since = np.array([self.schedule.latest(moment - 1) for moment in step.moments.at.tolist()], np.int64)
            some &= times[stop - 1] >= since[place]
        return session[some], at[some], first[0][some], stop[some]

    def processor(self, last: int, entries: Mapping[str, Column]) -> GroupProcessor:  # noqa: ARG002
        raise AssertionError("no group has too many rows")

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        times = state.column("time", np.int64, len(owners), at_least=-(2**62), at_most=2**62)
        same = owners[1:] == owners[:-1]
        state.require(bool((times[1:] >= times[:-1])[same].all()), "time", "must be ascending within a group")
        for name in self.taken:
            check_entries(state, name, len(owners))
