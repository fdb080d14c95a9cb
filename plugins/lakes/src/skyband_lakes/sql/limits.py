"""What values a database cannot hold, checked before anything is written: an error names the column and the value."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from skyband.errors import ConfigError, Problem
from skyband.instants import python_values

from skyband_lakes.limits import check_years
from skyband_lakes.sql.columns import for_sqlite, plain

if TYPE_CHECKING:
    import pyarrow as pa


def check_values(connection: Any, rows: "pa.Table") -> None:
    """Raise ConfigError where the database would refuse a value of these rows, or round it. O(n)."""
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
        message = f"PostgreSQL takes no NUL character in a text (column {name!r}, value {refused[0].as_py()[:80]!r})"
        where = rf"source.where = '''contains({name}, '\0') IS NOT TRUE'''"
        remedy = rf"leave such rows out with {where}, or the character with replace({name}, '\0', '') in source.select"
        raise ConfigError(Problem("table", f"{message}: {remedy}"))


def _check_digits(name: str, values: "pa.ChunkedArray") -> None:
    """SQLite has whole numbers of 64 bits and floats of 15 digits."""
    for value in python_values(values):
        sqlite_value = for_sqlite(value)
        if isinstance(sqlite_value, float) and Decimal(repr(sqlite_value)) != value:
            message = f"SQLite would round {value} of the column {name!r} ({values.type})"
            raise ConfigError(Problem("table", f"{message}: cast it to STRING or DOUBLE, or use another database"))


def is_text(kind: "pa.DataType") -> bool:
    """Whether a column is of texts, whatever their layout."""
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
