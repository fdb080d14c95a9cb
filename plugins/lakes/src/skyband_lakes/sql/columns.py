"""Converts columns of answers to database columns, and their values for the driver."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import ConfigError, Problem
from skyband.instants import python_values

from skyband_lakes.libraries import SQL

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_DIGITS = 38
"""Digits of a 128-bit decimal."""


@lru_cache(maxsize=64)
def table_of(schema: "pa.Schema", name: str) -> Any:
    """A `sqlalchemy.Table` with these columns; name: with its schema, if it has one. Names are quoted: SQLAlchemy does
    not know all reserved words, such as "at". The same table for the same columns, so that SQLAlchemy compiles each
    statement once; do not change it.

    Raises ConfigError for a column type that no database has.
    """
    sql = SQL.imported()
    home, _, own = name.rpartition(".")
    columns = [sql.Column(sql.quoted_name(entry.name, True), _type(sql, entry), nullable=True) for entry in schema]
    return sql.Table(sql.quoted_name(own, True), sql.MetaData(), *columns, schema=home or None)


def _type(sql: Any, entry: "pa.Field") -> Any:
    import pyarrow as pa

    kind = entry.type.value_type if pa.types.is_dictionary(entry.type) else entry.type
    is_, column = pa.types, None
    if is_.is_boolean(kind):
        column = sql.Boolean()
    elif is_.is_uint64(kind):
        column = _decimals()(20, 0)
    elif is_.is_integer(kind):
        column = sql.BigInteger()
    elif is_.is_floating(kind):
        column = sql.Double()
    elif is_.is_decimal(kind):
        column = _decimals()(kind.precision, kind.scale)
    elif is_.is_date(kind):
        column = sql.Date()
    elif is_.is_timestamp(kind):
        column = sql.DateTime(timezone=kind.tz is not None)
    elif is_.is_string(kind) or is_.is_large_string(kind) or is_.is_string_view(kind):
        column = sql.Text()
    elif is_.is_binary(kind) or is_.is_large_binary(kind) or is_.is_binary_view(kind):
        column = sql.LargeBinary()
    if column is None:
        message = f"column {entry.name!r} to write is {kind}, which no database column can hold: cast it first"
        raise ConfigError(Problem("table", message))
    return column


@cache
def _decimals() -> Any:
    """The type of decimal columns, which passes all digits to the driver. SQLAlchemy's own converts them to floats for
    drivers that it does not know to support decimals, such as DuckDB's, which does.
    """
    sql = SQL.imported()

    def bind_processor(_: Any, dialect: Any) -> Callable[[Any], Any] | None:
        return for_sqlite if dialect.name == "sqlite" else None

    members = {"impl": sql.Numeric, "cache_ok": True, "bind_processor": bind_processor}
    return type("Decimals", (sql.types.TypeDecorator,), members)


def for_sqlite(value: Any) -> Any:
    """A value for SQLite, which has 64-bit integers and floats."""
    if value is None:
        return None
    whole = int(value)
    return whole if whole == value and -(2**63) <= whole < 2**63 else float(value)


def from_sqlite(value: Any, scale: int) -> Decimal | None:
    """The value of a decimal column in SQLite, which SQLAlchemy would convert to a float."""
    return None if value is None else Decimal(value if isinstance(value, int) else f"{float(value):.{scale}f}")


def arrow_type(column: Any, has_zones: bool) -> "pa.DataType":
    """The Arrow type of a column of an existing table; has_zones: whether instants may have a zone.

    Raises ConfigError for a type that Arrow does not have.
    """
    import pyarrow as pa

    sql, kind, arrow = SQL.imported(), column.type, None
    if isinstance(kind, sql.Boolean):
        arrow = pa.bool_()
    elif isinstance(kind, sql.Integer):
        arrow = pa.int64()
    elif isinstance(kind, sql.Float):
        arrow = pa.float64()
    elif isinstance(kind, sql.Numeric) and kind.precision is not None and kind.precision <= _MOST_DIGITS:
        arrow = pa.decimal128(kind.precision, kind.scale or 0)
    elif isinstance(kind, sql.DateTime):
        arrow = pa.timestamp("us", "UTC" if kind.timezone or not has_zones else None)
    elif isinstance(kind, sql.Date):
        arrow = pa.date32()
    elif isinstance(kind, sql.String):
        arrow = pa.string()
    elif isinstance(kind, sql.LargeBinary):
        arrow = pa.binary()
    if arrow is None:
        message = f"column {column.name!r} is {kind}, which is not supported: read a view that casts or drops it"
        raise ConfigError(Problem("table", message))
    return arrow


_OF_DUCKDB = """SELECT column_name, is_nullable = 'NO' AND column_default IS NULL, data_type
FROM information_schema.columns
WHERE table_name = :own AND table_schema = coalesce(:home, current_schema()) ORDER BY ordinal_position"""
"""Replaces the dialect's query of PostgreSQL's catalogue, which DuckDB has only in part."""


@frozen
class ColumnThere:
    """A column of an existing table: whether a row must have a value for it, and its type's name and family.

    family: of `_FAMILIES`; None for another type, to which any value that the database accepts is written.
    """

    wants: bool
    type: str
    family: str | None


def columns_there(connection: Any, name: str) -> dict[str, ColumnThere]:
    """The columns of an existing table."""
    sql = SQL.imported()
    home, _, own = name.rpartition(".")
    if connection.dialect.name == "duckdb":
        rows = connection.execute(sql.text(_OF_DUCKDB), {"own": own, "home": home or None})
        return {column: ColumnThere(bool(wants), kind, _family_of_duckdb(kind)) for column, wants, kind in rows}
    columns = sql.inspect(connection).get_columns(own, schema=home or None)
    return {str(one["name"]): ColumnThere(_wants(one), str(one["type"]), _family(one["type"])) for one in columns}


def unfit_column(connection: Any, table_columns: Mapping[str, ColumnThere], schema: "pa.Schema") -> str | None:
    """The first column of the answers that the table's column cannot hold, with the table's type; None: all fit."""
    texts = ("String",) if connection.dialect.name == "sqlite" else ()  # it stores days and instants as text
    for column in table_of(schema, "answers").columns:
        family, ours = table_columns[column.name].family, _family(column.type) or ""
        held_by = (*_HELD_BY[ours], *(texts if ours.startswith("Date") else ()))
        if family is not None and family not in held_by:
            return f"{column.name!r} as {table_columns[column.name].type}"
    return None


_FAMILIES = ("Boolean", "Integer", "Float", "Numeric", "DateTime", "Date", "String", "LargeBinary")
"""SQLAlchemy's types, each before its base types."""

