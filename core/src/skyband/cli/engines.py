"""skyband engines: lists the installed engines, and why one cannot run."""

import json
from typing import Any

import click


@click.command(short_help="List the installed engines.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """List the engines that can run a query, the distribution of each, and whether it works."""
    from skyband import text_tables
    from skyband.registry import installed

    entries = [(entry, _status(entry)) for entry in installed().engines.listing]
    if as_json:
        click.echo(json.dumps({"engines": [_plain(*entry) for entry in entries]}, indent=2))
        return
    rows = [
        [entry.info.name, entry.info.summary, entry.distribution, entry.version, status or "ok"]
        for entry, status in entries
    ]
    head = ["engine", "summary", "distribution", "version", "status"]
    styles = {"engine": "bold", "distribution": "dim", "version": "dim"}
    missing = text_tables.table(head, rows, styles=styles, spare=("version", "distribution", "summary"))
    if missing:
        click.echo(f"no room for {', '.join(missing)}: --json shows every column", err=True)


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


def _plain(entry: Any, status: str | None) -> dict[str, Any]:
    return {
        "engine": entry.info.name,
        "summary": entry.info.summary,
        "distribution": entry.distribution,
        "version": entry.version,
        "api": entry.info.api,
        "problem": status,
    }
