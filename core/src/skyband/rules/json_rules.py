"""Reads rules from lines of JSON, one object each; errors name the key, its value and the remedy."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from skyband.config.literals import literal
from skyband.errors import suggest

VALUE = "value"
"""The column of a table whose rows are lines of JSON, as in a text source."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RuleError(Exception):
    """A row of a table of rules that is not a rule."""

    def __init__(self, column: str, message: str) -> None:
        """column: the column with the fault."""
        super().__init__(message)
        self.column = column


def is_json(schema: pa.Schema) -> bool:
    """Whether a table with these columns has lines of JSON, instead of a column for each key."""
    has_lines = VALUE in schema.names and "name" not in schema.names
    return has_lines and (
        pa.types.is_string(schema.field(VALUE).type) or pa.types.is_large_string(schema.field(VALUE).type)
    )


def without_blank(table: pa.Table) -> pa.Table:
    """The non-blank lines, as their text alone."""
    lines = table.select([VALUE])
    return lines.filter(pc.fill_null(pc.not_equal(pc.utf8_trim_whitespace(lines.column(VALUE)), ""), False))


def rule_of(line: str, columns: Mapping[str, str]) -> dict[str, Any]:
    """The values of a line by key, instants in microseconds; columns: the type of each key. Raises RuleError."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise RuleError("name", f"cannot be read, because the line is not JSON: {error}") from error
    if not isinstance(row, dict):
        example = '{"name": "a", "window": "10 minutes"}'
        raise RuleError("name", f"cannot be read, because the line is not a JSON object such as {example}")
    rule = literal(row.get("name"))
    for key in row:
        if key not in columns:
            raise RuleError(key, f"of rule {rule} is not a column of rules; {suggest(key, columns)}")
    return {key: None if value is None else _value(key, value, columns[key], rule) for key, value in row.items()}


def _value(key: str, value: Any, what: str, rule: str) -> Any:
    result = _READERS[what](value)
    if result is None:
        raise RuleError(key, f"of rule {rule} must be {what}, such as {_EXAMPLES[key]} (got {literal(value)})")
    return result


def _text(value: Any) -> str | None:
    """None if it is not text, or has half a surrogate pair, which no column of text can hold."""
    if not isinstance(value, str):
        return None
    try:
        value.encode()
    except UnicodeEncodeError:
        return None
    return value


def _whole(value: Any) -> int | None:
    return value if type(value) is int else None


def _instant(value: Any) -> int | None:
    """Microseconds since the epoch, in UTC if the text names no zone."""
    if not isinstance(value, str):
        return None
    try:
        instant = datetime.fromisoformat(value.strip())
    except ValueError:
        return None
    zoned = instant if instant.tzinfo is not None else instant.replace(tzinfo=UTC)
    return (zoned - _EPOCH) // timedelta(microseconds=1)


def _texts(value: Any) -> list[str | None] | None:
    values = value if isinstance(value, list) else [value]
    texts = [_text(entry) for entry in values]
    wrong = any(text is None and entry is not None for text, entry in zip(texts, values, strict=True))
    return None if wrong else texts


_READERS = {"text": _text, "a whole number": _whole, "a timestamp": _instant, "a list of texts": _texts}
_EXAMPLES: Mapping[str, str] = {
    "name": '"quick"', "window": '"10 minutes"', "slide": '"1 minute"', "phase": '"30 seconds"', "k": "10",
    "group": '["DE", "3"]', "after": '"2026-01-31T12:00:00Z"', "until": '"2026-01-31T12:00:00Z"',
}  # fmt: skip
