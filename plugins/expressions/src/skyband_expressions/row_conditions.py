"""Conditions that rows of a source meet: SQL as in `source.where`, in the subset of all engines."""

from typing import Any

import numpy as np
import pyarrow as pa
from skyband.arrays import Array

from skyband_expressions.expression import parse_condition
from skyband_expressions.patterns import java_pattern
from skyband_expressions.syntax import UnknownExpressionError

_INSTEAD = "or make a boolean column in source.select, and name that"


def condition_problem(value: Any) -> str | None:
    """The check of a field that holds a condition."""
    if not isinstance(value, str) or not value:
        return f'must be a condition on the columns of a row, such as "status >= 500" (got {value!r})'
    try:
        parse_condition(value)
    except UnknownExpressionError as error:
        return f"is not a condition that all engines support: {error}; {_INSTEAD}"
    return None


def pattern_problem(pattern: str) -> str | None:
    """What in a regular expression engines read differently, or None."""
    try:
        java_pattern(pattern, "RLIKE")
    except UnknownExpressionError as error:
        return str(error)
    return None


def columns_read(text: str) -> list[str]:
    """The distinct columns of the source that a condition reads."""
    return parse_condition(text).columns


def problem_in(text: str, schema: pa.Schema) -> str | None:
    """The problem of a condition with this schema, or None."""
    problem: str | None = parse_condition(text).condition_problem(schema)
    return None if problem is None else f"{problem}; {_INSTEAD}"


def rows_that_meet(text: str, batch: pa.RecordBatch) -> Array:
    """int8[n]: 1 if a condition is true, 0 if it is false or null."""
    column = parse_condition(text).evaluate(batch).fill_null(False)
    meets: Array = column.to_numpy(zero_copy_only=False).astype(np.int8)
    return meets
