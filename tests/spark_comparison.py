"""Expressions evaluated here and by Spark, side by side."""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from attrs import frozen
from expressions import ROWS
from skyband.errors import InputError
from skyband_expressions.expression import Expression, UnknownExpressionError, parse_column

BATCH = ROWS.combine_chunks().to_batches()[0]


@frozen
class Local:
    """An expression as it is evaluated here: its type, and its value or None of the rows that fail."""

    text: str
    type: pa.DataType
    values: list[Any]
    failing: tuple[int, ...]
    errors: tuple[int, ...] = ()
    """Those of the failing rows in which it must fail on Spark too: the others are known to Spark only."""

    @property
    def guarded(self) -> str:
        """The expression where it does not fail, null elsewhere."""
        return (
            f"CASE WHEN row NOT IN ({', '.join(map(str, self.failing))}) THEN ({self.text}) END"
            if self.failing
            else self.text
        )


def evaluate(text: str) -> Local | None:
    """None where the expression is refused."""
    try:
        expression, _ = parse_column(f"{text} AS value")
        assert isinstance(expression, Expression)
        kind = expression.type_in(BATCH.schema)
    except UnknownExpressionError:
        return None
    try:
        return Local(text, kind, comparable(expression.evaluate(BATCH)), ())
    except InputError:
        pass
    values: list[Any] = []
    failing, errors = [], []
    for row in range(len(BATCH)):
        try:
            values += comparable(expression.evaluate(BATCH.slice(row, 1)))
        except InputError as error:
            failing.append(row)
            if "Spark only" not in error.message:
                errors.append(row)
            values.append("None")
    return Local(text, kind, values, tuple(failing), tuple(errors))


def comparable(column: Any) -> list[str]:
    """Values as text that tells -0.0 from 0.0; times as numbers, as Python's end with the year 9999."""
    return [
        repr(value) for value in (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
    ]


def differences(frame: Any, known: Sequence[Local], at_once: int = 60) -> Iterator[str]:
    """Of expressions that were evaluated here, what Spark says otherwise.

    One that fails in every row is left out: Spark evaluates what is constant of it, and fails, for no row at all.
    """
    known = [one for one in known if len(one.failing) < len(BATCH)]
    for start in range(0, len(known), at_once):
        yield from _differences(frame, known[start : start + at_once])


def _differences(frame: Any, known: Sequence[Local]) -> Iterator[str]:
    try:
        table = frame.selectExpr("row", *(f"{one.guarded} AS c{number}" for number, one in enumerate(known))).toArrow()
    except Exception as error:  # one of them is at fault, and Spark does not say which
        if len(known) == 1:
            yield f"{known[0].text}: Spark fails: {' '.join(str(error).split())[:300]}"
            return
        yield from _differences(frame, known[: len(known) // 2])
        yield from _differences(frame, known[len(known) // 2 :])
        return
    table = table.sort_by("row").combine_chunks()
    for number, one in enumerate(known):
        column = table.column(f"c{number}")
        if _plain(column.type) != _plain(one.type):
            yield f"{one.text}: is {one.type} here, and {column.type} on Spark"
            continue
        for row, (here, there) in enumerate(zip(one.values, comparable(column), strict=True)):
            if here != there:
                yield f"{one.text}: row {row} is {here} here, and {there} on Spark: {BATCH.slice(row, 1).to_pylist()}"
                break


def _plain(kind: pa.DataType) -> str:
    """A type without the names of lists' elements."""
    return f"list<{_plain(kind.value_type)}>" if pa.types.is_list(kind) else str(kind)


def not_failing(frame: Any, known: Sequence[Local]) -> Iterator[str]:
    """Of expressions that fail here in some row, those that do not on Spark: the first such row of each."""
    for one in known:
        if one.errors:
            try:
                frame.where(f"row = {one.errors[0]}").selectExpr(f"{one.text} AS value").toArrow()
            except Exception:
                continue
            row = BATCH.slice(one.errors[0], 1).to_pylist()
            yield f"{one.text}: fails here in row {one.errors[0]}, and not on Spark: {row}"
