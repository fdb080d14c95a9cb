"""Executes near-vectors: one processor per group, and small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.registry import Binding
from skyband_setjoin.row_matches.execution import MatchingExecution

from skyband_vectors.near_vectors.processor import NearVectorsProcessor
from skyband_vectors.near_vectors.query import NearVectors

if TYPE_CHECKING:
    from skyband_setjoin.row_matches.small_groups import SmallMatches


class NearVectorsExecution(MatchingExecution[NearVectors]):
    """Executes near-vectors."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> NearVectorsProcessor:
        return NearVectorsProcessor(self.query, bindings["vector-matcher"], answers)

    def small_matches(self) -> "type[SmallMatches]":
        from skyband_vectors.near_vectors.small_groups import SmallNearVectors

        return SmallNearVectors
