"""Executes top-k-pairs: one processor per group, and small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.columns.hashing import hash_columns
from skyband.columns.keyed_frames import TIME
from skyband.columns.rows import Rows
from skyband.groups import top_k_merging
from skyband.groups.execution import Execution
from skyband.groups.partitioning import Partitioning, by_cell, matrix_rows
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.limits import most_entries
from skyband.queries.composite_ids import several
from skyband.registry import Binding

from skyband_setjoin.top_k_pairs.processor import PairProcessor
from skyband_setjoin.top_k_pairs.query import PLACES, TopKPairs

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable


class TopKPairsExecution(Execution[TopKPairs]):
    """Executes top-k-pairs."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return PairProcessor(self.query, bindings["pair-ranker"], answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallGroupTable | None":
        """Small groups are answered together if the ranker is exact."""
        query = self.query
        parameters = query.backend_parameters("pair-ranker")
        most = most_entries(bindings["pair-ranker"], parameters)
        if not most:
            return None
        from skyband_setjoin.compiled_similarity import is_compilable  # on use, because it loads numba

        if not is_compilable(query.similarity):
            return None

        def processor(last: int, rows: Rows) -> GroupProcessor:
            return PairProcessor(query, bindings["pair-ranker"], answers).begin_with(last, rows)

        from skyband_setjoin.top_k_pairs.small_groups import SmallPairs

        carry = [answers.field(f"left_{name}").type for name in (*several(query.id), *query.carry)]
        return SmallPairs(
            most, query.schedule, query.window.length, parameters, answers, processor,
            ids=len(several(query.id)), carry=carry,
        )  # fmt: skip

    def partition(self, frame: pa.RecordBatch, shards: int) -> Partitioning:
        """Indistinguishable rows go to the same shards."""
        rows = matrix_rows(shards)
        return by_cell(hash_columns([frame.column(name) for name in (TIME, *self.query.places)]), rows, shards // rows)

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no pair, so the best of all are among the best of each."""
        ranked = top_k_merging.merge_top_k(
            answers, ["at"], [("similarity", "descending"), *((name, "ascending") for name in PLACES)]
        )
        return top_k_merging.truncate(
            ranked, self.query.k, [name for name in answers.column_names if name not in PLACES]
        )

    def shard_fields(self, schema: pa.Schema) -> list[pa.Field]:
        return [*self.query.answer_fields(schema), *(pa.field(name, pa.binary()) for name in PLACES)]
