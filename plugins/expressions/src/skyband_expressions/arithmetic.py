"""Arithmetic in Spark's ANSI mode: overflow and division by zero are errors."""

from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from skyband_expressions.bound import Bound, EvaluationError, call, evaluated_once, expect
from skyband_expressions.casts import cast_to
from skyband_expressions.spark_types import (
    as_decimal,
    common_type,
    decimal,
    is_decimal,
    is_float,
    is_integer,
    is_number,
    name_of,
)
from skyband_expressions.syntax import UnknownExpressionError

_CHECKED = {"+": pc.add_checked, "-": pc.subtract_checked, "*": pc.multiply_checked}
_PLAIN = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}


def numbers(arguments: Sequence[Bound], name: str) -> list[Bound]:
    """The arguments, if all are numbers. Raises UnknownExpressionError otherwise."""
    for argument in arguments:
        if not is_number(argument.type) and argument.type != pa.null():
            message = f"{name} takes numbers, not {name_of(argument.type)}: cast it"
            raise UnknownExpressionError(message)
    if all(argument.type == pa.null() for argument in arguments):
        return [cast_to(argument, pa.float64()) for argument in arguments]
    return list(arguments)


def combine(name: str, arguments: Sequence[Bound]) -> Bound:
    """`+`, `-` and `*`."""
    first, second = numbers(arguments, name)
    if _of_decimals(first, second):
        first, second = _decimals(first, second)
        kind = _decimal_result(name, first.type, second.type)
        return call(kind, lambda a, b: _PLAIN[name](a, b).cast(kind), first, second)
    kind = common_type([first.type, second.type], name)
    first, second = cast_to(first, kind), cast_to(second, kind)
    if is_float(kind):
        return call(kind, _PLAIN[name], first, second)
    return _checked(name, kind, first, second) if name == "-" else _chained(name, kind, first, second)


def _checked(name: str, kind: pa.DataType, first: Bound, second: Bound) -> Bound:
    return call(kind, _CHECKED[name], first, second, can_fail=True)


def _chained(name: str, kind: pa.DataType, first: Bound, second: Bound) -> Bound:
    """`+` or `*` of whole numbers: for `a * 0 * b`, Spark multiplies the columns first, which may overflow."""
    terms = [term for side in (first, second) for term in _terms(name, side)]
    put_together = partial(_checked, name, kind)
    constants = [term for term in terms if term.same_in_all]
    whole = put_together(first, second)
    if constants:
        others = [term for term in terms if not term.same_in_all]
        whole = reduce(put_together, [*others, evaluated_once(reduce(put_together, constants))])
    return evolve(whole, chain=(name, tuple(terms)))


def _terms(name: str, side: Bound) -> tuple[Bound, ...]:
    return side.chain[1] if side.chain is not None and side.chain[0] == name else (side,)


def divide(arguments: Sequence[Bound]) -> Bound:
    """`/`: a DOUBLE."""
    dividend, divisor = numbers(arguments, "/")
    if _of_decimals(dividend, divisor):
        raise UnknownExpressionError("/ of decimals is not supported: cast one to double, or write 2.0 as 2.0D")
    return _of_divisor(pa.float64(), pc.divide_checked, dividend, divisor)


def divide_whole(arguments: Sequence[Bound]) -> Bound:
    """`div`: whole numbers, rounded towards zero, as a BIGINT."""
    dividend, divisor = numbers(arguments, "div")
    if not all(is_integer(argument.type) for argument in (dividend, divisor)):
        raise UnknownExpressionError("div takes whole numbers")
    return _of_divisor(pa.int64(), pc.divide_checked, dividend, divisor)


def remainder(arguments: Sequence[Bound]) -> Bound:
    """`%`: with the sign of the dividend."""
    dividend, divisor = numbers(arguments, "%")
    if _of_decimals(dividend, divisor):
        raise UnknownExpressionError("% takes whole numbers and doubles, not decimals: cast it to double")
    kind = common_type([dividend.type, divisor.type], "%")

    def kernel(dividends: pa.Array, column: pa.Array) -> pa.Array:
        nulls = _nulls(dividends) | _nulls(column)
        divisors = pc.fill_null(column, 1).to_numpy()
        if (~nulls & (divisors == 0)).any():
            raise EvaluationError("division by zero")
        with np.errstate(all="ignore"):
            values = np.fmod(pc.fill_null(dividends, 0).to_numpy(), np.where(divisors == 0, 1, divisors))
        return pa.array(values.astype(divisors.dtype), kind, mask=nulls)

    return _of_divisor(kind, kernel, dividend, divisor)


