"""Numbers put together, as Spark's ANSI mode has it: what does not fit, and a division by zero, is an error."""

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
    """Arguments that are numbers. Raises UnknownExpressionError where one is not."""
    for argument in arguments:
        if not is_number(argument.type) and argument.type != pa.null():
            message = f"{name} is of numbers here, not of {name_of(argument.type)}: cast it"
            raise UnknownExpressionError(message)
    if all(argument.type == pa.null() for argument in arguments):
        return [cast_to(argument, pa.float64()) for argument in arguments]
    return list(arguments)


def combine(name: str, arguments: Sequence[Bound]) -> Bound:
    """`+`, `-` and `*`."""
    one, other = numbers(arguments, name)
    if _of_decimals(one, other):
        one, other = _decimals(one, other)
        kind = _decimal_result(name, one.type, other.type)
        return call(kind, lambda a, b: _PLAIN[name](a, b).cast(kind), one, other)
    kind = common_type([one.type, other.type], name)
    one, other = cast_to(one, kind), cast_to(other, kind)
    if is_float(kind):
        return call(kind, _PLAIN[name], one, other)
    return _checked(name, kind, one, other) if name == "-" else _chained(name, kind, one, other)


def _checked(name: str, kind: pa.DataType, one: Bound, other: Bound) -> Bound:
    return call(kind, _CHECKED[name], one, other, can_fail=True)


def _chained(name: str, kind: pa.DataType, one: Bound, other: Bound) -> Bound:
    """`+` or `*` of whole numbers: in `a * 0 * b`, Spark multiplies what is of columns first, which may not fit."""
    terms = [term for side in (one, other) for term in _terms(name, side)]
    put_together = partial(_checked, name, kind)
    constants = [term for term in terms if term.same_in_all]
    whole = put_together(one, other)
    if constants:
        others = [term for term in terms if not term.same_in_all]
        whole = reduce(put_together, [*others, evaluated_once(reduce(put_together, constants))])
    return evolve(whole, chain=(name, tuple(terms)))


def _terms(name: str, side: Bound) -> tuple[Bound, ...]:
    return side.chain[1] if side.chain is not None and side.chain[0] == name else (side,)


def divide(arguments: Sequence[Bound]) -> Bound:
    """`/`: a DOUBLE."""
    one, other = numbers(arguments, "/")
    if _of_decimals(one, other):
        raise UnknownExpressionError("/ of decimals is not known here: cast one to double, or write 2.0 as 2.0D")
    return _of_divisor(pa.float64(), pc.divide_checked, one, other)


def divide_whole(arguments: Sequence[Bound]) -> Bound:
    """`div`: whole numbers, towards zero, as a BIGINT."""
    one, other = numbers(arguments, "div")
    if not all(is_integer(argument.type) for argument in (one, other)):
        raise UnknownExpressionError("div is of whole numbers here")
    return _of_divisor(pa.int64(), pc.divide_checked, one, other)


def remainder(arguments: Sequence[Bound]) -> Bound:
    """`%`: with the sign of the first."""
    one, other = numbers(arguments, "%")
    if _of_decimals(one, other):
        raise UnknownExpressionError("% is of whole numbers and doubles here, not of decimals: cast it to double")
    kind = common_type([one.type, other.type], "%")

    def kernel(dividends: pa.Array, column: pa.Array) -> pa.Array:
        nulls = _nulls(dividends) | _nulls(column)
        divisors = pc.fill_null(column, 1).to_numpy()
        if (~nulls & (divisors == 0)).any():
            raise EvaluationError("division by zero")
        with np.errstate(all="ignore"):
            values = np.fmod(pc.fill_null(dividends, 0).to_numpy(), np.where(divisors == 0, 1, divisors))
        return pa.array(values.astype(divisors.dtype), kind, mask=nulls)

    return _of_divisor(kind, kernel, one, other)


