"""The formats of tables by name, each with what it needs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from skyband_lakes.delta import tables as delta
from skyband_lakes.iceberg import tables as iceberg

from skyband.tables.batch_sink import BatchSink
from skyband.tables.extras import missing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

FORMATS = ("delta", "iceberg")
_NEEDS = {"delta": (delta.LIBRARY, delta.EXTRA), "iceberg": (iceberg.LIBRARY, iceberg.EXTRA)}
_SINKS: "dict[str, Callable[[str, Mapping[str, str]], BatchSink]]" = {
    "delta": delta.DeltaSink,
    "iceberg": iceberg.IcebergSink,
}
_ROWS: "dict[str, Callable[[str, Mapping[str, str]], TableRows]]" = {
    "delta": delta.DeltaRows,
    "iceberg": iceberg.IcebergRows,
}


class TableRows(Protocol):
    """The rows of a table as it is now, in the order they were committed."""

    @property
    def schema(self) -> "pa.Schema":
        """The columns."""

    @property
    def version(self) -> int | None:
        """Of the table: another after each commit."""

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """The rows, only the columns named."""

    def plain_files(self) -> list[str]:
        """The Parquet files that hold just the rows. Raises ConfigError where there is more to know of them."""


def table_problem(format: str) -> str | None:
    """What to install for a format; None where it is there."""
    return missing(*_NEEDS[format]) if format in _NEEDS else None


def open_sink(format: str, path: str, options: Mapping[str, str] | None = None) -> BatchSink:
    """A function for `foreachBatch` that writes each micro-batch of a stream to a table once.

    `format`: `"delta"`; `path` is then a folder, made where it is not there, or an address, and `options` are the
    library's `storage_options`. Or `"iceberg"`; `path` is then the table's name in the catalogue, such as
    `"db.answers"`, and `options` are the properties of pyiceberg's catalogue: `uri`, `warehouse`, `name` and others.

    Its `append(answers)` writes an Arrow table outside of a stream. Both raise ConfigError where the table cannot hold
    the answers, and EngineError where the library is not installed.
    """
    return _SINKS[format](path, options or {})


def open_table(format: str, path: str, options: Mapping[str, str] | None = None) -> TableRows:
    """A table as it is now: its `schema`, and its rows by `batches(columns)` in the order they were committed.

    `format`, `path` and `options` as of `open_sink`. Raises ConfigError where there is none, EngineError where its
    library is not installed.
    """
    return _ROWS[format](path, options or {})
