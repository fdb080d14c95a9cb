"""Reads a table of rules that come, with a column for each key or with lines of JSON."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import attrs
import pyarrow as pa
from skyband.config.literals import literal
from skyband.errors import InputError, suggest
from skyband.rules.json_rules import VALUE, RuleError, is_json, without_blank

from skyband_detect.detections.rule import Rule, rule_or_faults

NAMES = tuple(field.name for field in attrs.fields(Rule))
_TIMES = ("after", "until")
_ENDS = {"name", "after"}
"""The keys of a row that ends a rule."""


def row_schema() -> pa.Schema:
    """The columns of a table of rules, with their usual types."""
    types = {
        "at_least": pa.float64(),
        "below": pa.int64(),
        "least": pa.int64(),
        "key": pa.list_(pa.string()),
        "steps": pa.list_(pa.string()),
        "any_order": pa.bool_(),
        **dict.fromkeys(_TIMES, pa.timestamp("us", "UTC")),
    }
    return pa.schema([pa.field(name, types.get(name, pa.string())) for name in NAMES])


def rows_of(table: pa.Table) -> Iterator[tuple[str, dict[str, Any] | RuleError]]:
    """Each row as text, and its keys that have a value, or what is wrong with it.

    Raises InputError if the table has a column that rules do not have, or none for their names.
    """
    if is_json(table.schema):
        for line in without_blank(table).column(VALUE).to_pylist():
            yield line, _of_line(line)
        return
    for name in table.column_names:
        if name not in NAMES:
            message = f"is not a column of rules; {suggest(name, NAMES)}: select only the others"
            raise InputError(f"rules.{name}", message)
    if "name" not in table.column_names:
        raise InputError("rules.name", f"is missing: rules have the columns {', '.join(NAMES)}")
    for row in pa.table({name: _plain(table.column(name)) for name in table.column_names}).to_pylist():
        values = {key: _whole(value) for key, value in row.items() if value is not None}
        yield json.dumps(row, default=str), values


def rule_of(row: Mapping[str, Any]) -> tuple[str, Rule | None, tuple[int, int]]:
    """The name of a row, its rule, or None if it ends the name, and its `Rule.span`. Raises RuleError."""
    name = row.get("name")
    if not isinstance(name, str) or not name:
        raise RuleError("name", f"must be a name, by which the rule can be changed and ended (got {literal(name)})")
    ends = not {*row} - _ENDS
    if not ends and "measure" not in row:
        message = f'of rule {name!r} is missing: "rows", for example; a row with a name alone ends the rule'
        raise RuleError("measure", message)
    rule = rule_or_faults({**row, "window": "1 second", "at_least": 1} if ends else row)
    if not isinstance(rule, Rule):
        key, message = rule[0]
        raise RuleError(key, f"of rule {name!r} {message}")
    return name, None if ends else rule, rule.span


def _of_line(line: str) -> dict[str, Any] | RuleError:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        return RuleError("name", f"cannot be read, because the line is not JSON: {error}")
    if not isinstance(row, dict):
        return RuleError("name", 'cannot be read, because the line is not a JSON object such as {"name": "a"}')
    return {key: value for key, value in row.items() if value is not None}


def _whole(value: Any) -> Any:
    """A number of a table whose integers became floats because some are missing."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, with times in microseconds."""
    kind = column.type
    return column.cast(pa.timestamp("us", kind.tz)) if pa.types.is_timestamp(kind) else column
