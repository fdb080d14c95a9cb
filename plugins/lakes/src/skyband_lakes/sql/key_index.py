"""The index on the key of a table of the newest answers; in PostgreSQL it holds hashes if keys are long."""

from functools import reduce
from hashlib import md5
from typing import TYPE_CHECKING, Any

from attrs import frozen

from skyband_lakes.libraries import SQL
from skyband_lakes.sql.columns import plain
from skyband_lakes.sql.limits import is_text

if TYPE_CHECKING:
    import pyarrow as pa

_LONGEST = 2000
"""Bytes of text in a key that always fit in a PostgreSQL index, whose entries take at most a third of a page."""


@frozen
class KeyIndex:
    """A unique index on a key.

    In PostgreSQL it first holds the keys themselves, which helps other queries of the table too. With the first long
    key it is rebuilt with MD5 hashes instead of texts: O(rows of the table), once.
    """

    key: tuple[str, ...]

    def create(self, connection: Any, table: Any, hashed: bool = False) -> None:
        """Create it, if the database supports it."""
        if self.key and connection.dialect.name != "duckdb":  # which cannot re-insert a key in the same transaction
            self._index(connection, table, hashed).create(connection)

    def make_fit(self, connection: Any, table: Any, keys: "pa.Table") -> None:
        """Rebuild it with hashes if these keys are long. An index that others have created is kept."""
        if connection.dialect.name != "postgresql" or not _is_long(keys):
            return
        index = self._index(connection, table, hashed=False)
        for there in SQL.imported().inspect(connection).get_indexes(table.name, schema=table.schema):
            if there["name"] == index.name and not any("md5(" in (text or "") for text in there.get("expressions", ())):
                index.drop(connection)
                self.create(connection, table, hashed=True)

    def is_same(self, connection: Any, column: Any, value: Any) -> Any:
        """The condition that a column of the key equals a value, which can use either index."""
        same = column == value
        if connection.dialect.name != "postgresql" or not _is_hashed(column):
            return same
        sql = SQL.imported()
        return sql.and_(same, sql.func.md5(column) == sql.func.md5(sql.type_coerce(value, column.type)))

    def _index(self, connection: Any, table: Any, hashed: bool) -> Any:
        sql = SQL.imported()
        name, longest = f"{table.name}_key", connection.dialect.max_identifier_length
        if len(name.encode()) > longest:
            name = f"{md5(name.encode(), usedforsecurity=False).hexdigest()}_key"
        table = table.to_metadata(sql.MetaData())  # a copy, as an index adds itself to its table
        columns = (table.c[column] for column in self.key)
        entries = [sql.func.md5(column) if hashed and _is_hashed(column) else column for column in columns]
        return sql.Index(sql.quoted_name(name, True), *entries, unique=True)


def _is_hashed(column: Any) -> bool:
    sql = SQL.imported()
    return isinstance(column.type, sql.String | sql.LargeBinary)


def _is_long(keys: "pa.Table") -> bool:
    """Whether the texts and bytes of some row are together too long for an index. O(n)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_ = pa.types
    columns = [column for column in map(plain, keys.columns) if is_text(column.type) or is_.is_binary(column.type)]
    sizes = [pc.fill_null(pc.binary_length(column), 0) for column in columns]
    return bool(sizes) and (pc.max(reduce(pc.add, sizes)).as_py() or 0) > _LONGEST
