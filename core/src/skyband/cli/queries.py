"""skyband queries: lists the installed kinds of query, and why one cannot be used."""

from operator import itemgetter
from typing import Any

import click

from skyband.cli import listing


@click.command(short_help="List the installed kinds of query.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(as_json: bool) -> None:
    """List the installed kinds of query, with the roles and distribution of each, and whether it works.

    If two distributions claim a kind, a job chooses one with distribution = "…"; the other kinds are not affected.
    """
    from skyband.registry import installed

    entries = []
    for entry in installed().queries.listing:
        roles, problem = _roles_and_status(entry)
        own = {"kind": entry.info.kind, "summary": entry.info.summary, "roles": roles}
        entries.append(listing.plain(entry, problem, **own))
    columns: listing.Columns = {"query": itemgetter("kind"), "roles": lambda entry: ", ".join(entry["roles"])}
    listing.write("queries", entries, columns, as_json)


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
