"""The vocabulary of the checks of formats: `@format_check` tags a function of the format and an empty folder."""

from collections.abc import Callable
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
    """One thing a format must do, and what it must be able to for the check to say anything."""

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
"""What a check needs that looks at the table: the format reads, or its trial does."""
ADDS = "adds"
"""What a check needs that adds answers: a format that says no more than "streams" and "current" replaces them alone."""


def format_check(group: str, *needs: str) -> Callable[[Body], FormatCheck]:
    """Tag a function `check_something(subject, folder)` as a check of `group`."""
    return lambda body: FormatCheck(body, group, needs)


def give(sink: BatchSink, answers: pa.Table, stream: str, batch: int) -> None:
    """A micro-batch as Spark gives one: written unless the sink says that it has it."""
    latest = sink.latest(stream)
    if latest is None or batch > latest:
        sink.write(answers, stream, batch)


def expect_refused(act: Callable[[BatchSink], None], sink: BatchSink, what: str = "answers of other columns") -> None:
    """Fail the running check unless `act` raises ConfigError."""
    try:
        act(sink)
    except ConfigError:
        return
    raise AssertionError(f"{what} are taken: raise ConfigError that names both")


def rows_of(subject: FormatSubject, batches: range) -> Rows:
    """The rows of these batches of answers, in order."""
    answers = subject.trials().answers
    return [row for batch in batches for row in answers(batch).to_pylist()]


def expect_rows(subject: FormatSubject, got: Rows, expected: Rows, what: str) -> None:
    """Fail the running check unless the rows are the same to the last bit, NaN like NaN, and of the same types."""
    stored = subject.trials().stored
    as_stored = [
        {name: stored(value) if isinstance(value, float) else value for name, value in row.items()} for row in expected
    ]
    expect_equal(exactly(got), exactly(as_stored), what)


def exactly(rows: Rows) -> list[list[tuple[str, str, Any]]]:
    """Rows as plain data that `==` compares to the last bit: each value beside its column and its type."""
    return [[(name, type(value).__name__, _plain(value)) for name, value in sorted(row.items())] for row in rows]


def _plain(value: Any) -> Any:
    return repr(value) if isinstance(value, float) else value
