"""Which column says when a row happened, and the expression in Spark's SQL that makes it a time."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from attrs import frozen
from skyband.errors import ConfigError, InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

_PROBE = 100
_SECOND = 1_000_000
_EARLIEST, _LATEST = 315_532_800 * _SECOND, 4_102_444_800 * _SECOND
"""What is taken for times: those of the years 1980 to 2099."""
_DAYS = ("M/d/yyyy", "d/M/yyyy", "d.M.yyyy", "dd-MMM-yyyy", "yyyy/M/d", "yyyy-M-d", "M/d/yy", "d-M-yyyy", "yyyyMMdd")
_CLOCKS = (" H:mm:ss", " H:mm", " h:mm:ss a", " h:mm a", " H:mm:ss.SSS", "", ":HH:mm:ss", "HHmmss")
_PATTERNS = (*map("".join, product(_DAYS, _CLOCKS)), "dd/MMM/yyyy:HH:mm:ss Z", "yyyyMMdd HHmmss", "MMM d, yyyy")
"""Those in which times of text are looked for that are not of ISO 8601, the first that all of a column has."""
_CLOCK = r"^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?( ?[AaPp][Mm])?$"
_ISO = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CALENDAR = ("year", "month", "day", "hour", "minute", "second")


@frozen
class Times:
    """An expression that makes a time of each row, in microseconds (int64[n], those that are no nulls)."""

    expression: str
    name: str
    moments: "np.ndarray[Any, np.dtype[np.int64]]"
    form: str
    """How it is written, for people."""
    other: str = ""
    """Another pattern that all of it has too; empty where there is none."""
    in_rows: bool = False
    """Whether it says no more than the order, so that windows are counted in rows."""


def value_of(expression: str, rows: "pa.Table") -> "pa.ChunkedArray":
    """An expression's value in each row. Raises ConfigError where it is not known, InputError where a row has none."""
    from skyband_jobs.files.where_and_select import Shape

    shape = Shape.parse(None, [f"{expression} AS _value"])
    schema = shape.schema(rows.schema)
    batches = rows.combine_chunks().to_batches()
    import pyarrow as pa

    return pa.chunked_array([shape.apply(batch, schema)[0].column(0) for batch in batches], schema.field(0).type)


def times_in(rows: "pa.Table", columns: "dict[str, str]") -> Times | None:
    """The time of a row, likeliest first: columns of times, text with days and clocks, days beside clocks, numbers
    since 1970, days. None where there is none.

    columns: expressions by the names they have.
    """
    kinds = {name: value_of(expression, rows.slice(0, 1)).type for name, expression in columns.items()}
    probe = rows.slice(0, _PROBE)
    for expression, name, form in _candidates(probe, columns, kinds):
        if _moments(expression, probe) is not None and (moments := _moments(expression, rows)) is not None:
            other = _other(expression, form, rows)
            return Times(expression, name, moments, form, other)
    return None


def order_in(rows: "pa.Table", columns: "dict[str, str]") -> Times | None:
    """The first column of whole numbers that rise all through, for data without times; None where there is none."""
    import numpy as np
    import pyarrow as pa

    for name, expression in columns.items():
        values = value_of(expression, rows)
        if not pa.types.is_integer(values.type) or values.null_count or len(values) < 2:
            continue
        numbers = values.cast(pa.int64()).to_numpy()
        steps = np.diff(numbers)
        if steps.min() >= 0 and numbers[-1] > numbers[0]:
            form = "numbers that rise: windows are counted in rows; for others make a time of it in select"
            return Times(expression, name, numbers, form, in_rows=True)
    return None


