"""Functions of days and times, in UTC."""

from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from skyband.arrays import Int64
from skyband.config.calendar_lengths import UTC
from skyband.config.time_zone_conversion import FIRST_YEAR, LAST_YEAR, YEARS, time_zone
from skyband.instants import CYCLE, CYCLE_YEARS

from skyband_expressions.bound import Bound, EvaluationError, call, expect, text_of
from skyband_expressions.casts import cast_to
from skyband_expressions.spark_types import INSTANT, is_float, is_integer, is_time, name_of
from skyband_expressions.syntax import UnknownExpressionError

_SECOND = 1_000_000
_UNITS = {
    "YEAR": "Y", "YYYY": "Y", "YY": "Y", "MONTH": "M", "MON": "M", "MM": "M", "DAY": "D", "DD": "D", "HOUR": "h",
    "MINUTE": "m", "SECOND": "s", "MILLISECOND": "ms", "MICROSECOND": "us", "WEEK": "W", "QUARTER": "Q",
}  # fmt: skip
"""numpy's units by their names in `date_trunc`, and two that numpy lacks."""
_FIELDS: dict[str, Callable[[pa.Array], pa.Array]] = {
    "year": pc.year, "quarter": pc.quarter, "month": pc.month, "day": pc.day, "dayofmonth": pc.day, "hour": pc.hour,
    "minute": pc.minute, "second": pc.second, "dayofyear": pc.day_of_year, "weekofyear": pc.iso_week,
    "dayofweek": lambda column: pc.day_of_week(column, count_from_zero=False, week_start=7),
    "weekday": pc.day_of_week,
}  # fmt: skip
FIELDS = tuple(_FIELDS)


def instant(argument: Bound, name: str) -> Bound:
    """A time argument; text and days are cast to one. Raises UnknownExpressionError."""
    if not is_time(argument.type) and argument.type not in (pa.string(), pa.null()):
        message = f"{name} takes times, not {name_of(argument.type)}: write timestamp_seconds(…) or a cast"
        raise UnknownExpressionError(message)
    return cast_to(argument, INSTANT)


def field(name: str) -> Callable[[Sequence[Bound]], Bound]:
    """`year`, `hour` and the others of `FIELDS`."""

    def bind(arguments: Sequence[Bound]) -> Bound:
        expect(range(1, 2), arguments, name)
        kernel = _FIELDS[name]

        def evaluate(column: pa.Array) -> pa.Array:
            micros = column.cast(pa.int64())
            if not len(micros) or pc.max(pc.abs(pc.fill_null(pc.divide(micros, _FAR), 0))).as_py() == 0:
                return kernel(micros.cast(pa.timestamp("us"))).cast(pa.int32())
            nulls = pc.is_null(micros).to_numpy(zero_copy_only=False)
            cycles, near = np.divmod(pc.fill_null(micros, 0).to_numpy(), CYCLE)  # the same days of the week, too
            values = kernel(pa.array(near, mask=nulls).cast(pa.timestamp("us"))).cast(pa.int64())
            if name == "year":
                values = pc.add(values, pa.array(cycles * CYCLE_YEARS))
            return values.cast(pa.int32())

        return call(pa.int32(), evaluate, instant(arguments[0], name))

    return bind


_FAR = 10_000 * 366 * 86_400 * _SECOND
"""Microseconds from 1970 within Arrow's calendar, which has 16 bits for years."""


