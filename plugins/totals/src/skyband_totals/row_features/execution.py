"""Runs row-features: all groups in one table, with a stream without groups as its only one."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pyarrow as pa
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.registry import Binding

from skyband_totals.row_features.query import RowFeatures

if TYPE_CHECKING:
    from skyband.groups.small_groups.host import SmallGroups
    from skyband.groups.small_groups.table import SmallGroupTable


class RowFeaturesExecution(Execution[RowFeatures]):
    """Runs row-features."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:  # noqa: ARG002
        if self.query.emit is not None:
            from skyband_totals.row_features.emitted_states_processor import StatesProcessor

            return StatesProcessor(self.query, answers, self._source)
        from skyband_totals.row_features.processor import FeaturesProcessor  # on use, because it loads numba

        return FeaturesProcessor(self.query, answers, self._source)

    def small_groups(
        self, bindings: Mapping[str, Binding], answers: pa.Schema  # noqa: ARG002
    ) -> "SmallGroups | SmallGroupTable":  # fmt: skip
        """All groups, however large, because a group costs as much as its rows."""
        if self.query.emit is not None:
            from skyband_totals.row_features.small_states import SmallStates

            return SmallStates(self.query, answers, self._source)
        from skyband_totals.row_features.features_table import FeaturesTable

        return FeaturesTable(self.query, answers, self._source)

    @property
    def _source(self) -> pa.Schema:
        assert self.schema is not None
        return self.schema
