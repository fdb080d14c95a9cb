"""Reads JSON files with Arrow, block by block, after checking that each line is an object: others can crash Arrow."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.json
from attrs import frozen
from skyband.columns.arrow_normalization import no_rows
from skyband.columns.keyed_frames import plain_type
from skyband.errors import InputError, Problem

from skyband_jobs.files.csv_dialect import text_options
from skyband_jobs.files.json_objects import object_blocks, one_a_line
from skyband_jobs.files.json_spelling import differs, spelt
from skyband_jobs.files.refused_rows import LINES as LINE_RECORDS
from skyband_jobs.files.refused_rows import RefusedRows, line_bounds, readable_records
from skyband_jobs.files.text_blocks import MOST, Block, ByteRange, blocks, is_utf8
from skyband_jobs.files.text_encodings import ENCODING_OPTIONS, encoding_of
from skyband_jobs.files.text_values import as_read, typed, typed_where_right
from skyband_jobs.files.utf8 import refuse_bytes
from skyband_jobs.files.value_formats import PLAIN, TIME_OPTIONS, ValueFormats, formats_of
from skyband_jobs.kernels.record_boundaries import (
    FINE,
    GOES_ON,
    MOST_NESTED,
    NO_OBJECT,
    SECOND_VALUE,
    TOO_DEEP,
    json_lines,
)
from skyband_jobs.tables.model import Source

_NUMBER = re.compile(r"Column\(/(.+?)\) changed from string to number")
_CHANGED = re.compile(r"Column\(/(.+?)\) changed from \w+ to \w+")
_MOST_MIXED = 100
"""The most columns with values of several types."""
_LIST = "[]"
"""The name of a list's elements in Arrow's messages."""
_ROW = re.compile(r"(.*?)(?: in row (\d+))?$")
_PROBLEMS = {
    NO_OBJECT: "is not a JSON object",
    SECOND_VALUE: "has more than one JSON object",
    GOES_ON: "has a JSON object that does not end in it",
    TOO_DEEP: f"has a JSON object of more than {MOST_NESTED:,} levels",
}
_REMEDY = "write one object a line, as jq -c . does"
_PIECE = 1 << 15
"""Bytes of a piece in which single unreadable lines are searched for."""
_MULTI_LINE = "for an array, or an object over several lines, set source.options = { multiLine = true }"

OPTIONS = ("multiLine", *TIME_OPTIONS, *ENCODING_OPTIONS)
"""Spark's options that are known here, in any case."""


class NoObjectError(ValueError):
    """Text with a line that is not one JSON object; `place` is where that line starts."""

    def __init__(self, what: int, place: int) -> None:
        super().__init__(f"{_PROBLEMS[what]}: {_REMEDY}")
        self.place = place


@frozen
class JsonForm:
    """The form of JSON text."""

    multi_line: bool = False
    """Whether a file is one array or object, whatever its lines; else each line is an object."""
    encoding: str | None = None
    formats: ValueFormats = PLAIN


LINES = JsonForm()


def form_of(source: Source) -> JsonForm:
    """The form of a source whose options have no `form_problems`."""
    options = text_options(source)
    return JsonForm(options.get("multiline") == "true", encoding_of(options), formats_of(options))


def form_problems(source: Source) -> list[Problem]:
    """Wrong values of options."""
    return [
        Problem(f"options.{name}", f"must be true or false (got {value!r})")
        for name, value in source.options.items()
        if name.lower() == "multiline" and str(value).lower() not in ("true", "false")
    ]


def json_schema_of(paths: Sequence[Path], form: JsonForm = LINES) -> pa.Schema:
    """The schema inferred from the first file that has rows; times are text, as on Spark. Raises InputError."""
    for path in paths:
        schemas = [_parsed(path, block, None, form).schema for block in _blocks(path, form)]
        if schemas:
            return pa.schema([pa.field(field.name, _kind(field.type)) for field in _unified(path, schemas)])
    raise InputError("path", f"{paths[0]} is empty{', and so are the others' if len(paths) > 1 else ''}")


