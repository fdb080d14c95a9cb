"""Reads tables in Spark's workers by parts, for tables that are more than their files."""

import pickle
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

import pyarrow as pa
from attrs import evolve, frozen
from skyband.operator.bad_rows import RefuseUnreadable
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.refused_rows import RefusedRows
from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.files.where_and_select import Shape
from skyband_jobs.formats import TablePart

from skyband_spark.frames.file_rows import FileRows

_TASKS_A_CORE = 2
_LEAST = 1 << 22
"""Bytes of a task below which it costs more than its rows."""


@frozen
class TableParts:
    """The rows of a table in parts, with the columns of `where` and `select`."""

    parts: tuple[TablePart, ...]
    raw: pa.Schema
    shape: Shape
    schema: pa.Schema

    def batches(
        self, columns: Sequence[str], parts: Sequence[TablePart], refuse: RefuseUnreadable | None
    ) -> PlacedBatches:
        """Rows of some parts, with only these columns; iterating raises InputError where they cannot be read.

        refuse: takes a file that cannot be read, instead of an error.
        """
        names = self.shape.reads(columns)
        schema = pa.schema([self.schema.field(name) for name in columns])
        by_place: dict[FilePart, list[TablePart]] = {}
        for part in parts:  # a format may have several for one file
            by_place.setdefault(FilePart(Path(part.place)), []).append(part)
        refused = None if refuse is None else RefusedRows(refuse)
        return PlacedBatches(
            tuple(by_place),
            lambda file: chain.from_iterable(part.batches(names) for part in by_place[file]),
            lambda batch: self.shape.apply(batch, schema, refused),
            refuse=refuse,
            refused=refused,
        )

    def file_rows(self, session: object, schema: pa.Schema) -> FileRows:
        """The parts for Spark: numbers of tasks, each with parts to read. schema: the columns, in Spark's types."""
        tasks = tasks_of(self.parts, session.sparkContext.defaultParallelism)  # type: ignore[attr-defined]
        numbers = session.range(0, len(tasks), 1, max(len(tasks), 1))  # type: ignore[attr-defined]
        return FileRows(numbers, PartsReader(evolve(self, parts=()), tuple(map(pickle.dumps, tasks))), schema)


def tasks_of(parts: Sequence[TablePart], cores: int) -> list[tuple[TablePart, ...]]:
    """Parts in order, grouped by task."""
    most = max(sum(part.size for part in parts) // (cores * _TASKS_A_CORE), _LEAST)
    tasks: list[list[TablePart]] = []
    filled = 0
    for part in parts:
        if not tasks or filled + part.size > most:
            tasks.append([])
            filled = 0
        tasks[-1].append(part)
        filled += part.size
    return [tuple(task) for task in tasks]


@frozen
class PartsReader:
    """Reads the parts of given task numbers in a worker of Spark."""

    table: TableParts
    tasks: tuple[bytes, ...]
    """The parts of each task, pickled: all are sent to each task, which unpickles its own."""

    def __call__(
        self, batches: Iterator[pa.RecordBatch], columns: Sequence[str], refuse: RefuseUnreadable | None = None
    ) -> PlacedBatches:
        numbers = [number for batch in batches for number in batch.column(0).to_pylist()]
        parts = [part for number in numbers for part in pickle.loads(self.tasks[number])]
        return self.table.batches(columns, parts, refuse)
