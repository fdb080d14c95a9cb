"""Finds the column that says when a row happened, and the Spark SQL expression that makes it a time."""

from collections.abc import Iterator
from itertools import product
from typing import TYPE_CHECKING, Any

from attrs import evolve, frozen
from skyband.errors import ConfigError, InputError

from skyband_jobs.first_job.calendar_columns import is_part, times_of_parts
from skyband_jobs.first_job.time_patterns import (
    CLOCK_PATTERNS,
    DAY_PATTERNS,
    changed,
    marks_in,
    patterns_of,
    without_marks,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_PROBE = 100
_SECOND = 1_000_000
_EARLIEST, _LATEST = 315_532_800 * _SECOND, 4_102_444_800 * _SECOND
_YEARS = range(1980, 2100)
"""Numbers are taken for times if they are in these years."""
_CLOCK = r"^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?( ?[AaPp][Mm])?$"
_ISO, _ISO_MONTH = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ]|$)", r"^[0-9]{4}-[0-9]{2}$"
_COMPACT = {14: "yyyyMMddHHmmss", 12: "yyyyMMddHHmm", 10: "yyyyMMddHH", 8: "yyyyMMdd"}
"""Patterns of integers that may be dates, by their number of digits."""
_MOST_LETTERS = 45


@frozen
class Times:
    """An expression for each row's time, and its values in microseconds (int64[n], without nulls)."""

    expression: str
    name: str
    moments: "np.ndarray[Any, np.dtype[np.int64]]"
    form: str
    """How the times are written, for people."""
    other: str = ""
    """Another way to read all of it, which puts the rows in a worse order; empty where there is none."""
    in_rows: bool = False
    """Whether it only orders the rows, so that windows are counted in rows."""
    doubts: tuple[str, ...] = ()
    """What the reader of the job should check, a sentence each."""


def value_of(expression: str, rows: "pa.Table") -> "pa.ChunkedArray":
    """An expression's value in each row. Raises ConfigError if it is unknown, InputError if a row has no value."""
    from skyband_jobs.files.where_and_select import Shape

    shape = Shape.parse(None, [f"{expression} AS _value"])
    schema = shape.schema(rows.schema)
    batches = rows.combine_chunks().to_batches()
    import pyarrow as pa

    return pa.chunked_array([shape.apply(batch, schema)[0].column(0) for batch in batches], schema.field(0).type)


_Reading = tuple[str, str, str]
"""An expression that may be the time of a row, the name that it gets, and its form."""


def times_in(rows: "pa.Table", columns: "dict[str, str]") -> Times | None:
    """A row's time, from the likeliest of: columns of times, text with days and clocks, a day and a clock column,
    numbers since 1970, days. None where there is none.

    columns: expressions by name. If a column can be read in several ways, the one is taken in whose order neighbouring
    rows are closest.
    """
    probe = rows.slice(0, _PROBE)
    for readings in _candidates(rows, probe, columns):
        fitting = [times for one in readings if _moments(one[0], probe) is not None and (times := _times(one, rows))]
        if fitting:
            return _best(fitting)
    return None


def times_as(rows: "pa.Table", expression: str, name: str, form: str) -> Times | None:
    """The time of a row by this expression; None where not all rows have one."""
    return _times((expression, name, form), rows)


def _times(reading: _Reading, rows: "pa.Table") -> Times | None:
    expression, name, form = reading
    moments = _moments(expression, rows)
    return None if moments is None else Times(expression, name, moments, form)


def _best(readings: list[Times]) -> Times:
    """The reading whose times are closest from row to row; among equals the first."""
    import numpy as np

    ways = [float(np.abs(np.diff(times.moments)).sum(dtype=np.float64)) for times in readings]
    best = readings[int(np.argmin(ways))]
    other = next((one for one in readings if not np.array_equal(one.moments, best.moments)), None)
    if other is None:
        return best
    doubt = f"{best.name} is read as {best.form}, but could also be {other.form}"
    why = "" if min(ways) == max(ways) else ", which puts the rows in a worse order"
    return evolve(best, other=other.form, doubts=(f"{doubt}{why}: change the pattern if that is meant",))


def order_in(rows: "pa.Table", columns: "dict[str, str]") -> Times | None:
    """For data without times, the first integer column that never falls; None where there is none, or a
    column is a part of a date, to which others should be added."""
    import numpy as np
    import pyarrow as pa

    if any(map(is_part, columns)):
        return None
    for name, expression in columns.items():
        values = value_of(expression, rows)
        if not pa.types.is_integer(values.type) or values.null_count or len(values) < 2:
            continue
        numbers = values.cast(pa.int64()).to_numpy()
        steps = np.diff(numbers)
        if steps.min() >= 0 and numbers[-1] > numbers[0]:
            form = "rising numbers: windows are counted in rows; for windows of time, make a time of it in select"
            return Times(expression, name, numbers, form, in_rows=True)
    return None


