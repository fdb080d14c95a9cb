"""skyband queries: lists the installed kinds of query, and why one cannot be used."""

import json
from typing import Any

import click


@click.command(short_help="List the installed kinds of query.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """List the installed kinds of query, with the roles and distribution of each, and whether it works.

    If two distributions claim a kind, a job chooses one with distribution = "…"; the other kinds are not affected.
    """
    from skyband import text_tables
    from skyband.registry import installed

    listing = [(entry, *_roles_and_status(entry)) for entry in installed().queries.listing]
    if as_json:
        click.echo(json.dumps({"queries": [_plain(*entry) for entry in listing]}, indent=2))
        return
    rows = [
        [entry.info.kind, ", ".join(roles), entry.distribution, entry.version, status or "ok"]
        for entry, roles, status in listing
    ]
    head = ["query", "roles", "distribution", "version", "status"]
    styles = {"query": "bold", "distribution": "dim", "version": "dim"}
    missing = text_tables.table(head, rows, styles=styles, spare=("version", "distribution", "roles"))
    if missing:
        click.echo(f"no room for {', '.join(missing)}: --json shows every column", err=True)


def _roles_and_status(entry: Any) -> tuple[list[str], str | None]:
    """The roles that a kind needs, and why it cannot be used: its name, its class, or a role without a backend."""
    from skyband.errors import ConfigError, PluginError
    from skyband.queries import load_query
    from skyband.registry import installed

    if entry.problem is not None:
        return [], entry.problem
    try:
        roles = list(load_query(entry.info.kind).roles)
    except PluginError as error:
        return [], str(error)
    problems = []
    for role in roles:
        try:
            installed().bind(role)
        except (ConfigError, PluginError) as error:
            problems.append(str(error))
    return roles, "; ".join(problems) or None


def _plain(entry: Any, roles: list[str], status: str | None) -> dict[str, Any]:
    return {
        "kind": entry.info.kind,
        "summary": entry.info.summary,
        "roles": roles,
        "distribution": entry.distribution,
        "version": entry.version,
        "api": entry.info.api,
        "problem": status,
    }
