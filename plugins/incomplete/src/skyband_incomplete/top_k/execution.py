"""Executes top-k: one processor per group, and small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.columns.rows import Rows
from skyband.groups import top_k_merging
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups import limits
from skyband.groups.small_groups.limits import most_entries
from skyband.queries.composite_ids import answer_ids, several
from skyband.queries.shared_keys import SMALLEST, score_order
from skyband.registry import Binding
from skyband.roles.object_ranker import REDUCTIONS

from skyband_incomplete.top_k.processor import RankingProcessor
from skyband_incomplete.top_k.query import TopK

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable

MOST_WHERE_DEAR = 512
"""The most reports of a small group if each is expensive (`_is_dear`)."""
_MOST_STREAMS_OF_A_FUNCTION = 16


class TopKExecution(Execution[TopK]):
    """Executes top-k."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return RankingProcessor(self.query, bindings.get("object-ranker"), answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallGroupTable | None":
        """Small groups are answered together if the ranker is exact.

        With a function of many streams each group has a processor: for small groups the function would be called with
        the values of all their objects at once.
        """
        query = self.query
        parameters = query.backend_parameters("object-ranker")
        ranker, fades = bindings.get("object-ranker"), query.half_life
        most = limits.MOST_ENTRIES if ranker is None else most_entries(ranker, parameters)
        if _is_dear(query):
            most = min(most, MOST_WHERE_DEAR)
        carry = [answers.field(name) for name in (*several(query.object), *query.carry)]
        if not most or (callable(query.aggregate) and len(query.streams) > _MOST_STREAMS_OF_A_FUNCTION):
            return None

        def processor(last: int, rows: Rows) -> GroupProcessor:
            return RankingProcessor(query, ranker, answers).begin_with(last, rows)

        from skyband_incomplete.top_k.small_groups import SmallTopK

        return SmallTopK(
            most, query.schedule, query.window.length, parameters, answers, processor,
            mirrored=query.order == SMALLEST, carry=carry, which=query.row_of_object,
            several=len(several(query.object)), half_life=0 if fades is None else fades.length,
        )  # fmt: skip

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no object, so the best of all are among the best of each."""
        query = self.query
        keyed = answers.append_column(top_k_merging.ID, pa.array(answer_ids(answers, "object", query.object)))
        ranked = top_k_merging.merge_top_k(
            keyed, [*query.by, "at"], [("score", score_order(query.order)), (top_k_merging.ID, "ascending")]
        )
        return top_k_merging.truncate(ranked, query.k, answers.column_names)


def _is_dear(query: TopK) -> bool:
    """Whether a scan of thousands of reports may take longer than the group's own processor.

    With a promise all groups are scanned at each micro-batch, with windows in rows each row may have an answer, and a
    function is called with the values of all objects. A mean, a smallest value or negatives may rise as reports expire:
    then each of many answers of a micro-batch is a scan. A processor of decaying values scans as much.
    """
    if query.rows or query.repeats not in REDUCTIONS or callable(query.aggregate):
        return True
    return query.half_life is None and (query.repeats in ("mean", "smallest") or query.order == SMALLEST)
