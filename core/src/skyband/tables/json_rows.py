"""Rows as JSON, a line each, as Spark writes them."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from skyband.instants import python_values

_NAMES = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def json_rows(rows: pa.Table) -> Iterator[str]:
    """Each row as an object; bytes in base64, instants in ISO 8601, numbers that JSON has not as their names."""
    for row in zip(*map(_values, rows.columns), strict=True):
        yield json.dumps(dict(zip(rows.column_names, row, strict=True)), default=_plain, ensure_ascii=False)


def _values(column: pa.ChunkedArray) -> list[Any]:
    values = list(python_values(column))
    if pa.types.is_floating(column.type) and not pc.all(pc.is_finite(column), min_count=0).as_py():
        return [_NAMES.get(str(value), value) for value in values]
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
