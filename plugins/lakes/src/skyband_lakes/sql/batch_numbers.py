"""The table of a database that says which micro-batch of a stream each table has last."""

from functools import cached_property
from typing import Any

from attrs import define

from skyband_lakes.libraries import SQL
from skyband_lakes.sql.database import has_table

NAME = "skyband_micro_batches"
"""Of the table, beside that of the answers."""


@define(eq=False, slots=False)
class MicroBatchNumbers:
    """Those of a table, its name after that of its schema and a dot where it has one."""

    table: str

    def latest(self, connection: Any, stream: str) -> int | None:
        """The last micro-batch of a stream that the table has; None too where the table is gone, of which the numbers
        know nothing."""
        return self._number(connection, self._numbers.c.micro_batch, *self._mine(stream))

    def together(self, connection: Any) -> int:
        """How many micro-batches all streams have written to the table."""
        total = SQL.imported().func.sum(self._numbers.c.micro_batch + 1)
        return self._number(connection, total, self._numbers.c.answers == self.table) or 0

    def note(self, connection: Any, stream: str, batch: int) -> None:
        """Write that the table, which is there, has this micro-batch."""
        numbers = self._numbers
        numbers.create(connection, checkfirst=True)
        if self.latest(connection, stream) is None:
            connection.execute(numbers.insert().values(stream=stream, answers=self.table, micro_batch=batch))
        else:
            connection.execute(numbers.update().where(*self._mine(stream)).values(micro_batch=batch))

    def _number(self, connection: Any, what: Any, *where: Any) -> int | None:
        names = (f"{self._numbers.schema}.{NAME}" if self._numbers.schema else NAME, self.table)
        if not all(has_table(connection, name) for name in names):
            return None
        number = connection.execute(SQL.imported().select(what).where(*where)).scalar()
        return None if number is None else int(number)

    @cached_property
    def _numbers(self) -> Any:
        sql = SQL.imported()
        home = self.table.rpartition(".")[0]
        return sql.Table(
            NAME, sql.MetaData(),
            sql.Column("stream", sql.String(100), primary_key=True),
            sql.Column("answers", sql.String(200), primary_key=True),
            sql.Column("micro_batch", sql.BigInteger, nullable=False),
            schema=home or None,
        )  # fmt: skip

    def _mine(self, stream: str) -> tuple[Any, Any]:
        return self._numbers.c.stream == stream, self._numbers.c.answers == self.table
