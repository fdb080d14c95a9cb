"""skyband backends: lists the installed backends, what each promises, and which are broken and why."""

from operator import itemgetter
from typing import Any

import click

from skyband.cli import listing
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

    entries = [_looked_at(entry) for entry in installed().listing(role)]
    broken = [plugin for plugin in installed().plugins if plugin.problem]

    def is_default(entry: Listed[BackendInfo]) -> bool:
        return entry.info.role in installed().roles and installed().role(entry.info.role).default == entry.info.name

    columns: listing.Columns = {
        "backend": itemgetter("backend"),
        "": lambda entry: "default" if entry["default"] else "",
        "guarantee": itemgetter("guarantee"),
    }
    unusable = [{name: getattr(plugin, name) for name in ("distribution", "version", "problem")} for plugin in broken]
    plain = [_plain(entry, is_default(entry)) for entry in entries]
    listing.write("backends", plain, columns, as_json, broken=unusable)
    for problem in installed().absent:
        click.echo(f"warning: {problem}", err=True)
    for plugin in broken if not as_json else ():
        click.echo(text_tables.visible(f"broken: {plugin.distribution} {plugin.version}: {plugin.problem}"), err=True)
    if role is not None and not any(entry.problem is None for entry in entries):
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


def _plain(entry: Any, default: bool) -> dict[str, Any]:
    info = entry.info
    own = {name: getattr(info, name) for name in ("role", "name", "guarantee", "summary", "reference")}
    keys = ("backend", "role", "name", "default", "guarantee", "summary", "reference", "lacks")
    own |= {"backend": info.key, "default": default, "lacks": dict(info.lacks)}
    return listing.plain(entry, entry.problem, **{key: own[key] for key in keys})
