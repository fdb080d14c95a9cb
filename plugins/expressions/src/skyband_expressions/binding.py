"""Binds expression trees to the types of a schema's columns."""

from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa
from attrs import evolve
from skyband.columns.arrow_normalization import no_rows
from skyband.columns.keyed_frames import decoded

from skyband_expressions.bound import Bound, Places, Rows, expect, literal, null_in_all, rows_at
from skyband_expressions.casts import cast_to
from skyband_expressions.functions import FUNCTIONS, GENERATORS, HIGHER_ORDER, OPERATORS
from skyband_expressions.nested import field_of
from skyband_expressions.spark_types import spark_type
from skyband_expressions.syntax import Call, Cast, Lambda, Literal, Name, Tree, UnknownExpressionError


@lru_cache(maxsize=256)
def bind(tree: Tree, schema: pa.Schema) -> Bound:
    """Bind a tree to a schema. Raises UnknownExpressionError, naming what does not fit."""
    kinds = dict(zip(schema.names, schema.types, strict=True))
    try:
        bound = _Binder(kinds).bind(tree)
        bound.evaluate(rows_of(no_rows(schema)))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        raise UnknownExpressionError(" ".join(str(error).split())) from error
    return bound


def rows_of(batch: pa.RecordBatch) -> Rows:
    """The rows of a batch, with columns of Spark's types."""
    columns: dict[str, pa.Array] = {}

    def column_of(name: str, places: Places) -> pa.Array:
        if name not in columns:
            columns[name] = _in_spark(decoded(batch.column(name)))
        return rows_at(columns[name], places)

    return Rows(len(batch), column_of)


def _in_spark(column: Any) -> pa.Array:
    kind = spark_type(column.type)
    if kind is None or column.type == kind:
        return column
    if pa.types.is_timestamp(kind):
        return column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).cast(kind)
    return column.cast(kind)


class _Binder:
    """Binds trees whose names are these columns."""

    def __init__(self, kinds: dict[str, pa.DataType]) -> None:
        self._kinds = kinds

    def bind(self, tree: Tree) -> Bound:
        """Bind one tree."""
        if isinstance(tree, Name):
            return self._name(tree)
        if isinstance(tree, Literal):
            return _literal(tree.value)
        if isinstance(tree, Lambda):
            raise UnknownExpressionError("a lambda is allowed only in filter and transform")
        bound = self._cast(tree) if isinstance(tree, Cast) else self._call(tree)
        return literal(None, bound.type) if null_in_all(bound) else bound

    def _cast(self, tree: Cast) -> Bound:
        return evolve(cast_to(self.bind(tree.argument), tree.type, tree.safe), digits_count=False)

    def _call(self, tree: Call) -> Bound:
        name = tree.function
        if name in HIGHER_ORDER:
            return HIGHER_ORDER[name](tree.arguments, self.bind, lambda more: _Binder({**self._kinds, **more}).bind)
        if name in GENERATORS:
            raise UnknownExpressionError(f"{name} must be a whole entry of select")
        arguments = [self.bind(argument) for argument in _without_inner_case(tree)]
        if name == "field":
            return field_of(arguments[0], arguments[1].literal)
        function = OPERATORS.get(name) or FUNCTIONS[name]
        assert function is not None, name
        expect(range(1, 1 << 20), arguments, name)
        return function(arguments)

    def _name(self, tree: Name) -> Bound:
        first, *fields = tree.parts
        if first not in self._kinds:
            from skyband.queries.shared_keys import no_column

            raise UnknownExpressionError(no_column(first, pa.schema(list(self._kinds.items()))))
        kind = spark_type(self._kinds[first])
        if kind is None:
            raise UnknownExpressionError(f"column {first!r} is {self._kinds[first]}, which Spark stores in its own way")
        bound = Bound(kind, lambda rows: rows.column(first))
        for field in fields:
            bound = field_of(bound, field)
        return bound


_CASES = ("lower", "lcase", "upper", "ucase")


def _without_inner_case(tree: Call) -> Sequence[Tree]:
    """The arguments of a call; on Spark `upper(lower(text))` is `upper(text)`, which differs for some letters."""
    inner = tree.arguments
    if tree.function in _CASES:
        while len(inner) == 1 and isinstance(inner[0], Call) and inner[0].function in _CASES:
            inner = inner[0].arguments
    return inner


def _literal(value: Any) -> Bound:
    if value is None:
        return literal(None, pa.null())
    if isinstance(value, bool):
        return literal(value, pa.bool_())
    if isinstance(value, int):
        kind = next(
            (kind for kind, bits in ((pa.int32(), 31), (pa.int64(), 63)) if -(2**bits) <= value < 2**bits), None
        )
        return literal(value, kind) if kind is not None else _literal(Decimal(value))
    if isinstance(value, Decimal):
        _, digits, exponent = value.as_tuple()
        scale = -int(exponent)
        precision = max(len(digits), scale)
        if precision > 38:
            raise UnknownExpressionError(f"the number {value} has more than 38 digits")
        return literal(value, pa.decimal128(precision, scale))
    return literal(value, pa.float64() if isinstance(value, float) else pa.string())
