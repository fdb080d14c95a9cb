"""Converts instants to UTC for tables of a lake, whatever the time zone of the source."""

from typing import TYPE_CHECKING

from attrs import evolve
from skyband_jobs.formats import NetChanges

if TYPE_CHECKING:
    import pyarrow as pa


def in_utc(rows: "pa.Table") -> "pa.Table":
    """The rows with instants in UTC, also in lists; the same table if they already are."""
    schema = schema_in_utc(rows.schema)
    return rows if schema == rows.schema else rows.cast(schema)


def schema_in_utc(schema: "pa.Schema") -> "pa.Schema":
    """The schema of `in_utc`."""
    import pyarrow as pa

    return pa.schema([entry.with_type(_in_utc(entry.type)) for entry in schema], schema.metadata)


def changes_in_utc(changes: NetChanges) -> NetChanges:
    """`in_utc` for changes."""
    return evolve(changes, gone=in_utc(changes.gone), rows=in_utc(changes.rows))


def _in_utc(kind: "pa.DataType") -> "pa.DataType":
    import pyarrow as pa

    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return pa.timestamp(kind.unit, "UTC")
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_in_utc(kind.value_type)))
    return kind
