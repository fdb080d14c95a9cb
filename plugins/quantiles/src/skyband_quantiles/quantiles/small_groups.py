"""The small groups of quantiles: the values of each group's rows, with their times."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from skyband.arrays import Array, Int64, read_only
from skyband.columns.integer_ids import numbers_column
from skyband.columns.rows import Rows
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.passes import beginnings
from skyband.groups.small_groups.table import PassInput, PassResult, SmallGroupTable
from skyband.queries.time_columns import moments
from skyband.rules.small_groups_with_rules import SmallGroupsWithRules
from skyband.state_validation import StateReader

from skyband_quantiles.quantiles.small_groups_kernels import walk_numbers
from skyband_quantiles.ranks import shares_of

if TYPE_CHECKING:
    from skyband_quantiles.quantiles.query import Quantiles


class SmallNumbers(SmallGroupTable):
    """Groups of at most `most` rows, of 16 bytes each: value and time, sorted by value and then time."""

    kept: ClassVar[Mapping[str, npt.DTypeLike]] = {"value": np.float64, "time": np.int64}
    taken: ClassVar[Mapping[str, npt.DTypeLike]] = {"value": np.float64}

    def __init__(
        self,
        most: int,
        query: "Quantiles",
        answers: pa.Schema,
        labels: Mapping[str, pa.Array],
        processor: Callable[[int, Rows], GroupProcessor],
    ) -> None:
        self._labels = labels
        self._parts = shares_of("at", query.at)
        self._ascending = np.argsort(self._parts, kind="stable")
        self._limits = np.array(query.above, np.float64)
        self._processor = processor
        super().__init__(query.schedule, most, answers)

    def run_pass(self, step: PassInput) -> PassResult:
        old = tuple(read_only(cast(Array, step.entries[name])) for name in self.kept)
        room = len(step.entries["time"]) + len(step.times)
        entries = np.empty(room), np.empty(room, np.int64)
        sizes, grown, answers = walk_numbers(
            step.session_spans, old, entries, step.times, step.rows["value"],
            step.moments.at, self.starts(step), self.schedule.slides_with_longest_window,
            self._parts, self._ascending, self._limits, self.most,
        )  # fmt: skip
        session, number, window, rows, numbers = answers
        each = numbers.shape[1]
        values = numbers_column(np.ascontiguousarray(numbers).reshape(-1))
        label_codes = pa.array(np.tile(np.arange(each), len(rows)))
        columns = [
            moments(np.repeat(step.moments.at[number], each), self.schema.field("at").type),
            *(labels.take(pa.array(np.repeat(place, each))) for labels, place in self.windows_of(step, number, window)),
            *(labels.take(label_codes) for name, labels in self._labels.items() if name != "window"),
            values,
            values,
            values,
            pa.array(np.repeat(rows, each)),
        ]
        remaining = dict(zip(self.kept, beginnings(entries, int(sizes.sum())), strict=True))
        return PassResult(sizes, remaining, grown, np.repeat(session, each), columns)

    def windows_of(self, step: PassInput, number: Int64, window: Int64) -> list[tuple[pa.Array, Int64]]:  # noqa: ARG002
        """The columns that identify windows of answers, from the numbers of moment and window: labels and indices."""
        return [(self._labels["window"], window)]

    def processor(self, last: int, entries: Mapping[str, Array]) -> GroupProcessor:
        return self._processor(last, Rows(entries["time"], {"value": entries["value"]}))

    def check_entries(self, state: StateReader, owners: Int64) -> None:
        values = state.column("value", np.float64, len(owners), at_least=-np.inf, at_most=np.inf)
        times = state.column("time", np.int64, len(owners))
        rising = (values[1:] > values[:-1]) | ((values[1:] == values[:-1]) & (times[1:] >= times[:-1]))
        state.require(bool((rising | (owners[1:] != owners[:-1])).all()), "value", "must be by value and time")


class SmallNumbersWithRules(SmallGroupsWithRules, SmallNumbers):
    """Small groups that answer rules within `longest`."""

    def windows_of(self, step: PassInput, number: Int64, window: Int64) -> list[tuple[pa.Array, Int64]]:  # noqa: ARG002
        rule = step.moments.query[number]
        return [(self._rules.names, rule), (self._rules.windows, rule)]
