"""Checks for values that a database cannot hold, before anything is written; errors name column and value."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from skyband.errors import ConfigError, Problem
from skyband.instants import python_values

from skyband_lakes.limits import check_years
from skyband_lakes.sql.columns import for_sqlite, plain

if TYPE_CHECKING:
    import pyarrow as pa


def check_values(connection: Any, rows: "pa.Table") -> None:
    """Raise ConfigError if the database would refuse or round a value of these rows. O(n)."""
    import pyarrow as pa

    kind = connection.dialect.name
    for entry, column in zip(rows.schema, rows.columns, strict=True):
        values = plain(column)
        if pa.types.is_timestamp(values.type):
            check_years(entry.name, values)
        elif kind == "postgresql" and is_text(values.type):
            _check_no_nul(entry.name, values)
        elif kind == "sqlite" and (pa.types.is_decimal(values.type) or pa.types.is_uint64(values.type)):
            _check_digits(entry.name, values)


def _check_no_nul(name: str, values: "pa.ChunkedArray") -> None:
    import pyarrow.compute as pc

    refused = values.filter(pc.match_substring(values, "\0"))
    if len(refused):
        message = f"PostgreSQL allows no NUL character in text (column {name!r}, value {refused[0].as_py()[:80]!r})"
        where = rf"source.where = '''contains({name}, '\0') IS NOT TRUE'''"
        remedy = rf"leave such rows out with {where}, or the character with replace({name}, '\0', '') in source.select"
        raise ConfigError(Problem("table", f"{message}: {remedy}"))


def _check_digits(name: str, values: "pa.ChunkedArray") -> None:
    """Refuse digits beyond SQLite's 64-bit integers and floats of 15 digits."""
    for value in python_values(values):
        sqlite_value = for_sqlite(value)
        if isinstance(sqlite_value, float) and Decimal(repr(sqlite_value)) != value:
            message = f"SQLite would round {value} of the column {name!r} ({values.type})"
            raise ConfigError(Problem("table", f"{message}: cast it to STRING or DOUBLE, or use another database"))


def is_text(kind: "pa.DataType") -> bool:
    """Whether a type is text, in any layout."""
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
