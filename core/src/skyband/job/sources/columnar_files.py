"""Parquet and Arrow files, which may differ in the width of their types: all of a source are read as one schema."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
from attrs import frozen

from skyband.columns.arrow_normalization import check_whole
from skyband.columns.keyed_frames import plain_type
from skyband.errors import InputError

_BATCH = 100_000


@frozen
class Layout:
    """How the files of a source are read: their format, and the folders `key=value` that are columns."""

    format: str
    folder: str
    partitions: Any = "hive"

    def dataset(self, paths: Sequence[Path]) -> Any:
        """Arrow's view of these files; compression and the like are read from the files themselves."""
        files = [str(path) for path in paths]
        return ds.dataset(files, format=self.format, partitioning=self.partitions, partition_base_dir=self.folder)


def schema_of(paths: Sequence[Path], layout: Layout) -> tuple[pa.Schema, Layout]:
    """The schema of files, each column as wide as its widest file's, and the layout by which to read them one by one.

    The columns are those of the first file, as in Spark, and those of the folders. Raises InputError naming the file
    whose column is of another kind, ArrowInvalid or OSError where one cannot be read.
    """
    whole = _bare(layout.dataset(paths).schema)
    widened = None
    for path in paths:
        schema = _schema_of_one(path, layout)
        widened = schema if widened is None else _widened(widened, schema, path)
    assert widened is not None
    known = set(widened.names)
    keys = [field for field in whole if field.name not in known]
    by_folder = ds.partitioning(pa.schema(keys), flavor="hive") if keys else None
    return pa.schema([*widened, *keys]), Layout(layout.format, layout.folder, by_folder)


def read(path: Path, layout: Layout, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A file's rows with the columns `schema`, null where it has none of that name."""
    dataset = layout.dataset([path])
    known = set(dataset.schema.names)  # made anew each time it is asked for
    there = [name for name in schema.names if name in known]
    for batch in dataset.to_batches(columns=there, batch_size=_BATCH):
        if layout.format == "arrow":  # the other formats are decoded, and so checked
            check_whole(batch, there)
        given = dict(zip(batch.schema.names, batch.columns, strict=True))
        columns = [_column(given.get(field.name), field, len(batch)) for field in schema]
        yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _column(column: Any, field: Any, rows: int) -> Any:
    if column is None:
        return pa.nulls(rows, field.type)
    if column.type == field.type:
        return column
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise InputError(field.name, f"cannot be read as {field.type}: {error}") from error


def _schema_of_one(path: Path, layout: Layout) -> pa.Schema:
    try:
        return _bare(Layout(layout.format, layout.folder, None).dataset([path]).schema)
    except (OSError, ValueError, pa.ArrowException) as error:
        if str(path) in str(error):
            raise
        raise InputError(str(path), " ".join(str(error).split())) from error


def _widened(widened: pa.Schema, schema: pa.Schema, path: Path) -> pa.Schema:
    """The columns so far, wide enough for those of the same name in another file too."""
    if widened == schema:
        return widened
    fields, types = [], dict(zip(schema.names, schema.types, strict=True))
    for field in widened:
        other = types.get(field.name, field.type)
        if other != field.type:
            try:
                pair = [pa.schema([(field.name, plain_type(kind))]) for kind in (field.type, other)]
                field = pa.unify_schemas(pair, promote_options="permissive").field(0)
            except pa.ArrowTypeError as error:
                message = f"is {other}, and {field.type} in the files before it: write them as one type"
                raise InputError(f"{path}: {field.name}", message) from error
        fields.append(field)
    return pa.schema(fields)


def _bare(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, field.type) for field in schema])
