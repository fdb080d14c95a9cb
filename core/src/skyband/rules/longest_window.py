"""The key `longest` of a query whose windows may change as rules, and the keys it excludes."""

from collections.abc import Mapping
from typing import Any

from attrs.converters import optional

from skyband.config.calendar_lengths import CalendarLength, Length
from skyband.config.durations import Duration, duration, parsed
from skyband.config.literals import literal
from skyband.errors import Problem

NO_WINDOWS = 'must be a list of durations such as ["10 minutes"]; or set `longest`, for later rules'
SOURCE_OF_RULES = (
    "is a second source: in a job a table, rules = { path = …, format = … }; in a program an argument of `apply`"
)
"""The message for a key `rules` within a query."""


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
