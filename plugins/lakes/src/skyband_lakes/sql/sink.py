"""A table of a database that answers are written to, each micro-batch in one transaction with its number."""

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
    """Adds answers to a table, or makes it hold the newest; made where it is not there, with an index on the key.

    database: where it is. table: its name, after that of its schema and a dot where it has one. key: the columns that
    name a row of the newest answers; (): answers are added.
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

        run = self.database.until_done if replace else self.database.once  # added twice, a batch would be there twice
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
        """Rows with these keys, of which none need be there. A null is compared as such, so that an index helps."""
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
        """The table, made where it is not there. Raises ConfigError where it has other columns."""
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
        there = columns_there(connection, self.table)
        lacking = [name for name in schema.names if name not in there]
        unfilled = [name for name, column in there.items() if column.wants and name not in schema.names]
        if lacking or unfilled:
            what = f"has no column {lacking[0]!r}" if lacking else f"wants a value in its column {unfilled[0]!r}"
            columns = f"it has {', '.join(there)}, and the rows to write {', '.join(schema.names)}"
        elif unfit := unfit_column(connection, there, schema):
            what, rows = f"has {unfit}", ", ".join(f"{entry.name} {entry.type}" for entry in schema)
            has = ", ".join(f"{name} {one.type}" for name, one in there.items())
            columns = f"it has {has}, and the rows to write {rows}"
        else:
            return
        raise ConfigError(Problem("table", f"the table {self.table!r} {what}: {columns}: choose another table"))


def _check_key(changes: NetChanges) -> None:
    """Raise ConfigError where a key is NaN, which some databases take for null and others for unlike itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for keys in (changes.gone, changes.rows):
        for name in changes.key:
            column = keys.column(name)
            if pa.types.is_floating(column.type) and pc.any(pc.is_nan(column)).as_py():
                message = (
                    f"NaN in the key {name!r} is not told apart by databases: leave such rows out with source.where"
                )
                raise ConfigError(Problem("table", message))


def _by_nulls(keys: "pa.Table") -> "Iterator[tuple[tuple[str, ...], pa.Table]]":
    """The rows of a table by the columns in which they are null, which are few combinations."""
    import numpy as np
    import pyarrow as pa

    if not len(keys):
        return
    masks = np.stack([column.is_null().to_numpy() for column in keys.columns], axis=1)
    kinds, which = np.unique(masks, axis=0, return_inverse=True)
    for number, nulls in enumerate(kinds):
        names = tuple(name for name, null in zip(keys.column_names, nulls, strict=True) if null)
        yield names, keys.filter(pa.array(which.reshape(-1) == number))
