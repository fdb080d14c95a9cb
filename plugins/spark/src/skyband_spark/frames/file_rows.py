"""Reads rows from files with Python in the step that packs them: Spark only handles the names of the files."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol
from weakref import WeakKeyDictionary

import pyarrow as pa
from attrs import frozen
from skyband.errors import InputError
from skyband.operator.bad_rows import RefuseUnreadable, Unreadable, bad_rows_schema
from skyband.queries.query import FAIL

from skyband_spark.frames.sharded_plan import SHUFFLE_SCHEMA, ShardedPlan
from skyband_spark.frames.version_checked_pickling import pickled_with_versions
from skyband_spark.frames.worker import load_and_freeze


class PlacedRows(Protocol):
    """Batches of rows that remember where the latest one came from."""

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def placing(self) -> AbstractContextManager[None]:
        """Errors of a row in the last batch name its file and its place there."""


Reader = Callable[[Iterator[pa.RecordBatch], Sequence[str], RefuseUnreadable | None], PlacedRows]
"""Reads rows from batches that name parts of files, with some columns; it runs in a worker of Spark. It passes what
it cannot read to the function, or raises InputError if that is None."""
_Pack = Callable[[Iterator[pa.RecordBatch], Unreadable], Iterator[pa.RecordBatch]]
_Mapped = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


@frozen
class FileRows:
    """The rows of files as Spark sees them: names of files, and a reader for their contents."""

    names: Any
    """A DataFrame, streaming or not."""
    reader: Reader
    schema: pa.Schema
    """The columns, in types that Spark also has."""

    def frame(self) -> Any:
        """The rows as a DataFrame: `spark.apply` reads them where it packs them; other uses read them through Java."""
        from pyspark.sql.pandas.types import from_arrow_schema

        names = self.schema.names
        numbered = pa.schema([(f"c{place}", field.type) for place, field in enumerate(self.schema)])
        reader = self.reader

        def skyband_file_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in reader(batches, names, None):
                yield batch.rename_columns(numbered.names).cast(numbered)

        frame = self.names.mapInArrow(skyband_file_rows, from_arrow_schema(numbered)).toDF(*names)
        _FRAMES[frame] = self
        return frame


_FRAMES: WeakKeyDictionary[Any, FileRows] = WeakKeyDictionary()
"""By the DataFrames made from them. A DataFrame derived from such a one is not found here, and is read normally."""
_IN_PLAN = "MapInArrow skyband_file_rows("
"""How Spark shows the step of `FileRows.frame` in the plan of a DataFrame derived from it."""


def shuffle_rows(df: Any, plan: ShardedPlan) -> Any:
    """The packed rows of a DataFrame."""
    return _mapped(df, plan, plan.to_shuffle_rows, SHUFFLE_SCHEMA)


def bad_rows(df: Any, plan: ShardedPlan) -> Any:
    """The rows of a DataFrame that the query counts as bad, each with the reason."""
    schema = bad_rows_schema(plan.query, plan.schema)
    plain = pa.schema([field.with_name(f"c{place}").with_nullable(True) for place, field in enumerate(schema)])

    def sift(batches: Iterator[pa.RecordBatch], unreadable: Unreadable = ()) -> Iterator[pa.RecordBatch]:
        return (
            pa.RecordBatch.from_arrays(rows.columns, schema=plain) for rows in plan.to_bad_rows(batches, unreadable)
        )

    return _mapped(df, plan, sift, plain).toDF(*schema.names)


def _mapped(df: Any, plan: ShardedPlan, pack: _Pack, schema: pa.Schema) -> Any:
    """Apply `pack` to a DataFrame's rows, where they are or, for files, where they are read."""
    from pyspark.sql.pandas.types import from_arrow_schema

    files = _FRAMES.get(df)
    if files is None:
        rows, mapper = numbered(df, plan.query.columns), _packing(plan, pack)
    else:
        rows, mapper = files.names, _reading(plan, files.reader, pack)
    return rows.mapInArrow(mapper, from_arrow_schema(schema))


def warn_if_derived(df: Any) -> None:
    """Warn of rows that Python reads, Java takes and Python packs: a program put a step after `spark.files`."""
    java = getattr(df, "_jdf", None) if _FRAMES and df not in _FRAMES else None  # Spark Connect has none
    if java is not None and _IN_PLAN in java.queryExecution().logical().toString():
        message = "this DataFrame is derived from one of spark.files, so its rows pass through Java"
        remedy = (
            "give apply the original, so that it reads only the columns of the query, or use select and where of a job"
        )
        warnings.warn(f"{message}: {remedy}", stacklevel=3)


def _packing(plan: ShardedPlan, pack: _Pack) -> _Mapped:
    """Packs rows where they are."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        load_and_freeze(plan)
        return pack(batches, ())

    return pickled_with_versions(run, plan)


def _reading(plan: ShardedPlan, reader: Reader, pack: _Pack) -> _Mapped:
    """Reads only the columns of the query; errors of a row name its file."""

    def read_and_pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        load_and_freeze(plan)
        unreadable: list[tuple[InputError, str | None]] = []
        rows = reader(batches, plan.query.columns, None if plan.query.bad_rows == FAIL else unreadable.extend)
        with rows.placing():
            yield from pack(iter(rows), unreadable)

    return pickled_with_versions(read_and_pack, plan)


def numbered(df: Any, names: Sequence[str]) -> Any:
    """These columns, called c0, c1, …: mapInArrow does not accept dots in names of columns."""
    from pyspark.sql import functions as sql

    return df.select(*(sql.col(f"`{name.replace('`', '``')}`").alias(f"c{i}") for i, name in enumerate(names)))
