"""The rows of a table as a source, read in this process."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import frozen

from skyband.errors import ConfigError, Problem
from skyband.job.model import Source, local_path
from skyband.job.sources.row_location import PlacedBatches
from skyband.job.table_location import arguments, needs_connector

if TYPE_CHECKING:
    import pyarrow as pa

    from skyband.job.sources.where_and_select import Shape
    from skyband.tables.formats import TableRows


@frozen
class Table:
    """A table as it is now, with the columns that `source.select` makes of its own."""

    path: str
    rows: "TableRows"
    raw: "pa.Schema"
    shape: "Shape"
    schema: "pa.Schema"

    def batches(self, columns: Iterable[str]) -> PlacedBatches:
        """Its rows, only the columns named; iterating raises InputError where they cannot be read."""
        import pyarrow as pa

        wanted = list(columns)
        read = self.shape.reads(wanted)
        given = pa.schema([self.schema.field(name) for name in wanted])
        return PlacedBatches(
            (Path(self.path),), lambda _: self.rows.batches(read), lambda batch: self.shape.apply(batch, given)
        )


def open_rows(source: Source) -> Table | None:
    """The table of a source; None where only Spark can look: elsewhere, or with a library that is not installed.

    Raises ConfigError where there is none, or `where` and `select` are not known here.
    """
    from skyband.job.sources.where_and_select import Shape
    from skyband.tables import open_table, table_problem

    elsewhere = source.path is not None and local_path(source.path) is None
    if elsewhere or needs_connector(source) or table_problem(source.format) is not None:
        return None
    if source.schema is not None:
        raise ConfigError(Problem("schema", f"a table in {source.format} says its columns itself: drop it"))
    shape = Shape.of(source.where, source.select)
    place, options = arguments(source)
    rows = open_table(source.format, place, options)
    return Table(place, rows, rows.schema, shape, shape.schema(rows.schema))
