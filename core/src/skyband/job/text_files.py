"""CSV and JSON files read with Arrow, typed as Spark types them, so that a job gives the same rows on every engine."""

import csv
import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.json

from skyband.columns.keyed_frames import plain_type
from skyband.errors import InputError, Problem
from skyband.job.model import Source
from skyband.job.spark_ddl import ZONE
from skyband.job.utf8 import check_utf8

OPTIONS = {"csv": ("header", "sep", "delimiter", "inferschema", "nullvalue"), "json": ()}
"""The options of Spark that are honoured here, in lower case."""

_ZONED = r"(?i)(z|utc|[+-]\d\d:?\d\d)$"
_DAY_ONLY = r"^\d{4}-\d\d-\d\d$"


def text_option_problems(source: Source) -> list[Problem]:
    """What Arrow's reader of CSV cannot do though Spark's can."""
    sep = _delimiter(source)
    if source.format != "csv" or (len(sep) == 1 and sep.isascii() and sep not in '"\r\n'):
        return []
    named = next((name for name in source.options if name.lower() in ("sep", "delimiter")), "sep")
    message = f"the local engine takes one ASCII character between values (got {sep!r}); use it, or --engine spark"
    return [Problem(f"source.options.{named}", message)]


def schema_of(path: Path, source: Source) -> pa.Schema:
    """The schema Spark would find: CSV is text unless `inferSchema` is set; times in JSON are text."""
    if source.format == "json":
        check_utf8(path)
        found = pyarrow.json.read_json(str(path)).schema
        return pa.schema([_with_type(field, pa.string()) if _is_time(field) else field for field in found])
    if not _is_on(source, "inferschema"):
        return pa.schema([(name, pa.string()) for name in _csv_names(path, source)])
    with _csv_reader(path, source, _csv_names(path, source), None) as reader:
        return pa.schema(
            [_with_type(field, pa.timestamp("us", ZONE)) if _is_time(field) else field for field in reader.schema]
        )


def unwritable_in_csv(answers: pa.Schema) -> list[Problem]:
    """The first column of answers that has no text which CSV could hold: bytes, lists, structs."""
    for field in answers:
        kind = plain_type(field.type)
        binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind)
        if binary or pa.types.is_nested(kind):
            said = f"CSV cannot hold the answers' column {field.name!r}, which is {kind}: use parquet or json"
            return [Problem("sink.format", said)]
    return []


def read(path: Path, source: Source, schema: pa.Schema, wanted: pa.Schema) -> Iterator[pa.RecordBatch]:
    """A file's rows with the columns `wanted` of its `schema`. Raises InputError where a value is not of its type."""
    if source.format == "json":
        check_utf8(path)
        yield from (_typed(batch, wanted) for batch in _json(str(path), wanted).to_batches())
    else:
        texts = pa.schema([_with_type(field, _as_read(field.type)) for field in wanted])
        yield from (_typed(batch, wanted) for batch in _csv_batches(path, source, schema.names, texts))


def json_rows_of(lines: Any, wanted: pa.Schema) -> pa.Table:
    """The columns `wanted` of JSON in a file object, an object a line. Raises InputError or ArrowInvalid, as `read`."""
    return pa.Table.from_batches([_typed(batch, wanted) for batch in _json(lines, wanted).to_batches()], wanted)


def _json(source: Any, wanted: pa.Schema) -> pa.Table:
    texts = pa.schema([_with_type(field, _as_read(field.type)) for field in wanted])
    options = pyarrow.json.ParseOptions(explicit_schema=texts, unexpected_field_behavior="ignore")
    return pyarrow.json.read_json(source, parse_options=options)


def _csv_batches(path: Path, source: Source, names: list[str], texts: pa.Schema) -> Iterator[pa.RecordBatch]:
    try:
        with _csv_reader(path, source, names, texts) as reader:
            yield from reader
    except pa.ArrowInvalid:
        check_utf8(path)  # Arrow tells a column of a block that it cannot read, not where in the file
        raise


def _as_read(kind: Any) -> Any:
    """Times and dates are read as text and cast here: Arrow's readers know too few ways to write them."""
    return pa.string() if pa.types.is_temporal(kind) else kind


def _typed(batch: pa.RecordBatch, wanted: pa.Schema) -> pa.RecordBatch:
    columns = [_cast(batch.column(field.name), field) for field in wanted]
    return pa.RecordBatch.from_arrays(columns, schema=wanted)


def _cast(column: Any, field: Any) -> Any:
    if column.type == field.type:
        return column
    try:
        if pa.types.is_timestamp(field.type) and pa.types.is_string(column.type):
            return instants(column).cast(field.type)
        return column.cast(field.type)
    except pa.ArrowInvalid as error:
        said = str(error).partition(" as a scalar of")[0].replace("Z'", "'")  # the zone that was added above
        raise InputError(field.name, f"cannot be read as {field.type}: {said}") from error


def instants(texts: Any) -> Any:
    """Times and days as text, as timestamps: in UTC where they name no zone. Raises ArrowInvalid where one is none."""
    texts = pc.utf8_trim_whitespace(texts)
    texts = pc.if_else(
        pc.match_substring_regex(texts, _DAY_ONLY), pc.binary_join_element_wise(texts, "00:00", " "), texts
    )
    zoned = pc.match_substring_regex(texts, _ZONED)
    return pc.if_else(zoned, texts, pc.binary_join_element_wise(texts, "Z", "")).cast(pa.timestamp("us", ZONE))


def _csv_reader(path: Path, source: Source, names: list[str], types: pa.Schema | None) -> Any:
    convert = pyarrow.csv.ConvertOptions(
        column_types=types,
        include_columns=None if types is None else types.names,
        null_values=[str(_option(source, "nullvalue", ""))],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    return pyarrow.csv.open_csv(
        str(path),
        pyarrow.csv.ReadOptions(column_names=names, skip_rows=int(_is_on(source, "header"))),
        pyarrow.csv.ParseOptions(delimiter=_delimiter(source), newlines_in_values=False),
        convert,
    )


def _csv_names(path: Path, source: Source) -> list[str]:
    opened: Any = gzip.open if path.suffix == ".gz" else open
    try:
        with opened(path, "rt", encoding="utf-8-sig", newline="") as lines:
            first = next(csv.reader(lines, delimiter=_delimiter(source)), None)
    except UnicodeDecodeError:
        check_utf8(path)
        raise
    if not first:
        raise InputError("path", f"{path} is empty")
    return first if _is_on(source, "header") else [f"_c{number}" for number in range(len(first))]


def _delimiter(source: Source) -> str:
    written = str(_option(source, "sep", _option(source, "delimiter", ",")))
    return "\t" if written == r"\t" else written  # as Spark reads it


def _option(source: Source, name: str, default: Any) -> Any:
    return next((value for key, value in source.options.items() if key.lower() == name), default)


def _is_on(source: Source, name: str) -> bool:
    return str(_option(source, name, False)).lower() == "true"


def _is_time(field: Any) -> bool:
    return pa.types.is_timestamp(field.type)


def _with_type(field: Any, kind: Any) -> Any:
    return pa.field(field.name, kind, field.nullable)
