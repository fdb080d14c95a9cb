"""skyband engines: lists the installed engines, and why one cannot run."""

from operator import itemgetter
from typing import Any

import click

from skyband.cli import listing


@click.command(short_help="List the installed engines.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """List the engines that can run a query, the distribution of each, and whether it works."""
    from skyband.registry import installed

    entries = [
        listing.plain(entry, _status(entry), engine=entry.info.name, summary=entry.info.summary)
        for entry in installed().engines.listing
    ]
    listing.write("engines", entries, {name: itemgetter(name) for name in ("engine", "summary")}, as_json)


def _status(entry: Any) -> str | None:
    """Why an engine cannot run: its name is claimed twice, its class fails, or something it needs is missing."""
    from skyband.errors import PluginError
    from skyband.registry import installed

    if entry.problem is not None:
        return str(entry.problem)
    try:
        installed().load_engine(entry.info.name)
    except PluginError as error:
        return str(error)
    return None
