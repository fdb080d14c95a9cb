"""Writes answers to a database table, each micro-batch in one transaction with its number."""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attrs import define
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import BatchSink, NetChanges

from skyband_lakes.libraries import SQL
from skyband_lakes.limits import check_columns
from skyband_lakes.sql.batch_numbers import MicroBatchNumbers
from skyband_lakes.sql.columns import columns_there, table_of, unfit_column, values_of
from skyband_lakes.sql.database import Database, has_table
from skyband_lakes.sql.key_index import KeyIndex
from skyband_lakes.sql.limits import check_values

if TYPE_CHECKING:
    import pyarrow as pa

_PREFIX = "key_"


@define(eq=False, slots=False)
class SqlSink(BatchSink):
    """Appends answers to a table, or keeps the newest in it; creates it, with an index on the key, if it is missing.

    table: its name, which may start with a schema and a dot. key: the columns that identify a row of the newest
    answers; (): answers are appended.
    """

    database: Database
    table: str
    key: tuple[str, ...] = ()

    @cached_property
    def _numbers(self) -> MicroBatchNumbers:
        return MicroBatchNumbers(self.table)

    @cached_property
    def _key_index(self) -> KeyIndex:
        return KeyIndex(self.key)

    def latest(self, stream: str) -> int | None:
        if not self.database.is_there:
            return None
        return self.database.once(lambda connection: self._numbers.latest(connection, stream))

    def write(self, answers: "pa.Table", stream: str, batch: int) -> None:
        def work(connection: Any) -> None:
            latest = self._numbers.latest(connection, stream)
            if latest is None or latest < batch:
                self._insert(connection, self._table_for(connection, answers.schema), answers)
                self._numbers.note(connection, stream, batch)

        self.database.until_done(work)

    def exists(self) -> bool:
        return self.database.is_there and self.database.once(lambda connection: has_table(connection, self.table))

    def check(self, schema: "pa.Schema") -> None:
        self._table_of(schema)
        if self.exists():
            self.database.once(lambda connection: self._check_columns(connection, schema))

    def append(self, answers: "pa.Table", replace: bool = False) -> None:
        def work(connection: Any) -> None:
            table = self._table_for(connection, answers.schema)
            if replace:
                connection.execute(table.delete())
            self._insert(connection, table, answers)

        run = self.database.until_done if replace else self.database.once  # a retried append could add a batch twice
        run(work)

    def apply(self, changes: NetChanges, number: tuple[str, int] | None = None, replace: bool = False) -> None:
        _check_key(changes)

        def work(connection: Any) -> None:
            if number is not None:
                latest = self._numbers.latest(connection, number[0])
                if latest is not None and latest >= number[1]:
                    return
            table = self._table_for(connection, changes.rows.schema)
            if replace:
                connection.execute(table.delete())
            for keys in (changes.gone, changes.rows.select(list(changes.key))):
                check_values(connection, keys)
                self._key_index.make_fit(connection, table, keys)
                self._delete(connection, table, keys)
            self._insert(connection, table, changes.rows)
            if number is not None:
                self._numbers.note(connection, *number)

        self.database.until_done(work)

    def _insert(self, connection: Any, table: Any, rows: "pa.Table") -> None:
        if len(rows):
            check_values(connection, rows)
            connection.execute(table.insert(), values_of(rows))

    def _delete(self, connection: Any, table: Any, keys: "pa.Table") -> None:
        """Delete rows with these keys, if they exist. Nulls are compared by IS NULL, so that an index is used."""
        sql = SQL.imported()
        for nulls, some in _by_nulls(keys):
            names = [name for name in keys.column_names if name not in nulls]
            values = {name: sql.bindparam(f"{_PREFIX}{name}") for name in names}
            same = [self._key_index.is_same(connection, table.c[name], value) for name, value in values.items()]
            empty = [table.c[name].is_(None) for name in nulls]
            statement = table.delete().where(sql.and_(*same, *empty))
            if names:
                connection.execute(statement, values_of(some.select(names), _PREFIX))
            else:
                connection.execute(statement)

    def _table_for(self, connection: Any, schema: "pa.Schema") -> Any:
        """The table, created if it does not exist. Raises ConfigError if it has other columns."""
        table = self._table_of(schema)
        if has_table(connection, self.table):
            self._check_columns(connection, schema)
            return table
        table.create(connection)
        self._key_index.create(connection, table)
        return table

    def _table_of(self, schema: "pa.Schema") -> Any:
        check_columns(schema, self.database.kind, self.database.longest_name)
        return table_of(schema, self.table)

    def _check_columns(self, connection: Any, schema: "pa.Schema") -> None:
        table_columns = columns_there(connection, self.table)
        lacking = [name for name in schema.names if name not in table_columns]
        unfilled = [name for name, column in table_columns.items() if column.wants and name not in schema.names]
        if lacking or unfilled:
            what = f"has no column {lacking[0]!r}" if lacking else f"requires a value in its column {unfilled[0]!r}"
            columns = f"it has {', '.join(table_columns)}, and the rows to write {', '.join(schema.names)}"
        elif unfit := unfit_column(connection, table_columns, schema):
            what, rows = f"has {unfit}", ", ".join(f"{entry.name} {entry.type}" for entry in schema)
            has = ", ".join(f"{name} {one.type}" for name, one in table_columns.items())
            columns = f"it has {has}, and the rows to write {rows}"
        else:
            return
        raise ConfigError(Problem("table", f"the table {self.table!r} {what}: {columns}: choose another table"))


def _check_key(changes: NetChanges) -> None:
    """Raise ConfigError if a key is NaN, which is null in some databases and not equal to itself in others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for keys in (changes.gone, changes.rows):
        for name in changes.key:
            column = keys.column(name)
            if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
                message = (
                    f"databases cannot identify rows by NaN in the key {name!r}: leave such rows out with source.where"
                )
                raise ConfigError(Problem("table", message))


def _by_nulls(keys: "pa.Table") -> "Iterator[tuple[tuple[str, ...], pa.Table]]":
    """The rows of a table, grouped by the columns in which they are null, which are few combinations."""
    import numpy as np
    import pyarrow as pa

    if not len(keys):
        return
    masks = np.stack([column.is_null().to_numpy() for column in keys.columns], axis=1)
    kinds, which = np.unique(masks, axis=0, return_inverse=True)
    for number, nulls in enumerate(kinds):
        names = tuple(name for name, null in zip(keys.column_names, nulls, strict=True) if null)
        yield names, keys.filter(pa.array(which.reshape(-1) == number))
