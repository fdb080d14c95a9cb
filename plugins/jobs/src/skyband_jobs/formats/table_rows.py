"""The rows of a table or log, read in this process."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from skyband.errors import ConfigError, InputError, Problem

if TYPE_CHECKING:
    import pyarrow as pa

Refuse: TypeAlias = Callable[[Sequence[tuple[InputError, str]]], None]
"""Takes rows that cannot be read: of each what is wrong, its `argument` the place, and the row as text."""


class TablePart(ABC):
    """Some rows of a table as it was when it was opened, such as those of one file; it travels pickled.

    Workers of Spark read them where its files are reached.
    """

    @property
    @abstractmethod
    def place(self) -> str:
        """Where they are, as messages about a row name it: a file."""

    @property
    def size(self) -> int:
        """Bytes, about: parts are shared out by them."""
        return 0

    @abstractmethod
    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """As `TableRows.batches`, of these rows."""


class TableRows(ABC):
    """The rows of a table as it is now, in the order they were committed."""

    @property
    @abstractmethod
    def schema(self) -> "pa.Schema":
        """The columns, as Arrow has them."""

    @abstractmethod
    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """The rows, only the columns named, in this order.

        Raises InputError, naming the place, where a row cannot be read, ConfigError where the table cannot.
        """

    def readable(self, columns: list[str], refuse: Refuse) -> "Iterator[pa.RecordBatch]":  # noqa: ARG002
        """As `batches`, where a row that cannot be read spoils only itself: `refuse` is called with such rows.

        For logs whose rows stand each for itself, such as messages; of others the error ends the reading.
        """
        return self.batches(columns)

    @property
    def place(self) -> str:
        """Where they are, as messages about a row name it; "": as the job's keys say."""
        return ""

    @property
    def version(self) -> int | None:
        """Of the table: another after each commit; None where it has none."""
        return None

    def plain_files(self) -> list[str]:
        """The Parquet files that hold just the rows, for Spark to read. Raises ConfigError where they do not."""
        raise ConfigError(Problem("format", "is not read by Spark: use --engine local"))

    def parts(self) -> Sequence[TablePart] | None:
        """All rows in parts, which several processes can read, in the order of `batches`; None where they cannot.

        What a part says beyond its file is taken into account: columns by folder, rows that were deleted, columns that
        came later. Spark's workers read a table so where it is more than its files.
        """
        return None