def _of_divisor(kind: pa.DataType, kernel: Callable[[pa.Array, pa.Array], pa.Array], one: Bound, other: Bound) -> Bound:
    """A division. Spark evaluates the divisor first, and not the dividend if the divisor is null."""
    divisor, dividend = cast_to(other, kind), cast_to(one, kind)
    return call(kind, lambda divisors, dividends: kernel(dividends, divisors), divisor, dividend, can_fail=True)


def negative(arguments: Sequence[Bound]) -> Bound:
    """`-` before a number."""
    (number,) = numbers(arguments, "-")
    can_fail = is_integer(number.type)
    return call(number.type, pc.negate_checked if can_fail else pc.negate, number, can_fail=can_fail)


def positive_size(arguments: Sequence[Bound]) -> Bound:
    """`abs`."""
    expect(range(1, 2), arguments, "abs")
    (number,) = numbers(arguments, "abs")
    can_fail = is_integer(number.type)
    return call(number.type, pc.abs_checked if can_fail else pc.abs, number, can_fail=can_fail)


def rounded(name: str, arguments: Sequence[Bound]) -> Bound:
    """`floor` and `ceil` of a DOUBLE, as a BIGINT, 0 for NaN; whole numbers stay the same."""
    expect(range(1, 2), arguments, name)
    (number,) = numbers(arguments, name)
    if is_decimal(number.type):
        raise UnknownExpressionError(f"{name} takes whole numbers and doubles, not decimals")
    if is_integer(number.type):
        return cast_to(number, pa.int64())
    function = pc.floor if name == "floor" else pc.ceil

    def kernel(column: pa.Array) -> pa.Array:
        values = pc.if_else(pc.is_nan(column), 0.0, function(column))
        inside = pc.and_(pc.greater_equal(values, -(2.0**63)), pc.less(values, 2.0**63))
        if pc.any(pc.invert(inside)).as_py():
            raise EvaluationError(f"{column[pc.index(inside, False).as_py()].as_py()!r} is too large for {name}")
        return values.cast(pa.int64())

    return call(pa.int64(), kernel, cast_to(number, pa.float64()), can_fail=True)


def square_root(arguments: Sequence[Bound]) -> Bound:
    """`sqrt`: NaN below 0."""
    expect(range(1, 2), arguments, "sqrt")
    (number,) = numbers(arguments, "sqrt")
    return call(pa.float64(), pc.sqrt, cast_to(number, pa.float64()))


def is_nan(arguments: Sequence[Bound]) -> Bound:
    """`isnan`: false for null."""
    expect(range(1, 2), arguments, "isnan")
    (number,) = numbers(arguments, "isnan")
    return call(pa.bool_(), lambda column: pc.fill_null(pc.is_nan(column), False), cast_to(number, pa.float64()))


def _of_decimals(first: Bound, second: Bound) -> bool:
    kinds = (first.type, second.type)
    return any(map(is_decimal, kinds)) and not any(map(is_float, kinds))


def _decimals(first: Bound, second: Bound) -> tuple[Bound, Bound]:
    """Two numbers as decimals; a literal whole number has as many digits as it is written with."""
    pair = []
    for argument in (first, second):
        kind = argument.type
        if kind == pa.null():
            kind = (second if argument is first else first).type
        elif argument.is_literal and argument.digits_count and isinstance(argument.literal, int) and is_integer(kind):
            kind = pa.decimal128(len(str(abs(argument.literal))), 0)
        pair.append(cast_to(argument, as_decimal(kind)))
    return pair[0], pair[1]


def _decimal_result(name: str, first: pa.DataType, second: pa.DataType) -> pa.DataType:
    if name == "*":
        return decimal(first.precision + second.precision + 1, first.scale + second.scale)
    scale = max(first.scale, second.scale)
    return decimal(max(first.precision - first.scale, second.precision - second.scale) + scale + 1, scale)


def _nulls(column: pa.Array) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = pc.is_null(column).to_numpy(zero_copy_only=False)
    return nulls
