"""Guesses the form of CSV text from its first lines: separator, names, nulls and numbers."""

import codecs
import csv
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    import pyarrow as pa

_LINES = 200
_MARKS = (",", "\t", ";", "||", "::", "|")
_MOST_BEFORE, _TABLE = 30, 3
"""The most lines before a table, and the fewest lines in one."""
_NULLS = ("NA", "N/A", "n/a", "NULL", "null", "None", r"\N", "-", "?", ".", "#N/A", "nan")
_US = r"^[-+]?([0-9]{1,3}(,[0-9]{3})+|[0-9]+)([.][0-9]+)?$"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]|$)"
_EU = r"^[-+]?([0-9]{1,3}([.][0-9]{3})+|[0-9]+)(,[0-9]+)?$"


def encoding_in(begin: bytes) -> str | None:
    """The encoding of text that starts with these bytes; None for UTF-8."""
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


@frozen
class CsvForm:
    """How to read a CSV text."""

    options: dict[str, Any]
    is_regular: bool
    """Whether its lines have several values, and all the same number."""
    notes: list[str]
    names: list[str] | None = None
    """The columns' names, where the first line has duplicates; columns are then read by position."""


def csv_form(text: str, is_cut: bool = False) -> CsvForm:
    """Guess how to read a text."""
    lines = text[: 1 << 16].splitlines(keepends=True)[:_LINES]
    if is_cut or len(text) > 1 << 16:
        lines = lines[:-1]
    comments = [line for line in lines if line.startswith("#")]
    has_comments = 0 < len(comments) < len(lines) and (len(comments) > 1 or _sizes(lines, lines) > 1)
    lines = [line for line in lines if not line.startswith("#")] if has_comments else lines
    skipped = 0 if has_comments else _lines_before(lines)
    lines = lines[skipped:]
    mark = _mark_of(lines)
    records = [record for record in _records(lines, mark) if record]
    options: dict[str, Any] = {} if mark == "," else {"sep": mark}
    notes, names = [f"values between {mark!r}"], None
    if skipped:
        options["skipRows"] = skipped
        notes.append(f"the first {skipped} lines are not part of the table")
    if records and _is_header(records):
        options = {"header": True, **options}
        notes.append("the first line names the columns")
        if len(set(records[0])) < len(records[0]):
            options["enforceSchema"] = True
            names = _unlike(records[0])
            notes.append("columns with the same name are numbered")
    else:
        notes.append("no line names the columns: they are called _c0, _c1, …")
    if has_comments:
        options["comment"] = "#"
        notes.append("lines that start with # are comments")
    return CsvForm(options, _regularity(records) > 0, notes, names)


def _mark_of(lines: list[str]) -> str:
    return max(_MARKS, key=lambda mark: _regularity(_records(lines, mark)))


def _lines_before(lines: list[str]) -> int:
    """The number of lines before a table: all later lines have the same number of values, more than each of these;
    0 where there are none."""
    for count in range(min(_MOST_BEFORE, len(lines) - _TABLE) + 1):
        rest = lines[count:]
        mark = _mark_of(rest)
        more = _regularity(_records(rest, mark))
        if more > 0 and rest[0].strip():
            return count if all(len(line.split(mark)) <= more for line in lines[:count]) else 0
    return 0


def _unlike(names: list[str]) -> list[str]:
    """The names, with a number added to duplicates."""
    apart: list[str] = []
    for place, name in enumerate(names):
        plain = name or f"_c{place}"
        number = 2
        unlike = plain
        while unlike in apart:
            unlike, number = f"{plain}_{number}", number + 1
        apart.append(unlike)
    return apart


def _sizes(lines: list[str], of: list[str]) -> int:
    """The number of different record sizes in the lines, with the separator that gives the fewest."""
    return min(len({len(record) for record in _records(lines, mark)}) for mark in _MARKS) if of else 0


def _records(lines: list[str], mark: str) -> list[list[str]]:
    if len(mark) > 1:
        return [line.rstrip("\r\n").split(mark) for line in lines]
    try:
        records = [*csv.reader(lines, delimiter=mark)]
    except csv.Error:  # an unterminated value
        return []
    is_open = sum(line.count('"') for line in lines) % 2  # the lines end inside a value
    return records[:-1] if is_open else records


def _regularity(records: list[list[str]]) -> int:
    """The number of separators in each record, if all have the same; else 0."""
    sizes = {len(record) for record in records if record}
    return min(sizes, default=1) - 1 if len(sizes) <= 1 else 0


def _is_header(records: list[list[str]]) -> bool:
    """Whether the first record is a header. If some names are empty, as pandas and R leave the row number, or repeated,
    a column must have a name above numbers or times."""
    names, rows = [name.strip() for name in records[0]], records[1:_LINES]
    if not any(names) or any(map(_is_value, filter(None, names))):
        return False
    if all(names) and len(set(names)) == len(names):
        return True
    columns = zip(names, *(row for row in rows if len(row) == len(names)), strict=True)
    return any(
        values and all(map(_is_value, values))
        for name, *column in columns
        if (values := [value.strip() for value in column if value.strip() and value.strip() not in _NULLS]) or name
    )


def _is_value(text: str) -> bool:
    """Whether a text is a number or a time rather than a name."""
    return _VALUE.match(text) is not None


_VALUE = re.compile(r"[-+.]?[0-9][0-9.,eE+-]*%?$|[0-9]{1,4}[-/.:][0-9]|[0-9]{1,2}[- ](?i:[a-z]{3})[- ]")


def _are_values(texts: "pa.Array") -> bool:
    import pyarrow.compute as pc

    return any(pc.all(pc.match_substring_regex(texts, pattern)).as_py() for pattern in (_US, _ISO))


def marks_of_null(rows: "pa.Table") -> str | None:
    """The mark of null without which the most columns are numbers or times; None where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    counts = dict.fromkeys(_NULLS, 0)
    for column in rows.columns:
        if not pa.types.is_string(column.type):
            continue
        values = pc.unique(column).drop_null()
        for mark in _NULLS:
            others = values.filter(pc.not_equal(values, mark))
            if 0 < len(others) == len(values) - 1 and _are_values(others):
                counts[mark] += 1
    best = max(_NULLS, key=lambda mark: counts[mark])
    return best if counts[best] else None


def marks_of_numbers(rows: "pa.Table") -> "tuple[Mapping[str, pa.DataType], Mapping[str, Any], list[str]]":
    """Decimal types of the columns with thousands separators or a decimal comma, with options and notes."""
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
    """A column's name, quoted for an expression if necessary."""
    from skyband_expressions.expression import UnknownExpressionError, parse_column

    try:
        expression, _ = parse_column(name)
        is_plain = expression is not None and expression.column == name
    except UnknownExpressionError:  # such as a keyword
        is_plain = False
    return name if is_plain and _WORD.fullmatch(name) else f"`{name.replace('`', '``')}`"


_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
