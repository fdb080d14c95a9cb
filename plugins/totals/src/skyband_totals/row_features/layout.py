"""What row-features keeps of each row: the columns and conditions of its features, each once."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen
from skyband_expressions.row_conditions import rows_that_meet

from skyband_totals.row_aggregates.storages import OUTSIDE, REASONS, Storage, encoded
from skyband_totals.row_features.features import Feature

if TYPE_CHECKING:
    from skyband.columns.rows import Rows


ASKS = "asks"
"""The frame column of 0 and 1 that says which rows are questions."""
_Mask = tuple[str | None, str | None]
"""A condition, and a column that must not be null."""


@frozen
class KeptColumn:
    """A column of the source, and how it is kept."""

    number: int
    column: str
    storage: Storage

    def name(self, beginning: str) -> str:
        """The frame column of this part of it."""
        return f"{beginning}.{self.number}"


@frozen
class Layout:
    """The frame columns of a query over a source."""

    items: Sequence[KeptColumn]
    masks: Sequence[_Mask]
    """Rows for which the condition holds and the column is not null: the frame columns where.0, where.1, …"""
    sources: Sequence[tuple[KeptColumn | None, int | None]]
    """For each feature what is kept of its column, and the place of its mask; None if it needs none."""
    kinds: Sequence[pa.DataType]
    """For each feature the type of its column; null without one."""

    @property
    def columns(self) -> dict[str, npt.DTypeLike | pa.DataType]:
        """The names and types of the kept columns."""
        numbers = {one.name(part): kind for one in self.items for part, kind in one.storage.kinds.items()}
        return {**numbers, **{mask_column(place): np.int8 for place in range(len(self.masks))}}

    def encode(self, batch: pa.RecordBatch) -> dict[str, pa.Array]:
        """The kept columns of a batch."""
        columns: dict[str, pa.Array] = {}
        for one in self.items:
            parts = encoded(one.storage, batch.column(one.column))
            columns |= {one.name(part): column for part, column in parts.items()}
        for place, (where, present) in enumerate(self.masks):
            meets = np.ones(len(batch), np.int8) if where is None else rows_that_meet(where, batch)
            if present is not None:
                meets = meets & batch.column(present).is_valid().to_numpy(zero_copy_only=False)
            columns[mask_column(place)] = pa.array(meets.astype(np.int8))
        return columns

    def parts(self, one: KeptColumn, columns: "Mapping[str, Any] | Rows") -> dict[str, Any]:
        """What is kept of a column, by the beginnings of the names."""
        return {part: columns[one.name(part)] for part in one.storage.kinds}

    def rows_by_reason(self, rows: "Rows") -> Counter[str]:
        """How many of these rows have a value that makes windows null, for each of `REASONS`."""
        codes = [one.storage.codes(self.parts(one, rows)) for one in self.items]
        some = [of_column for of_column in codes if of_column is not None and (of_column > OUTSIDE).any()]
        if not some:
            return Counter()
        return Counter(
            {why: int(np.any([of_row == code for of_row in some], axis=0).sum()) for code, why in REASONS.items()}
        )


def mask_column(place: int) -> str:
    """The frame column of a mask."""
    return f"where.{place}"


def layout_of(features: Sequence[Feature], unit: float | None, schema: pa.Schema) -> Layout:
    """The layout of features, of a query with this unit, over a source with this schema."""
    columns: dict[tuple[str, Storage], KeptColumn] = {}
    masks: dict[_Mask, int] = {}
    sources, kinds = [], []
    for feature in features:
        kind = pa.null() if feature.column is None else schema.field(feature.column).type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        storage = feature.storage(kind, unit)
        own = None
        if storage is not None and feature.column is not None:
            own = columns.setdefault((feature.column, storage), KeptColumn(len(columns), feature.column, storage))
        mask = feature.where, feature.column if storage is None else None
        sources.append((own, None if mask == (None, None) else masks.setdefault(mask, len(masks))))
        kinds.append(kind)
    return Layout(tuple(columns.values()), tuple(masks), tuple(sources), tuple(kinds))
