"""Runs distinct-count: one processor for each group, and small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Float64, Int64, UInt64
from skyband.config.durations import Duration
from skyband.config.literals import literal
from skyband.errors import Problem
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.queries import emitted_states
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.windows.window_parameters import PREVIOUS, of_calendar

from skyband_distinct.distinct_count.comparable_windows import ADDED, before_that_double, with_ratio
from skyband_distinct.distinct_count.processor import CountingProcessor
from skyband_distinct.distinct_count.query import DistinctCount
from skyband_distinct.distinct_count.value_sums import PLACE, TERMS, bounds_of, with_sums

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable
    from skyband.rules.rules_in_force import Rules
    from skyband.states.state import State

_FEWEST_KEYS, _MOST_KEYS = 16, 4096
"""The keys of a small group: fewer are not worth it, and with more a sketch is faster than a walk."""
_MOST_WALKED = 512
"""The limit with rules, which query only some groups, or `against`, with a time for each key and pane."""


class DistinctCountExecution(Execution[DistinctCount]):
    """Runs distinct-count."""

    merges = "sketch"

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        # Imported on use, so that a worker loads only what its query needs.
        if self.query.longest is not None:
            from skyband_distinct.distinct_count.rules_processor import RulesProcessor

            return RulesProcessor(self.query, bindings, answers)
        if self.query.against is not None:
            from skyband_distinct.distinct_count.previous_counts import PreviousProcessor

            return PreviousProcessor(self.query, bindings, answers)
        if self.query.emit is not None:
            from skyband_distinct.distinct_count.emitted_states_processor import StateProcessor

            return StateProcessor(self.query, bindings, answers)
        return CountingProcessor(self.query, bindings, answers)

    def broadcast_state(self) -> "Rules | None":
        query = self.query
        if query.longest is None:
            return None
        from skyband.rules.rules_in_force import rules_of

        return rules_of(query.windows, query.every, query.offset, query.longest)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallGroupTable | None":
        """If the sketch counts few keys exactly anyway, groups with few are held as keys only."""
        query = self.query
        sketch = query.sketch_of(bindings)
        plain = query.longest is None and query.against is None
        most = _MOST_KEYS if plain else min(_MOST_WALKED, _MOST_KEYS)
        if not plain or sketch.bitmap() is None:
            most = min(sketch.exact_up_to, most)
        alone = query.emit is not None or query.ranges is not None or (query.longest is not None and query.adds)
        alone = alone or query.seen is not None or TERMS in answers.names  # shards have one group
        if query.against == PREVIOUS:
            alone = alone or not before_that_double(query.windows)
        if most < _FEWEST_KEYS or alone:
            return None

        def processor(last: int, times: Int64, keys: UInt64, *values: Float64) -> GroupProcessor:
            return cast(CountingProcessor, self.processor(bindings, answers)).begin(last, times, keys, *values)

        # on use, because they load numba
        from skyband_distinct.distinct_count.small_groups import (
            SmallDistinctCounts,
            SmallDistinctCountsWithRules,
            SmallSums,
        )
        from skyband_distinct.distinct_count.small_groups_previous import SmallPreviousCounts

        windows = [str(window) for window in query.windows]
        if query.adds:
            return SmallSums(query.schedule, windows, most, answers, processor, bounds=bounds_of(query))
        bitmap = sketch if most > sketch.exact_up_to else None
        common = query.schedule, windows, most, answers, processor, bitmap
        if query.against is not None:
            lag = query.against.length if isinstance(query.against, Duration) else None
            return SmallPreviousCounts(*common, lag=lag)
        return (SmallDistinctCounts if query.longest is None else SmallDistinctCountsWithRules)(*common)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no item, so their counts and bounds add up. States are united."""
        query = self.query
        if query.emit is not None:
            return emitted_states.merged(answers)
        aggregates = [(name, "sum") for name in ("count", "low", "high", *([] if query.against is None else ADDED))]
        if query.adds:
            answers = answers.append_column(PLACE, pa.array(np.arange(len(answers))))
            aggregates.append((PLACE, "list"))
        sums = answers.group_by([*query.by, "at", *query.labels]).aggregate(aggregates)
        sums = sums.rename_columns([name.removesuffix("_sum") for name in sums.column_names])
        if query.adds:
            sums = with_sums(answers, sums)
            return sums.select([name for name in answers.column_names if name not in (TERMS, PLACE)])
        if query.against is not None:
            previous, counts = (sums.column(name).to_numpy() for name in ("previous", "count"))
            sums = sums.append_column("ratio", with_ratio(previous, counts))
        return sums.select(answers.column_names)

    def shard_fields(self, schema: pa.Schema) -> list[pa.Field]:
        terms = [pa.field(TERMS, pa.list_(pa.float64()))] if self.query.adds else []
        return emitted_states.shard_fields([*self.query.answer_fields(schema), *terms], self.query.emit)

    def state_problems(self, state: "State", schema: pa.Schema) -> list[Problem]:  # noqa: ARG002
        if self.query.against is not None:
            message = "compares with earlier answers, which no state contains: start without it, or with history"
            return [Problem("against", message)]
        sightings, classes = state.parameters.get("sightings"), self.query.seen
        if sightings != (classes and classes[-1]):
            rows = f"the last {sightings} rows of each item" if sightings else "one row of each item"
            remedy = f"its last number must be {sightings}" if sightings else "leave it out"
            got = literal(None if classes is None else list(classes))
            return [Problem("seen", f"the states keep {rows}: {remedy} (got {got})")]
        valued = state.parameters.get("values") is not None
        if valued == (self.query.value is not None):
            return []
        message = "keep the values of a column: name it" if valued else "keep no values: leave it out"
        return [Problem("value", f"the states {message} (got {literal(self.query.value)})")]

    def open_keys(self, before: Query) -> tuple[str, ...]:
        """Windows up to the longest, and ranges of kept values or classes of kept rows, may change."""
        query = self.query
        if query.against is not None or not isinstance(before, DistinctCount):
            return query.evolvable  # with `against`, earlier answers belong to the previous windows and ranges
        same = query.longest is None and _longest(query) == _longest(before)
        # Values that are added up are within limits; values counted by ranges need not be.
        ranges = ["ranges"] if before.adds == query.adds else []
        ranges += ["seen"] if (before.seen or [None])[-1] == (query.seen or [None])[-1] else []
        return (*query.evolvable, *ranges, *(["windows"] if same else []))


def _longest(query: DistinctCount) -> object:
    """The longest window; all windows if the calendar decides which is the longest."""
    if query.longest is not None or of_calendar(query.every, *query.windows):
        return query.every, query.windows
    return max(window.length for window in query.windows), query.rows
