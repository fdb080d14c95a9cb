"""Reads the rows of a table or log in a plugin's format, as a source, in this process."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import evolve, frozen

from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.refused_rows import RefusedRows
from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.formats import Refuse, TableRows
from skyband_jobs.tables.model import Source
from skyband_jobs.tables.table_location import in_process, keys_of

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband_jobs.files.where_and_select import Shape


@frozen
class Table:
    """A table as it is now, with the columns of `source.select`."""

    place: str
    """Its name in messages."""
    rows: TableRows
    raw: "pa.Schema"
    shape: "Shape"
    schema: "pa.Schema"

    def shaped(self, shape: "Shape") -> "Table":
        """The table after `where` and `select`. Raises ConfigError where these name other columns."""
        return evolve(self, shape=shape, schema=shape.schema(self.raw))

    def batches(self, columns: Iterable[str], refuse: Refuse | None = None) -> PlacedBatches:
        """Its rows, with only these columns; iterating raises InputError where they cannot be read.

        refuse: takes rows that cannot be read, in formats with independent rows, instead of an error.
        """
        import pyarrow as pa

        names = list(columns)
        raw_names = self.shape.reads(names)
        schema = pa.schema([self.schema.field(name) for name in names])
        refused = None if refuse is None else RefusedRows(refuse)
        return PlacedBatches(
            (FilePart(Path(self.place)),),
            lambda _: self.rows.batches(raw_names) if refuse is None else self.rows.readable(raw_names, refuse),
            lambda batch: self.shape.apply(batch, schema, refused),
            refused=refused,
        )


def open_table(source: Source) -> Table | None:
    """The table of a source; None where only Spark can look, because a library is not installed.

    Raises ConfigError where there is no such table.
    """
    from skyband_jobs.files.where_and_select import Shape

    bound, keys = in_process(source), keys_of(source)
    if bound is None or bound.check(keys, on_spark=False):
        return None
    rows = bound.read(keys)
    schema = rows.schema
    return Table(rows.place or keys.place or source.format, rows, schema, Shape(), schema)
