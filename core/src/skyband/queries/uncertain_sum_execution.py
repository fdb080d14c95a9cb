"""How uncertain-sum is answered: a processor a group, and small groups together."""

from collections.abc import Mapping

import pyarrow as pa

from skyband.queries import small_groups
from skyband.queries.execution import Execution
from skyband.queries.processor import GroupProcessor
from skyband.queries.small_groups import SmallGroups
from skyband.queries.uncertain_sum import UncertainSum
from skyband.queries.uncertain_sum_processor import SumProcessor
from skyband.registry import Binding


class UncertainSumExecution(Execution[UncertainSum]):
    """How uncertain-sum is answered."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return SumProcessor(self.query, bindings, answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> SmallGroups | None:
        """Where a window is known without its backend, small groups are answered together."""
        query = self.query
        if query.delta is not None:
            return None
        most = small_groups.MOST_ENTRIES
        if query.size is not None:
            most = small_groups.most_entries(bindings["window"], query.backend_parameters("window"))
        if not most:
            return None

        from skyband.queries.small_uncertain_sums import SmallUncertainSums  # on use, because it loads numba

        return SmallUncertainSums(most, query, answers, lambda: SumProcessor(query, bindings, answers))
