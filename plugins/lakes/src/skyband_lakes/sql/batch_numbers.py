"""The database table that records the last micro-batch of each stream and table."""

from functools import cached_property
from typing import Any

from attrs import define

from skyband_lakes.libraries import SQL
from skyband_lakes.sql.database import has_table

NAME = "skyband_micro_batches"
"""Its name, in the schema of the answers' table."""


@define(eq=False, slots=False)
class MicroBatchNumbers:
    """The micro-batch numbers of a table, whose name may start with a schema and a dot."""

    table: str

    def latest(self, connection: Any, stream: str) -> int | None:
        """The last micro-batch of a stream in the table; None too if the table itself is gone, although its numbers
        remain."""
        return self._number(connection, self._numbers.c.micro_batch, *self._condition(stream))

    def together(self, connection: Any) -> int:
        """The number of micro-batches that all streams have written to the table."""
        total = SQL.imported().func.sum(self._numbers.c.micro_batch + 1)
        return self._number(connection, total, self._numbers.c.answers == self.table) or 0

    def note(self, connection: Any, stream: str, batch: int) -> None:
        """Record that the table, which exists, has this micro-batch."""
        numbers = self._numbers
        numbers.create(connection, checkfirst=True)
        if self.latest(connection, stream) is None:
            connection.execute(numbers.insert().values(stream=stream, answers=self.table, micro_batch=batch))
        else:
            connection.execute(numbers.update().where(*self._condition(stream)).values(micro_batch=batch))

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

    def _condition(self, stream: str) -> tuple[Any, Any]:
        return self._numbers.c.stream == stream, self._numbers.c.answers == self.table
