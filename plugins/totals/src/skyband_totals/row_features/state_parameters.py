"""What a state of row-features says about the query that made it, and the query again."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from skyband import snapshot
from skyband.columns import record_batch_bytes
from skyband.columns.keyed_frames import plain_type
from skyband.config.parameters import build
from skyband.errors import SnapshotError

from skyband_totals.row_aggregates.storages import HASH, ROWS
from skyband_totals.row_features.layout import Layout, layout_of

if TYPE_CHECKING:
    from skyband_totals.row_features.query import RowFeatures

ROLE, KIND = "query", "row-features"
"""Whose states these are, in their header."""
_COLUMNS = "columns"


def state_schema(query: "RowFeatures", schema: pa.Schema) -> pa.Schema:
    """The types in states of the columns with features: one for all integers, and one for all text.

    So equal values have equal states, as they have equal answers; a column that is only hashed or counted has none.
    """
    needs: dict[str, set[str]] = {}
    for one in query.all_features:
        if one.column is not None:
            needs.setdefault(one.column, set()).add(one.aggregate(query.unit).keeps)
    return pa.schema(
        [
            (name, pa.null() if keeps <= {HASH, ROWS} else _usual(plain_type(schema.field(name).type)))
            for name, keeps in needs.items()
        ]
    )


def _usual(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return pa.int64()
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    return pa.binary() if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) else kind


def parameters_of(query: "RowFeatures", kinds: pa.Schema) -> dict[str, Any]:
    """The keys that features depend on, and the types of their columns, as `state_schema` has them, in JSON."""
    no_rows = pa.RecordBatch.from_arrays([pa.array([], kind) for kind in kinds.types], kinds.names)
    keys = {
        "windows": [str(window) for window in query.windows],
        "sums": [*query.sums],
        "distinct": [*query.distinct],
        "unit": query.unit,
        "features": [feature.to_dict() for feature in query.features],
        _COLUMNS: record_batch_bytes.to_header(no_rows)["columns"],
    }
    return {key: value for key, value in keys.items() if value}


def read_parameters(parameters: Mapping[str, Any]) -> "tuple[RowFeatures, Layout]":
    """The query and its layout, cached. Raises ConfigError or SnapshotError if no state has these parameters."""
    return _query_and_layout(snapshot.text(dict(parameters)))


@lru_cache(maxsize=64)
def _query_and_layout(text: str) -> "tuple[RowFeatures, Layout]":
    from skyband_totals.row_features.query import RowFeatures

    keys = json.loads(text)
    schema, _ = record_batch_bytes.from_header({"rows": 0, "columns": keys.pop(_COLUMNS, [])})
    query = build(RowFeatures, {"time": "time", **keys})
    columns = {feature.column for feature in query.all_features} - {None}
    if columns != {*schema.names}:
        raise SnapshotError(f"contradicts itself: it has columns {schema.names} for {sorted(map(str, columns))}")
    return query, layout_of(query.all_features, query.unit, schema)