def _unified(path: Path, schemas: Sequence[pa.Schema]) -> pa.Schema:
    """A schema for the values of all blocks: text where some have text, or types differ."""
    try:
        return pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowTypeError as error:
        fields = {field.name: [one.field(field.name) for one in schemas if field.name in one.names]
                  for schema in schemas for field in schema}  # fmt: skip
        if any(pa.types.is_nested(one.type) for some in fields.values() for one in some):
            raise InputError(str(path), f"{error}: set the columns' types with source.schema") from error
        return pa.schema([_widest(some) for some in fields.values()])


def _widest(fields: Sequence[pa.Field]) -> pa.Field:
    try:
        return pa.unify_schemas([pa.schema([one]) for one in fields], promote_options="permissive").field(0)
    except pa.ArrowTypeError:
        return fields[0].with_type(pa.string())


def read_json(
    path: Path,
    columns: pa.Schema,
    form: JsonForm = LINES,
    within: ByteRange | None = None,
    refused: RefusedRows | None = None,
) -> Iterator[pa.RecordBatch]:
    """A file's rows, or those of a range, with the columns `columns`, null where a row lacks one.

    Raises InputError at the first row that cannot be read, unless `refused` takes such rows.
    """
    _check_maps(columns)

    def parse(block: Block) -> tuple[pa.RecordBatch, list[InputError]]:
        errors = list[InputError]()
        try:
            table = _parsed(path, block, columns, form, refused is None)
        except InputError:
            if refused is None or len(block.data) > _PIECE or not is_utf8(block.data):
                raise
            data, errors = _without_other_lines(path, block.data, columns)
            table = _parsed(path, Block(data, block.line), columns, form, False) if data else pa.table([])
        rows = table.combine_chunks().to_batches()
        try:
            return (typed(rows[0], columns, form.formats) if rows else no_rows(columns)), errors
        except InputError:
            if refused is None:
                raise
        batch, wrong = typed_where_right(rows[0], columns, form.formats)
        places = np.delete(np.arange(len(rows[0]) + len(errors)), [error.row or 0 for error in errors])
        errors += [InputError(error.argument, error.message, int(places[error.row])) for error in wrong]
        return batch, sorted(errors, key=lambda error: error.row or 0)

    for block in _blocks(path, form, within):
        yield parse(block)[0] if refused is None else readable_records(block, columns, parse, LINE_RECORDS, refused)


def _without_other_lines(path: Path, data: bytes, columns: pa.Schema) -> tuple[bytes, list[InputError]]:
    """The lines without those that Arrow refuses by number or that are not objects, and the error of each of these.

    O(bytes) for each of them.
    """
    plain, spelt_out = line_bounds(data), spelt(data, columns)
    bounds = line_bounds(spelt_out)
    data, bounds = (spelt_out, bounds) if len(bounds) == len(plain) else (data, plain)
    begins = [begin for begin, _ in bounds]
    lines, errors, first = list[bytes](), list[InputError](), 0
    while first < len(begins):
        rest = data[begins[first] :]
        row = len(begins)
        try:
            _check_objects(rest)
            _as_arrow(rest, _as_parsed(columns))
        except NoObjectError as error:
            row = bisect_right(begins, begins[first] + error.place) - 1
            errors.append(InputError(str(path), str(error), row))
        except pa.ArrowInvalid as error:
            message, number = _message_and_row(error)
            if number is None:  # its place is found by halving
                lines.append(rest)
                break
            row = first + number
            errors.append(InputError(str(path), f"{message}{_number_remedy(message, columns)}", row))
        lines.append(data[begins[first] : begins[row] if row < len(begins) else len(data)])
        first = row + 1
    return b"".join(lines), errors


def _message_and_row(error: pa.ArrowInvalid) -> tuple[str, int | None]:
    message, row = _ROW.fullmatch(" ".join(str(error).split())).groups()  # type: ignore[union-attr]
    return message.removeprefix("JSON parse error: ").rstrip("."), None if row is None else int(row)


