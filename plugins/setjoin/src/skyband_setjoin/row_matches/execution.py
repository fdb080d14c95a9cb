"""Executes queries that answer each row with its matches: shards share the pairs of rows, and their answers merge."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import TIME
from skyband.columns.rows import Rows
from skyband.groups.execution import Execution
from skyband.groups.partitioning import Partitioning, by_cell, matrix_rows
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.limits import most_entries
from skyband.registry import Binding

from skyband_setjoin.row_matches.processor import MatchingProcessor
from skyband_setjoin.row_matches.query import KEPT, MATCH_PLACE, PLACE, ROWS, MatchingQuery
from skyband_setjoin.set_matcher import ALL

if TYPE_CHECKING:
    from skyband_setjoin.row_matches.small_groups import SmallMatches

Q = TypeVar("Q", bound=MatchingQuery)


class MatchingExecution(Execution[Q]):
    """Executes a query that answers each row with its matches: one processor per group, and small groups together."""

    @abstractmethod
    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> MatchingProcessor: ...

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallMatches | None":
        """Small groups are answered together if the matcher is exact."""
        (role,) = self.query.roles
        most = most_entries(bindings[role], self.query.backend_parameters(role))
        table = self.small_matches() if most else None

        def processor(rows: Rows) -> GroupProcessor:
            return self.processor(bindings, answers).begin_with(rows)

        return None if table is None else table(most, self.query, answers, processor)

    @abstractmethod
    def small_matches(self) -> "type[SmallMatches] | None":
        """The class of its small groups, loaded on use because it loads numba; None if this query has none."""

    def partition(self, frame: pa.RecordBatch, shards: int) -> Partitioning:
        """Indistinguishable rows go to the same shards."""
        lines = matrix_rows(shards)
        return by_cell(
            hash_columns([frame.column(name) for name in (TIME, *self.query.places)]), lines, shards // lines
        )

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no match; a row has no match iff it has none in every shard that compares it."""
        query = self.query
        best = [] if query.matches == ALL or query.output == KEPT else [("similarity", "descending")]
        answers = answers.sort_by([(PLACE, "ascending"), *best, (MATCH_PLACE, "ascending")])  # nulls come last
        place, matched = answers[PLACE].combine_chunks(), answers[MATCH_PLACE].is_valid().to_numpy()
        new = np.append(True, pc.not_equal(place[1:], place[:-1]).to_numpy(zero_copy_only=False))[: len(place)]
        rank = np.arange(len(place)) - np.maximum.accumulate(np.where(new, np.arange(len(place)), 0))
        if query.output == KEPT:
            unmatched = new & ~matched
        else:
            unmatched = (matched | new) if query.output == ROWS else matched
            unmatched &= rank < (len(place) if query.matches == ALL else int(query.matches))
        return answers.filter(pa.array(unmatched)).drop_columns([PLACE, MATCH_PLACE])

    def shard_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return [*self.query.answer_fields(schema), *(pa.field(name, pa.binary()) for name in (PLACE, MATCH_PLACE))]
