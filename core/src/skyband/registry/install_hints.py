"""What to install for a role, backend, query, command, format, engine or question that is not installed.

With `homes`, the one place of core that may name families.
"""

from skyband.registry.homes import HOMES

OPEN_SINK = "skyband_jobs.formats.open_sink"
"""The function that takes changes of answers from a program."""

FORMAT_FOLDERS = {"_delta_log": "delta"}
"""A folder in a table by which its format is told: its files alone, read without the log, may be more than its rows."""

FUNCTIONS = {"skyband_jobs.formats.kafka_sink": "skyband_lakes.kafka.sink"}
"""Functions that are called by a name of core's, each with the module that has it."""


_EACH_ROW = "row-features"


def each_row_hint() -> str:
    """Which kind of query answers each row, for a query that answers at moments, as a sentence's end."""
    return f"for an answer to each row as it comes take kind = {_EACH_ROW!r}, of {HOMES[_EACH_ROW]}"


def engine_comes_with(name: str) -> str:
    """What to install for an engine that is unknown here, as the end of a sentence; empty where nobody knows."""
    return comes_with(f"engine/{name}")


def known_formats() -> tuple[str, ...]:
    """The formats that Skyband's own distributions bring, installed or not."""
    return tuple(name.removeprefix("format/") for name in HOMES if name.startswith("format/"))


def format_comes_with(name: str) -> str:
    """What to install for a format that is unknown here, as the end of a sentence; empty where nobody knows."""
    home = HOMES.get(f"format/{name}")
    return f"; it comes with {home}: pip install '{home}[{name}]'" if home else ""


def comes_with(name: str) -> str:
    """What to install for a name that is unknown here, as the end of a sentence; empty where nobody knows."""
    return f"; it comes with {HOMES[name]}: pip install {HOMES[name]}" if name in HOMES else ""
