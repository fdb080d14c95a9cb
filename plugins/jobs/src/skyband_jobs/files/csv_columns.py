"""The columns that CSV cannot hold. Apart from the readers, whose kernels take long to load."""

import pyarrow as pa
from skyband.columns.keyed_frames import plain_type
from skyband.errors import Problem


def unwritable_in_csv(answers: pa.Schema) -> list[Problem]:
    """The first column of answers that CSV cannot hold: bytes, lists, structs."""
    for field in answers:
        kind = plain_type(field.type)
        binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
        if binary or pa.types.is_nested(kind):
            message = f"CSV cannot hold the answers' column {field.name!r}, which is {kind}: use parquet or json"
            return [Problem("sink.format", message)]
    return []
