"""The rows of a table or log, read in this process."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from skyband.errors import ConfigError, InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

Refuse: TypeAlias = Callable[[Sequence[tuple[InputError, str]]], None]
"""Takes rows that cannot be read: for each the error, whose `argument` is the place, and the row as text."""


class TablePart(ABC):
    """Part of the rows of a table as it was when opened, such as those of one file; it can be pickled.

    Spark's workers read parts where they can reach the files.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """Where the rows are, for messages: a file."""

    @property
    def size(self) -> int:
        """Approximate bytes, by which parts are distributed."""
        return 0

    @abstractmethod
    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """As `TableRows.batches`, for these rows."""


class TableRows(ABC):
    """The rows of a table as it is now, in commit order."""

    @property
    @abstractmethod
    def schema(self) -> "pa.Schema":
        """The columns, as an Arrow schema."""

    @abstractmethod
    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """The rows, with only these columns, in this order.

        Raises InputError with the place where a row cannot be read, ConfigError where the table cannot.
        """

    def readable(self, columns: list[str], refuse: Refuse) -> "Iterator[pa.RecordBatch]":  # noqa: ARG002
        """As `batches`, but calls `refuse` with rows that cannot be read, and continues.

        For logs of independent rows, such as messages; in other formats the error ends the reading.
        """
        return self.batches(columns)

    @property
    def place(self) -> str:
        """Where the rows are, for messages; "": as in the job's keys."""
        return ""

    @property
    def version(self) -> int | None:
        """The table's version, which each commit changes; None where it has none."""
        return None

    def plain_files(self) -> list[str]:
        """The Parquet files with exactly these rows, for Spark to read. Raises ConfigError where there are none."""
        raise ConfigError(Problem("format", "cannot be read by Spark: use --engine local"))

    def parts(self) -> Sequence[TablePart] | None:
        """All rows in parts, which several processes can read, in the order of `batches`; None where it has none.

        A part applies what its file does not contain: columns from folders, deleted rows, columns added later. Spark's
        workers read a table this way where it is more than its files.
        """
        return None
