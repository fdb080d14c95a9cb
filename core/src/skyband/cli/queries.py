"""skyband queries: the kinds of query that are installed, and what is wrong with one that cannot be asked."""

import json
from typing import Any

import click


@click.command(short_help="List the kinds of query that are installed.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """List the installed kinds of query with the roles that each needs, who brings it and whether it works.

    A kind that two distributions claim does not affect the others: a job then chooses with distribution = "…".
    """
    from skyband import text_tables
    from skyband.registry import installed

    listing = [(entry, *_roles_and_status(entry)) for entry in installed().query_listing()]
    if as_json:
        click.echo(json.dumps({"queries": [_plain(*one) for one in listing]}, indent=2))
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
    """The roles of a kind that its class names, and why it cannot be asked: its claim, its class, a role's backend."""
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