def read_json_texts(texts: Iterable[bytes], fields: pa.Schema, form: JsonForm = LINES) -> pa.RecordBatch | None:
    """The rows of the texts of files, with the columns `fields`; None where they must be read one by one.

    Raises InputError, ValueError or ArrowInvalid where a text is wrong.
    """
    if form.multi_line:
        parts = [one_a_line(text) for text in texts]
        if any(depth for _, depth in parts):
            return None
        texts = [text for text, _ in parts]
    lines = b"\n".join(texts)
    if not is_utf8(lines):
        return None
    rows = json_rows_of(lines, fields, form.formats).combine_chunks().to_batches() if lines.strip() else []
    return rows[0] if rows else no_rows(fields)


def json_ends(path: Path, size: int) -> Iterator[int]:
    """The places of line ends that are about `size` bytes apart, the last of them the end of the file."""
    whole, end = path.stat().st_size, 0
    with path.open("rb") as file:
        while end < whole:
            file.seek(end + size - 1)
            line = file.readline(MOST)
            end = min(file.tell(), whole) if line.endswith(b"\n") or len(line) < MOST else whole
            yield end


def json_rows_of(lines: bytes, columns: pa.Schema, formats: ValueFormats = PLAIN) -> pa.Table:
    """The columns `columns` of JSON, one object a line. Raises InputError, NoObjectError or ArrowInvalid."""
    _check_maps(columns)
    batches = [typed(batch, columns, formats) for batch in _rows(lines, columns).combine_chunks().to_batches()]
    return pa.Table.from_batches(batches, columns)


def _blocks(path: Path, form: JsonForm, within: ByteRange | None = None) -> Iterator[Block]:
    if form.multi_line:
        return object_blocks(path, form.encoding)
    cut = blocks(path, lambda data: data.rfind(b"\n") + 1, within=within, encoding=form.encoding)
    return (block for block in cut if block.data.strip())


def _parsed(
    path: Path, block: Block, columns: pa.Schema | None, form: JsonForm, first_of_file: bool = True
) -> pa.Table:
    """A block's rows. Raises InputError; first_of_file: with the file's first place that is not UTF-8."""
    if not is_utf8(block.data):
        refuse_bytes(path, block, first_of_file, form.encoding)
    try:
        return _rows(block.data, columns)
    except NoObjectError as error:
        hint = "" if form.multi_line else f"; {_MULTI_LINE}"
        raise InputError(str(path), f"line {block.line_at(_begin(block, error.place))} {error}{hint}") from error
    except pa.ArrowInvalid as error:
        message, row = _message_and_row(error)
        if row is None and columns is not None and (first_of_file or b"\n" not in block.data.strip()):
            row, name = _first_other(block.data, columns)
            message = f"column {name!r}: {message}"
        line = "" if row is None else f"line {_line(block, row)}: "
        raise InputError(str(path), f"{line}{message}{_number_remedy(message, columns)}") from error


def _first_other(data: bytes, columns: pa.Schema) -> tuple[int, str]:
    """The first object with a value of another type, and its column, which Arrow does not report. O(log rows) reads."""
    lines = [line for line in data.split(b"\n") if line.strip()]
    first, last = 0, len(lines) - 1
    while first < last:
        middle = (first + last) // 2
        if _can_be_read(b"\n".join(lines[first : middle + 1]), columns):
            first = middle + 1
        else:
            last = middle
    others = (field.name for field in columns if not _can_be_read(lines[first], pa.schema([field])))
    return first, next(others, "")


def _can_be_read(lines: bytes, columns: pa.Schema) -> bool:
    try:
        _rows(lines, columns)
    except pa.ArrowInvalid:
        return False
    return True


def _number_remedy(message: str, columns: pa.Schema | None) -> str:
    """How to read numbers as times."""
    changed = _NUMBER.search(message)
    names = [] if changed is None else changed[1].split("/")
    if columns is None or _LIST in names or not _is_time(names, columns):
        return ""
    name = ".".join(names)
    return (
        f"; for numbers since 1970 use BIGINT, and select timestamp_seconds({name}) AS {names[-1]}, or timestamp_millis"
    )