def truncate(arguments: Sequence[Bound]) -> Bound:
    """`date_trunc(unit, time)`; weeks start on Monday."""
    expect(range(2, 3), arguments, "date_trunc")
    unit = text_of(arguments[0], "date_trunc", "the unit").upper()
    if unit not in _UNITS:
        raise UnknownExpressionError(f"date_trunc has no unit {unit.lower()!r}, only {', '.join(_UNITS).lower()}")

    def kernel(column: pa.Array) -> pa.Array:
        nulls = pc.is_null(column).to_numpy(zero_copy_only=False)
        moments = pc.fill_null(column.cast(pa.int64()), 0).to_numpy().view("datetime64[us]")
        floors = _floor(moments, _UNITS[unit])
        beyond = ~(floors <= moments)  # the smallest number is NaT in numpy, which compares as false
        if beyond.any():
            micros = moments.view(np.int64)[beyond][0]
            raise EvaluationError(f"the time {micros} microseconds from 1970 is too far away for date_trunc")
        return pa.array(floors.view(np.int64), mask=nulls).cast(INSTANT)

    return call(INSTANT, kernel, instant(arguments[1], "date_trunc"), can_fail=True)


def from_utc(arguments: Sequence[Bound]) -> Bound:
    """`from_utc_timestamp(time, zone)`: the local time in each row's zone, as if it were UTC."""
    expect(range(2, 3), arguments, "from_utc_timestamp")
    zone = arguments[1]
    if zone.type not in (pa.string(), pa.null()):
        raise UnknownExpressionError(f"from_utc_timestamp takes the name of a zone second, not {name_of(zone.type)}")

    def kernel(column: pa.Array, names: pa.Array) -> pa.Array:
        valid = pc.and_(pc.is_valid(column), pc.is_valid(names))
        whole = pc.if_else(valid, names, None).cast(pa.string()).dictionary_encode()
        moments = pc.fill_null(column.cast(pa.int64()), 0).to_numpy()
        codes = whole.indices.fill_null(-1).to_numpy()
        clock_times = np.zeros(len(moments), np.int64)
        for code, name in enumerate(whole.dictionary.to_pylist()):
            rows = np.flatnonzero(codes == code)
            clock_times[rows] = _clock_times(moments[rows], name)
        return pa.array(clock_times, mask=codes < 0).cast(INSTANT)

    return call(INSTANT, kernel, instant(arguments[0], "from_utc_timestamp"), zone, can_fail=True)


def _clock_times(moments: Int64, name: str) -> Int64:
    """int64[n]: the local times of a zone at these moments. Raises EvaluationError if they are not supported."""
    try:
        zone = time_zone(name)
    except ValueError as error:
        raise EvaluationError(f"{error}; names that are not in the tz database are supported by Spark only") from error
    outside = (moments < YEARS[0]) | (moments >= YEARS[1])
    if name != UTC and outside.any():
        micros = int(moments[outside.argmax()])
        message = f"local times of zones outside the years {FIRST_YEAR} to {LAST_YEAR} are supported by Spark only"
        raise EvaluationError(f"{message} (got {micros} microseconds since 1970)")
    return zone.clock(moments)


def _floor(
    moments: "np.ndarray[tuple[int], np.dtype[np.datetime64]]", unit: str
) -> "np.ndarray[tuple[int], np.dtype[np.datetime64]]":
    if unit == "W":
        days = moments.astype("datetime64[D]").view(np.int64)
        return (days - (days + 3) % 7).view("datetime64[D]").astype("datetime64[us]")
    if unit == "Q":
        months = moments.astype("datetime64[M]").view(np.int64)
        return (months - months % 3).view("datetime64[M]").astype("datetime64[us]")
    return moments.astype(f"datetime64[{unit}]").astype("datetime64[us]")


