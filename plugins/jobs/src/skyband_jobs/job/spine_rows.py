"""The rows of a source and the moments of its spine, for a query with `asks`.

A batch reads one after the other; a stream the one that is behind in time, so that few rows wait for moments.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from attrs import define, evolve, field, frozen
from skyband.arrays import TIME_MIN
from skyband.errors import ConfigError, InputError, Problem
from skyband.queries.time_columns import microseconds
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

    _parts: Mapping[bool, PlacedBatches]
    """The rows by false, the moments by true."""
    _schema: "pa.Schema"
    _asks: str
    _time: str | None
    """The column of times, for a stream."""
    _reads: PlacedBatches = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._reads = next(iter(self._parts.values()))

    def __iter__(self) -> "Iterator[pa.RecordBatch]":
        batches = {is_spine: iter(part) for is_spine, part in self._parts.items()}
        reached = dict.fromkeys(batches, TIME_MIN)
        while reached:
            is_spine = min(reached, key=lambda part: reached[part])
            self._reads = self._parts[is_spine]
            batch = next(batches[is_spine], None)
            if batch is None:
                del reached[is_spine]
                continue
            batch = as_asked(batch, self._schema, self._asks, is_spine)
            if self._time is not None and len(batch):
                latest = int(microseconds(self._time, batch.column(self._time)).max())
                reached[is_spine] = max(reached[is_spine], latest)
            yield batch

    @property
    def file(self) -> int:
        """The index of the file that is read, counting those of both."""
        return sum(part.file for part in self._parts.values())

    def placing(self) -> AbstractContextManager[None]:
        """As that of the batches which are read."""
        return self._reads.placing()

    def placed(self, error: InputError) -> InputError:
        """As that of the batches which are read."""
        return self._reads.placed(error)


@frozen
class Union:
    """How rows and moments become one source, with the columns that the query reads."""

    asks: str
    schema: "pa.Schema"
    of_rows: tuple[str, ...]
    of_spine: tuple[str, ...]
    time: str | None
    """The column of times, for a stream."""

    @classmethod
    def of(cls, query: "Query", schema: "pa.Schema", stream: bool) -> "Union":
        """schema: that of both together."""
        asks = asks_of(query)
        of_rows, of_spine = split_columns(query, asks, [name for name in schema.names if name != asks], schema.names)
        return cls(asks, schema, tuple(of_rows), tuple(of_spine), query.time if stream else None)

    def columns(self, is_spine: bool, names: Iterable[str]) -> list[str]:
        """Those of these columns that one of them has."""
        own = self.of_spine if is_spine else self.of_rows
        return [name for name in names if name in own]

    def batches(self, parts: Mapping[bool, PlacedBatches], names: Iterable[str]) -> Any:
        """The rows by false and the moments by true, with their own `columns`, as batches with these."""
        import pyarrow as pa

        schema = pa.schema([self.schema.field(name) for name in names])
        return _Both(parts, schema, self.asks, self.time)


@frozen
class SpineRows:
    """Rows and moments, with the columns that the query reads."""

    rows: Files | Table
    spine: Files | Table
    union: Union

    def batches(self, columns: Iterable[str], refuse: Any = None) -> Any:
        """As `Table.batches`."""
        names = list(columns)
        both = {False: self.rows, True: self.spine}
        parts = {
            is_spine: table.batches(self.union.columns(is_spine, names), refuse=refuse)
            for is_spine, table in both.items()
        }
        return self.union.batches(parts, names)


def with_two_watermarks(query: "Query") -> "Query":
    """The query of a stream with a spine: rows and moments are two sources, and the watermark is the slower one's."""
    asks: str | None = getattr(query, "asks", None)
    return query if asks is None or query.source is not None else evolve(query, source=asks, sources=(False, True))


def with_moments(opened: OpenSource, spine: OpenSource, query: "Query", stream: bool) -> OpenSource:
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
    rows: Any = SpineRows(opened.rows, spine.rows, Union.of(query, schema, stream))
    return evolve(both, rows=rows)
