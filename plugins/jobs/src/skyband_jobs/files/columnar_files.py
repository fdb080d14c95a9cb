"""Parquet and Arrow files, which may differ in the width of their types: all of a source are read as one schema."""

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from attrs import frozen
from skyband.columns.arrow_normalization import check_whole
from skyband.columns.keyed_frames import decoded, plain_type
from skyband.errors import InputError
from skyband_expressions.failing_rows import failing_values

from skyband_jobs.files.refused_rows import RefusedRows, without_rows
from skyband_jobs.files.store_paths import StorePath

_BATCH = 100_000
_SMALL = 1 << 16
"""Bytes of a file that is read at once."""
INT96_UNIT: Final = "us"
"""What the old times of Parquet are read in: the nanoseconds that Arrow takes by itself end in 1677 and 2262."""
_LARGE = 1 << 18
"""Bytes of a file from which on it is worth a look whether text is there as a dictionary."""


@frozen
class Layout:
    """How Parquet and Arrow files are read."""

    format: str

    def dataset(self, path: Path, dictionaries: Sequence[str] = ()) -> Any:
        """Arrow's view of a file, whose columns `dictionaries` come as such; what compresses it, it says itself."""
        reader: Any = self.format
        if reader == "parquet":
            options = ds.ParquetReadOptions(
                dictionary_columns=set(dictionaries), coerce_int96_timestamp_unit=INT96_UNIT
            )
            reader = ds.ParquetFileFormat(read_options=options)
        filesystem = path.filesystem if isinstance(path, StorePath) else None
        place = path.key if isinstance(path, StorePath) else str(path)
        return ds.dataset(
            [place], filesystem=filesystem, format=reader, partitioning=None
        )  # a path alone may be a folder, of no rows

    def read_schema(self, path: Path) -> pa.Schema:
        """The schema of one file. Raises InputError naming it where it cannot be read."""
        try:
            schema = _bare(self.dataset(path).schema)
            return _with_instants(path, schema) if self.format == "parquet" else schema
        except (OSError, ValueError, pa.ArrowException) as error:
            if self.format == "arrow" and _is_stream(path):
                message = "is a stream of Arrow, and no file of it: write it with pyarrow.ipc.new_file"
                raise InputError(str(path), message) from error
            if str(path) in str(error):
                raise
            raise InputError(str(path), " ".join(str(error).split())) from error


def _is_stream(path: Path) -> bool:
    """Whether a file begins with a message of Arrow, as a stream does, and not with a file's own mark."""
    with path.open("rb") as file:
        return file.read(4) == b"\xff\xff\xff\xff"


def schema_of(paths: Sequence[Path], layout: Layout) -> pa.Schema:
    """The schema of files, each column as wide as its widest file's.

    The columns are those of the first file, as in Spark. Raises InputError naming the file whose column is of another
    kind, ArrowInvalid or OSError where one cannot be read.
    """
    widened = None
    for path in paths:
        schema = layout.read_schema(path)
        widened = schema if widened is None else _widened(widened, schema, path)
    assert widened is not None
    return widened


def read(
    path: Path,
    layout: Layout,
    schema: pa.Schema,
    row_groups: Sequence[int] | None = None,
    dictionaries: bool = False,
    refused: RefusedRows | None = None,
) -> Iterator[pa.RecordBatch]:
    """A file's rows, or those of some row groups, with the columns `schema`, null where it has none of that name.

    dictionaries: whether text may come as one, as the file has it. refused: what takes rows with a value that is not of
    its column's type, in the place of the error.

    A name in other letters' case is that of the column, as in Spark, unless there are several.
    """
    is_small = layout.format == "parquet" and row_groups is None and path.stat().st_size < _SMALL
    small = _read_small(path, schema) if is_small else None
    batches, there = small or _scan(path, layout, schema, row_groups, dictionaries)
    for batch in batches:
        if layout.format == "arrow":  # the other formats are decoded, and so checked
            check_whole(batch, list(there))
        try:
            yield _as_schema(batch, schema, dictionaries)
        except InputError:
            if refused is None:
                raise
            readable = without_rows(batch, _failing(batch, schema), refused.unread)
            yield _as_schema(readable, schema, dictionaries)


def _failing(batch: pa.RecordBatch, schema: pa.Schema) -> dict[int, InputError]:
    """What is wrong with each row that has a value of another type."""
    errors: dict[int, InputError] = {}
    for name, column in zip(batch.schema.names, map(decoded, batch.columns), strict=True):
        convert = partial(_converted, field=schema.field(name))
        for row, error in failing_values(column, convert):
            assert isinstance(error, InputError)
            errors.setdefault(row, error)
    return errors


def _as_schema(batch: pa.RecordBatch, schema: pa.Schema, dictionaries: bool) -> pa.RecordBatch:
    by_name = dict(zip(batch.schema.names, batch.columns, strict=True))
    columns = [_column(by_name.get(field.name), field, len(batch), dictionaries) for field in schema]
    return pa.RecordBatch.from_arrays(columns, names=schema.names)


