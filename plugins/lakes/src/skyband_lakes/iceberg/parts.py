"""The files of an Iceberg table in its snapshot, without deleted rows and with the current columns."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband_jobs.formats import TablePart

from skyband_lakes.iceberg.catalog import catalog_errors
from skyband_lakes.libraries import ICEBERG

if TYPE_CHECKING:
    import pyarrow as pa


@frozen(eq=False)
class IcebergPart(TablePart):
    """The rows of one file of a table; pyiceberg applies its deletes and finds its columns by id.

    metadata, io: pyiceberg's, of the table. task: the file and its delete files. schema: the columns.
    """

    metadata: Any
    io: Any
    task: Any
    schema: "pa.Schema"

    @property
    def place(self) -> str:
        """The path of the file."""
        return str(self.task.file.file_path)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return int(self.task.file.file_size_in_bytes)

    def batches(self, columns: list[str]) -> "Iterator[pa.RecordBatch]":
        """Its rows, with only the named columns."""
        import pyarrow as pa

        fields = pa.schema([self.schema.field(name) for name in columns])
        with catalog_errors("table"):
            everything = ICEBERG.imported("expressions").AlwaysTrue()
            projected = self.metadata.schema().select(*columns)
            scan = ICEBERG.imported("io.pyarrow").ArrowScan(self.metadata, self.io, projected, everything)
            for batch in scan.to_record_batches([self.task]):
                yield batch.select(columns).cast(fields)
