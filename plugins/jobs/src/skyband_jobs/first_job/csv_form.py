"""How a text of separated values is written, guessed from its first lines: marks, names, nulls and numbers."""

import codecs
import csv
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

_LINES = 200
_MARKS = (",", "\t", ";", "||", "::", "|")
_NULLS = ("NA", "N/A", "n/a", "NULL", "null", "None", r"\N", "-", "?", ".", "#N/A", "nan")
_US = r"^[-+]?([0-9]{1,3}(,[0-9]{3})+|[0-9]+)([.][0-9]+)?$"
_EU = r"^[-+]?([0-9]{1,3}([.][0-9]{3})+|[0-9]+)(,[0-9]+)?$"


def encoding_in(begin: bytes) -> str | None:
    """The encoding of a text that begins so; None for UTF-8."""
    if begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "UTF-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(begin)  # the last character may be cut
    except UnicodeDecodeError:
        return "windows-1252" if _is_of(begin, "windows-1252") else "ISO-8859-1"
    return None


def _is_of(text: bytes, encoding: str) -> bool:
    try:
        text.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


def csv_options(text: str, is_cut: bool = False) -> tuple[dict[str, Any], bool, list[str]]:
    """The options that read a text, whether its lines have several values and all as many, and notes."""
    lines = text[: 1 << 16].splitlines(keepends=True)[:_LINES]
    if is_cut or len(text) > 1 << 16:
        lines = lines[:-1]
    comments = [line for line in lines if line.startswith("#")]
    has_comments = 0 < len(comments) < len(lines) and (len(comments) > 1 or _sizes(lines, lines) > 1)
    lines = [line for line in lines if not line.startswith("#")] if has_comments else lines
    mark = max(_MARKS, key=lambda mark: _regularity(_records(lines, mark)))
    records = [record for record in _records(lines, mark) if record]
    options: dict[str, Any] = {} if mark == "," else {"sep": mark}
    notes = [f"values between {mark!r}"]
    if records and _is_header(records[0]):
        options = {"header": True, **options}
        notes.append("the first line names the columns")
    else:
        notes.append("no line names the columns: they are _c0, _c1, …")
    if has_comments:
        options["comment"] = "#"
        notes.append("lines that begin with # are comments")
    return options, _regularity(records) > 0, notes


def _sizes(lines: list[str], of: list[str]) -> int:
    """How many numbers of values the lines have, by the mark that suits the most of them."""
    return min(len({len(record) for record in _records(lines, mark)}) for mark in _MARKS) if of else 0


def _records(lines: list[str], mark: str) -> list[list[str]]:
    if len(mark) > 1:
        return [line.rstrip("\r\n").split(mark) for line in lines]
    try:
        return [*csv.reader(lines, delimiter=mark)]
    except csv.Error:  # a value without an end
        return []


def _regularity(records: list[list[str]]) -> int:
    """How many values the records of a file have where all have as many; 0 where they do not, or have one."""
    sizes = {len(record) for record in records if record}
    return min(sizes, default=1) - 1 if len(sizes) <= 1 else 0


def _is_header(names: list[str]) -> bool:
    """Whether a first record is one of names: all different, none empty, none a number or a time."""
    if len(set(names)) < len(names) or not all(name.strip() for name in names):
        return False
    return not any(name.strip()[0].isdigit() or name.strip()[0] in "+-." for name in names)


def marks_of_null(rows: "pa.Table") -> str | None:
    """The text without which the most columns are numbers; None where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = dict.fromkeys(_NULLS, 0)
    for column in rows.columns:
        if not pa.types.is_string(column.type):
            continue
        values = pc.unique(column).drop_null()
        for mark in _NULLS:
            others = values.filter(pc.not_equal(values, mark))
            if 0 < len(others) == len(values) - 1 and pc.all(pc.match_substring_regex(others, _US)).as_py():
                counts[mark] += 1
    best = max(_NULLS, key=lambda mark: counts[mark])
    return best if counts[best] else None


def marks_of_numbers(rows: "pa.Table") -> "tuple[Mapping[str, pa.DataType], Mapping[str, Any], list[str]]":
    """Decimals by the columns that hold numbers with marks of thousands or a decimal comma, options, and notes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for pattern, options in ((_US, {}), (_EU, {"locale": "de-DE"})):
        fields = {}
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            if not pa.types.is_string(column.type) or column.null_count == len(column):
                continue
            marked = pc.any(pc.match_substring(column, ",")).as_py()
            if marked and pc.all(pc.match_substring_regex(column, pattern)).as_py():
                fields[name] = pa.decimal128(
                    38 if _digits(column) > 18 else 18, _fraction(column, "," if options else ".")
                )
        if fields:
            example = "1.234,50" if options else "1,234.50"
            return fields, options, [f"numbers as {example}: {', '.join(fields)}"]
    return {}, {}, []


def _digits(column: "pa.ChunkedArray") -> int:
    import pyarrow.compute as pc

    return int(pc.max(pc.utf8_length(column)).as_py())


def _fraction(column: "pa.ChunkedArray", point: str) -> int:
    """The most digits after a decimal mark."""
    return max((len(text.rpartition(point)[2]) for text in column.to_pylist() if text and point in text), default=0)


def quoted(name: str) -> str:
    """A column's name as an expression has it."""
    from skyband_expressions.expression import UnknownExpressionError, parse_column

    try:
        expression, _ = parse_column(name)
        is_plain = expression is not None and expression.column == name
    except UnknownExpressionError:  # such as a word of the language
        is_plain = False
    return name if is_plain and _WORD.fullmatch(name) else f"`{name.replace('`', '``')}`"


_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
