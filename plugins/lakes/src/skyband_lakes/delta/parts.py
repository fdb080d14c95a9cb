"""The files of a Delta table, with the columns that only its log has, and without deleted rows."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from attrs import frozen
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import TablePart

from skyband_lakes.libraries import DELTA

if TYPE_CHECKING:
    import pyarrow as pa

_BATCH = 100_000


@frozen(eq=False)
class DeltaPart(TablePart):
    """The rows of one file of a table.

    table: its path. options: deltalake's `storage_options`. path: of the file, in the table. schema: all columns of the
    table; columns missing in the file are null. keys: the table's partition columns, with the file's values. deleted: a
    bit per row, 1 if the deletion vector names it; None without a vector.
    """

    table: str
    options: Mapping[str, str]
    path: str
    bytes: int
    schema: "pa.Schema"
    keys: Mapping[str, Any]
    deleted: "pa.Array | None"

    @property
    def place(self) -> str:
        """The path of the file."""
        return f"{self.table.rstrip('/')}/{self.path}"

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self.bytes

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """Its rows, except deleted ones, with only the named columns. O(rows of the file)."""
        import pyarrow as pa
        import pyarrow.compute as pc

        first = 0
        for batch in self._fragment().to_batches(schema=self.schema, columns=columns, batch_size=_BATCH):
            gone = None if self.deleted is None else self.deleted.slice(first, len(batch))
            first += len(batch)
            if gone is not None and gone.true_count:
                rest = pa.repeat(pa.scalar(False), len(batch) - len(gone))  # the vector ends at the last deleted row
                batch = batch.filter(pc.invert(pa.concat_arrays([gone, rest])))
            yield batch

    def _fragment(self) -> Any:
        import pyarrow.dataset as ds
        from pyarrow.fs import PyFileSystem

        handler = DELTA.imported("fs").DeltaStorageHandler(self.table, dict(self.options), {self.path: self.bytes})
        expression = None
        for name, value in self.keys.items():
            is_so = ds.field(name).is_null() if value is None else ds.field(name) == ds.scalar(value)
            expression = is_so if expression is None else expression & is_so
        options = ds.ParquetReadOptions(coerce_int96_timestamp_unit="us")  # nanoseconds overflow in 2262
        return ds.ParquetFileFormat(read_options=options).make_fragment(
            self.path, filesystem=PyFileSystem(handler), partition_expression=expression
        )


def parts_of(table: Any, place: str, options: Mapping[str, str], schema: "pa.Schema") -> list[DeltaPart]:
    """The files of a deltalake table, in commit order."""
    import pyarrow as pa

    added = pa.table(table.get_add_actions(flatten=True))
    keys = {name: _values(added, f"partition.{name}", schema.field(name).type)
            for name in table.metadata().partition_columns}  # fmt: skip
    deleted = _deleted(table) if "deletionVectors" in (table.protocol().reader_features or ()) else {}
    paths, sizes = [*map(unquote, added["path"].to_pylist())], added["size_bytes"].to_pylist()
    times = added["modification_time"].to_pylist()
    order = sorted(range(len(paths)), key=lambda at: (times[at], paths[at]))
    return [
        DeltaPart(place, options, paths[at], sizes[at], schema, {name: values[at] for name, values in keys.items()},
                  deleted.get(paths[at]))
        for at in order
    ]  # fmt: skip


def _values(added: Any, name: str, kind: Any) -> list[Any]:
    """The files' values of a partition column, as scalars of its type."""
    return [value if value.is_valid else None for value in added[name].cast(kind)]


def _deleted(table: Any) -> dict[str, "pa.Array"]:
    """The rows that deletion vectors name, by the path of their file in the table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not hasattr(table, "deletion_vectors"):
        message = "the Delta table has deletion vectors, which this deltalake cannot read: pip install -U deltalake"
        raise ConfigError(Problem("path", message))
    vectors = pa.table(table.deletion_vectors())
    root = _plain(table.table_uri).rstrip("/") + "/"
    paths = [_plain(uri).removeprefix(root) for uri in vectors["filepath"].to_pylist()]
    masks = vectors["selection_vector"].combine_chunks()
    return {path: pc.invert(masks[at].values) for at, path in enumerate(paths)}


def _plain(uri: str) -> str:
    """A file's address as in the log."""
    return uri.removeprefix("file://")
