"""Skyband's errors. Each message names the place, the value and the remedy."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from attrs import frozen


class SkybandError(Exception):
    """Base of all errors that Skyband raises on purpose."""

    names_places: ClassVar[bool] = False
    """Whether each line of the message already names its place, so that no prefix is needed."""


NO_COLUMN, TEXT_COLUMN, NO_TABLE = "no-column", "text-column", "no-table"
"""Codes of problems: the source lacks a column, a text column where the key needs another type, and a table that a job
does not have."""


@frozen
class Problem:
    """One thing wrong with a configuration: the field it is in and what to do about it.

    code: the kind of problem, such as `NO_COLUMN`, for programs that need to distinguish them.
    """

    field: str
    message: str
    code: str | None = None

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    def within(self, place: str) -> "Problem":
        """The same problem as seen from outside: its field (perhaps an entry, `[1]`) prefixed with `place`."""
        dot = "." if self.field and not self.field.startswith("[") else ""
        return Problem(f"{place}{dot}{self.field}", self.message, self.code)


class ConfigError(SkybandError, ValueError):
    """A query, backend or job that cannot be built. `problems` holds every fault, not only the first."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[Problem, ...]]:
        return type(self), self.problems


@contextmanager
def problems_within(field: str) -> Iterator[None]:
    """Prefix the problems of a ConfigError raised in this block with `field`."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*(problem.within(field) for problem in error.problems)) from error


class InputError(SkybandError, ValueError):
    """Data that breaks a backend's contract. The backend's state is unchanged.

    row: the first bad row, which the message describes. rows, reason: the positions of all rows with the same fault,
    int64[m], and the fault without a value: with `bad_rows` they are put aside together. An error without them is about
    its row alone.
    """

    def __init__(
        self, argument: str, message: str, row: int | None = None, *, rows: Any = None, reason: str | None = None
    ) -> None:
        self.argument = argument
        self.message = message
        self.row = row
        self.rows = rows
        self.reason = message if reason is None else reason
        super().__init__(f"{argument}: {message}" if row is None else f"{argument}, row {row}: {message}")

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, str, int | None]]:
        return type(self), (self.argument, self.message, self.row)


class SnapshotError(SkybandError, ValueError):
    """Bytes that are not a snapshot, are damaged, or were written by a newer or different program."""


class BusyError(SkybandError, RuntimeError):
    """A backend was called from one thread during a call from another. Only the first call has an effect."""


class BrokenError(SkybandError, RuntimeError):
    """A backend or operator was called after an earlier call was cut short by Ctrl-C or any error except InputError."""


class PluginError(SkybandError):
    """A backend that is installed wrongly, claimed twice, or different from what its plugin declares."""


class EngineError(SkybandError, RuntimeError):
    """An engine that cannot run a query, for example without Java, with a missing setting or another query's
    checkpoint; or one that has lost a row."""


def closest(word: str, words: Iterable[str]) -> str | None:
    """The entry of `words` that an unknown `word` was probably meant to be; None if none is close."""
    folded = {name.casefold(): name for name in sorted(words)}
    close = difflib.get_close_matches(str(word).casefold(), folded, n=1)
    return folded[close[0]] if close else None


def suggest(word: str, words: Iterable[str]) -> str:
    """The end of an error message about an unknown `word`: the closest of `words`, or all of them."""
    names = sorted(words)
    meant = closest(word, names)
    if meant is not None:
        return f"did you mean {meant!r}?"
    return f"known: {', '.join(names)}" if names else "there are none"