def _scan(
    path: Path, layout: Layout, schema: pa.Schema, row_groups: Sequence[int] | None, dictionaries: bool
) -> tuple[Iterator[pa.RecordBatch], dict[str, str]]:
    """Of a file, or some of its row groups, the columns of these names, and what they are called there."""
    texts = [field.name for field in schema if pa.types.is_string(field.type)] if dictionaries else []
    dataset = layout.dataset(path, _by_dictionary(path, texts) if texts and layout.format == "parquet" else ())
    if row_groups is not None:
        fragments = [fragment.subset(row_group_ids=row_groups) for fragment in dataset.get_fragments()]
        dataset = ds.FileSystemDataset(fragments, dataset.schema, dataset.format, dataset.filesystem)
    there = _places(schema.names, dataset.schema.names)
    columns = {name: ds.field(other) for name, other in there.items()}
    return dataset.to_batches(columns=columns, batch_size=_BATCH), there


def _read_small(path: Path, schema: pa.Schema) -> tuple[Iterator[pa.RecordBatch], dict[str, str]] | None:
    """The same of a small Parquet file, of which a scan would cost more than twice as much; None where it must be."""
    with path.open("rb") as stream:
        file = pq.ParquetFile(pa.BufferReader(stream.read()), coerce_int96_timestamp_unit=INT96_UNIT)
    in_file = file.schema_arrow.names
    there = _places(schema.names, in_file)
    if not there or len(set(in_file)) < len(in_file):
        return None
    batches = file.iter_batches(_BATCH, columns=list(there.values()), use_threads=False)
    # A column that is called like a part of another comes with that.
    in_order = (batch.select(list(there.values())).rename_columns(list(there)) for batch in batches)
    return in_order, there


def footer_of(path: Path) -> Any:
    """What the end of a Parquet file says of it."""
    if isinstance(path, StorePath):
        return pq.read_metadata(path.key, filesystem=path.filesystem)
    return pq.read_metadata(path)


def _by_dictionary(path: Path, names: Sequence[str]) -> list[str]:
    """Those of the columns that a large file of Parquet holds as codes of a dictionary all through.

    As plain text a value has four bytes for its length alone; a dictionary that its writer gave up halfway would have
    to be made anew here.
    """
    if path.stat().st_size < _LARGE:
        return []
    footer, columns = footer_of(path), set(names)
    sizes = dict.fromkeys(names, (0, 0))
    for group in map(footer.row_group, range(footer.num_row_groups)):
        for column in map(group.column, range(footer.num_columns)):
            if column.path_in_schema in columns:
                size, rows = sizes[column.path_in_schema]
                sizes[column.path_in_schema] = size + column.total_uncompressed_size, rows + column.num_values
    return [name for name, (size, rows) in sizes.items() if size < 4 * rows]


def _places(names: Sequence[str], file: Sequence[str]) -> dict[str, str]:
    """The columns of a file by the names asked for."""
    in_file = set(file)
    there = {name: name for name in names if name in in_file}
    missing = {name.casefold(): name for name in names if name not in in_file}
    if missing:
        alike = Counter(name.casefold() for name in file)
        there |= {
            missing[name.casefold()]: name
            for name in file
            if alike[name.casefold()] == 1 and name.casefold() in missing
        }
    return {name: there[name] for name in names if name in there}


def _column(column: Any, field: Any, rows: int, dictionaries: bool) -> Any:
    if column is None:
        return pa.nulls(rows, field.type)
    if column.type == field.type or (dictionaries and plain_type(column.type) == field.type):
        return column
    return _converted(column.dictionary_decode() if pa.types.is_dictionary(column.type) else column, field)


def _converted(column: Any, field: Any) -> Any:
    try:
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        raise InputError(field.name, f"cannot be read as {field.type}: {error}") from error


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


def _with_instants(path: Path, schema: pa.Schema) -> pa.Schema:
    """A file's schema whose INT96 are instants, as on Spark; Arrow takes them for times without a zone."""
    if "timestamp[us]" not in " ".join(map(str, schema.types)):
        return schema
    columns: Any = footer_of(path).schema
    are_old = [columns.column(place).physical_type == "INT96" for place in range(len(columns.names))]
    leaves = iter(are_old)
    return pa.schema([(field.name, _instant_where(field.type, leaves)) for field in schema]) if any(are_old) else schema


def _instant_where(kind: pa.DataType, are_old: Iterator[bool]) -> pa.DataType:
    """A type whose innermost parts are instants where so said, one after the other."""
    if pa.types.is_dictionary(kind) or not pa.types.is_nested(kind):
        return pa.timestamp("us", "UTC") if next(are_old) else kind
    parts = [kind.field(place) for place in range(kind.num_fields)]
    parts = [part.with_type(_instant_where(part.type, are_old)) for part in parts]
    if pa.types.is_map(kind):
        return pa.map_(*(part.type for part in parts[0].type))
    return pa.struct(parts) if pa.types.is_struct(kind) else pa.list_(parts[0])


def _bare(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, field.type) for field in schema])
