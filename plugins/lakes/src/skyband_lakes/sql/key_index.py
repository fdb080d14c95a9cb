"""The index on the key of a table of the newest answers; in PostgreSQL one of hashes, where keys are long."""

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
"""Bytes of the texts of a key that an index of PostgreSQL surely takes: an entry has at most a third of a page."""


@frozen
class KeyIndex:
    """A unique index.

    In PostgreSQL it begins with the keys as they are, so that it helps other queries of the table too. The first long
    key has it made anew, of MD5 in place of texts: O(rows of the table), once.
    """

    key: tuple[str, ...]

    def create(self, connection: Any, table: Any, hashed: bool = False) -> None:
        """Create it, where the database takes one."""
        if self.key and connection.dialect.name != "duckdb":  # which takes no key again that the transaction removed
            self._index(connection, table, hashed).create(connection)

    def make_fit(self, connection: Any, table: Any, keys: "pa.Table") -> None:
        """Make it one of hashes where these keys are long and it is not. An index that others have made is left."""
        if connection.dialect.name != "postgresql" or not _is_long(keys):
            return
        index = self._index(connection, table, hashed=False)
        for there in SQL.imported().inspect(connection).get_indexes(table.name, schema=table.schema):
            if there["name"] == index.name and not any("md5(" in (text or "") for text in there.get("expressions", ())):
                index.drop(connection)
                self.create(connection, table, hashed=True)

    def is_same(self, connection: Any, column: Any, value: Any) -> Any:
        """The condition that a column of the key has a value, by which either index is used."""
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
        columns = (table.c[one] for one in self.key)
        entries = [sql.func.md5(one) if hashed and _is_hashed(one) else one for one in columns]
        return sql.Index(sql.quoted_name(name, True), *entries, unique=True)


def _is_hashed(column: Any) -> bool:
    sql = SQL.imported()
    return isinstance(column.type, sql.String | sql.LargeBinary)


def _is_long(keys: "pa.Table") -> bool:
    """Whether texts and bytes of one row are together too long for an index. O(n)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    is_ = pa.types
    columns = [column for column in map(plain, keys.columns) if is_text(column.type) or is_.is_binary(column.type)]
    sizes = [pc.fill_null(pc.binary_length(column), 0) for column in columns]
    return bool(sizes) and (pc.max(reduce(pc.add, sizes)).as_py() or 0) > _LONGEST
