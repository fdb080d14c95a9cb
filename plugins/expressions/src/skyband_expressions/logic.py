"""AND, OR, NOT, CASE and related functions: a branch is evaluated, and can fail, only for the rows that reach it."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from skyband_expressions.bound import ONE_ROW, Bound, Rows, call, expect, literal, of_arguments, placed
from skyband_expressions.casts import cast_to
from skyband_expressions.comparison import alike, equal
from skyband_expressions.spark_types import common_type, is_float, name_of
from skyband_expressions.syntax import UnknownExpressionError


def boolean(argument: Bound, name: str) -> Bound:
    """A boolean argument. Raises UnknownExpressionError if it has another type."""
    if argument.type == pa.null():
        return cast_to(argument, pa.bool_())
    if argument.type != pa.bool_():
        raise UnknownExpressionError(f"{name} takes true or false, not {name_of(argument.type)}: compare it")
    return argument


def join(name: str, arguments: Sequence[Bound]) -> Bound:
    """AND or OR of conditions, from left to right."""
    conditions = [boolean(argument, name) for argument in arguments]
    decides, kernel = name == "or", pc.or_kleene if name == "or" else pc.and_kleene

    def evaluate(rows: Rows) -> pa.Array:
        mask = conditions[0].evaluate(rows)
        for condition in conditions[1:]:
            if condition.can_fail:
                undecided = _where(pc.fill_null(pc.not_equal(mask, decides), True))
                reached = condition.evaluate(rows.take(undecided))
                further = placed([reached], [undecided], rows.length, pa.bool_())
            else:
                further = condition.evaluate(rows)
            mask = kernel(mask, further)
        return mask

    return of_arguments(pa.bool_(), evaluate, conditions)


def negate(arguments: Sequence[Bound]) -> Bound:
    """NOT."""
    expect(range(1, 2), arguments, "not")
    return call(pa.bool_(), pc.invert, boolean(arguments[0], "not"))


def case(arguments: Sequence[Bound]) -> Bound:
    """Alternating conditions and values, then the value if none is true."""
    *pairs, default = arguments
    conditions = [boolean(condition, "WHEN") for condition in pairs[::2]]
    kind = common_type([*(value.type for value in pairs[1::2]), default.type], "CASE")
    values = [cast_to(value, kind) for value in (*pairs[1::2], default)]

    def evaluate(rows: Rows) -> pa.Array:
        rest = np.arange(rows.length)
        parts, places = [], []
        for condition, value in zip(conditions, values, strict=False):
            reached = rows if len(rest) == rows.length else rows.take(rest)
            mask = _mask(condition.evaluate(reached))
            matching, rest = rest[mask], rest[~mask]
            if len(matching):
                parts.append(value.evaluate(rows if len(matching) == rows.length else rows.take(matching)))
                places.append(matching)
        if len(rest) or not parts:
            parts.append(values[-1].evaluate(rows.take(rest)))
            places.append(rest)
        return placed(parts, places, rows.length, kind)

    return of_arguments(kind, evaluate, (*conditions, *values))


def if_else(arguments: Sequence[Bound]) -> Bound:
    """`if(condition, value, other)`."""
    expect(range(3, 4), arguments, "if")
    return case(arguments)


def coalesce(arguments: Sequence[Bound]) -> Bound:
    """The first value that is not null."""
    kind = common_type([argument.type for argument in arguments], "coalesce")
    values = [cast_to(argument, kind) for argument in arguments]

    def evaluate(rows: Rows) -> pa.Array:
        result = values[0].evaluate(rows)
        for value in values[1:]:
            nulls = _where(pc.is_null(result))
            if not len(nulls):
                break
            others = value.evaluate(rows.take(nulls))
            rest = np.setdiff1d(np.arange(rows.length), nulls, assume_unique=True)
            result = placed([result.take(pa.array(rest)), others], [rest, nulls], rows.length, kind)
        return result

    return of_arguments(kind, evaluate, values)


def null_if(arguments: Sequence[Bound]) -> Bound:
    """`nullif(value, other)`: null if they are equal."""
    expect(range(2, 3), arguments, "nullif")
    first, second = alike(arguments, "nullif")
    return case([call(pa.bool_(), equal, first, second), literal(None, arguments[0].type), arguments[0]])


def among(arguments: Sequence[Bound]) -> Bound:
    """`value IN (…)`: null if none matches and one is null; values after a match are not evaluated."""
    value, *others = alike(arguments, "in")
    literals = [other for other in others if other.is_literal and other.literal is not None]
    rest = [other for other in others if other not in literals]
    if is_float(value.type) or len(literals) < 2:
        literals, rest = [], others
    tests = [call(pa.bool_(), equal, value, other) for other in rest]
    if literals:
        values = pa.concat_arrays([one.evaluate(ONE_ROW) for one in literals])
        tests.insert(0, call(pa.bool_(), lambda column: _is_in(column, values), value))
    return join("or", tests)


def _is_in(column: pa.Array, values: pa.Array) -> pa.Array:
    return pc.if_else(pc.is_null(column), pa.scalar(None, pa.bool_()), pc.is_in(column, values))


def is_null(arguments: Sequence[Bound]) -> Bound:
    """IS NULL; NaN is not null."""
    expect(range(1, 2), arguments, "isnull")
    return call(pa.bool_(), pc.is_null, arguments[0])


def is_not_null(arguments: Sequence[Bound]) -> Bound:
    """IS NOT NULL."""
    expect(range(1, 2), arguments, "isnotnull")
    return call(pa.bool_(), pc.is_valid, arguments[0])


def _mask(column: pa.Array) -> npt.NDArray[np.bool_]:
    """Where a condition is true."""
    mask: npt.NDArray[np.bool_] = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return mask


def _where(column: pa.Array) -> npt.NDArray[np.int64]:
    return np.flatnonzero(_mask(column))
