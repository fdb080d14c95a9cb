"""Columns of answers as those of a database, and their values as its driver takes them."""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import ConfigError, Problem
from skyband.instants import python_values

from skyband_lakes.libraries import SQL

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_DIGITS = 38
"""Of a decimal number in 128 bits."""


def table_of(schema: "pa.Schema", name: str) -> Any:
    """A `sqlalchemy.Table` with these columns; name: with its schema, where it has one. Names are quoted: which words,
    such as "at", are some database's own, SQLAlchemy does not always know.

    Raises ConfigError for a type of column that no database has.
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
        message = f"column {entry.name!r} to write is {kind}, which no column of a database holds: cast it first"
        raise ConfigError(Problem("table", message))
    return column


@cache
def _decimals() -> Any:
    """The type of decimal columns, whose values come to the driver to the last digit: SQLAlchemy's own makes floats of
    them for drivers that it does not know to take decimals, such as DuckDB's, which does.
    """
    sql = SQL.imported()

    def bind_processor(_: Any, dialect: Any) -> Callable[[Any], Any] | None:
        return for_sqlite if dialect.name == "sqlite" else None

    members = {"impl": sql.Numeric, "cache_ok": True, "bind_processor": bind_processor}
    return type("Decimals", (sql.types.TypeDecorator,), members)


def for_sqlite(value: Any) -> Any:
    """SQLite has whole numbers of 64 bits, and floats."""
    if value is None:
        return None
    whole = int(value)
    return whole if whole == value and -(2**63) <= whole < 2**63 else float(value)


def from_sqlite(value: Any, scale: int) -> Decimal | None:
    """What stands in a decimal column of SQLite, which SQLAlchemy would take for a float."""
    return None if value is None else Decimal(value if isinstance(value, int) else f"{float(value):.{scale}f}")


def arrow_type(column: Any, has_zones: bool) -> "pa.DataType":
    """What a column of a table that is there is in Arrow; has_zones: whether an instant may be without.

    Raises ConfigError for a type that Arrow has not.
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
        message = f"column {column.name!r} is {kind}, which is not read: read a view that casts it, or leaves it out"
        raise ConfigError(Problem("table", message))
    return arrow


_OF_DUCKDB = """SELECT column_name, is_nullable = 'NO' AND column_default IS NULL, data_type
FROM information_schema.columns
WHERE table_name = :own AND table_schema = coalesce(:home, current_schema()) ORDER BY ordinal_position"""
"""Its dialect asks PostgreSQL's catalogue, of which DuckDB has a part."""


@frozen
class ColumnThere:
    """A column of a table that is there: whether a row must say its value, and what its type is called and holds.

    family: of `_FAMILIES`; None where it is none of them, and whatever the database takes is written.
    """

    wants: bool
    type: str
    family: str | None


def columns_there(connection: Any, name: str) -> dict[str, ColumnThere]:
    """The columns of a table that is there."""
    sql = SQL.imported()
    home, _, own = name.rpartition(".")
    if connection.dialect.name == "duckdb":
        rows = connection.execute(sql.text(_OF_DUCKDB), {"own": own, "home": home or None})
        return {column: ColumnThere(bool(wants), kind, _family_of_duckdb(kind)) for column, wants, kind in rows}
    columns = sql.inspect(connection).get_columns(own, schema=home or None)
    return {str(one["name"]): ColumnThere(_wants(one), str(one["type"]), _family(one["type"])) for one in columns}


def unfit_column(connection: Any, there: Mapping[str, ColumnThere], schema: "pa.Schema") -> str | None:
    """The first column of the answers that one of the same name cannot hold, beside its type there; None: all fit."""
    texts = ("String",) if connection.dialect.name == "sqlite" else ()  # it keeps days and instants as text
    for column in table_of(schema, "answers").columns:
        family, ours = there[column.name].family, _family(column.type) or ""
        held_by = (*_HELD_BY[ours], *(texts if ours.startswith("Date") else ()))
        if family is not None and family not in held_by:
            return f"{column.name!r} as {there[column.name].type}"
    return None


_FAMILIES = ("Boolean", "Integer", "Float", "Numeric", "DateTime", "Date", "String", "LargeBinary")
"""SQLAlchemy's, each before those that it is one of."""

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
"""What may stand in a table for a column of the answers; some databases have no booleans of their own."""

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
    kind = getattr(kind, "impl_instance", kind)  # of a type that decorates one of SQLAlchemy's
    return next((name for name in _FAMILIES if isinstance(kind, getattr(sql, name))), None)


def _family_of_duckdb(kind: str) -> str | None:
    return None if kind.endswith("]") else _DUCKDB_FAMILIES.get(re.split(r"\W", kind)[0])


def _wants(column: Any) -> bool:
    fills_itself = column.get("default") is not None or column.get("autoincrement") is True
    return not (column["nullable"] or fills_itself or "identity" in column or "computed" in column)


def values_of(rows: "pa.Table", prefix: str = "") -> list[dict[str, Any]]:
    """Each row as the parameters of a statement, by the names of its columns after the prefix; instants in UTC."""
    names = [f"{prefix}{name}" for name in rows.column_names]
    columns = [python_values(plain(column)) for column in rows.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def plain(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    """A column without a dictionary, its instants in microseconds of UTC."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.timestamp("us", "UTC" if column.type.tz else None), safe=False)
    return column
