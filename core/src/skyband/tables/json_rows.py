"""Rows as JSON, a line each, as Spark writes them."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from skyband.instants import python_values


def json_rows(rows: pa.Table) -> Iterator[str]:
    """Each row as an object; bytes in base64, instants in ISO 8601."""
    for row in zip(*map(python_values, rows.columns), strict=True):
        yield json.dumps(dict(zip(rows.column_names, row, strict=True)), default=_plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
