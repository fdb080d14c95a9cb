"""What to install for a role, backend, query, command, format, engine or question that is not installed.

Only this module and `homes` of core may name families.
"""

from skyband.registry.homes import HOMES

OPEN_SINK = "skyband_jobs.formats.open_sink"
"""The function that takes changes of answers from a program."""

CHOOSE_BACKENDS = "skyband_jobs.choose_backends"
"""The function that chooses a program's backends by limits on error and memory."""

FORMAT_FOLDERS = {"_delta_log": "delta"}
"""A folder that identifies a table's format: its files alone, read without the log, may hold more than its rows."""

FUNCTIONS = {"skyband_jobs.formats.kafka_sink": "skyband_lakes.kafka.sink"}
"""Functions available under one of core's names, each with its module."""

_EACH_ROW = "row-features"


def each_row_hint() -> str:
    """The kind of query that answers each row, as the end of a message about a query that answers at moments."""
    return f"for an answer to each row as it arrives, use kind = {_EACH_ROW!r} from {HOMES[_EACH_ROW]}"


def engine_comes_with(name: str) -> str:
    """What to install for an unknown engine, as the end of a sentence; empty if unknown."""
    return comes_with(f"engine/{name}")


def known_formats() -> tuple[str, ...]:
    """The formats that Skyband's own distributions bring, installed or not."""
    return tuple(name.removeprefix("format/") for name in HOMES if name.startswith("format/"))


def format_comes_with(name: str) -> str:
    """What to install for an unknown format, as the end of a sentence; empty if unknown."""
    home = HOMES.get(f"format/{name}")
    return f"; it comes with {home}: pip install '{home}[{name}]'" if home else ""


def comes_with(name: str) -> str:
    """What to install for an unknown name, as the end of a sentence; empty if unknown."""
    return f"; it comes with {HOMES[name]}: pip install {HOMES[name]}" if name in HOMES else ""
