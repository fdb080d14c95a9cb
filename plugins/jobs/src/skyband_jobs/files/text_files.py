"""CSV, JSON and lines of text, with Spark's types, so that a job has the same rows on every engine."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from skyband.errors import InputError, Problem

from skyband_jobs.files.csv_dialect import OPTIONS as CSV_OPTIONS
from skyband_jobs.files.csv_dialect import dialect_of, dialect_problems, text_options
from skyband_jobs.files.csv_files import CsvFile
from skyband_jobs.files.csv_reader import csv_schema_of, read_csv, read_csv_texts
from skyband_jobs.files.json_files import OPTIONS as JSON_OPTIONS
from skyband_jobs.files.json_files import form_of, form_problems, json_ends, json_schema_of, read_json, read_json_texts
from skyband_jobs.files.refused_rows import LINES, RefusedRows, readable_records
from skyband_jobs.files.text_blocks import MARK, Block, ByteRange, blocks, is_utf8
from skyband_jobs.files.text_encodings import encoding_of, encoding_problems, is_compressed
from skyband_jobs.files.utf8 import refuse_bytes
from skyband_jobs.files.value_formats import format_problems
from skyband_jobs.tables.model import Source

SCHEMA = pa.schema([("value", pa.string())])
"""The schema of the format `text`."""


def read_lines(
    path: Path, columns: pa.Schema, within: ByteRange | None = None, refused: RefusedRows | None = None
) -> Iterator[pa.RecordBatch]:
    """A file's lines, or those of a range, including empty ones, without line ends.

    Raises InputError at the first that cannot be read, unless `refused` takes it.
    """

    def parse(block: Block) -> tuple[pa.RecordBatch, list[InputError]]:
        if not is_utf8(block.data):
            refuse_bytes(path, block, refused is None)
        return pa.RecordBatch.from_arrays([lines_of(block.data)] * len(columns), schema=columns), []

    for block in blocks(path, lambda data: data.rfind(b"\n") + 1, within=within):
        yield parse(block)[0] if refused is None else readable_records(block, columns, parse, LINES, refused)


def lines_of(data: bytes) -> pa.Array:
    """Each line of a text, including a last one without a line end."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    text = data.removesuffix(b"\n")
    return pc.split_pattern(pa.array([text], pa.string()), "\n").flatten() if data else pa.array([], pa.string())


OPTIONS = {"csv": CSV_OPTIONS, "json": JSON_OPTIONS, "text": ()}
"""The options of Spark that are supported here, in any case."""


def text_option_problems(source: Source) -> list[Problem]:
    """What these readers do not support, though Spark's may."""
    if source.format not in ("csv", "json"):
        return []
    problems = [*encoding_problems(source.options), *format_problems(source.options)]
    return problems or (dialect_problems(source) if source.format == "csv" else form_problems(source))


FILE_OPTIONS = ("latestfirst", "filenameonly", "cleansource", "sourcearchivedir", "pathglobfilter",
                "recursivefilelookup", "modifiedbefore", "modifiedafter")  # fmt: skip
"""Spark's options that choose the files, in lower case; so do all that start with `max`."""


def beyond_readers(source: Source) -> str | None:
    """The option of text files that only Spark's readers know, if there is one."""
    if source.format not in OPTIONS:
        return None
    options = {name.lower() for name in OPTIONS[source.format]} | set(FILE_OPTIONS)
    problems = [problem.field.partition(".")[2] for problem in text_option_problems(source)]
    unknown = [name for name in source.options if name.lower() not in options and not name.lower().startswith("max")]
    return next(iter([*unknown, *problems]), None)


def schema_of(paths: Sequence[Path], source: Source) -> pa.Schema:
    """The schema that Spark would find. Raises InputError if there is none."""
    if source.format == "text":
        return SCHEMA
    return json_schema_of(paths, form_of(source)) if source.format == "json" else csv_schema_of(paths, source)


def read(
    path: Path,
    source: Source,
    schema: pa.Schema,
    columns: pa.Schema,
    within: ByteRange | None = None,
    refused: RefusedRows | None = None,
) -> Iterator[pa.RecordBatch]:
    """A file's rows, or those of a range, with the `columns` of its `schema`.

    Raises InputError if a value does not have its type; if `refused` takes such rows, only if the file cannot be
    read to its end.
    """
    if source.format == "text":
        if schema.types != [pa.string()]:
            message = f"text has one column, of STRING, such as value STRING (got {', '.join(map(str, schema))})"
            raise InputError("source.schema", message)
        return read_lines(path, columns, within, refused)
    if source.format == "json":
        return read_json(path, columns, form_of(source), within, refused)
    return read_csv(path, source, schema, columns, within, refused)


def read_together(paths: Sequence[Path], source: Source, schema: pa.Schema, fields: pa.Schema) -> pa.RecordBatch | None:
    """The rows of small files, parsed at once, with the columns `fields` of their `schema`.

    None if they must be read one by one: parsing a file costs as much as a few thousand rows.
    """
    if source.format == "text" or encoding_of(text_options(source)) is not None or any(map(is_compressed, paths)):
        return None
    texts = (path.read_bytes().removeprefix(MARK) for path in paths)
    if source.format == "json":
        return read_json_texts(texts, fields, form_of(source))
    return read_csv_texts(paths, texts, source, schema, fields)


def ranges(path: Path, source: Source, size: int) -> list[tuple[int, int]]:
    """Ranges of whole records, about `size` bytes each; none for a file read as a whole.

    A line of JSON, or of text, is a record. Whether a line break of CSV is within quotes depends on all before it:
    a file with quotes is read here, and split into records by the reader's own rule. O(bytes).
    """
    try:
        is_whole = source.format == "json" and form_of(source).multi_line
        if is_whole or is_compressed(path) or encoding_of(text_options(source)) is not None:
            return []
        ends = CsvFile(path, dialect_of(source)).ends(size) if source.format == "csv" else json_ends(path, size)
        return [*pairwise(dict.fromkeys([0, *ends]))]
    except (OSError, ValueError, pa.ArrowException):  # reported when its rows are read
        return []
