"""Executes near-vectors: one processor per group."""

from collections.abc import Mapping

import pyarrow as pa
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding
from skyband_setjoin.row_matches.execution import MatchingExecution

from skyband_vectors.near_vectors.processor import NearVectorsProcessor
from skyband_vectors.near_vectors.query import NearVectors


class NearVectorsExecution(MatchingExecution[NearVectors]):
    """Executes near-vectors."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return NearVectorsProcessor(self.query, bindings["vector-matcher"], answers)
