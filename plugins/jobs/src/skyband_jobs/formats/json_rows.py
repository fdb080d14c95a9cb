"""Rows as JSON, one a line, as Spark writes them."""

import base64
import json
from collections.abc import Iterator
from math import isfinite
from typing import Any

import pyarrow as pa
from skyband.instants import python_values

_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def json_rows(rows: pa.Table) -> Iterator[str]:
    """Each row as an object; bytes in base64, instants in ISO 8601, NaN and infinities by name."""
    for row in zip(*map(_values, rows.columns), strict=True):
        yield json.dumps(dict(zip(rows.column_names, row, strict=True)), default=_plain, ensure_ascii=False)


def _values(column: pa.ChunkedArray) -> list[Any]:
    values = list(python_values(column))
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if pa.types.is_nested(kind):
        return [json_value(value) for value in values] if _has_floats(kind) else values
    if pa.types.is_floating(kind) and not all(value is None or isfinite(value) for value in values):
        return [json_value(value) for value in values]
    return values


def _has_floats(kind: pa.DataType) -> bool:
    parts = [kind.field(place).type for place in range(kind.num_fields)]
    return pa.types.is_floating(kind) or any(map(_has_floats, parts))


def json_value(value: Any) -> Any:
    """A value with NaN and infinities replaced by their names."""
    if isinstance(value, float):
        return value if isfinite(value) else _NAMES[str(value)]
    if isinstance(value, dict):
        return {name: json_value(part) for name, part in value.items()}
    return [json_value(part) for part in value] if isinstance(value, list) else value


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
