"""What can go wrong, each with the place, the value and the remedy."""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from attrs import frozen


class SkybandError(Exception):
    """Base of every error raised on purpose by Skyband."""

    names_places: ClassVar[bool] = False
    """Whether each line of its text says where it was written, so that nothing needs to stand before it."""


NO_COLUMN, TEXT_COLUMN, NO_TABLE = "no-column", "text-column", "no-table"
"""Codes of problems: a column that the source does not have, one of text where the key needs another type, and a table
that no job has."""


@frozen
class Problem:
    """One thing wrong with a configuration: the field it is in and what to do about it.

    code: what kind of thing it is, where a program tells such problems apart, such as `NO_COLUMN`.
    """

    field: str
    message: str
    code: str | None = None

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.field else self.message

    def within(self, place: str) -> "Problem":
        """The same problem seen from outside, its field (perhaps `[1]`, an entry) prefixed with `place`."""
        dot = "." if self.field and not self.field.startswith("[") else ""
        return Problem(f"{place}{dot}{self.field}", self.message, self.code)


class ConfigError(SkybandError, ValueError):
    """A query, backend or job that cannot be built. `problems` holds every fault found, not just the first."""

    def __init__(self, *problems: Problem) -> None:
        self.problems = problems
        super().__init__("\n".join(map(str, problems)))

    def __reduce__(self) -> tuple[type["ConfigError"], tuple[Problem, ...]]:
        return type(self), self.problems


@contextmanager
def problems_within(field: str) -> Iterator[None]:
    """Have the problems of a ConfigError be those of a part, under this field."""
    try:
        yield
    except ConfigError as error:
        raise ConfigError(*(problem.within(field) for problem in error.problems)) from error


class InputError(SkybandError, ValueError):
    """Data that breaks a backend's contract. The backend is left as it was.

    row: the first row that does, which the message is about. rows, reason: the places of all that do so in the same
    way, int64[m], and what is wrong with each of them, without its value: with `bad_rows` they are put aside together.
    An error without them stands for its row alone.
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
    """Bytes that are no snapshot, are damaged, or were written by something newer or other than what reads them."""


class BusyError(SkybandError, RuntimeError):
    """A backend was called from one thread while a call from another ran. Only the first call has an effect."""


class BrokenError(SkybandError, RuntimeError):
    """A backend or operator was called after a call of it was cut short, by Ctrl-C or any error but InputError."""


class PluginError(SkybandError):
    """A backend that is installed wrongly, claimed twice, or not what its plugin says it is."""


class EngineError(SkybandError, RuntimeError):
    """An engine that cannot run a query: no Java, a missing setting of Spark, the checkpoint of another query; or one
    that has lost a row."""


def closest(word: str, words: Iterable[str]) -> str | None:
    """Which of `known` an unknown `word` was probably meant to be."""
    folded = {name.casefold(): name for name in sorted(words)}
    close = difflib.get_close_matches(str(word).casefold(), folded, n=1)
    return folded[close[0]] if close else None


def suggest(word: str, words: Iterable[str]) -> str:
    """The end of an error message about an unknown `word`: the closest of `known`, or all of them."""
    names = sorted(words)
    meant = closest(word, names)
    if meant is not None:
        return f"did you mean {meant!r}?"
    return f"known: {', '.join(names)}" if names else "none is known"
