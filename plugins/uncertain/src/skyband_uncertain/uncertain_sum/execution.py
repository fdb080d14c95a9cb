"""Executes uncertain-sum: one processor per group, and small groups together."""

from collections.abc import Mapping

import pyarrow as pa
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups import limits
from skyband.groups.small_groups.host import SmallGroups
from skyband.registry import Binding

from skyband_uncertain.uncertain_sum.processor import SumProcessor
from skyband_uncertain.uncertain_sum.query import UncertainSum

_MOST_TUPLES = 512
"""The most tuples of a small group."""


class UncertainSumExecution(Execution[UncertainSum]):
    """Executes uncertain-sum."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:
        return SumProcessor(self.query, bindings, answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> SmallGroups | None:
        """Small groups are answered together if the window is exact."""
        query = self.query
        if query.delta is not None:
            return None
        most = min(_MOST_TUPLES, limits.MOST_ENTRIES)
        if query.size is not None:
            most = limits.most_entries(bindings["window"], query.backend_parameters("window"))
        if not most:
            return None

        from skyband_uncertain.uncertain_sum.small_groups import SmallUncertainSums  # on use, because it loads numba

        return SmallUncertainSums(most, query, answers, lambda: SumProcessor(query, bindings, answers))