def _is_time(names: Sequence[str], fields: Iterable[pa.Field]) -> bool:
    """Whether a column, or a part of one, is of times or days."""
    kind = pa.null()
    for name in names:
        kind = next((field.type for field in fields if field.name == name), pa.null())
        fields = [*kind] if pa.types.is_struct(kind) else []
    return pa.types.is_temporal(kind)


def has_map(kind: pa.DataType) -> bool:
    """Whether a type is or contains a MAP, which Arrow does not read from JSON."""
    parts = [kind.field(place).type for place in range(kind.num_fields)]
    return pa.types.is_map(kind) or any(map(has_map, parts))


def _check_maps(columns: pa.Schema) -> None:
    for field in columns:
        if has_map(field.type):
            message = "is a MAP, which Python cannot read from JSON: use a STRUCT of the keys you"
            raise InputError(field.name, f'{message} need in source.schema, or set source.reader = "spark"')


def _rows(lines: bytes, columns: pa.Schema | None) -> pa.Table:
    _check_objects(lines)
    try:
        table = _as_arrow(lines, None if columns is None else _as_parsed(columns))
        if columns is None or not any(map(differs, table.columns)):
            return table
    except pa.ArrowInvalid as error:
        if columns is None:
            return _mixed(lines, error)
    return _as_arrow(spelt(lines, columns), _as_parsed(columns))


def _check_objects(lines: bytes) -> None:
    what, place = json_lines(np.frombuffer(lines, np.uint8))
    if what != FINE:
        raise NoObjectError(what, place)


def _as_parsed(columns: pa.Schema) -> pa.Schema:
    """The types that Arrow reads the columns as."""
    return pa.schema([(field.name, as_read(field.type)) for field in columns])


def _mixed(lines: bytes, error: pa.ArrowInvalid) -> pa.Table:
    """Lines whose columns have values of several types, read as text, as on Spark. Raises ArrowInvalid."""
    texts: dict[str, Any] = {}
    for _ in range(_MOST_MIXED):
        changed = _CHANGED.search(str(error))
        if changed is None:
            break
        part, names = texts, changed[1].split("/")
        for name in names[:-1]:
            part = part.setdefault(name, {})
        part[names[-1]] = None
        schema = pa.schema(list(_struct_of(texts)))
        try:
            return _as_arrow(spelt(lines, schema, True), schema, "infer")
        except pa.ArrowInvalid as further:
            error = further
    raise error


def _struct_of(texts: dict[str, Any]) -> pa.StructType:
    """A struct of these names, with text at the ends of the paths."""
    return pa.struct([(name, _type_of(parts)) for name, parts in texts.items()])


def _type_of(parts: dict[str, Any] | None) -> pa.DataType:
    if parts is None:
        return pa.string()
    return pa.list_(_type_of(parts[_LIST])) if _LIST in parts else _struct_of(parts)


def _as_arrow(lines: bytes, schema: pa.Schema | None, others: str | None = None) -> pa.Table:
    others = others or ("infer" if schema is None else "ignore")
    return pyarrow.json.read_json(
        pa.BufferReader(lines),
        pyarrow.json.ReadOptions(block_size=len(lines) + 1),
        pyarrow.json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=others),
    )


def _line(block: Block, row: int) -> int:
    """The number of the line where a block's object starts: blank lines have none."""
    place, begins = 0, []
    for line in block.data.split(b"\n"):
        if line.strip():
            begins.append(place)
        place += len(line) + 1
    return block.line_at(_begin(block, begins[min(row, len(begins) - 1)]))


def _begin(block: Block, place: int) -> int:
    """The place of a line's first character."""
    rest = block.data[place:]
    return place + len(rest) - len(rest.lstrip(b" \t\r"))


def _kind(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_kind(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_kind(kind.value_type)))
    plain = plain_type(kind)
    return pa.string() if pa.types.is_timestamp(plain) or pa.types.is_null(plain) else kind
