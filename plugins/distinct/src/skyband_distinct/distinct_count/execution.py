"""How distinct-count is answered: a processor a group, and small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
from skyband.arrays import Float64, Int64, UInt64
from skyband.config.literals import literal
from skyband.errors import Problem
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.queries import emitted_states
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.rules.rule_rows import Limits
from skyband.rules.rules_in_force import Rules, rules_of
from skyband.states.state import State
from skyband.windows.window_parameters import of_calendar

from skyband_distinct.distinct_count.comparable_windows import ADDED, before_that_double
from skyband_distinct.distinct_count.previous_counts import PreviousProcessor, with_ratio
from skyband_distinct.distinct_count.processor import CountingProcessor, StateProcessor
from skyband_distinct.distinct_count.query import DistinctCount
from skyband_distinct.distinct_count.rules_processor import RulesProcessor
from skyband_distinct.distinct_count.value_sums import PLACE, TERMS, bounds_of, with_sums

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable

_FEWEST_KEYS, _MOST_KEYS = 16, 4096
"""Keys of a small group: fewer would not be worth it, and a walk through more takes longer than a sketch does."""
_MOST_ASIDE = 512
"""The same where some groups of many are asked, or a key has a time of every pane: each pass walks all there are."""


class DistinctCountExecution(Execution[DistinctCount]):
    """How distinct-count is answered."""

    merges = "sketch"

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        if self.query.longest is not None:
            return RulesProcessor(self.query, bindings, answers)
        if self.query.against is not None:
            return PreviousProcessor(self.query, bindings, answers)
        cls = CountingProcessor if self.query.emit is None else StateProcessor
        return cls(self.query, bindings, answers)

    def broadcast_state(self) -> Rules | None:
        query = self.query
        return (
            None
            if query.longest is None
            else rules_of(query.windows, query.every, query.offset, Limits(query.longest.length))
        )

    def end(self, latest: int) -> int | None:
        """With rules, a processor tells."""
        return None if self.query.longest is not None else super().end(latest)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallGroupTable | None":
        """Where the sketch counts few keys exactly anyway, groups of few are held as their keys alone."""
        query = self.query
        sketch = query.sketch_of(bindings)
        plain = query.longest is None and query.against is None
        most = _MOST_KEYS if plain else min(_MOST_ASIDE, _MOST_KEYS)
        if not plain or sketch.bitmap() is None:
            most = min(sketch.exact_up_to, most)
        alone = query.emit is not None or query.ranges is not None or (query.longest is not None and query.adds)
        alone = alone or TERMS in answers.names  # shards have one group
        if most < _FEWEST_KEYS or alone or (query.against is not None and not before_that_double(query.windows)):
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
        small = SmallDistinctCounts if query.against is None else SmallPreviousCounts
        small = small if query.longest is None else SmallDistinctCountsWithRules
        return small(query.schedule, windows, most, answers, processor, sketch if most > sketch.exact_up_to else None)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no item, so their counts add, and so do the ends of their bounds. States are united."""
        query = self.query
        if query.emit is not None:
            return emitted_states.merged(answers)
        added = [(name, "sum") for name in ("count", "low", "high", *([] if query.against is None else ADDED))]
        if query.adds:
            answers = answers.append_column(PLACE, pa.array(np.arange(len(answers))))
            added.append((PLACE, "list"))
        sums = answers.group_by([*query.by, "at", *query.labels]).aggregate(added)
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

    def state_problems(self, state: State, schema: pa.Schema) -> list[Problem]:  # noqa: ARG002
        if self.query.against is not None:
            message = "compares with earlier answers, which are in no state: begin without it, or with history"
            return [Problem("against", message)]
        keep = state.parameters.get("values") is not None
        if keep == (self.query.value is not None):
            return []
        message = (
            "the states keep the values of a column: name it" if keep else "the states keep no values: leave it out"
        )
        return [Problem("value", f"{message} (got {literal(self.query.value)})")]

    def open_keys(self, before: Query) -> tuple[str, ...]:
        """Windows may come and go below the longest, for which rows are kept, and ranges of values that are kept."""
        query = self.query
        if query.against is not None or not isinstance(before, DistinctCount):
            return query.evolvable  # with `against`, earlier answers are of the windows and ranges of that time
        same = query.longest is None and _longest(query) == _longest(before)
        # Values that are added up are within limits, those that ranges distinguish need not be.
        ranges = ["ranges"] if before.adds == query.adds else []
        return (*query.evolvable, *ranges, *(["windows"] if same else []))


def _longest(query: DistinctCount) -> object:
    """The longest window; all, where which is the longest changes with the calendar."""
    if query.longest is not None or of_calendar(query.every, *query.windows):
        return query.every, query.windows
    return max(window.length for window in query.windows), query.rows
