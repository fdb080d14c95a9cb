"""An expression in Spark SQL: the columns that it reads, its type, and its value in each row of a batch."""

from functools import lru_cache

import numpy as np
import pyarrow as pa
from attrs import field, frozen
from skyband.columns.keyed_frames import decoded
from skyband.errors import InputError

from skyband_expressions.failing_rows import failing_rows, failing_values
from skyband_expressions.spark_types import is_number, is_time
from skyband_expressions.syntax import Call, Name, Tree, UnknownExpressionError, names_in

_OVERFLOW = "offset overflow"
"""Arrow's message if joined texts or lists exceed 32-bit offsets."""


@frozen
class Expression:
    """A parsed expression; a schema or a batch later provides its columns."""

    text: str
    tree: Tree = field(repr=False)

    @property
    def columns(self) -> list[str]:
        """The distinct columns of the source that it reads."""
        return list(dict.fromkeys(name.parts[0] for name in names_in(self.tree)))

    @property
    def column(self) -> str | None:
        """The column, if the expression is just a column, else None."""
        return self.tree.parts[0] if isinstance(self.tree, Name) and len(self.tree.parts) == 1 else None

    @property
    def generator(self) -> str | None:
        """The function, if it is one that makes several rows of one."""
        from skyband_expressions.functions import GENERATORS

        return self.tree.function if isinstance(self.tree, Call) and self.tree.function in GENERATORS else None

    def problem(self, schema: pa.Schema) -> str | None:
        """Why it is not supported for rows of this schema, which has its `columns`."""
        try:
            self.type_in(schema)
        except UnknownExpressionError as error:
            return str(error)
        return None

    def condition_problem(self, schema: pa.Schema) -> str | None:
        """Like `problem`, but also requires a boolean."""
        try:
            kind = self.type_in(schema)
        except UnknownExpressionError as error:
            return str(error)
        return None if kind == pa.bool_() else f"`{self.text}` is {kind}, not a condition: compare it with a value"

    def is_no_condition(self, schema: pa.Schema) -> bool:
        """Whether it is a number, text or a time, which Spark does not accept as a condition either."""
        if self.problem(schema) is not None:
            return False
        kind = self.type_in(schema)
        return is_number(kind) or is_time(kind) or kind == pa.string()

    def type_in(self, schema: pa.Schema) -> pa.DataType:
        """The Arrow type of Spark's; for `explode`, that of an element. Raises UnknownExpressionError."""
        from skyband_expressions.binding import bind

        if self.column is not None and self.column in schema.names:
            return schema.field(self.column).type
        if self.generator is None:
            return bind(self.tree, schema).type
        kind = bind(_argument(self.tree), schema).type
        if not pa.types.is_list(kind):
            raise UnknownExpressionError(f"{self.generator} takes arrays, not {kind}")
        return kind.value_type

    def evaluate(self, batch: pa.RecordBatch) -> pa.Array:
        """Its value in each row; for a generator, the list. Raises InputError naming the first row that fails.

        Raises ArrowCapacityError if the values of several rows do not fit into one array: try fewer rows.
        """
        if self.column is not None:
            return batch.column(self.column)
        tree = _argument(self.tree) if self.generator is not None else self.tree
        try:
            return _evaluated(tree, batch)
        except pa.ArrowCapacityError as error:
            if len(batch) > 1:
                raise
            raise InputError(self.text, "is larger than 2 GB, the limit of a value", 0) from error
        except (ValueError, pa.ArrowInvalid) as error:
            if _OVERFLOW in str(error) and len(batch) > 1:
                raise pa.ArrowCapacityError(str(error)) from error
            row = _first_failing(tree, batch)
            raise InputError(self.text, _message(error, tree, batch.slice(row, 1)), row) from error

    def failing(self, batch: pa.RecordBatch) -> list[InputError]:
        """The error of each row that fails, ascending."""
        if self.column is not None:
            return []
        tree = _argument(self.tree) if self.generator is not None else self.tree
        if len(self.columns) == 1:
            (name,) = self.columns
            column = decoded(batch.column(name))
            failing = failing_values(
                column, lambda part: _evaluated(tree, pa.RecordBatch.from_arrays([part], names=[name]))
            )
        else:
            failing = failing_rows(len(batch), lambda begin, end: _evaluated(tree, batch.slice(begin, end - begin)))
        return [InputError(self.text, _as_sentence(error), row) for row, error in failing]


