"""Executes near-duplicates: one processor per group, and small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.registry import Binding

from skyband_setjoin.near_duplicates.processor import NearDuplicatesProcessor
from skyband_setjoin.near_duplicates.query import NearDuplicates
from skyband_setjoin.row_matches.execution import MatchingExecution

if TYPE_CHECKING:
    from skyband_setjoin.row_matches.small_groups import SmallMatches


class NearDuplicatesExecution(MatchingExecution[NearDuplicates]):
    """Executes near-duplicates."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> NearDuplicatesProcessor:
        return NearDuplicatesProcessor(self.query, bindings["set-matcher"], answers)

    def small_matches(self) -> "type[SmallMatches] | None":
        from skyband_setjoin.compiled_similarity import is_compilable

        if not is_compilable(self.query.similarity):
            return None
        from skyband_setjoin.near_duplicates.small_groups import SmallNearDuplicates

        return SmallNearDuplicates
