"""Reads the rows of CSV files, and infers their columns."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
from skyband.columns.arrow_normalization import no_rows
from skyband.errors import InputError

from skyband_jobs.files.csv_dialect import dialect_of
from skyband_jobs.files.csv_files import CsvFile
from skyband_jobs.files.refused_rows import Records, RefusedRows, readable_records
from skyband_jobs.files.text_blocks import ByteRange
from skyband_jobs.tables.model import Source


def csv_schema_of(paths: Sequence[Path], source: Source) -> pa.Schema:
    """The columns of the first file that has any, as text unless `inferSchema` is set. Raises InputError."""
    for path in paths:
        file = CsvFile(path, dialect_of(source))
        names = file.names
        if names:
            return file.inferred() if file.dialect.infers else pa.schema([(name, pa.string()) for name in names])
    raise InputError("path", f"{paths[0]} is empty{', and so are the others' if len(paths) > 1 else ''}")


def read_csv(
    path: Path,
    source: Source,
    schema: pa.Schema,
    columns: pa.Schema,
    within: ByteRange | None = None,
    refused: RefusedRows | None = None,
) -> Iterator[pa.RecordBatch]:
    """A file's rows, or those of a range, with the `columns` of a schema.

    Raises InputError if it does not fit that schema; `refused` takes single rows that do not.
    """
    dialect = dialect_of(source)
    # Without a header, the first record may be a bad one, and says nothing about the others.
    names = schema.names if refused is not None and not dialect.header else None
    file = CsvFile(path, dialect, within, refused, names)
    if not file.names:
        return
    places = file.places(columns.names, schema)
    for block in file.records():
        if refused is None:
            yield file.parsed(block, columns, places)
        else:
            records = Records(file.middle, file.bounds)
            yield readable_records(
                block, columns, lambda part: file.parsed_where_right(part, columns, places), records, refused
            )


def read_csv_texts(
    paths: Sequence[Path], texts: Iterable[bytes], source: Source, schema: pa.Schema, fields: pa.Schema
) -> pa.RecordBatch | None:
    """The rows of files with these texts, with the columns `fields` of a schema; None if they must be read
    one by one.

    Raises InputError, ValueError or ArrowInvalid if one of them is wrong.
    """
    dialect = dialect_of(source)
    alike, whole = None, []
    for path, text in zip(paths, texts, strict=True):
        file = CsvFile(path, dialect)
        rows = file.rows_of(text)
        if not file.names:
            continue
        if rows is None:
            return None
        if alike is None:
            alike, places = file, file.places(fields.names, schema)
        elif len(file.names) != len(alike.names) or file.places(fields.names, schema) != places:
            return None
        whole.append(rows)
    data = b"".join(whole)
    if alike is None or not data.strip(b"\r\n"):
        return no_rows(fields)
    return alike.parsed_as_read(data, fields, places)
