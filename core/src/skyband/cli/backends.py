"""skyband backends: lists the installed backends, what each promises, and which are broken and why."""

import json
from typing import Any

import click

from skyband.cli.options import ROLE


@click.command(short_help="List installed backends, and broken plugins with the cause.")
@click.option("--role", type=ROLE, help="Only backends of this role.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(role: str | None, as_json: bool) -> None:
    """List the installed backends, and every broken plugin with the cause.

    A broken plugin does not affect the others: the exit status is 0 unless the chosen role has no working backend.
    SKYBAND_PLUGINS=a,b loads only the plugins a and b.
    """
    from skyband import text_tables
    from skyband.registry import Listed, installed
    from skyband.registry.info import BackendInfo

    listing = [_looked_at(entry) for entry in installed().listing(role)]
    broken = [plugin for plugin in installed().plugins if plugin.problem]

    def is_default(entry: Listed[BackendInfo]) -> bool:
        return entry.info.role in installed().roles and installed().role(entry.info.role).default == entry.info.name

    if as_json:
        click.echo(json.dumps({"backends": [_plain(entry, is_default(entry)) for entry in listing], "broken": [
            {"distribution": plugin.distribution, "version": plugin.version, "problem": plugin.problem}
            for plugin in broken
        ]}, indent=2))  # fmt: skip
    else:
        _show(listing, is_default)
    for problem in installed().absent:
        click.echo(f"warning: {problem}", err=True)
    for plugin in broken if not as_json else ():
        click.echo(text_tables.visible(f"broken: {plugin.distribution} {plugin.version}: {plugin.problem}"), err=True)
    if role is not None and not any(entry.problem is None for entry in listing):
        from skyband.cli.commands import Failure

        home = installed().role(role).distribution
        raise Failure(f"no backend is installed for the role {role}; {home} has the usual ones: pip install {home}")


def _looked_at(entry: Any) -> Any:
    """The entry, with a problem if its class or its role's interface is missing."""
    from attrs import evolve

    from skyband.registry import installed
    from skyband.registry.static_class_check import missing

    if entry.problem is not None:
        return entry
    return evolve(entry, problem=missing(entry.info.factory) or missing(installed().role(entry.info.role).interface))


def _show(listing: list[Any], is_default: Any) -> None:
    from skyband import text_tables

    rows = [
        [
            entry.info.key,
            "default" if is_default(entry) else "",
            entry.info.guarantee,
            entry.distribution,
            entry.version,
            entry.problem or "ok",
        ]
        for entry in listing
    ]
    styles = {"backend": "bold", "": "green", "distribution": "dim", "version": "dim"}
    spare = ("version", "distribution", "guarantee")
    head = ["backend", "", "guarantee", "distribution", "version", "status"]
    missing = text_tables.table(head, rows, styles=styles, spare=spare)
    if missing:
        click.echo(f"no room for {', '.join(missing)}: --json shows every column", err=True)


def _plain(entry: Any, default: bool) -> dict[str, Any]:
    info = entry.info
    return {
        "backend": info.key,
        "role": info.role,
        "name": info.name,
        "default": default,
        "guarantee": info.guarantee,
        "summary": info.summary,
        "reference": info.reference,
        "lacks": dict(info.lacks),
        "distribution": entry.distribution,
        "version": entry.version,
        "api": info.api,
        "problem": entry.problem,
    }
