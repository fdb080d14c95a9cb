"""skyband new: creates a plugin that installs and passes its own tests."""

import re
import shlex
import unicodedata
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
from skyband.cli.options import ENGINE_KEY, FORMAT, QUERY, ROLE
from skyband.cli.paths import FolderToWrite
from skyband.registry.info import ENGINE_FORMATS

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MOST_LETTERS = 60


OPTIONS = {"query": "--query", "format": "--format", "role": "--new-role", "command": "--command"}
"""The option that names what a plugin from templates brings, by the kind of plugin."""


@click.command(short_help="Create a plugin to start from.")
@click.argument("folder", metavar="DIR", type=FolderToWrite())
@click.option("--role", type=ROLE, help="Bring a backend of this role.")
@click.option("--name", help="The name of the backend; the default is DIR's name.")
@click.option("--query", metavar="KIND", help="Bring a query of this kind.")
@click.option("--format", "format_", metavar="NAME", help="Bring a format of sources and sinks of this name.")
@click.option("--new-role", metavar="NAME", help="Bring a role of this name, its default backend and its checks.")
@click.option("--command", "command_", metavar="NAME", help="Bring a command of this name.")
def command(
    folder: Path, role: str | None, name: str | None, query: str | None, format_: str | None, new_role: str | None,
    command_: str | None,
) -> None:  # fmt: skip
    """Create a plugin with one backend, query, format, role or command, as a distribution that passes its tests.

    It starts with simple, correct code to replace, or with empty methods if the role's plugin brings no example.
    The distribution is called skyband-NAME. Nothing in DIR is overwritten.
    """
    new = {"query": query, "format": format_, "role": new_role, "command": command_}
    named = [(kind, value) for kind, value in new.items() if value is not None]
    if (role is not None) + len(named) != 1:
        raise click.UsageError(f"give one of --role ROLE (for a backend), {', '.join(OPTIONS.values())}")
    if role is None:
        if name is not None:
            raise click.BadParameter(f"is only for --role: {OPTIONS[named[0][0]]} sets the name", param_hint="--name")
        ((kind, name),) = named
    else:
        kind, name = "backend", folder.resolve().name.removeprefix("skyband-") if name is None else name
    option = OPTIONS.get(kind, "--name")
    _check_name(name, option)
    key = {"query": f"query/{name}", "format": f"format/{name}", "backend": f"{role}/{name}"}.get(kind, name)
    _check_free(kind, role, name, key, option)
    try:
        if folder.exists() and any(folder.iterdir()):
            raise click.BadParameter(f"{str(folder)!r} is not empty: name a new folder", param_hint="DIR")
        _write(folder, kind, role, name)
    except (OSError, RecursionError) as error:  # the latter for thousands of nested folders
        from skyband.cli.commands import Failure

        raise Failure(f"{folder} cannot be written: {getattr(error, 'strerror', error) or error}") from error
    click.echo(f"{key} is in {folder}. Next:", err=True)
    tested, place = shlex.quote(f"{folder}[test]"), shlex.quote(str(folder))
    trial = {"role": f"verify {name}/plain", "command": f"{name} --help"}.get(kind, f"verify {key}")
    for call in (f"pip install -e {tested}", f"skyband {trial}", f"pytest {place}"):
        click.echo(f"   {call}", err=True)


def _check_name(name: str, option: str) -> None:
    if _NAME.fullmatch(name) and len(name) <= MOST_LETTERS:
        return
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    closest = re.sub(r"[^a-z0-9]+", "-", plain).lstrip("-0123456789")[:MOST_LETTERS].strip("-")
    hint = f"; try {option} {closest}" if closest else ""
    rule = f"lower-case words joined by hyphens, a letter first, at most {MOST_LETTERS} characters"
    raise click.BadParameter(f"must be {rule} (got {name!r}){hint}", param_hint=option)


def _check_free(kind: str, role: str | None, name: str, key: str, option: str) -> None:
    """Raise where another distribution has this name, or brings something with it."""
    taken_by = _owner(kind, role, name)
    if taken_by is not None:
        raise click.BadParameter(f"{key} is taken: it comes with {taken_by}; choose another name", param_hint=option)
    try:
        published = version(f"skyband-{name}")
    except PackageNotFoundError:
        return
    message = f"the distribution skyband-{name} {published} is already installed: choose another name"
    raise click.BadParameter(message, param_hint=option)


def _owner(kind: str, role: str | None, name: str) -> str | None:
    """The distribution that brings something of this kind and name; None where the name is free."""
    from skyband.registry import installed

    registry, context = installed(), click.get_current_context().find_root()
    if kind == "command" and isinstance(context.command, click.Group):
        return None if context.command.get_command(context, name) is None else "an installed distribution"
    if name in {"format": ENGINE_FORMATS, "role": (QUERY, FORMAT, ENGINE_KEY)}.get(kind, ()):
        return "Skyband itself"
    listings: dict[str, list[Any]] = {
        "query": registry.queries.listing,
        "format": registry.formats.listing,
        "role": registry.role_listing,
        "backend": registry.listing(role),
    }
    clash = next((one for one in listings.get(kind, []) if one.info.key.rpartition("/")[2] == name), None)
    return None if clash is None else f"{clash.distribution} {clash.version}"


def _write(folder: Path, kind: str, role: str | None, name: str) -> None:
    from skyband_specs.scaffold.copied_project import render_copy
    from skyband_specs.scaffold.project import render

    files = render_copy(kind, name) if role is None else render(role, name)
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        click.echo(place)
