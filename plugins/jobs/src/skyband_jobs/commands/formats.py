"""skyband formats: the formats of sources and sinks that plugins bring, and what a missing one needs."""

from operator import itemgetter
from typing import Any

import click
from skyband.cli import listing


@click.command(short_help="List the formats of sources and sinks that are installed.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """List the formats of plugins: what a job can do with each, its distribution, and what it lacks here.

    Files in parquet, csv, json and arrow need no plugin, and Spark has further formats.
    """
    from skyband.registry import installed

    entries = [
        listing.plain(
            entry, _status(entry), format=entry.info.name, summary=entry.info.summary, can=list(entry.info.can)
        )
        for entry in installed().formats.listing
    ]
    columns: listing.Columns = {"format": itemgetter("format"), "can": lambda entry: ", ".join(entry["can"])}
    missing = [[name, "", "", "", hint] for name, hint in _missing({entry["format"] for entry in entries})]
    listing.write("formats", entries, columns, as_json, missing)


def _status(entry: Any) -> str | None:
    """Why a format cannot be used: its claim, its class, or a library that is not installed."""
    from skyband.errors import EngineError, PluginError

    from skyband_jobs.formats import TableKeys, format_named

    if entry.problem is not None:
        return str(entry.problem)
    try:
        bound = format_named(entry.info.name, entry.distribution)
        problems = [] if bound is None else bound.check(TableKeys(), on_spark=False)
    except (PluginError, EngineError) as error:
        return str(error)
    return next((problem.message for problem in problems if problem.field == "format"), None)


def _missing(there: set[str]) -> list[tuple[str, str]]:
    """The formats of Skyband's own distributions that are not installed, each with what to do."""
    from skyband.registry.install_hints import format_comes_with, known_formats

    return [(name, f"not installed{format_comes_with(name)}") for name in known_formats() if name not in there]
