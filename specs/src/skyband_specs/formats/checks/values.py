"""Values at the limits of their types are read back unchanged, or are refused."""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from skyband.errors import ConfigError
from skyband_jobs.formats import BatchSink

from skyband_specs.formats.check import SHOWS, Rows, expect_refused, expect_rows, format_check
from skyband_specs.formats.trial import FormatSubject

DOUBLES = (0.1, 2.0**53 - 1, float("nan"), float("inf"), float("-inf"), -0.0, 5e-324, 1.7976931348623157e308)
WHOLE = (-(2**63), 2**53 + 1, 2**63 - 1)
TEXTS = ("", "NaN", "null", "a 'quote', \"another\" and a \\", "two\r\nlines\tand a tab ", "é 𝄞 %s :name ?")
BYTES = (b"", bytes(range(256)))
INSTANTS = (
    datetime(1, 1, 1, tzinfo=UTC),
    datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
    datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
)
VALUES: dict[pa.DataType, tuple[Any, ...]] = {
    pa.float64(): DOUBLES,
    pa.int64(): WHOLE,
    pa.string(): TEXTS,
    pa.binary(): BYTES,
    pa.timestamp("us", "UTC"): INSTANTS,
}
"""The values tried in each column of the trial's answers with one of these types."""


@format_check("rows", SHOWS, "writes")
def check_each_value_comes_back_or_is_refused(subject: FormatSubject, folder: Path) -> None:
    """NaN, infinities, integers beyond 2^53, odd texts, far instants and a column of nulls are read back exactly.

    If the format cannot hold a value, `append` raises ConfigError and the table is unchanged.
    """
    answers = subject.trials().answers(0).slice(0, 1)
    subject.sink(folder).append(answers)
    before = answers.to_pylist()
    for name, values in _tried(answers, ()):
        together = _with_values(answers, name, values)
        fits = _rows_after(subject, folder, together, before, current=False)
        before = together.to_pylist() if fits else before
        for value in (None,) if fits else (*values, None):
            alone = _with_values(answers, name, [value])
            if _rows_after(subject, folder, alone, before, current=False):
                before = alone.to_pylist()


@format_check("current", SHOWS, "current")
def check_each_value_of_the_newest_comes_back_or_is_refused(subject: FormatSubject, folder: Path) -> None:
    """The same for a table of the newest answers, whose row is replaced by one with each value."""
    trial = subject.trials()
    log = trial.log(0).slice(0, 1)
    subject.sink(folder, current=True).append(log)
    before = log.drop_columns(["change"]).to_pylist()
    for name, values in _tried(log, (*trial.key, "at", "change")):
        for value in values:
            changed = _with_values(log, name, [value])
            if _rows_after(subject, folder, changed, before, current=True):
                before = changed.drop_columns(["change"]).to_pylist()


def _tried(answers: pa.Table, leaves_out: tuple[str, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    for column in answers.schema:
        if column.type in VALUES and column.name not in leaves_out:
            yield column.name, VALUES[column.type]


def _with_values(answers: pa.Table, name: str, values: Any) -> pa.Table:
    """The first row, once for each value in this column."""
    rows, place = answers.take([0] * len(values)), answers.column_names.index(name)
    return rows.set_column(place, name, pa.array(values, answers.schema.field(name).type))


def _rows_after(subject: FormatSubject, folder: Path, rows: pa.Table, before: Rows, current: bool) -> bool:
    """Whether the table has exactly these rows; if they were refused, it must be unchanged."""
    refused = None
    try:
        subject.sink(folder, current).append(rows, replace=not current)
    except ConfigError as error:
        refused = error
    expected = before if refused else (rows.drop_columns(["change"]) if current else rows).to_pylist()
    expect_rows(subject, subject.rows(folder), expected, f"rows, {'refused' if refused else 'written'}")
    return refused is None


@format_check("columns", SHOWS, "writes")
def check_columns_of_other_types_are_refused(subject: FormatSubject, folder: Path) -> None:
    """`check` and `append` raise ConfigError for a column whose type in the table differs; the table is unchanged."""
    answers = subject.trials().answers(0)
    subject.sink(folder).append(answers)
    for column in answers.schema:
        others = _of_another_type(answers, column)
        what = f"answers whose column {column.name!r} is {others.schema.field(column.name).type}, not {column.type},"
        expect_refused(partial(_check, others), subject.sink(folder), what)
        expect_refused(partial(_append, others), subject.sink(folder), what)
    expect_rows(subject, subject.rows(folder), answers.to_pylist(), "rows after answers of other types")


def _check(answers: pa.Table, sink: BatchSink) -> None:
    sink.check(answers.schema)


def _append(answers: pa.Table, sink: BatchSink) -> None:
    sink.append(answers)


def _of_another_type(answers: pa.Table, column: pa.Field) -> pa.Table:
    """The answers with text in place of a column, or numbers in place of text."""
    other = pa.array([7] * len(answers), pa.int64())
    if not pa.types.is_string(column.type):
        other = other.cast(pa.string())
    return answers.set_column(answers.column_names.index(column.name), column.name, other)
