"""Rows that were written are read back, and other columns are refused."""

from pathlib import Path

import numpy as np
import pyarrow as pa
from skyband.errors import ConfigError, Problem
from skyband_jobs.formats import TableKeys

from skyband_specs.check import expect, expect_equal
from skyband_specs.formats.check import ADDS, SHOWS, expect_refused, expect_rows, format_check, give, ordered, rows_of
from skyband_specs.formats.trial import FormatSubject

MANY = 3_000
"""Rows of a large batch."""
_ID = "0123456789abcdef0123456789abcde"
STREAMS = ("one", "two", "One", f"{_ID}0", f"{_ID}1")
"""Different ids of streams."""


@format_check("keys")
def check_good_keys_have_no_problems(subject: FormatSubject, folder: Path) -> None:
    """The trial's keys are fine on the local engine, before the table exists."""
    problems = list(subject.make().check(subject.trials().keys(folder), on_spark=False))
    expect(problems == [], f"the trial's own keys have problems: {[str(one) for one in problems]}")


@format_check("keys")
def check_a_job_without_keys_is_told_what_it_needs(subject: FormatSubject, folder: Path) -> None:
    """Without any key there is no place: problems on both engines, each with a key and a sentence."""
    problems = subject.make().check(TableKeys(), on_spark=False)
    expect(bool(problems), "a job with no key except the format is accepted: report which key is required")
    for one in [*problems, *subject.make().check(TableKeys(), on_spark=True)]:
        fine = isinstance(one, Problem) and bool(one.field) and bool(one.message)
        expect(fine, f"must be a Problem with a key and what to do (got {one!r})")


@format_check("rows", "reads", "writes")
def check_answers_come_back_as_they_were(subject: FormatSubject, folder: Path) -> None:
    """Rows from `append` are read back unchanged; columns have the requested order."""
    answers = subject.trials().answers(0)
    subject.sink(folder).append(answers)
    table = subject.make().read(subject.trials().keys(folder))
    expect_equal(list(table.schema.names), answers.column_names, "columns")
    expect_rows(subject, subject.rows(folder), answers.to_pylist(), "rows")
    names = answers.column_names[::-1][:2]
    for turn in ("batches(names)", "batches(names) again"):
        table_read = pa.Table.from_batches(list(table.batches(names)))
        expect_equal(table_read.column_names, names, f"columns of {turn}")
        expect_rows(subject, table_read.to_pylist(), answers.select(names).to_pylist(), f"rows of {turn}")


@format_check("rows", SHOWS, "writes")
def check_many_rows_come_back_each_as_often_as_it_was_written(subject: FormatSubject, folder: Path) -> None:
    """Thousands of answers in one batch, most of them equal to others, are read back as often as they were written."""
    answers = subject.trials().answers(0)
    many = answers.take(np.arange(MANY) % len(answers))
    subject.sink(folder).append(many)
    expect_rows(subject, ordered(subject.rows(folder)), ordered(many.to_pylist()), f"{MANY} rows")


@format_check("rows", SHOWS, "writes")
def check_a_batch_is_added_or_takes_the_place(subject: FormatSubject, folder: Path) -> None:
    """`append` adds; with `replace` it overwrites; a batch without answers creates the table."""
    answers, sink = subject.trials().answers, subject.sink(folder)
    sink.append(answers(0).slice(0, 0))
    expect_rows(subject, subject.rows(folder), [], "rows of an empty batch")
    for batch in range(2):
        subject.sink(folder).append(answers(batch))
    expect_rows(subject, subject.rows(folder), [*answers(0).to_pylist(), *answers(1).to_pylist()], "rows")
    subject.sink(folder).append(answers(2), replace=True)
    expect_rows(subject, subject.rows(folder), answers(2).to_pylist(), "rows after replace")


