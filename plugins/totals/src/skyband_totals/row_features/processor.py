"""Processes a stream of row-features without groups, as the only group of a table."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array
from skyband.columns.rows import Rows
from skyband.groups.processor import GroupProcessor

from skyband_totals.row_features.features_table import FeaturesTable

if TYPE_CHECKING:
    from skyband_totals.row_features.query import RowFeatures


class FeaturesProcessor(GroupProcessor):
    """Answers each row when it arrives."""

    def __init__(self, query: "RowFeatures", answers: pa.Schema, schema: pa.Schema) -> None:
        self._table = FeaturesTable(query, answers, schema)

    def advance(self, rows: Rows, until: int) -> pa.RecordBatch | None:
        self._table.add(np.zeros(len(rows), np.uint64), rows)
        return self._table.advance(until).answers

    def finish(self, rows: Rows, latest: int) -> pa.RecordBatch | None:
        return self.advance(rows, int(rows.times[-1]) if len(rows) else latest)

    def take_dropped(self) -> Mapping[str, int]:
        return self._table.take_dropped()

    @property
    def next_at(self) -> int:
        return self._table.next_end

    @property
    def empty(self) -> bool:
        return not len(self._table.keys)

    @property
    def retained(self) -> int:
        return self._table.retained

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def dump_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        return {}, self._table.dump_state()

    def load_state(self, header: Mapping[str, Any], arrays: Mapping[str, Array]) -> None:  # noqa: ARG002
        self._table.load_state(arrays)
