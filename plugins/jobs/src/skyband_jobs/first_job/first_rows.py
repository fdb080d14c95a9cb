"""The first rows of files, with text that holds times as times, and the columns encoded in folder names."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from skyband_jobs.tables.model import Source

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 100_000


def with_times(rows: "pa.Table", fields: "Mapping[str, pa.DataType]") -> "pa.Schema":
    """The schema, with ISO 8601 text as times, and the types in `fields`."""
    import pyarrow as pa

    schema = rows.schema
    for place, field in enumerate(schema):
        if field.name in fields:
            schema = schema.set(place, pa.field(field.name, fields[field.name]))
        elif pa.types.is_string(field.type) and _is_times(rows.column(place)):
            schema = schema.set(place, pa.field(field.name, pa.timestamp("us", "UTC")))
    return schema


def _is_times(texts: "pa.ChunkedArray") -> bool:
    import pyarrow as pa

    from skyband_jobs.files.text_values import instants

    try:
        return any(instants(chunk).null_count < len(chunk) for chunk in texts.chunks if len(chunk))
    except pa.ArrowInvalid:
        return False


def first_rows(source: Source) -> "pa.Table":
    """The first rows of a source, with dictionaries decoded."""
    import pyarrow as pa
    from skyband.columns.keyed_frames import plain_type

    from skyband_jobs.files.source_files import Files, open_all_columns

    opened = open_all_columns(source)
    assert isinstance(opened, Files)  # a local file of a format that is read here
    batches, rows = [], 0
    for batch in opened.batches(opened.schema.names):
        batches.append(batch.slice(0, ROWS - rows))
        rows += len(batches[-1])
        if rows == ROWS:
            break
    table = pa.Table.from_batches(batches, opened.schema)
    plain = pa.schema([field.with_type(plain_type(field.type)) for field in table.schema])
    return table if plain == table.schema else table.cast(plain)


def with_folders(source: Source, rows: "pa.Table", files: list[Path]) -> "tuple[Source, pa.Table, tuple[str, ...]]":
    """A source and its rows with the columns from folders called `key=value`, and the names of these columns."""
    import pyarrow as pa
    from attrs import evolve

    from skyband_jobs.files.file_listing import keys_of
    from skyband_jobs.files.key_folders import key_fields, with_keys
    from skyband_jobs.files.source_files import base_of
    from skyband_jobs.tables.spark_ddl import ddl_of

    fields = key_fields(files, base_of(source))
    if not fields:
        return source, rows, ()
    names = {field.name for field in fields}
    own = rows.select([name for name in rows.column_names if name not in names])
    schema = pa.schema([*own.schema, *fields])
    batches = own.combine_chunks().to_batches()
    keys = keys_of(files[0], base_of(source))
    rows = pa.Table.from_batches(with_keys(batches, keys, schema, files[0]), schema)
    source = source if source.schema is None else evolve(source, schema=ddl_of(schema))
    return source, rows, tuple(sorted(names))
