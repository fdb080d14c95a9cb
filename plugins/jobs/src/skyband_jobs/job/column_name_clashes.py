"""Columns of answers that Spark would take for one: it passes over case, and cannot read a file of both."""

from collections.abc import Iterable, Mapping

from skyband.errors import ConfigError, Problem

from skyband_jobs.job.model import Sink

_SETTING = "spark.sql.caseSensitive"


def tells_case(settings: Mapping[str, str]) -> bool:
    """Whether a job's session takes `At` and `at` for two columns."""
    return settings.get(_SETTING, "false").lower() == "true"


def names_alike(sink: Sink, names: Iterable[str]) -> list[Problem]:
    """What is wrong where two columns of the answers are alike but for case, and are to be kept."""
    first: dict[str, str] = {}
    for name in names if sink.format != "console" else ():
        other = first.setdefault(name.lower(), name)
        if other != name:
            message = (
                f"the answers' columns {other!r} and {name!r} are alike but for case, and Spark could not read them"
            )
            return [Problem("query", f"{message}: give the source's another name with source.select (`… AS name`)")]
    return []


def check_names(sink: Sink, names: Iterable[str]) -> None:
    """Raise ConfigError where `names_alike` has something to say."""
    problems = names_alike(sink, names)
    if problems:
        raise ConfigError(*problems)