def _argument(tree: Tree) -> Tree:
    assert isinstance(tree, Call)
    if len(tree.arguments) != 1:
        raise UnknownExpressionError(f"{tree.function} takes 1 argument, not {len(tree.arguments)}")
    return tree.arguments[0]


def _evaluated(tree: Tree, batch: pa.RecordBatch) -> pa.Array:
    from skyband_expressions.binding import bind, rows_of

    bound = bind(tree, batch.schema)
    return bound.evaluate(rows_of(batch))


def _first_failing(tree: Tree, batch: pa.RecordBatch) -> int:
    """The first row that cannot be evaluated, in a batch that has one. O(log rows) evaluations."""
    fine, failing = 0, len(batch)
    while failing - fine > 1:
        middle = (fine + failing) // 2
        try:
            _evaluated(tree, batch.slice(fine, middle - fine))
            fine = middle
        except (ValueError, pa.ArrowInvalid):
            failing = middle
    return fine


def _message(error: Exception, tree: Tree, row: pa.RecordBatch) -> str:
    """The error of the first row that fails, which may differ from the first error raised."""
    try:
        _evaluated(tree, row)
    except (ValueError, pa.ArrowInvalid) as own:
        error = own
    return _as_sentence(error)


def _as_sentence(error: Exception) -> str:
    message = " ".join(str(error).split())
    return {"divide by zero": "division by zero", "overflow": "the result does not fit its type"}.get(message, message)


@lru_cache(maxsize=256)
def parse_condition(text: str) -> Expression:
    """Parse a condition on a row. Raises UnknownExpressionError, naming what is not supported."""
    expression, alias = _parsed(text)
    if alias is not None:
        raise UnknownExpressionError(f"has a name, {alias}, but a condition takes none")
    if expression is None:
        raise UnknownExpressionError("* is not a condition")
    if expression.generator is not None:
        raise UnknownExpressionError(f"{expression.generator} is allowed only in select")
    return expression


@lru_cache(maxsize=256)
def parse_column(text: str) -> tuple[Expression | None, str]:
    """Parse a column: its expression and its name; None and "*" for all columns.

    Raises UnknownExpressionError, naming what is not supported, or if it has no name.
    """
    expression, alias = _parsed(text)
    if expression is None:
        return None, "*"
    if alias is None:
        if not isinstance(expression.tree, Name):
            raise UnknownExpressionError(f"has no name: write {text} AS name")
        alias = expression.tree.parts[-1]
    return expression, alias


def _parsed(text: str) -> tuple[Expression | None, str | None]:
    from skyband_expressions.sql_parser import parse

    tree, alias = parse(text)
    return (None if tree is None else Expression(text, tree)), alias


def exploded(lists: pa.Array, outer: bool) -> tuple[pa.Array, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """The elements of lists, and int64[m], the row of each; `outer`: null for an empty list."""
    from skyband_expressions.nested import flat

    parents, elements = flat(lists)
    if not outer:
        return elements, parents
    empty = np.flatnonzero(np.bincount(parents, minlength=len(lists)) == 0)
    rows = np.concatenate([parents, empty])
    order = np.argsort(rows, kind="stable")
    places = np.concatenate([np.arange(len(parents)), np.full(len(empty), -1)])[order]
    return elements.take(pa.array(places, mask=places < 0)), rows[order]


__all__ = ["Expression", "UnknownExpressionError", "exploded", "parse_column", "parse_condition"]
