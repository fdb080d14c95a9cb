"""Encodes rows of the source as columns of heavy-hitters' frames, and checks such frames when they are restored."""

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from skyband.arrays import Array
from skyband.columns.hashing import hash_column
from skyband.columns.numbers import as_float64_or_beyond
from skyband.columns.state_frame_checks import check_finite, check_named, check_numbers, check_whole
from skyband.errors import SnapshotError
from skyband.queries.carried_columns import carry_columns
from skyband.queries.composite_ids import Columns, columns_of, missing, several, to_keys
from skyband_expressions.row_conditions import rows_that_meet

from skyband_totals.narrow_floats import as_multiples
from skyband_totals.units import NEGATIVE, NOT_A_MULTIPLE, NOT_FINITE, TOO_LARGE, VALID, to_units

WEIGHTS = {
    NOT_FINITE: "no weight",
    NEGATIVE: "negative weight",
    TOO_LARGE: "weight above 2^53 units",
    NOT_A_MULTIPLE: "weight no multiple of unit",
}
"""The reasons to leave out a row, by the code of its weight."""


class ColumnKeys(Protocol):
    """The keys of a query that name columns of the source."""

    object: Columns
    carry: tuple[str, ...]
    weight: str | None
    value: str | None
    unit: float
    part: str | None


def encode(query: ColumnKeys, batch: pa.RecordBatch) -> tuple[dict[str, pa.Array], Mapping[str, Any]]:
    """The frame columns of a batch, and the rows to leave out by reason."""
    objects = [batch.column(name) for name in columns_of(query.object)]
    ids, keys, names = to_keys(objects)
    columns = {"object": pa.array(ids), "key": pa.array(keys)}
    columns |= carry_columns((*several(query.object), *query.carry), batch)
    masks = {"null object": missing(objects)}
    if names is not None:
        columns["name"] = names
    if query.weight is not None:
        column = batch.column(query.weight)
        numbers = as_float64_or_beyond(column).fill_null(np.nan).to_numpy(zero_copy_only=False)
        weights = as_multiples(numbers, column.type, query.unit)
        _, codes = to_units(weights, query.unit)
        columns["weight"] = pa.array(weights)
        masks |= {reason: codes == code for code, reason in WEIGHTS.items()} if (codes != VALID).any() else {}
    if query.value is not None:
        values = batch.column(query.value)
        columns["value"] = pa.array(hash_column(values))
        masks |= _nulls("null value", values)
    if query.part is not None:
        columns["meets"] = pa.array(rows_that_meet(query.part, batch))
    return columns, masks


def check(query: ColumnKeys, frame: pa.RecordBatch) -> None:
    """Raise SnapshotError if `encode` cannot have made a frame."""
    check_whole(frame, "object", "key", *([] if query.value is None else ["value"]))
    check_named(frame)
    if query.part is not None:
        check_numbers(frame, "meets", at_least=0, at_most=1)
    if query.weight is not None:
        _, codes = to_units(check_finite(frame, "weight"), query.unit)
        for code in codes[codes != VALID][:1].tolist():
            raise SnapshotError(f"contradicts itself: it holds rows with {WEIGHTS[code]}, which should be left out")


def _nulls(reason: str, column: pa.Array) -> dict[str, Array]:
    return {reason: column.is_null().to_numpy(zero_copy_only=False)} if column.null_count else {}
