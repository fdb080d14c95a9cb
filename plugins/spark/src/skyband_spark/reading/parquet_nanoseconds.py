"""Detects nanosecond times in Parquet files, as pandas writes them, which Spark cannot read."""

import json
from pathlib import Path
from typing import Any

from skyband.errors import Problem
from skyband_jobs.files.file_listing import data_files
from skyband_jobs.tables.model import Source, local_path
from skyband_jobs.tables.spark_ddl import parse_ddl

_FILES = 20
"""The number of newest files that are checked; each costs the bytes of its footer."""


def nanosecond_problems(source: Source) -> list[Problem]:
    """A problem for the columns that Spark cannot read, if the source's files are on this machine."""
    path = None if source.path is None else local_path(source.path)
    if source.format != "parquet" or path is None:
        return []
    try:
        files = data_files(path)[-_FILES:]
        declared = None if source.schema is None else _declared_times(source.schema)
        for file in reversed(files):
            columns = [name for name in _nanosecond_columns(file) if declared is None or name in declared]
            if columns:
                return [Problem("source.path", _message(file, columns))]
    except (OSError, ValueError):  # reported elsewhere
        return []
    return []


def _message(file: Path, columns: list[str]) -> str:
    named = ", ".join(map(repr, columns))
    remedy = 'write microseconds (in pandas: to_parquet(…, coerce_timestamps="us")), or use --engine local'
    return f"{file}: {named} {'has' if len(columns) == 1 else 'have'} nanoseconds, which Spark cannot read: {remedy}"


def _declared_times(ddl: str) -> set[str]:
    import pyarrow as pa

    return {field.name for field in parse_ddl(ddl) if pa.types.is_timestamp(field.type)}


def _nanosecond_columns(file: Path) -> list[str]:
    """Checks the file's own metadata: Arrow also takes INT96, which Spark can read, for nanoseconds."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(file) as opened:
        schema: Any = opened.schema
        columns = [schema.column(number) for number in range(len(schema.names))]
    return [column.path for column in columns if _unit(column) == "nanoseconds"]


def _unit(column: Any) -> str | None:
    if column.physical_type != "INT64":
        return None
    described = json.loads(column.logical_type.to_json())
    return described.get("timeUnit") if described.get("Type") == "Timestamp" else None
