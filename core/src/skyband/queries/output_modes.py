"""Output modes of a query, its keys `answers`, `key` and `changed`: whole answers, a log of changes, or in a job a
table of the newest answers."""

from collections.abc import Sequence
from typing import Any, TypeVar

import pyarrow as pa

from skyband.columns.ids import PLAIN, is_plain
from skyband.config.parameters import choice
from skyband.errors import ConfigError, Problem, suggest
from skyband.windows.schedule import Schedule

ALL, CHANGES, CURRENT = "all", "changes", "current"
"""Whole answers, a log of changes, or in a job that log applied to a table by the sink."""
CHANGE = pa.field("change", pa.string())
"""The log's column after `at`: entered, updated, left or emptied."""

T = TypeVar("T")


def answers_parameter() -> Any:
    """The field `answers`."""
    return choice(
        ALL, CHANGES, CURRENT, default=ALL, kw_only=True,
        help="the output at each moment: the whole answer, or changes since the one before; in a job also a "
        "table that holds the newest answer",
    )  # fmt: skip


def output_problems(query: Any, fields: Sequence[pa.Field]) -> list[Problem]:
    """Problems of `answers`, `key` and `changed` for answers with these columns."""
    names = [field.name for field in fields]
    if query.answers == ALL:
        message = f'needs answers = "{CHANGES}" or "{CURRENT}": set it, or remove this key'
        return [Problem(key, message) for key in ("key", "changed") if getattr(query, key)]
    if query.gives_states:
        return [Problem("answers", "cannot be combined with `emit`, as states always differ: remove one of them")]
    if "at" not in names:
        return [Problem("answers", f"a {query.kind} answers each row once, which already is a log: remove this key")]
    if not isinstance(getattr(query, "schedule", None), Schedule):
        message = f"a {query.kind} has no `schedule`, which says when an answer is due but empty"
        return [Problem("answers", f"{message}: remove this key, or ask its author to add one")]
    if query.rows:
        message = "cannot be used with windows in rows, whose next answer may never be due"
        return [Problem("answers", f"{message}: use windows in time, or remove this key")]
    if CHANGE.name in names:
        return [Problem("answers", f"adds a column {CHANGE.name!r}, but the answers have one: rename it in the source")]
    unknown = [(key, name) for key in ("key", "changed") for name in getattr(query, key) if name not in names]
    problems = [Problem(key, f"the answers have no column {name!r}; {suggest(name, names)}") for key, name in unknown]
    several = [field for field in fields if field.name in query.key and not is_plain(field.type)]
    return problems + [
        Problem("key", f"column {field.name!r} must be {PLAIN} (it is {field.type})") for field in several
    ]


def table_key(query: Any) -> tuple[str, ...]:
    """The columns that identify a row in a table of the newest answers of all groups and windows."""
    return tuple(dict.fromkeys([*query.by, *query.separate_answers, *query.key_columns]))


def for_a_program(query: T) -> T:
    """The query, if a program takes the answers itself. Raises ConfigError if they need a sink."""
    if getattr(query, "answers", ALL) == CURRENT:
        from skyband.registry.install_hints import OPEN_SINK

        message = f'"{CURRENT}" is for jobs, whose sink holds the newest answers'
        remedy = f'use "{CHANGES}" and pass answers to {OPEN_SINK}(…, key={[*table_key(query)]})'
        raise ConfigError(Problem("answers", f"{message}: {remedy}"))
    return query