def _of_divisor(kind: pa.DataType, kernel: Callable[[pa.Array, pa.Array], pa.Array], one: Bound, other: Bound) -> Bound:
    """A division. Spark looks at the divisor first: where it is null, the dividend is not asked for."""
    divisor, dividend = cast_to(other, kind), cast_to(one, kind)
    return call(kind, lambda divisors, dividends: kernel(dividends, divisors), divisor, dividend, can_fail=True)


def negative(arguments: Sequence[Bound]) -> Bound:
    """`-` before a number."""
    (one,) = numbers(arguments, "-")
    can_fail = is_integer(one.type)
    return call(one.type, pc.negate_checked if can_fail else pc.negate, one, can_fail=can_fail)


def positive_size(arguments: Sequence[Bound]) -> Bound:
    """`abs`."""
    expect(range(1, 2), arguments, "abs")
    (one,) = numbers(arguments, "abs")
    can_fail = is_integer(one.type)
    return call(one.type, pc.abs_checked if can_fail else pc.abs, one, can_fail=can_fail)


def rounded(name: str, arguments: Sequence[Bound]) -> Bound:
    """`floor` and `ceil` of a DOUBLE, as a BIGINT, 0 of NaN; of whole numbers they are these."""
    expect(range(1, 2), arguments, name)
    (one,) = numbers(arguments, name)
    if is_decimal(one.type):
        raise UnknownExpressionError(f"{name} is of whole numbers and doubles here, not of decimals")
    if is_integer(one.type):
        return cast_to(one, pa.int64())
    function = pc.floor if name == "floor" else pc.ceil

    def kernel(column: pa.Array) -> pa.Array:
        values = pc.if_else(pc.is_nan(column), 0.0, function(column))
        inside = pc.and_(pc.greater_equal(values, -(2.0**63)), pc.less(values, 2.0**63))
        if pc.any(pc.invert(inside)).as_py():
            raise EvaluationError(f"{column[pc.index(inside, False).as_py()].as_py()!r} is too large for {name}")
        return values.cast(pa.int64())

    return call(pa.int64(), kernel, cast_to(one, pa.float64()), can_fail=True)


def square_root(arguments: Sequence[Bound]) -> Bound:
    """`sqrt`: NaN of what is below 0."""
    expect(range(1, 2), arguments, "sqrt")
    (one,) = numbers(arguments, "sqrt")
    return call(pa.float64(), pc.sqrt, cast_to(one, pa.float64()))


def is_nan(arguments: Sequence[Bound]) -> Bound:
    """`isnan`: false of null."""
    expect(range(1, 2), arguments, "isnan")
    (one,) = numbers(arguments, "isnan")
    return call(pa.bool_(), lambda column: pc.fill_null(pc.is_nan(column), False), cast_to(one, pa.float64()))


def _of_decimals(one: Bound, other: Bound) -> bool:
    kinds = (one.type, other.type)
    return any(map(is_decimal, kinds)) and not any(map(is_float, kinds))


def _decimals(one: Bound, other: Bound) -> tuple[Bound, Bound]:
    """Two numbers as decimals; a whole number that is written down has as many digits as it is written with."""
    pair = []
    for argument in (one, other):
        kind = argument.type
        if kind == pa.null():
            kind = (other if argument is one else one).type
        elif argument.is_literal and argument.digits_count and isinstance(argument.literal, int) and is_integer(kind):
            kind = pa.decimal128(len(str(abs(argument.literal))), 0)
        pair.append(cast_to(argument, as_decimal(kind)))
    return pair[0], pair[1]


def _decimal_result(name: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if name == "*":
        return decimal(one.precision + other.precision + 1, one.scale + other.scale)
    scale = max(one.scale, other.scale)
    return decimal(max(one.precision - one.scale, other.precision - other.scale) + scale + 1, scale)


def _nulls(column: pa.Array) -> npt.NDArray[np.bool_]:
    nulls: npt.NDArray[np.bool_] = pc.is_null(column).to_numpy(zero_copy_only=False)
    return nulls