def _candidates(
    rows: "pa.Table", columns: dict[str, str], kinds: "dict[str, pa.DataType]"
) -> Iterator[tuple[str, str, str]]:
    """Expressions that may be the time of a row, each with its name and form."""
    import pyarrow as pa

    stamps = [name for name, kind in kinds.items() if pa.types.is_timestamp(kind)]
    texts = [name for name, kind in kinds.items() if pa.types.is_string(kind)]
    days = [name for name, kind in kinds.items() if pa.types.is_date(kind)]
    numbers = [name for name, kind in kinds.items() if pa.types.is_integer(kind) or pa.types.is_floating(kind)]
    yield from ((columns[name], name, "a time") for name in stamps)
    texts = [name for name in texts if _is_short(columns[name], rows)]
    for name in texts:
        if _all_match(_ISO, columns[name], rows):
            yield f"to_timestamp({columns[name]})", name, "ISO 8601"
    patterns = [pattern for pattern in _PATTERNS if pattern.lower().count("h")]
    for name in texts:
        for pattern in _patterns_of(_first(columns[name], rows), patterns):
            yield f"to_timestamp({columns[name]}, '{pattern}')", name, pattern
    clocks = [name for name in texts if _all_match(_CLOCK, columns[name], rows)]
    for day, clock in product([*days, *texts], clocks):
        whole = f"concat(CAST({columns[day]} AS STRING), ' ', {columns[clock]})"
        form = f"{day} and {clock}"
        yield f"to_timestamp({whole})", day, f"{form}, ISO 8601"
        first = f"{_first(columns[day], rows)} {_first(columns[clock], rows)}" if day in texts else ""
        for pattern in _patterns_of(first, patterns):
            yield f"to_timestamp({whole}, '{pattern}')", day, f"{form}, {pattern}"
    yield from _of_calendar(columns, kinds)
    for name in numbers:
        yield from _of_numbers(columns[name], name, kinds[name])
    yield from ((columns[name], name, "a day") for name in days)
    for name in texts:
        for pattern in _patterns_of(_first(columns[name], rows), [one for one in _PATTERNS if one not in patterns]):
            yield f"to_timestamp({columns[name]}, '{pattern}')", name, pattern
    for name in (name for name in numbers if pa.types.is_integer(kinds[name])):
        yield f"to_timestamp(CAST({columns[name]} AS STRING), 'yyyyMMdd')", name, "yyyyMMdd"


def _of_numbers(column: str, name: str, kind: "pa.DataType") -> Iterator[tuple[str, str, str]]:
    import pyarrow as pa

    yield f"timestamp_seconds({column})", name, "seconds since 1970"
    if pa.types.is_integer(kind):
        yield f"timestamp_millis({column})", name, "milliseconds since 1970"
        yield f"timestamp_micros({column})", name, "microseconds since 1970"
        yield f"timestamp_micros({column} DIV 1000)", name, "nanoseconds since 1970"


def _of_calendar(columns: dict[str, str], kinds: "dict[str, pa.DataType]") -> Iterator[tuple[str, str, str]]:
    """Of columns called year, month, day and so on, as far as there are such."""
    import pyarrow as pa

    by_word = {name.casefold(): name for name, kind in kinds.items() if pa.types.is_integer(kind)}
    names = [by_word[word] for word in _CALENDAR if word in by_word]
    if [name.casefold() for name in names] != list(_CALENDAR[: len(names)]) or len(names) < 3:
        return
    pattern = "yyyy-M-d-H-m-s"[: 2 * len(names) + 2]
    parts = ", ".join(f"CAST({columns[name]} AS STRING)" for name in names)
    yield f"to_timestamp(concat_ws('-', {parts}), '{pattern}')", "ts", f"{', '.join(names)}"


def _is_short(column: str, rows: "pa.Table") -> bool:
    """Whether text may hold times: none long, all with a digit."""
    import pyarrow.compute as pc

    texts = value_of(column, rows)
    if texts.null_count == len(texts) or pc.max(pc.utf8_length(texts)).as_py() > 40:
        return False
    return bool(pc.all(pc.match_substring_regex(texts, "[0-9]")).as_py())


def _first(column: str, rows: "pa.Table") -> str:
    """The first text that is no null."""
    return str(value_of(column, rows).drop_null()[0].as_py())


def _patterns_of(text: str, patterns: Sequence[str]) -> list[str]:
    """Those that a text is a time of."""
    import pyarrow as pa
    from skyband_expressions.bound import EvaluationError
    from skyband_expressions.time_formats import formatted

    fitting = []
    for pattern in patterns:
        try:
            formatted(pattern)(pa.array([text]))
        except EvaluationError:
            continue
        fitting.append(pattern)
    return fitting


def _all_match(pattern: str, column: str, rows: "pa.Table") -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(value_of(column, rows), pattern)).as_py())


def _moments(expression: str, rows: "pa.Table") -> "np.ndarray[Any, np.dtype[np.int64]] | None":
    """The times of rows, where all are of the years that are taken for such."""
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


def _other(expression: str, form: str, rows: "pa.Table") -> str:
    """The same pattern with day and month changed, where all rows have that too."""
    pattern = form.rpartition(", ")[2]
    changed = next(
        (
            f"{two}{pattern.removeprefix(one)}"
            for one, two in (("M/d", "d/M"), ("d/M", "M/d"))
            if pattern.startswith(one)
        ),
        "",
    )
    if not changed:
        return ""
    return changed if _moments(expression.replace(pattern, changed), rows) is not None else ""
