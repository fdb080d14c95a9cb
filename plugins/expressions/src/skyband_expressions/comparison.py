"""Comparisons as Spark makes them: NaN is equal to itself and above all other numbers, -0.0 is 0.0."""

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from skyband_expressions.bound import Bound, Rows, call, of_arguments
from skyband_expressions.casts import cast_to
from skyband_expressions.spark_types import common_type, is_float
from skyband_expressions.syntax import UnknownExpressionError


def equal(one: pa.Array, other: pa.Array) -> pa.Array:
    """bool[n]: null where one is."""
    mask = pc.equal(one, other)
    return pc.or_kleene(mask, pc.and_kleene(pc.is_nan(one), pc.is_nan(other))) if is_float(one.type) else mask


def less(one: pa.Array, other: pa.Array) -> pa.Array:
    """bool[n]: null where one is."""
    mask = pc.less(one, other)
    if not is_float(one.type):
        return mask
    return pc.or_kleene(mask, pc.and_kleene(pc.is_nan(other), pc.invert(pc.is_nan(one))))


def _not_above(one: pa.Array, other: pa.Array) -> pa.Array:
    return pc.invert(less(other, one))


def _null_safe_equal(one: pa.Array, other: pa.Array) -> pa.Array:
    nulls = pc.and_(pc.is_null(one), pc.is_null(other))
    return pc.or_(pc.fill_null(equal(one, other), False), nulls)


_KERNELS = {
    "=": equal,
    "<>": lambda one, other: pc.invert(equal(one, other)),
    "<": less,
    ">": lambda one, other: less(other, one),
    "<=": _not_above,
    ">=": lambda one, other: _not_above(other, one),
    "<=>": _null_safe_equal,
}


def compare(operator: str, arguments: Sequence[Bound]) -> Bound:
    """One of `_KERNELS` of two values."""
    one, other = alike(arguments, operator)
    return call(pa.bool_(), _KERNELS[operator], one, other, strict=operator != "<=>")


def alike(arguments: Sequence[Bound], what: str) -> list[Bound]:
    """Values that are compared, in the type that all have in common. Raises UnknownExpressionError."""
    kind = common_type([argument.type for argument in arguments], what)
    if pa.types.is_nested(kind):
        raise UnknownExpressionError(f"{what} is of plain values here, not of {kind}")
    if kind == pa.null():
        kind = pa.bool_()
    return [cast_to(argument, kind) for argument in arguments]


def extreme(name: str, arguments: Sequence[Bound]) -> Bound:
    """`greatest` and `least`: of the values that are no nulls."""
    values = alike(arguments, name)

    def better(one: pa.Array, other: pa.Array) -> pa.Array:
        wins = less(one, other) if name == "greatest" else less(other, one)
        takes = pc.or_kleene(pc.and_(pc.is_valid(other), pc.is_null(one)), pc.fill_null(wins, False))
        return pc.if_else(takes, other, one)

    def evaluate(rows: Rows) -> pa.Array:
        return reduce(better, (value.evaluate(rows) for value in values))

    return values[0] if len(values) == 1 else of_arguments(values[0].type, evaluate, values)
