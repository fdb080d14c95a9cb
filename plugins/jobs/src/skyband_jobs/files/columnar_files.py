"""Reads Parquet and Arrow files; where they differ in the width of types, as one wider schema."""

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
from skyband_jobs.tables.store_paths import StorePath

_BATCH = 100_000
_SMALL = 1 << 16
"""Bytes of a file below which it is read at once."""
INT96_UNIT: Final = "us"
"""The unit for Parquet's INT96 times: nanoseconds, Arrow's default, only reach from 1677 to 2262."""
_LARGE = 1 << 18
"""Bytes of a file from which checking for dictionary-encoded text is worthwhile."""


@frozen
class Layout:
    """How to read Parquet and Arrow files."""

    format: str

    def dataset(self, path: Path, dictionaries: Sequence[str] = ()) -> Any:
        """Arrow's dataset of a file, with the columns `dictionaries` dictionary-encoded."""
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
        )  # a single path could be an empty folder

    def read_schema(self, path: Path) -> pa.Schema:
        """The schema of one file. Raises InputError with the file where it cannot be read."""
        try:
            schema = _bare(self.dataset(path).schema)
            return _with_instants(path, schema) if self.format == "parquet" else schema
        except (OSError, ValueError, pa.ArrowException) as error:
            if self.format == "arrow" and _is_stream(path):
                message = "is an Arrow stream, not an Arrow file: write it with pyarrow.ipc.new_file"
                raise InputError(str(path), message) from error
            if str(path) in str(error):
                raise
            raise InputError(str(path), " ".join(str(error).split())) from error


def _is_stream(path: Path) -> bool:
    """Whether a file starts with an Arrow message, as a stream does, rather than a file's own mark."""
    with path.open("rb") as file:
        return file.read(4) == b"\xff\xff\xff\xff"


def schema_of(paths: Sequence[Path], layout: Layout) -> pa.Schema:
    """The schema of files, each column as wide as in its widest file.

    The columns are those of the first file, as in Spark. Raises InputError with the file whose column has an
    incompatible type, ArrowInvalid or OSError where a file cannot be read.
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
    """A file's rows, or those of some row groups, with the columns `schema`, null where the file lacks one.

    dictionaries: whether text may be dictionary-encoded, as in the file. refused: takes rows with a value that is
    not of its column's type, instead of an error.
    As in Spark, a name matches a column in another case, unless there are several.
    """
    is_small = layout.format == "parquet" and row_groups is None and path.stat().st_size < _SMALL
    small = _read_small(path, schema) if is_small else None
    batches, there = small or _scan(path, layout, schema, row_groups, dictionaries)
    for batch in batches:
        if layout.format == "arrow":  # decoding checks the other formats
            check_whole(batch, list(there))
        try:
            yield _as_schema(batch, schema, dictionaries)
        except InputError:
            if refused is None:
                raise
            readable = without_rows(batch, _failing(batch, schema), refused.unread)
            yield _as_schema(readable, schema, dictionaries)


def _failing(batch: pa.RecordBatch, schema: pa.Schema) -> dict[int, InputError]:
    """The error of each row that has a value of another type."""
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
    """The columns with these names in a file, or in some row groups, and their names in the file."""
    texts = [field.name for field in schema if pa.types.is_string(field.type)] if dictionaries else []
    dataset = layout.dataset(path, _by_dictionary(path, texts) if texts and layout.format == "parquet" else ())
    if row_groups is not None:
        fragments = [fragment.subset(row_group_ids=row_groups) for fragment in dataset.get_fragments()]
        dataset = ds.FileSystemDataset(fragments, dataset.schema, dataset.format, dataset.filesystem)
    in_file = _places(schema.names, dataset.schema.names)
    columns = {name: ds.field(other) for name, other in in_file.items()}
    return dataset.to_batches(columns=columns, batch_size=_BATCH), in_file


def _read_small(path: Path, schema: pa.Schema) -> tuple[Iterator[pa.RecordBatch], dict[str, str]] | None:
    """The same for a small Parquet file, for which a scan costs twice as much; None where a scan is needed."""
    with path.open("rb") as stream:
        file = pq.ParquetFile(pa.BufferReader(stream.read()), coerce_int96_timestamp_unit=INT96_UNIT)
    in_file = file.schema_arrow.names
    names = _places(schema.names, in_file)
    if not names or len(set(in_file)) < len(in_file):
        return None
    batches = file.iter_batches(_BATCH, columns=list(names.values()), use_threads=False)
    # Arrow also returns columns whose name is part of another's.
    in_order = (batch.select(list(names.values())).rename_columns(list(names)) for batch in batches)
    return in_order, names


def footer_of(path: Path) -> Any:
    """The metadata at the end of a Parquet file."""
    if isinstance(path, StorePath):
        return pq.read_metadata(path.key, filesystem=path.filesystem)
    return pq.read_metadata(path)


def _by_dictionary(path: Path, names: Sequence[str]) -> list[str]:
    """The columns that a large Parquet file stores as dictionary codes throughout.

    A plain text value needs four bytes for its length alone. A dictionary that the writer abandoned halfway would have
    to be rebuilt here.
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
    """The columns of a file by the requested names."""
    in_file = set(file)
    by_name = {name: name for name in names if name in in_file}
    missing = {name.casefold(): name for name in names if name not in in_file}
    if missing:
        alike = Counter(name.casefold() for name in file)
        by_name |= {
            missing[name.casefold()]: name
            for name in file
            if alike[name.casefold()] == 1 and name.casefold() in missing
        }
    return {name: by_name[name] for name in names if name in by_name}


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
    """The columns so far, widened for those with the same name in another file."""
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
                message = f"is {other}, but {field.type} in earlier files: write all files with one type"
                raise InputError(f"{path}: {field.name}", message) from error
        fields.append(field)
    return pa.schema(fields)


def _with_instants(path: Path, schema: pa.Schema) -> pa.Schema:
    """A file's schema with INT96 as instants, as on Spark; Arrow reads them as times without a zone."""
    if "timestamp[us]" not in " ".join(map(str, schema.types)):
        return schema
    columns: Any = footer_of(path).schema
    are_old = [columns.column(place).physical_type == "INT96" for place in range(len(columns.names))]
    leaves = iter(are_old)
    return pa.schema([(field.name, _instant_where(field.type, leaves)) for field in schema]) if any(are_old) else schema


def _instant_where(kind: pa.DataType, are_old: Iterator[bool]) -> pa.DataType:
    """A type whose leaves are instants where `are_old` says so, one after the other."""
    if pa.types.is_dictionary(kind) or not pa.types.is_nested(kind):
        return pa.timestamp("us", "UTC") if next(are_old) else kind
    parts = [kind.field(place) for place in range(kind.num_fields)]
    parts = [part.with_type(_instant_where(part.type, are_old)) for part in parts]
    if pa.types.is_map(kind):
        return pa.map_(*(part.type for part in parts[0].type))
    return pa.struct(parts) if pa.types.is_struct(kind) else pa.list_(parts[0])


def _bare(schema: pa.Schema) -> pa.Schema:
    return pa.schema([pa.field(field.name, field.type) for field in schema])
