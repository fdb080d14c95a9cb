"""Expressions bound to column types, and the rows to evaluate them on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field, frozen

from skyband_expressions.syntax import Tree, UnknownExpressionError


class EvaluationError(ValueError):
    """A value for which Spark raises an error, such as a division by zero."""


Places = npt.NDArray[np.int64] | None
"""Indices of rows, possibly repeated; None: all rows."""


@define(eq=False)
class Rows:
    """Columns by name, possibly only some of their rows; a column is built on first use."""

    length: int
    _column_of: Callable[[str, Places], pa.Array]
    """Returns these rows of a column, and builds no others."""
    _columns: dict[str, pa.Array] = field(factory=dict, init=False)

    def column(self, name: str) -> pa.Array:
        """The column with this name."""
        if name not in self._columns:
            self._columns[name] = self._column_of(name, None)
        return self._columns[name]

    def take(self, indices: npt.NDArray[np.int64]) -> "Rows":
        """The rows with these indices, in this order, possibly repeated."""
        return Rows(
            len(indices), lambda name, places: self._column_of(name, indices if places is None else indices[places])
        )

    def extended(self, columns: Mapping[str, pa.Array]) -> "Rows":
        """The rows with further columns, which hide columns of the same name."""

        def column_of(name: str, places: Places) -> pa.Array:
            return rows_at(columns[name], places) if name in columns else self._column_of(name, places)

        return Rows(self.length, column_of)


def rows_at(column: pa.Array, places: Places) -> pa.Array:
    """These rows of a column."""
    return column if places is None else column.take(pa.array(places))


ONE_ROW = Rows(1, lambda _, places: rows_at(pa.nulls(1), places))
"""To evaluate constants on."""

_NO_LITERAL = object()


@frozen(eq=False)
class Bound:
    """An expression with its type, the Arrow type of Spark's."""

    type: pa.DataType
    evaluate: Callable[[Rows], pa.Array]
    """Its value in each row. Raises EvaluationError or ArrowInvalid if a row has none."""
    can_fail: bool = False
    """Whether `evaluate` may raise, so that only the rows that Spark would evaluate are evaluated."""
    literal: Any = _NO_LITERAL
    same_in_all: bool = False
    """Whether it is constant: it reads no column."""
    chain: tuple[str, tuple["Bound", ...]] | None = None
    """For sums or products of whole numbers: `+` or `*`, and the operands in the order written."""
    digits_count: bool = True
    """Whether a literal whole number, as a decimal, has as many digits as it is written with."""

    @property
    def is_literal(self) -> bool:
        """Whether its value in every row is `literal`."""
        return self.literal is not _NO_LITERAL


def literal(value: Any, kind: pa.DataType) -> Bound:
    """An expression with the same value in every row."""
    scalar = pa.scalar(value, kind)
    return Bound(kind, lambda rows: pa.repeat(scalar, rows.length), literal=value, same_in_all=True)


def evaluated_once(constant: Bound) -> Bound:
    """Fold a constant expression to a literal. Raises UnknownExpressionError if it fails, as it would in every row."""
    try:
        value = constant.evaluate(ONE_ROW)[0].as_py()
    except (EvaluationError, pa.ArrowInvalid) as error:
        raise UnknownExpressionError(f"a constant part cannot be evaluated: {error}") from error
    return evolve(literal(value, constant.type), digits_count=False)


def null_in_all(bound: Bound) -> bool:
    """Whether it is null in every row, which Spark finds out before it reads rows."""
    if not bound.same_in_all:
        return False
    try:
        return not bound.evaluate(ONE_ROW)[0].is_valid
    except (EvaluationError, pa.ArrowInvalid):  # the error of each row
        return False


def call(
    kind: pa.DataType,
    kernel: Callable[..., pa.Array],
    *arguments: Bound,
    can_fail: bool = False,
    strict: bool = True,
    folds_nulls: bool = True,
) -> Bound:
    """Call a kernel with the values of the arguments, as arrays of equal length.

    A `strict` kernel is null if an argument is: as on Spark, arguments after a null are not evaluated, and none is if
    one is a literal null that the optimizer folds.
    """
    if strict and folds_nulls and len(arguments) > 1 and any(argument.literal is None for argument in arguments):
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
    """An expression of arguments: it can fail if one of them can, and is constant if all of them are."""
    can_fail = can_fail or any(argument.can_fail for argument in arguments)
    return Bound(kind, evaluate, can_fail, same_in_all=all(argument.same_in_all for argument in arguments))


def _where_valid(argument: Bound, rows: Rows, columns: Sequence[pa.Array]) -> pa.Array:
    """Its values in rows where none of the columns is null, null elsewhere."""
    valid = np.logical_and.reduce([pc.is_valid(column).to_numpy(zero_copy_only=False) for column in columns])
    places = np.flatnonzero(valid)
    return placed([argument.evaluate(rows.take(places))], [places], rows.length, argument.type)


def placed(
    parts: Sequence[pa.Array], places: Sequence[npt.NDArray[np.int64]], length: int, kind: pa.DataType
) -> pa.Array:
    """Merge values of different rows into one array; other rows are null."""
    together = pa.concat_arrays([part if part.type == kind else part.cast(kind) for part in parts])
    indices = np.full(length, -1)
    indices[np.concatenate(places)] = np.arange(len(together))
    return together.take(pa.array(indices, mask=indices < 0))


Bind = Callable[[Tree], Bound]
"""Binds a tree to a schema."""


def expect(number: range, arguments: Sequence[Any], name: str) -> None:
    """Raise UnknownExpressionError unless the number of a function's arguments is in `number`."""
    if len(arguments) not in number:
        few, many = number[0], number[-1]
        count = f"{few}" if few == many else f"{few} to {many}" if many < MANY[-1] else f"{few} or more"
        raise UnknownExpressionError(f"{name} takes {count} arguments, not {len(arguments)}")


MANY = range(1, 1 << 20)


def text_of(argument: Bound, name: str, what: str) -> str:
    """The text of a literal argument. Raises UnknownExpressionError if it is not one."""
    if not argument.is_literal or not isinstance(argument.literal, str):
        raise UnknownExpressionError(f"{name} takes {what} as literal text in quotes")
    return argument.literal


def integer_of(argument: Bound, name: str, what: str) -> int:
    """The value of a literal whole number. Raises UnknownExpressionError if it is not one."""
    if not argument.is_literal or not isinstance(argument.literal, int) or isinstance(argument.literal, bool):
        raise UnknownExpressionError(f"{name} takes {what} as a literal number")
    return argument.literal
