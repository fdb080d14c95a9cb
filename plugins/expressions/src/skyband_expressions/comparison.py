"""Comparisons as in Spark: NaN equals itself and is above all other numbers, and -0.0 equals 0.0."""

from collections.abc import Sequence
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from skyband_expressions.bound import Bound, Rows, call, of_arguments
from skyband_expressions.casts import cast_to
from skyband_expressions.spark_types import common_type, is_float
from skyband_expressions.syntax import UnknownExpressionError


def equal(first: pa.Array, second: pa.Array) -> pa.Array:
    """bool[n]: null where either is null."""
    mask = pc.equal(first, second)
    return pc.or_kleene(mask, pc.and_kleene(pc.is_nan(first), pc.is_nan(second))) if is_float(first.type) else mask


def less(first: pa.Array, second: pa.Array) -> pa.Array:
    """bool[n]: null where either is null."""
    mask = pc.less(first, second)
    if not is_float(first.type):
        return mask
    return pc.or_kleene(mask, pc.and_kleene(pc.is_nan(second), pc.invert(pc.is_nan(first))))


def _not_above(first: pa.Array, second: pa.Array) -> pa.Array:
    return pc.invert(less(second, first))


def _null_safe_equal(first: pa.Array, second: pa.Array) -> pa.Array:
    nulls = pc.and_(pc.is_null(first), pc.is_null(second))
    return pc.or_(pc.fill_null(equal(first, second), False), nulls)


_KERNELS = {
    "=": equal,
    "<>": lambda first, second: pc.invert(equal(first, second)),
    "<": less,
    ">": lambda first, second: less(second, first),
    "<=": _not_above,
    ">=": lambda first, second: _not_above(second, first),
    "<=>": _null_safe_equal,
}


def compare(operator: str, arguments: Sequence[Bound]) -> Bound:
    """Compare two values with an operator of `_KERNELS`."""
    first, second = alike(arguments, operator)
    return call(pa.bool_(), _KERNELS[operator], first, second, strict=operator != "<=>")


def alike(arguments: Sequence[Bound], what: str) -> list[Bound]:
    """Cast values to their common type, to compare them. Raises UnknownExpressionError."""
    kind = common_type([argument.type for argument in arguments], what)
    if pa.types.is_nested(kind):
        raise UnknownExpressionError(f"{what} takes plain values, not {kind}")
    if kind == pa.null():
        kind = pa.bool_()
    return [cast_to(argument, kind) for argument in arguments]


def extreme(name: str, arguments: Sequence[Bound]) -> Bound:
    """`greatest` and `least`: nulls are ignored."""
    values = alike(arguments, name)

    def better(first: pa.Array, second: pa.Array) -> pa.Array:
        wins = less(first, second) if name == "greatest" else less(second, first)
        takes = pc.or_kleene(pc.and_(pc.is_valid(second), pc.is_null(first)), pc.fill_null(wins, False))
        return pc.if_else(takes, second, first)

    def evaluate(rows: Rows) -> pa.Array:
        return reduce(better, (value.evaluate(rows) for value in values))

    return values[0] if len(values) == 1 else of_arguments(values[0].type, evaluate, values)
