"""Reads the rows of a database table as Arrow."""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import define
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import TableRows

from skyband_lakes.libraries import SQL
from skyband_lakes.sql.batch_numbers import MicroBatchNumbers
from skyband_lakes.sql.columns import arrow_type, from_sqlite
from skyband_lakes.sql.database import Database, has_table

if TYPE_CHECKING:
    import pyarrow as pa

_AT_ONCE = 65_536


@define(eq=False, slots=False)
class SqlRows(TableRows):
    """The current rows of a table, in the database's order, in batches of 65,536.

    table: its name, which may start with a schema and a dot. Values pass through Python, except those of DuckDB, which
    are Arrow.
    """

    database: Database
    table: str

    def __attrs_post_init__(self) -> None:
        """Raises ConfigError if there is no such table."""
        exists = self.database.is_there and self.database.once(lambda connection: has_table(connection, self.table))
        if not exists:
            message = f"there is no table {self.table!r} in the database {self.database.name}: check url and table"
            raise ConfigError(Problem("table", message))

    @property
    def schema(self) -> "pa.Schema":
        """The Arrow schema. Raises ConfigError for a column of a type that Arrow does not have."""
        return self._schema

    @property
    def version(self) -> int:
        """Derived from the micro-batches that streams have written to it, and its number of rows."""
        sql, numbers = SQL.imported(), MicroBatchNumbers(self.table)
        home, _, own = self.table.rpartition(".")
        place = sql.table(sql.quoted_name(own, True), schema=home or None)
        count = sql.select(sql.func.count()).select_from(place)

        def together(connection: Any) -> int:
            return (numbers.together(connection) << 40) + int(connection.execute(count).scalar())

        return self.database.once(together)

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """The rows, with only the named columns."""
        import pyarrow as pa

        schema = pa.schema([self._schema.field(name) for name in columns])
        with self.database.connected() as connection:
            if self.database.gives_arrow:
                yield from self._as_arrow(connection, columns)
                return
            for rows in connection.execute(self._select(columns)).partitions(_AT_ONCE):
                values = zip(*rows, strict=True)
                arrays = [self._array(column, kind) for column, kind in zip(values, schema.types, strict=True)]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    @cached_property
    def _schema(self) -> "pa.Schema":
        import pyarrow as pa

        if self.database.gives_arrow:
            with self.database.connected() as connection:
                return self._as_arrow(connection, None).schema
        return pa.schema([(column.name, arrow_type(column, self.database.has_zones)) for column in self._table.columns])

    @cached_property
    def _table(self) -> Any:
        sql = SQL.imported()
        home, _, own = self.table.rpartition(".")

        def reflected(connection: Any) -> Any:
            return sql.Table(own, sql.MetaData(), schema=home or None, autoload_with=connection)

        return self.database.once(reflected)

    def _select(self, columns: list[str]) -> Any:
        sql = SQL.imported()
        raw = [self._is_rounded(self._schema.field(name).type) for name in columns]
        named = zip((self._table.c[name] for name in columns), raw, strict=True)
        return sql.select(*(sql.type_coerce(each, sql.types.NullType()) if is_raw else each for each, is_raw in named))

    def _array(self, values: Sequence[Any], kind: "pa.DataType") -> "pa.Array":
        import pyarrow as pa

        if self._is_rounded(kind):
            values = [from_sqlite(value, kind.scale) for value in values]
        return pa.array(values, kind)

    def _is_rounded(self, kind: "pa.DataType") -> bool:
        """Whether SQLAlchemy would convert a column's values to floats first."""
        import pyarrow as pa

        return pa.types.is_decimal(kind) and not self.database.has_decimals

    def _as_arrow(self, connection: Any, columns: list[str] | None) -> "pa.RecordBatchReader":
        """Read from DuckDB; columns = None: all columns."""
        driver = connection.connection.driver_connection
        quote = connection.dialect.identifier_preparer.quote_identifier
        names = "*" if columns is None else ", ".join(map(quote, columns))
        place = ".".join(map(quote, self.table.rsplit(".", 1)))
        relation = driver.sql(f"SELECT {names} FROM {place}")
        to_reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # its former name
        return to_reader(_AT_ONCE)
