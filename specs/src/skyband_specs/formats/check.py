"""The vocabulary of the checks of formats: `@format_check` marks a function of the format and an empty folder."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from skyband.errors import ConfigError
from skyband_jobs.formats import BatchSink

from skyband_specs.check import expect_equal
from skyband_specs.formats.trial import FormatSubject

Body = Callable[[FormatSubject, Path], None]
Rows = list[dict[str, Any]]


@frozen(eq=False)
class FormatCheck:
    """One requirement of formats, and the abilities that the check needs."""

    body: Body
    group: str
    needs: tuple[str, ...]
    name: str = field(init=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "name", self.body.__name__.removeprefix("check_"))

    def __call__(self, subject: FormatSubject, folder: Path) -> None:
        """Run it in an empty folder."""
        self.body(subject, folder)


SHOWS = "shows"
"""Needed by checks that look at the table: the format reads, or its trial does."""
ADDS = "adds"
"""Needed by checks that append answers, which a format with only "streams" and "current" does not do."""


def format_check(group: str, *needs: str) -> Callable[[Body], FormatCheck]:
    """Mark a function `check_something(subject, folder)` as a check of `group`."""
    return lambda body: FormatCheck(body, group, needs)


def give(sink: BatchSink, answers: pa.Table, stream: str, batch: int) -> None:
    """Write a micro-batch as Spark does, unless the sink reports that it has it."""
    latest = sink.latest(stream)
    if latest is None or batch > latest:
        sink.write(answers, stream, batch)


def expect_refused(act: Callable[[BatchSink], None], sink: BatchSink, what: str = "answers of other columns") -> None:
    """Fail the running check unless `act` raises ConfigError."""
    try:
        act(sink)
    except ConfigError:
        return
    raise AssertionError(f"{what} are accepted: raise ConfigError that names both")


def rows_of(subject: FormatSubject, batches: range) -> Rows:
    """The rows of these batches of answers, in order."""
    answers = subject.trials().answers
    return [row for batch in batches for row in answers(batch).to_pylist()]


def ordered(rows: Iterable[dict[str, Any]]) -> Rows:
    """Rows in one order, however they arrived."""
    return sorted(rows, key=repr)


def expect_rows(subject: FormatSubject, got: Rows, expected: Rows, what: str) -> None:
    """Fail the running check unless the rows and their types are exactly the same, NaN equal to NaN."""
    stored = subject.trials().stored
    as_stored = [
        {name: stored(value) if isinstance(value, float) else value for name, value in row.items()} for row in expected
    ]
    expect_equal(exactly(got), exactly(as_stored), what)


def exactly(rows: Rows) -> list[list[tuple[str, str, Any]]]:
    """Rows as plain data that `==` compares exactly: each value with its column and type."""
    return [[(name, type(value).__name__, _plain(value)) for name, value in sorted(row.items())] for row in rows]


def _plain(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value
