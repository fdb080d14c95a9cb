"""The rows of a batch's source and the moments of its spine, read one after the other, for a query with `asks`."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen
from skyband.errors import ConfigError, InputError, Problem
from skyband_expressions.spine import as_asked, asks_of, split_columns, united_schema

from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.files.source_files import Files
from skyband_jobs.files.table_source import Table
from skyband_jobs.job.opening import OpenSource

if TYPE_CHECKING:
    import pyarrow as pa
    from skyband.queries.query import Query


@define(eq=False)
class _Both:
    """The batches of both, which are located in the files of the one that is being read."""

    _parts: tuple[PlacedBatches, PlacedBatches]
    _schema: "pa.Schema"
    _asks: str
    _reads: PlacedBatches = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._reads = self._parts[0]

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        for is_spine, part in enumerate(self._parts):
            self._reads = part
            for batch in part:
                yield as_asked(batch, self._schema, self._asks, bool(is_spine))

    @property
    def file(self) -> int:
        """The index of the file that is read; those of the spine count from 0 again."""
        return self._reads.file

    def placing(self) -> AbstractContextManager[None]:
        """As that of the batches which are read."""
        return self._reads.placing()

    def placed(self, error: InputError) -> InputError:
        """As that of the batches which are read."""
        return self._reads.placed(error)


@frozen
class SpineRows:
    """Rows and moments, with the columns that the query reads."""

    rows: Files | Table
    spine: Files | Table
    asks: str
    schema: "pa.Schema"
    of_rows: tuple[str, ...]
    of_spine: tuple[str, ...]

    def batches(self, columns: Iterable[str], refuse: Any = None) -> Any:
        """As `Table.batches`."""
        import pyarrow as pa

        names = list(columns)
        schema = pa.schema([self.schema.field(name) for name in names])
        own = [[name for name in names if name in of] for of in (self.of_rows, self.of_spine)]
        parts = self.rows.batches(own[0], refuse=refuse), self.spine.batches(own[1], refuse=refuse)
        return _Both(parts, schema, self.asks)


def with_moments(opened: OpenSource, spine: OpenSource, query: "Query") -> OpenSource:
    """The source together with its spine. Raises ConfigError where the spine does not fit the query or the rows."""
    try:
        asks = asks_of(query)
        if opened.schema is None or spine.schema is None:
            return OpenSource()
        of_rows, of_spine = split_columns(query, asks, opened.schema.names, spine.schema.names)
        schema = united_schema(opened.schema, spine.schema, of_rows, of_spine, asks)
    except InputError as error:
        place = "" if error.argument == "rows" else ".spine"
        raise ConfigError(Problem(f"source{place}", error.message)) from error
    both = evolve(opened, schema=schema, rows=None)
    if opened.rows is None or spine.rows is None:
        return both
    rows: Any = SpineRows(opened.rows, spine.rows, asks, schema, tuple(of_rows), tuple(of_spine))
    return evolve(both, rows=rows)
