"""Arrow's newer layouts as the older ones that its kernels know: polars and others hand over views."""

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


@cache
def usual(kind: pa.DataType) -> pa.DataType:
    """The type that holds the same values without views or run ends."""
    types = pa.types
    if types.is_string_view(kind):
        return pa.string()
    if types.is_binary_view(kind):
        return pa.binary()
    if types.is_list_view(kind) or types.is_list(kind):
        return pa.list_(usual(kind.value_type))
    if types.is_large_list_view(kind) or types.is_large_list(kind):
        return pa.large_list(usual(kind.value_type))
    return usual(kind.value_type) if types.is_run_end_encoded(kind) else kind


def usual_schema(schema: pa.Schema) -> pa.Schema:
    """The schema in usual types."""
    return pa.schema([field.with_type(usual(field.type)) for field in schema], schema.metadata)


def usual_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The batch in usual types: itself where it is so already."""
    schema = usual_schema(batch.schema)
    if schema == batch.schema:
        return batch
    return pa.RecordBatch.from_arrays(
        [_as(column, schema.types[i]) for i, column in enumerate(batch.columns)], schema=schema
    )


def _as(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_run_end_encoded(column.type):
        column = pc.run_end_decode(column)
    if pa.types.is_list_view(column.type) or pa.types.is_large_list_view(column.type):  # a slice of one casts wrongly
        offsets = np.append(0, np.cumsum(pc.list_value_length(column).fill_null(0).to_numpy()))
        lists = pa.LargeListArray.from_arrays(pa.array(offsets), pc.list_flatten(column), mask=column.is_null())
        return lists.cast(kind)
    return column.cast(kind)
