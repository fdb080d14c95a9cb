"""Conditions on the rows of a source, tested on Arrow as Spark's SQL tests them.

What is null is neither true nor false, as in SQL. NaN is a number above all others, and equal to itself, as on Spark.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import frozen

from skyband.columns.keyed_frames import decoded, plain_type


@frozen
class Test:
    """A column against literals."""

    column: str
    operator: str
    values: tuple[Any, ...] = ()

    def problem(self, schema: pa.Schema) -> str | None:
        """What is wrong with it for rows of this schema."""
        from skyband.queries.shared_keys import no_column

        if self.column not in schema.names:
            return no_column(self.column, schema)
        kind = plain_type(schema.field(self.column).type)
        if self.operator == "true" and not pa.types.is_boolean(kind):
            return f"column {self.column!r} is {kind}: compare it with a value"
        if self.operator == "like" and not _is_text(kind):
            return f"LIKE is for text, and column {self.column!r} is {kind}"
        wrong = [value for value in self.values if not _fits(value, kind)]
        return f"column {self.column!r} is {kind}, which is not compared with {wrong[0]!r}" if wrong else None

    def evaluate(self, batch: pa.RecordBatch) -> Any:
        """A boolean for each row, null where it is neither true nor false."""
        column = decoded(batch.column(self.column))
        if self.operator == "true":
            return column
        if self.operator == "null":
            return column.is_null()
        if self.operator == "like":
            return pc.match_like(column, self.values[0])
        if self.operator == "between":
            return pc.and_kleene(_compared(column, ">=", self.values[0]), _compared(column, "<=", self.values[1]))
        if self.operator == "in":
            mask = _compared(column, "=", self.values[0])
            for value in self.values[1:]:
                mask = pc.or_kleene(mask, _compared(column, "=", value))
            return mask
        return _compared(column, self.operator, self.values[0])


@frozen
class Both:
    """Conditions put together: all of them (`and`) or one of them (`or`)."""

    how: str
    parts: tuple[Any, ...]

    def problem(self, schema: pa.Schema) -> str | None:
        """As `Test.problem`."""
        return next(filter(None, (part.problem(schema) for part in self.parts)), None)

    def evaluate(self, batch: pa.RecordBatch) -> Any:
        """As `Test.of`."""
        join = pc.and_kleene if self.how == "and" else pc.or_kleene
        mask = self.parts[0].evaluate(batch)
        for part in self.parts[1:]:
            mask = join(mask, part.evaluate(batch))
        return mask


@frozen
class Not:
    """The opposite of a condition."""

    part: Any

    def problem(self, schema: pa.Schema) -> str | None:
        """As `Test.problem`."""
        problem: str | None = self.part.problem(schema)
        return problem

    def evaluate(self, batch: pa.RecordBatch) -> Any:
        """As `Test.of`."""
        return pc.invert(self.part.evaluate(batch))


def columns_of(condition: Any) -> list[str]:
    """The columns a condition reads."""
    if isinstance(condition, Test):
        return [condition.column]
    parts = (condition.part,) if isinstance(condition, Not) else condition.parts
    return [name for part in parts for name in columns_of(part)]


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _fits(value: Any, kind: pa.DataType) -> bool:
    if isinstance(value, bool):
        return bool(pa.types.is_boolean(kind))
    if isinstance(value, str):
        return _is_text(kind)
    if isinstance(value, float) or abs(value) >= 2**53:
        return bool(pa.types.is_floating(kind) and abs(value) < 2**53)
    whole = pa.types.is_integer(kind) and kind != pa.uint64()
    return bool(whole or pa.types.is_floating(kind))


_COMPARE = {"=": pc.equal, "<": pc.less, "<=": pc.less_equal, ">": pc.greater, ">=": pc.greater_equal}


def _compared(column: Any, operator: str, value: Any) -> Any:
    if pa.types.is_floating(column.type):
        column, value = column.cast(pa.float64()), float(value)
    mask = _COMPARE[operator](column, pa.scalar(value))
    if pa.types.is_floating(column.type) and operator in (">", ">="):
        mask = pc.or_kleene(mask, pc.is_nan(column))
    return mask
