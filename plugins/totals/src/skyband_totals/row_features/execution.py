"""How row-features is answered: all groups in one table, and a stream without groups as the only one of them."""

from collections.abc import Mapping

import pyarrow as pa
from skyband.groups.execution import Execution
from skyband.groups.processor import GroupProcessor
from skyband.groups.small_groups.host import SmallGroups
from skyband.registry import Binding

from skyband_totals.row_features.query import RowFeatures


class RowFeaturesExecution(Execution[RowFeatures]):
    """How row-features is answered."""

    def processor(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> GroupProcessor:  # noqa: ARG002
        from skyband_totals.row_features.processor import FeaturesProcessor  # on use, because it loads numba

        return FeaturesProcessor(self.query, answers)

    def small_groups(self, bindings: Mapping[str, Binding], answers: pa.Schema) -> SmallGroups:  # noqa: ARG002
        """All groups, however large: a group costs what its rows do."""
        from skyband_totals.row_features.features_table import FeaturesTable

        return FeaturesTable(self.query, answers)
