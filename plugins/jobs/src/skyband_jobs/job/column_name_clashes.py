"""Columns of answers whose names differ only in case: Spark ignores case, and cannot read a file with both."""

from collections.abc import Iterable, Mapping

from skyband.errors import ConfigError, Problem

from skyband_jobs.tables.model import Sink

_SETTING = "spark.sql.caseSensitive"


def tells_case(settings: Mapping[str, str]) -> bool:
    """Whether a job's session distinguishes the columns `At` and `at`."""
    return settings.get(_SETTING, "false").lower() == "true"


def names_alike(sink: Sink, names: Iterable[str]) -> list[Problem]:
    """A problem where two columns of the answers differ only in case and are to be stored."""
    first: dict[str, str] = {}
    for name in names if sink.format != "console" else ():
        other = first.setdefault(name.lower(), name)
        if other != name:
            message = f"the answers' columns {other!r} and {name!r} differ only in case, which Spark cannot read"
            return [Problem("query", f"{message}: rename the source's column with source.select (`… AS name`)")]
    return []


def check_names(sink: Sink, names: Iterable[str]) -> None:
    """Raise ConfigError where `names_alike` finds a problem."""
    problems = names_alike(sink, names)
    if problems:
        raise ConfigError(*problems)
