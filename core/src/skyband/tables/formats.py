"""The formats of tables by name, each with what it needs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from skyband.tables import delta
from skyband.tables.batch_sink import BatchSink
from skyband.tables.extras import missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

FORMATS = ("delta",)


class TableRows(Protocol):
    """The rows of a table as it is now, in the order they were committed."""

    @property
    def schema(self) -> "pa.Schema":
        """The columns."""

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """The rows, only the columns named."""

    def plain_files(self) -> list[str]:
        """The Parquet files that hold just the rows. Raises ConfigError where there is more to know of them."""


def table_problem(format: str) -> str | None:
    """What to install for a format; None where it is there."""
    return missing(delta.LIBRARY, delta.EXTRA) if format == "delta" else None


def open_sink(format: str, path: str, options: Mapping[str, str] | None = None) -> BatchSink:
    """A function for `foreachBatch` that writes each micro-batch of a stream to a table once.

    `format`: `"delta"`. `path`: a folder, made where it is not there, or an address. `options`: the library's
    `storage_options`.

    Its `append(answers)` writes an Arrow table outside of a stream. Both raise ConfigError where the table cannot hold
    the answers, and EngineError where the library is not installed.
    """
    assert format == "delta", format
    return delta.DeltaSink(path, options or {})


def open_table(format: str, path: str, options: Mapping[str, str] | None = None) -> TableRows:
    """A table as it is now: its `schema`, and its rows by `batches(columns)` in the order they were committed.

    Raises ConfigError where there is none, EngineError where its library is not installed.
    """
    assert format == "delta", format
    return delta.DeltaRows(path, options or {})