_HELD_BY = {
    "Boolean": ("Boolean", "Integer"),
    "Integer": ("Integer", "Numeric", "Float"),
    "Float": ("Float", "Numeric"),
    "Numeric": ("Numeric", "Integer", "Float"),
    "DateTime": ("DateTime",),
    "Date": ("Date", "DateTime"),
    "String": ("String",),
    "LargeBinary": ("LargeBinary",),
}
"""The families of table columns that can hold a column of the answers; some databases have no booleans."""

_DUCKDB_FAMILIES = {
    "BOOLEAN": "Boolean",
    "TINYINT": "Integer",
    "SMALLINT": "Integer",
    "INTEGER": "Integer",
    "BIGINT": "Integer",
    "HUGEINT": "Integer",
    "UBIGINT": "Integer",
    "FLOAT": "Float",
    "DOUBLE": "Float",
    "DECIMAL": "Numeric",
    "TIMESTAMP": "DateTime",
    "DATE": "Date",
    "VARCHAR": "String",
    "BLOB": "LargeBinary",
}


def _family(kind: Any) -> str | None:
    sql = SQL.imported()
    kind = getattr(kind, "impl_instance", kind)  # of a type that wraps one of SQLAlchemy's
    return next((name for name in _FAMILIES if isinstance(kind, getattr(sql, name))), None)


def _family_of_duckdb(kind: str) -> str | None:
    return None if kind.endswith("]") else _DUCKDB_FAMILIES.get(re.split(r"\W", kind)[0])


def _wants(column: Any) -> bool:
    fills_itself = column.get("default") is not None or column.get("autoincrement") is True
    return not (column["nullable"] or fills_itself or "identity" in column or "computed" in column)


def values_of(rows: "pa.Table", prefix: str = "") -> list[dict[str, Any]]:
    """Each row as the parameters of a statement, named by prefix and column; instants in UTC."""
    names = [f"{prefix}{name}" for name in rows.column_names]
    columns = [python_values(plain(column)) for column in rows.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """A column without a dictionary, with instants in microseconds in UTC."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", "UTC" if column.type.tz else None), safe=False)
    return column
