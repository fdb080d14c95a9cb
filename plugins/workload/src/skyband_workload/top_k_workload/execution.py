"""How top-k-workload is answered: by a processor for each group, small groups together."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import TIME_MAX, TIME_MIN, Int64
from skyband.columns.rows import Rows
from skyband.groups import top_k_merging
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.limits import most_entries
from skyband.queries.composite_ids import answer_ids, several
from skyband.queries.shared_keys import SMALLEST, score_order
from skyband.registry import Binding

from skyband_workload.top_k_workload.processor import WorkloadProcessor
from skyband_workload.top_k_workload.query import BEST, RULE_K, TopKWorkload
from skyband_workload.top_k_workload.workload_file import NamedQuery

if TYPE_CHECKING:
    from skyband.groups.small_groups.table import SmallGroupTable
    from skyband.rules.rule_rows import Version
    from skyband.rules.rules_in_force import Rules


MOST_WHERE_DEAR = 512
"""The most rows of a small group in cases where a scan of thousands may be slower than a processor.

With rules, all groups are scanned as soon as one is asked. If each object is in an answer only once, each row is
compared with those of its object, and each row of an answer with those before it.
"""


class TopKWorkloadExecution(Execution[TopKWorkload]):
    """How top-k-workload is answered."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return self._kind(self.query, bindings["workload-ranker"], answers)

    @property
    def _kind(self) -> type[WorkloadProcessor]:
        if not self.query.takes_rules:
            return WorkloadProcessor
        from skyband_workload.top_k_workload.rules_processor import RulesProcessor

        return RulesProcessor

    def broadcast_state(self) -> "Rules | None":
        longest, most = self.query.longest, self.query.most
        if longest is None or most is None:
            return None
        from skyband.rules.rule_rows import Limits
        from skyband.rules.rules_in_force import Rules

        return Rules([_version(query) for query in self.query.queries], Limits(longest.length, most))

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> "SmallGroupTable | None":
        """If every ranker gives the answer of the definition, small groups read it from their rows."""
        query = self.query
        most = most_entries(bindings["workload-ranker"], query.backend_parameters("workload-ranker"))
        carry = [answers.field(name) for name in (*several(query.object), *query.carry)]
        once = query.repeats == BEST
        if query.takes_rules or once:
            most = min(most, MOST_WHERE_DEAR)
        if not most:
            return None

        def processor(last: int, rows: Rows) -> GroupProcessor:
            return self._kind(query, bindings["workload-ranker"], answers).begin(last, rows)

        from skyband_workload.top_k_workload.small_groups import SmallWorkloads, SmallWorkloadsWithRules

        return (SmallWorkloadsWithRules if query.takes_rules else SmallWorkloads)(
            most, query.schedule, query.queries, answers, processor,
            mirrored=query.order == SMALLEST, once=once, carry=carry, several=len(several(query.object)),
            most_k=query.most or 0,
        )  # fmt: skip

    def parts_of(self, answers: pa.RecordBatch) -> Int64 | None:
        """None for windows in rows, which end with a row of their own group, whatever the moment."""
        if self.query.rows or self.query.takes_rules:
            return None
        parts: Int64 = pc.index_in(answers.column("query"), value_set=self._names).fill_null(-1).to_numpy()
        return parts.astype(np.int64)

    def named_by_parts(self, answers: pa.RecordBatch, parts: Int64) -> pa.RecordBatch:
        return answers.set_column(answers.schema.get_field_index("query"), "query", self._names.take(pa.array(parts)))

    @property
    def _names(self) -> pa.Array:
        return pa.array([query.name for query in self.query.queries], pa.string())

    def merge(self, answers: pa.Table) -> pa.Table:
        """Shards share no objects, so the best of all are among the best of each."""
        query = self.query
        keyed = answers.append_column(top_k_merging.ID, pa.array(answer_ids(answers, "object", query.object)))
        ranked = top_k_merging.merge_top_k(
            keyed,
            [*query.by, "at", "query"],
            [("score", score_order(query.order)), (top_k_merging.ID, "ascending")],
        )
        if query.takes_rules:
            return top_k_merging.truncate(ranked, ranked.column(RULE_K).to_numpy(), answers.column_names[:-1])
        place = pc.index_in(ranked.column("query"), value_set=self._names)
        most = np.array([query.k for query in query.queries])[place.to_numpy()]
        return top_k_merging.truncate(ranked, most, answers.column_names)

    def shard_fields(self, schema: pa.Schema) -> list[pa.Field]:
        """With rules, also the k of each answer, which only its shard knows."""
        return [*self.query.answer_fields(schema), *([pa.field(RULE_K, pa.int64())] if self.query.takes_rules else [])]


def _version(query: NamedQuery) -> "Version":
    """The query as a rule that is always in force."""
    window, slide, phase = query.window.length, query.slide.length, query.phase.length
    from skyband.rules.rule_rows import Version

    return Version(query.name, window, slide, query.k, phase % slide, TIME_MIN, TIME_MAX)
