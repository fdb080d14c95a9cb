"""Expressions whose columns have types, and the rows they are evaluated on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field, frozen

from skyband_expressions.syntax import Tree, UnknownExpressionError


class EvaluationError(ValueError):
    """A value that Spark raises an error for, such as a division by zero."""


Places = npt.NDArray[np.int64] | None
"""Places of rows, some perhaps several times; None: all of them."""


@define(eq=False)
class Rows:
    """Columns by name, of which some rows may be chosen; a column is made when it is first asked for."""

    length: int
    _column_of: Callable[[str, Places], pa.Array]
    """Of a column these rows, and no more: nothing is made of all rows where some are asked for."""
    _columns: dict[str, pa.Array] = field(factory=dict, init=False)

    def column(self, name: str) -> pa.Array:
        """The column of that name."""
        if name not in self._columns:
            self._columns[name] = self._column_of(name, None)
        return self._columns[name]

    def take(self, indices: npt.NDArray[np.int64]) -> "Rows":
        """Those rows, in that order, some perhaps several times."""
        return Rows(
            len(indices), lambda name, places: self._column_of(name, indices if places is None else indices[places])
        )

    def extended(self, columns: Mapping[str, pa.Array]) -> "Rows":
        """With further columns, which hide those of their names."""

        def column_of(name: str, places: Places) -> pa.Array:
            return rows_at(columns[name], places) if name in columns else self._column_of(name, places)

        return Rows(self.length, column_of)


def rows_at(column: pa.Array, places: Places) -> pa.Array:
    """Those rows of a column."""
    return column if places is None else column.take(pa.array(places))


ONE_ROW = Rows(1, lambda _, places: rows_at(pa.nulls(1), places))
"""For what is the same in every row."""

_NO_LITERAL = object()


@frozen(eq=False)
class Bound:
    """An expression of a type, Arrow's for Spark's."""

    type: pa.DataType
    evaluate: Callable[[Rows], pa.Array]
    """Its value in each row. Raises EvaluationError or ArrowInvalid where one has none."""
    can_fail: bool = False
    """Whether `evaluate` may raise, so that it is asked only of the rows in which Spark would."""
    literal: Any = _NO_LITERAL
    same_in_all: bool = False
    """Whether it reads no column."""
    chain: tuple[str, tuple["Bound", ...]] | None = None
    """Of whole numbers that are summed, or multiplied: `+` or `*`, and what is, in the order that it is written in."""
    digits_count: bool = True
    """Whether a whole number that is a literal has, as a decimal, as many digits as it is written with."""

    @property
    def is_literal(self) -> bool:
        """Whether it is the same value in every row, which is `literal`."""
        return self.literal is not _NO_LITERAL


def literal(value: Any, kind: pa.DataType) -> Bound:
    """A value in every row."""
    scalar = pa.scalar(value, kind)
    return Bound(kind, lambda rows: pa.repeat(scalar, rows.length), literal=value, same_in_all=True)


def evaluated_once(constant: Bound) -> Bound:
    """What is the same in every row, as a literal. Raises UnknownExpressionError where it fails, so in every row."""
    try:
        value = constant.evaluate(ONE_ROW)[0].as_py()
    except (EvaluationError, pa.ArrowInvalid) as error:
        raise UnknownExpressionError(f"what is the same in every row has no value: {error}") from error
    return evolve(literal(value, constant.type), digits_count=False)


def null_in_all(bound: Bound) -> bool:
    """Whether it is null whatever the row, as Spark finds out before it reads any."""
    if not bound.same_in_all:
        return False
    try:
        return not bound.evaluate(ONE_ROW)[0].is_valid
    except (EvaluationError, pa.ArrowInvalid):  # which it is in each row
        return False


def call(
    kind: pa.DataType, kernel: Callable[..., pa.Array], *arguments: Bound, can_fail: bool = False, strict: bool = True
) -> Bound:
    """A kernel of the values of arguments, arrays of one length each.

    One that is `strict` is null where an argument is: as on Spark, those after a null are not asked for, and none where
    a null is written.
    """
    if strict and len(arguments) > 1 and any(argument.literal is None for argument in arguments):
        return literal(None, kind)

    def evaluate(rows: Rows) -> pa.Array:
        columns: list[pa.Array] = []
        for argument in arguments:
            alone = strict and argument.can_fail and any(column.null_count for column in columns)
            columns.append(_where_valid(argument, rows, columns) if alone else argument.evaluate(rows))
        return kernel(*columns)

    return of_arguments(kind, evaluate, arguments, can_fail)


def of_arguments(
    kind: pa.DataType, evaluate: Callable[[Rows], pa.Array], arguments: Sequence[Bound], can_fail: bool = False
) -> Bound:
    """What is evaluated from arguments: it can fail where one can, and is the same in all rows where all are."""
    can_fail = can_fail or any(argument.can_fail for argument in arguments)
    return Bound(kind, evaluate, can_fail, same_in_all=all(argument.same_in_all for argument in arguments))


def _where_valid(argument: Bound, rows: Rows, columns: Sequence[pa.Array]) -> pa.Array:
    """Its values where none of some columns is null, null elsewhere."""
    valid = np.logical_and.reduce([pc.is_valid(column).to_numpy(zero_copy_only=False) for column in columns])
    places = np.flatnonzero(valid)
    return placed([argument.evaluate(rows.take(places))], [places], rows.length, argument.type)


def placed(
    parts: Sequence[pa.Array], places: Sequence[npt.NDArray[np.int64]], length: int, kind: pa.DataType
) -> pa.Array:
    """Values of some rows each, put to their rows; null in the others."""
    together = pa.concat_arrays([part if part.type == kind else part.cast(kind) for part in parts])
    indices = np.full(length, -1)
    indices[np.concatenate(places)] = np.arange(len(together))
    return together.take(pa.array(indices, mask=indices < 0))


Bind = Callable[[Tree], Bound]
"""A tree with the types of a schema."""


def expect(number: range, arguments: Sequence[Any], name: str) -> None:
    """Raise UnknownExpressionError unless a function has so many arguments."""
    if len(arguments) not in number:
        few, many = number[0], number[-1]
        count = f"{few}" if few == many else f"{few} to {many}" if many < MANY[-1] else f"{few} or more"
        raise UnknownExpressionError(f"{name} takes {count} arguments here, not {len(arguments)}")


MANY = range(1, 1 << 20)


def text_of(argument: Bound, name: str, what: str) -> str:
    """The text that an argument is in every row. Raises UnknownExpressionError where it is of rows."""
    if not argument.is_literal or not isinstance(argument.literal, str):
        raise UnknownExpressionError(f"{name} takes {what} as text in quotes here")
    return argument.literal


def integer_of(argument: Bound, name: str, what: str) -> int:
    """The whole number that an argument is in every row. Raises UnknownExpressionError where it is of rows."""
    if not argument.is_literal or not isinstance(argument.literal, int) or isinstance(argument.literal, bool):
        raise UnknownExpressionError(f"{name} takes {what} as a number here")
    return argument.literal