def _candidates(rows: "pa.Table", probe: "pa.Table", columns: dict[str, str]) -> Iterator[list[_Reading]]:
    """Candidates for the time of a row, the likeliest first, each with all its readings."""
    import pyarrow as pa

    kinds = {name: value_of(expression, rows.slice(0, 1)).type for name, expression in columns.items()}
    stamps = [name for name, kind in kinds.items() if pa.types.is_timestamp(kind)]
    days = [name for name, kind in kinds.items() if pa.types.is_date(kind)]
    numbers = [name for name, kind in kinds.items() if pa.types.is_integer(kind) or pa.types.is_floating(kind)]
    whole = [name for name in numbers if pa.types.is_integer(kinds[name])]
    texts = [name for name, kind in kinds.items() if pa.types.is_string(kind)]
    yield from ([(columns[name], name, "a time")] for name in stamps)
    written = {name: text for name in texts if (text := _Text.of(columns[name], rows, probe)) is not None}
    for name, text in written.items():
        yield from text.of_iso(name)
    for name, text in written.items():
        yield text.of_patterns(name, CLOCK_PATTERNS)
    clocks = [name for name, text in written.items() if text.all_match(_CLOCK)]
    for day, clock in product([*days, *written], clocks):
        together = f"concat(CAST({columns[day]} AS STRING), ' ', {columns[clock]})"
        form = f"{day} and {clock}"
        yield [(f"to_timestamp({together})", day, f"{form}, ISO 8601")]
        if day in written:
            pair = f"{written[day].first} {written[clock].first}"
            fitting = patterns_of(pair, CLOCK_PATTERNS)
            yield [(f"to_timestamp({together}, '{pattern}')", day, f"{form}, {pattern}") for pattern in fitting]
    yield [*times_of_parts(columns, whole, 3)]
    for name in whole:
        yield [one for one in _compact(columns[name], name, rows) if "H" in one[2]]
    for name in numbers:
        yield from ([one] for one in _since_1970(columns[name], name, kinds[name]))
    yield from ([(columns[name], name, "a day")] for name in days)
    for name, text in written.items():
        yield text.of_patterns(name, DAY_PATTERNS)
    for name in whole:
        yield [*_compact(columns[name], name, rows)]
    yield [*times_of_parts(columns, whole, 1)]


def _since_1970(column: str, name: str, kind: "pa.DataType") -> Iterator[_Reading]:
    import pyarrow as pa

    yield f"timestamp_seconds({column})", name, "seconds since 1970"
    if pa.types.is_integer(kind):
        yield f"timestamp_millis({column})", name, "milliseconds since 1970"
        yield f"timestamp_micros({column})", name, "microseconds since 1970"
        yield f"timestamp_micros({column} DIV 1000)", name, "nanoseconds since 1970"


def _compact(column: str, name: str, rows: "pa.Table") -> Iterator[_Reading]:
    """Readings of numbers such as 20260131093000."""
    import pyarrow.compute as pc

    ends = pc.min_max(value_of(column, rows)).as_py()
    texts = [str(ends["min"]), str(ends["max"])]
    digits = len(texts[0])
    if digits == len(texts[1]) and digits in _COMPACT and all(int(text[:4]) in _YEARS for text in texts):
        yield f"to_timestamp(CAST({column} AS STRING), '{_COMPACT[digits]}')", name, _COMPACT[digits]


@frozen
class _Text:
    """A column of short texts with digits."""

    column: str
    """Its expression, which is null for marks of missing values."""
    values: "pa.Array"
    """The first values that are not null."""
    marks: tuple[str, ...]

    @classmethod
    def of(cls, column: str, rows: "pa.Table", probe: "pa.Table") -> "_Text | None":
        """The column, or None where its texts cannot be times."""
        import pyarrow.compute as pc

        marks = marks_in(value_of(column, rows))
        expression = without_marks(column, marks)
        values = value_of(expression, probe).drop_null().combine_chunks()
        values = values if len(values) else value_of(expression, rows).drop_null().combine_chunks()[:_PROBE]
        if not len(values) or pc.max(pc.utf8_length(values)).as_py() > _MOST_LETTERS:
            return None
        has_digits = pc.all(pc.match_substring_regex(values, "[0-9]")).as_py()
        return cls(expression, values, tuple(marks)) if has_digits else None

    @property
    def first(self) -> str:
        return str(self.values[0].as_py())

    def all_match(self, pattern: str) -> bool:
        import pyarrow.compute as pc

        return bool(pc.all(pc.match_substring_regex(self.values, pattern)).as_py())

    def of_iso(self, name: str) -> Iterator[list[_Reading]]:
        if self.all_match(_ISO):
            plain = dict.fromkeys([self.column, changed(self.column, self.values)])
            yield from ([self._reading(f"to_timestamp({column})", name, "ISO 8601")] for column in plain)
        elif self.all_match(_ISO_MONTH):
            yield [self._reading(f"to_timestamp(concat({self.column}, '-01'))", name, "months")]

    def of_patterns(self, name: str, patterns: tuple[str, ...]) -> list[_Reading]:
        import pyarrow as pa

        column = changed(self.column, self.values)
        first = value_of(changed("x", self.values), pa.table({"x": self.values[:1]}))[0].as_py()
        fitting = patterns_of(first, patterns)
        return [self._reading(f"to_timestamp({column}, '{pattern}')", name, pattern) for pattern in fitting]

    def _reading(self, expression: str, name: str, form: str) -> _Reading:
        nulls = f", {' and '.join(map(repr, self.marks))} for none" if self.marks else ""
        return expression, name, f"{form}{nulls}"


def _moments(expression: str, rows: "pa.Table") -> "np.ndarray[Any, np.dtype[np.int64]] | None":
    """The times of rows, if all are in the expected years."""
    import pyarrow as pa

    try:
        values = value_of(expression, rows).drop_null()
    except (ConfigError, InputError):
        return None
    if len(values) == 0:
        return None
    moments: np.ndarray[Any, np.dtype[np.int64]]
    moments = values.cast(pa.timestamp("us", getattr(values.type, "tz", None)), safe=False).cast(pa.int64()).to_numpy()
    is_said = not expression.startswith(("timestamp_", "to_timestamp(CAST"))
    return moments if is_said or _EARLIEST <= int(moments.min()) <= int(moments.max()) < _LATEST else None
