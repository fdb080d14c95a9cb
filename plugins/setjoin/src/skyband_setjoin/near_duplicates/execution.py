"""Executes near-duplicates: one processor per group, and small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.columns.rows import Rows
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.limits import most_entries
from skyband.registry import Binding

from skyband_setjoin.near_duplicates.processor import NearDuplicatesProcessor
from skyband_setjoin.near_duplicates.query import NearDuplicates
from skyband_setjoin.row_matches.execution import MatchingExecution

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable


class NearDuplicatesExecution(MatchingExecution[NearDuplicates]):
    """Executes near-duplicates."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return NearDuplicatesProcessor(self.query, bindings["set-matcher"], answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallGroupTable | None":
        """Small groups are answered together if the matcher is exact."""
        query = self.query
        most = most_entries(bindings["set-matcher"], query.backend_parameters("set-matcher"))
        if not most:
            return None
        from skyband_setjoin.compiled_similarity import is_compilable  # on use, because it loads numba

        if not is_compilable(query.similarity):
            return None

        def processor(rows: Rows) -> GroupProcessor:
            return NearDuplicatesProcessor(query, bindings["set-matcher"], answers).begin_with(rows)

        from skyband_setjoin.near_duplicates.small_groups import SmallNearDuplicates

        return SmallNearDuplicates(most, query, answers, processor)