@format_check("rows", SHOWS, "writes")
def check_nothing_is_there_before_the_first_answers(subject: FormatSubject, folder: Path) -> None:
    """Looking creates nothing: `exists` is false, and reading raises ConfigError."""
    sink = subject.sink(folder)
    sink.check(subject.trials().answers(0).schema)
    expect(not sink.exists(), "exists() is true for a table that was never written")
    if "reads" in subject.can:
        _expect_unread(subject, folder)
    sink.append(subject.trials().answers(0))
    expect(subject.sink(folder).exists(), "exists() is false for a table that was written")


def _expect_unread(subject: FormatSubject, folder: Path) -> None:
    try:
        subject.rows(folder)
    except ConfigError as error:
        expect(bool(error.problems), "ConfigError has no problem")
        return
    raise AssertionError("a missing table is read: raise ConfigError with the key that names it")


@format_check("columns", SHOWS, "writes")
def check_other_columns_are_refused_before_anything_is_written(subject: FormatSubject, folder: Path) -> None:
    """`check` and `append` raise ConfigError for answers with other columns, and the table is unchanged."""
    answers = subject.trials().answers(0)
    subject.sink(folder).append(answers)
    others = answers.rename_columns([f"other_{name}" for name in answers.column_names])
    subject.sink(folder).check(answers.schema)
    for act in (lambda sink: sink.check(others.schema), lambda sink: sink.append(others)):
        expect_refused(act, subject.sink(folder))
    expect_rows(subject, subject.rows(folder), answers.to_pylist(), "rows after answers of other columns")


@format_check("columns", SHOWS, ADDS, "streams")
def check_a_micro_batch_of_other_columns_is_refused(subject: FormatSubject, folder: Path) -> None:
    """`write` raises ConfigError; neither the answers nor the number are written."""
    answers = subject.trials().answers(0)
    subject.sink(folder).write(answers, "one", 0)
    others = answers.rename_columns([f"other_{name}" for name in answers.column_names])
    expect_refused(lambda sink: sink.write(others, "one", 1), subject.sink(folder))
    expect_equal(subject.sink(folder).latest("one"), 0, "latest() after a refused micro-batch")
    expect_rows(subject, subject.rows(folder), answers.to_pylist(), "rows after a refused micro-batch")


@format_check("once", SHOWS, ADDS, "streams")
def check_a_micro_batch_that_is_given_again_is_there_once(subject: FormatSubject, folder: Path) -> None:
    """By this sink and by a new one; a micro-batch without answers has a number, too."""
    answers = subject.trials().answers
    expect_equal(subject.sink(folder).latest("one"), None, "latest() for a stream that wrote nothing")
    sink = subject.sink(folder)
    for batch in range(3):
        for again in (sink, subject.sink(folder)):
            give(again, answers(batch), "one", batch)
        expect_equal(subject.sink(folder).latest("one"), batch, "latest()")
    sink.write(answers(3).slice(0, 0), "one", 3)
    expect_equal(subject.sink(folder).latest("one"), 3, "latest() after a micro-batch without answers")
    expect_rows(subject, subject.rows(folder), rows_of(subject, range(3)), "rows")


@format_check("once", SHOWS, ADDS, "streams")
def check_another_stream_with_the_same_numbers_is_written(subject: FormatSubject, folder: Path) -> None:
    """A stream that starts over counts from 0 again, with other answers. All of its id counts, as it is written."""
    answers = subject.trials().answers
    for number, stream in enumerate(STREAMS):
        expect_equal(subject.sink(folder).latest(stream), None, f"latest({stream!r}), which wrote nothing yet")
        for batch in range(2):
            give(subject.sink(folder), answers(2 * number + batch), stream, batch)
    for stream in STREAMS:
        expect_equal(subject.sink(folder).latest(stream), 1, f"latest({stream!r})")
    expect_equal(subject.sink(folder).latest("three"), None, "latest() for a stream that wrote nothing")
    expect_rows(subject, subject.rows(folder), rows_of(subject, range(2 * len(STREAMS))), "rows")