def since_1970(name: str, unit: int) -> Callable[[Sequence[Bound]], Bound]:
    """`timestamp_seconds`, `timestamp_millis`, `timestamp_micros`: in `unit` microseconds; seconds may be fractions."""

    def bind(arguments: Sequence[Bound]) -> Bound:
        expect(range(1, 2), arguments, name)
        if unit == _SECOND and is_float(arguments[0].type):
            return call(INSTANT, _of_floats, arguments[0])
        if unit == _SECOND and pa.types.is_decimal(arguments[0].type):
            return call(INSTANT, _of_decimals, arguments[0], can_fail=True)
        if not is_integer(arguments[0].type):
            raise UnknownExpressionError(f"{name} takes whole numbers, not {name_of(arguments[0].type)}")
        least, most = -(2**63 // unit), (2**63 - 1) // unit

        def kernel(column: pa.Array) -> pa.Array:
            numbers = column.cast(pa.int64())
            beyond = pc.or_(pc.greater(numbers, most), pc.less(numbers, least))
            if pc.any(beyond).as_py():
                number = numbers[pc.index(beyond, True).as_py()].as_py()
                raise EvaluationError(f"{number} is too far from 1970: is it in a smaller unit?")
            return pc.multiply(numbers, pa.scalar(unit, pa.int64())).cast(INSTANT)

        return call(INSTANT, kernel, arguments[0], can_fail=unit > 1)

    return bind


def _of_floats(column: pa.Array) -> pa.Array:
    """Seconds cut to microseconds; null for NaN and infinity. Clamped to the last 64-bit time."""
    nulls = pc.is_null(column).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):  # infinity is beyond 64 bits as well
        micros = pc.fill_null(column, 0).cast(pa.float64()).to_numpy() * _SECOND
    nulls |= ~np.isfinite(pc.fill_null(column, 0).to_numpy())
    inside = np.abs(micros) < 2.0**63
    ends = np.where(micros > 0, np.int64(2**63 - 1), np.int64(-(2**63)))
    whole = np.where(inside, np.where(inside, micros, 0).astype(np.int64), ends)
    return pa.array(whole, mask=nulls).cast(INSTANT)


def _of_decimals(column: pa.Array) -> pa.Array:
    """Seconds as times. Raises EvaluationError if they have fractions of microseconds, or are too far away."""
    micros = pc.multiply(
        column.cast(pa.decimal256(38, column.type.scale)), pa.scalar(_SECOND, pa.int64()).cast(pa.decimal256(19, 0))
    )
    wide = pa.decimal256(76, column.type.scale)
    whole = pc.round(micros, 0, "towards_zero")
    ends = [pa.scalar(end, pa.decimal256(19, 0)).cast(wide) for end in (-(2**63), 2**63 - 1)]
    beyond = pc.or_(pc.not_equal(micros, whole), pc.or_(pc.less(whole, ends[0]), pc.greater(whole, ends[1])))
    if pc.any(beyond).as_py():
        number = column[pc.index(beyond, True).as_py()].as_py()
        raise EvaluationError(f"{number} seconds since 1970 are not a whole number of microseconds within 64 bits")
    return whole.cast(pa.decimal256(76, 0)).cast(pa.int64()).cast(INSTANT)


def until_now(name: str, unit: int) -> Callable[[Sequence[Bound]], Bound]:
    """`unix_seconds`, `unix_millis` and `unix_micros`: since 1970, rounded down."""

    def bind(arguments: Sequence[Bound]) -> Bound:
        expect(range(1, 2), arguments, name)
        if arguments[0].type != INSTANT:
            raise UnknownExpressionError(f"{name} takes timestamps, not {name_of(arguments[0].type)}")

        def kernel(column: pa.Array) -> pa.Array:
            nulls = pc.is_null(column).to_numpy(zero_copy_only=False)
            return pa.array(pc.fill_null(column.cast(pa.int64()), 0).to_numpy() // unit, mask=nulls)

        return call(pa.int64(), kernel, arguments[0])

    return bind


def to_timestamp(arguments: Sequence[Bound]) -> Bound:
    """`to_timestamp(text)`, and with a format."""
    expect(range(1, 3), arguments, "to_timestamp")
    if len(arguments) == 1:
        return instant(arguments[0], "to_timestamp")
    from skyband_expressions.texts import text
    from skyband_expressions.time_formats import formatted

    pattern = text_of(arguments[1], "to_timestamp", "the format")
    return call(INSTANT, formatted(pattern), text(arguments[0], "to_timestamp"), can_fail=True)


def to_date(arguments: Sequence[Bound]) -> Bound:
    """`to_date(text)` or of a time."""
    expect(range(1, 2), arguments, "to_date")
    return cast_to(arguments[0], pa.date32())
