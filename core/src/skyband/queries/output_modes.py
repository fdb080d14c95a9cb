"""What a query gives at its moments, its keys `answers`, `key` and `changed`: whole answers, a log of what changed in
them, or in a job a table of the newest."""

from collections.abc import Sequence
from typing import Any, TypeVar

import pyarrow as pa

from skyband.columns.ids import PLAIN, is_plain
from skyband.config.parameters import choice
from skyband.errors import ConfigError, Problem, suggest
from skyband.windows.schedule import Schedule

ALL, CHANGES, CURRENT = "all", "changes", "current"
"""Whole answers, a log of what changed in them, or in a job that log, which its sink applies to a table."""
CHANGE = pa.field("change", pa.string())
"""The column of such a log, after `at`: entered, updated, left or emptied."""

T = TypeVar("T")


def answers_parameter() -> Any:
    """The field `answers`."""
    return choice(
        ALL, CHANGES, CURRENT, default=ALL, kw_only=True,
        help="what is given at each moment: the whole answer, or what changed since the one before; in a job also a "
        "table that holds the newest answer",
    )  # fmt: skip


def output_problems(query: Any, fields: Sequence[pa.Field]) -> list[Problem]:
    """What is wrong with `answers`, `key` and `changed`, of answers with these columns."""
    names = [field.name for field in fields]
    if query.answers == ALL:
        message = f'goes with answers = "{CHANGES}" or "{CURRENT}": add that, or drop this'
        return [Problem(key, message) for key in ("key", "changed") if getattr(query, key)]
    if query.gives_states:
        return [Problem("answers", "no two states are alike: leave this out, or `emit`")]
    if "at" not in names:
        return [Problem("answers", f"a {query.kind} answers each row once, which is a log already: leave this out")]
    if not isinstance(getattr(query, "schedule", None), Schedule):
        message = f"a {query.kind} has no `schedule`, which says when an answer is due and does not come"
        return [Problem("answers", f"{message}: leave this out, or let its author add one")]
    if query.rows:
        message = "the next answer over windows in rows is due with a row that may never come"
        return [Problem("answers", f"{message}: take windows in time, or leave this out")]
    if CHANGE.name in names:
        return [Problem("answers", f"adds a column {CHANGE.name!r}, and the answers have one: rename it in the source")]
    unknown = [(key, name) for key in ("key", "changed") for name in getattr(query, key) if name not in names]
    problems = [Problem(key, f"the answers have no column {name!r}; {suggest(name, names)}") for key, name in unknown]
    several = [field for field in fields if field.name in query.key and not is_plain(field.type)]
    return problems + [
        Problem("key", f"column {field.name!r} must be {PLAIN} (it is {field.type})") for field in several
    ]


def table_key(query: Any) -> tuple[str, ...]:
    """The columns that name a row in a table of the newest answers: of all groups, and of all their windows."""
    return tuple(dict.fromkeys([*query.by, *query.separate_answers, *query.key_columns]))


def for_a_program(query: T) -> T:
    """The query, of a program that takes the answers itself. Raises ConfigError where they are a sink's to hold."""
    if getattr(query, "answers", ALL) == CURRENT:
        message = f'"{CURRENT}" is for a job, whose sink holds the newest answers'
        remedy = f'take "{CHANGES}", and give them to skyband_jobs.formats.open_sink(…, key={[*table_key(query)]})'
        raise ConfigError(Problem("answers", f"{message}: {remedy}"))
    return query
