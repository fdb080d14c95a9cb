"""Executes uncertain-join: one processor per group, and small groups together."""

from collections.abc import Mapping

import pyarrow as pa
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import TIME
from skyband.groups.execution import Execution
from skyband.groups.partitioning import Partitioning, by_cell
from skyband.groups.small_groups import limits
from skyband.groups.small_groups.host import SmallGroups
from skyband.registry import Binding

from skyband_uncertain.uncertain_join.processor import JoinProcessor
from skyband_uncertain.uncertain_join.query import UncertainJoin


class UncertainJoinExecution(Execution[UncertainJoin]):
    """Executes uncertain-join."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> JoinProcessor:
        return JoinProcessor(self.query, bindings, answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> SmallGroups | None:
        """Small groups are answered together if the backends are exact."""
        query = self.query
        most = min(limits.most_entries(bindings[role], query.backend_parameters(role)) for role in query.asked_roles)
        if not most:
            return None

        from skyband_uncertain.uncertain_join.small_groups import SmallUncertainJoins  # on use, because it loads numba

        return SmallUncertainJoins(most, query, answers, lambda: self.processor(bindings, answers))

    def partition(self, frame: pa.RecordBatch, shards: int) -> Partitioning:
        """Every row is kept in all shards, and joined with the other side in one."""
        return by_cell(hash_columns([frame.column(name) for name in (TIME, *self.query.ties)]), 1, shards)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no match, and all matches are answers."""
        return answers
