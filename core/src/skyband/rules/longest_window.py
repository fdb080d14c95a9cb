"""The key `longest` of a query whose windows come and go as rules, and what does not go with it."""

from collections.abc import Mapping
from typing import Any

from attrs.converters import optional

from skyband.config.calendar_lengths import CalendarLength, Length
from skyband.config.durations import Duration, duration, parsed
from skyband.config.literals import literal
from skyband.errors import Problem

NO_WINDOWS = 'must be a list of durations such as ["10 minutes"]; or `longest`, for rules that come later'
SOURCE_OF_RULES = (
    "is a source beside the rows: in a job a table, rules = { path = …, format = … }; in a program an argument of "
    "`apply`"
)
"""Where a key `rules` is looked for in a query."""


def longest_parameter() -> Any:
    """The field `longest`."""
    return duration(
        None, kw_only=True, converter=optional(parsed),
        help="the longest window that `windows` and rules may have: what the state is kept for",
    )  # fmt: skip


def limit_problems(
    longest: Duration, lengths: Mapping[str, Length], offset: Duration, others: Mapping[str, Any]
) -> list[Problem]:
    """What does not go with `longest`. lengths: `every` and the windows by their keys; others: keys that are not to be
    there, with their values.
    """
    if longest.rows:
        return [Problem("longest", f"must be a length of time, as rules hold for times (got {longest})")]
    problems = []
    for key, length in lengths.items():
        if length.rows or isinstance(length, CalendarLength):
            message = f"must be a length of time with `longest`, as rules have it (got {length})"
            problems.append(Problem(key, message))
        elif key != "every" and length.length > longest.length:
            problems.append(Problem(key, f"must be at most longest = {str(longest)!r} (got {length})"))
    if offset.rows:
        problems.append(Problem("offset", f"must be in time, as `longest` is (got {offset})"))
    for key, value in others.items():
        if value is not None:
            problems.append(Problem(key, f"does not go with `longest`: drop one of the two (got {literal(value)})"))
    return problems
