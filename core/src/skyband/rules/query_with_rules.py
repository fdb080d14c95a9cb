"""Queries with a list of windows, which `longest` lets change as rules: the base class, and the key `longest`."""

from collections.abc import Mapping
from typing import Any, ClassVar

from attrs.converters import optional

from skyband.config.calendar_lengths import CalendarLength, Length
from skyband.config.durations import Duration, duration, parsed
from skyband.config.literals import literal
from skyband.errors import Problem
from skyband.queries.query import Query

NO_WINDOWS = 'must be a list of durations such as ["10 minutes"]; or set `longest`, for later rules'
SOURCE_OF_RULES = (
    "is a second source: in a job a table, rules = { path = …, format = … }; in a program an argument of `apply`"
)
"""The message for a key `rules` within a query."""


class QueryWithRules(Query):
    """A query with the fields `windows`, `every`, `longest` and `emit`, whose answers have a column `window`.

    With `longest` they also have a column `rule` before it, and the query has no windows in rows.
    """

    broadcast: ClassVar[str | None] = "rules"

    windows: tuple[Length, ...]
    every: Length
    longest: Duration | None
    emit: str | None

    @property
    def rows(self) -> bool:
        return self.longest is None and self.windows[0].rows

    @property
    def lengths(self) -> Mapping[str, Length]:
        return {"every": self.every, **{f"windows[{place}]": window for place, window in enumerate(self.windows)}}

    @property
    def rule_columns(self) -> tuple[str, ...]:
        """The columns of answers that name the rule, before the window."""
        return () if self.longest is None else ("rule",)

    @property
    def separate_answers(self) -> tuple[str, ...]:  # type: ignore[override]
        """A rule has one answer, whatever its window is."""
        return self.rule_columns or ("window",)

    @property
    def key_columns(self) -> tuple[str, ...]:
        return self.key or tuple(name for name in self.compared_columns if self.longest is None or name != "window")

    @property
    def gives_states(self) -> bool:
        return self.emit is not None

    @property
    def needs(self) -> tuple[str, ...]:
        if self.longest is not None:
            return ("any-since",)
        return ("merge",) if self.gives_states else ()


def longest_parameter() -> Any:
    """The field `longest`."""
    return duration(
        None, kw_only=True, converter=optional(parsed),
        help="the longest window that `windows` and rules may have; the state is kept for it",
    )  # fmt: skip


def limit_problems(
    longest: Duration, lengths: Mapping[str, Length], offset: Duration, others: Mapping[str, Any]
) -> list[Problem]:
    """Problems with `longest`. lengths: `every` and the windows by their keys; others: keys that it excludes, with
    their values.
    """
    if longest.rows:
        return [Problem("longest", f"must be a length of time, because rules are in time (got {longest})")]
    problems = []
    for key, length in lengths.items():
        if length.rows or isinstance(length, CalendarLength):
            message = f"must be a length of time with `longest`, because rules are in time (got {length})"
            problems.append(Problem(key, message))
        elif key != "every" and length.length > longest.length:
            problems.append(Problem(key, f"must be at most longest = {str(longest)!r} (got {length})"))
    if offset.rows:
        problems.append(Problem("offset", f"must be in time, as `longest` is (got {offset})"))
    for key, value in others.items():
        if value is not None:
            message = f"cannot be combined with `longest`: remove one of the two (got {literal(value)})"
            problems.append(Problem(key, message))
    return problems
