"""Runs heavy-hitters: one processor for each group, and small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import pyarrow as pa
from skyband.columns.keyed_frames import plain_type
from skyband.columns.rows import Rows
from skyband.errors import Problem
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups import limits
from skyband.groups.small_groups.limits import most_entries
from skyband.queries import emitted_states
from skyband.queries.composite_ids import several
from skyband.queries.output_modes import ALL
from skyband.queries.query import Query
from skyband.registry import Binding
from skyband.windows.window_parameters import of_calendar

from skyband_totals.heavy_hitters import answer_columns
from skyband_totals.heavy_hitters.processor import TotalsProcessor
from skyband_totals.heavy_hitters.query import HeavyHitters
from skyband_totals.heavy_hitters.shard_merging import merge_movers, merge_shards, merge_totals

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable
    from skyband.rules.rules_in_force import Rules
    from skyband.states.state import State

    from skyband_totals.heavy_hitters.small_groups import SmallTotals

_MOST_ENTRIES = 2048
"""The most entries of a small group: with more, dozens of answers in a turn take twice as long as a processor."""
_MOST_IN_ROWS = 1024
"""The limit for windows in rows, where each row may have an answer."""
_MOST_IF_COSTLY = 512
"""The limit if answers cost more than adding up totals, or if rules may query only a few of the groups."""


class HeavyHittersExecution(Execution[HeavyHitters]):
    """Runs heavy-hitters."""

    merges = "total-ranker"

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        # Imported on use, so that a worker loads only what its query needs.
        query, ranker = self.query, bindings.get("total-ranker")
        if query.half_life is not None:
            from skyband_totals.heavy_hitters.decayed_processor import DecayedProcessor

            return DecayedProcessor(query, answers)
        assert ranker is not None
        if query.longest is not None:
            from skyband_totals.heavy_hitters.rules_processor import RulesProcessor

            return RulesProcessor(query, ranker, answers)
        if query.part is not None:
            from skyband_totals.heavy_hitters.part_processor import PartProcessor

            return PartProcessor(query, ranker, answers)
        if query.remembers:
            from skyband_totals.heavy_hitters.remembering_processor import RememberingProcessor

            return RememberingProcessor(query, ranker, answers)
        if query.against is not None:
            from skyband_totals.heavy_hitters.movers_processor import MoversProcessor

            return MoversProcessor(query, ranker, answers)
        if query.emit is not None:
            from skyband_totals.heavy_hitters.emitted_states_processor import StatesProcessor

            return StatesProcessor(query, ranker, answers)
        return TotalsProcessor(query, ranker, answers)

    def broadcast_state(self) -> "Rules | None":
        query = self.query
        if query.longest is None:
            return None
        from skyband.rules.rules_in_force import rules_of

        further = {"most": query.most, "k": query.k, "grain": query.every.length}
        return rules_of(query.windows, query.every, query.offset, query.longest, **further)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallGroupTable | None":
        """Small groups are answered together if any ranker would answer them exactly."""
        query = self.query
        most = min(_most_entries_that_pay(query), limits.MOST_ENTRIES)
        if query.half_life is None:
            most = min(most, most_entries(bindings["total-ranker"], query.backend_parameters("total-ranker")))
        # The latest time of each value does not tell how many values an earlier window had.
        alone = query.remembers and (query.total == "distinct" or not _in_plain_time(query))
        if query.gives_states or alone or not most:
            return None

        def processor(last: int, rows: Rows) -> GroupProcessor:
            return cast(TotalsProcessor, self.processor(bindings, answers)).begin_with(last, rows)

        return _small_groups_of(query)(most, query, answers, processor)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no object, so the best of all are among the best of each, and grand totals add up.

        An object with a share of all has at least this share of its shard, so each shard answers its own, and the rest
        is removed here. Sums and comparisons are in units, for the same result as on a single operator. States are
        united.
        """
        if self.query.gives_states:
            return emitted_states.merged(answers)
        if self.query.half_life is not None:
            return merge_totals(self.query, answers)
        return merge_shards(self.query, answers) if self.query.against is None else merge_movers(self.query, answers)

    def unmerged(self, bindings: Mapping[str, Binding]) -> str | None:
        return None if self.query.half_life is not None else super().unmerged(bindings)

    def open_keys(self, before: Query) -> tuple[str, ...]:
        """The presentation of the same totals may change: `rest` and, if all totals are compared, the ranking."""
        query = self.query
        if not isinstance(before, HeavyHitters) or {query.answers, before.answers} != {ALL}:
            return query.evolvable  # the rows of the last answer are kept, whose columns must not change
        compared = query.against is not None and before.against is not None
        decayed = query.half_life is not None and before.half_life is not None
        limits = ("k", "at_least") if compared or decayed else ()
        return (*query.evolvable, "rest", *limits, *(("rank_by", "direction") if compared else ()))

    def state_problems(self, state: "State", schema: pa.Schema) -> list[Problem]:
        query, problems = self.query, []
        if query.remembers:
            message = "compares with earlier windows, which no state contains: start without it, or with history"
            problems.append(Problem("against", message))
        if query.half_life is not None:
            message = "weighs rows by their times, which no state contains: start without it, or with history"
            problems.append(Problem("half_life", message))
        if query.carry:
            problems.append(Problem("carry", "is in no state: start without it, or with history"))
        if several(query.object):
            problems.append(Problem("object", f"is one column in the states (got {', '.join(several(query.object))})"))
        elif state.names is not None:
            old, new = state.names.schema.field("name").type, plain_type(schema.field(str(query.object)).type)
            if old != new:
                problems.append(Problem("object", f"is {old} in the states, but {new} in the source: cast one of them"))
            if not of_calendar(query.every, *query.windows) and state.phase != query.offset.length % query.every.length:
                message = f"must be that of the query that made the states (got {query.offset})"
                problems.append(Problem("offset", message))
        return problems

    def shard_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return answer_columns.shard_fields(self.query, schema)


def _in_plain_time(query: HeavyHitters) -> bool:
    return not query.rows and not of_calendar(query.every, *query.windows)


def _most_entries_that_pay(query: HeavyHitters) -> int:
    """The most entries with which a group is answered faster together with others than by a processor."""
    in_columns = query.part is not None or query.against is not None or query.half_life is not None
    behind = bool(query.carry) or bool(several(query.object))
    # A pass walks all groups, but rules may query only a few of them.
    if in_columns or behind or query.longest is not None:
        return _MOST_IF_COSTLY
    return _MOST_IN_ROWS if query.rows else _MOST_ENTRIES


def _small_groups_of(query: HeavyHitters) -> "type[SmallTotals]":
    """The table for a query, imported on use, because it loads numba."""
    if query.part is None and query.against is None and query.half_life is None:
        from skyband_totals.heavy_hitters.small_groups import SmallTotals, SmallTotalsWithRules

        return SmallTotals if query.longest is None else SmallTotalsWithRules
    from skyband_totals.heavy_hitters.small_rankings import SmallDecayedTotals, SmallRankings

    return SmallRankings if query.half_life is None else SmallDecayedTotals
