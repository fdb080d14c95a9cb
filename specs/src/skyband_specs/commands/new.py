"""skyband new: a plugin to start from, that installs and passes its own conformance run."""

import re
import shlex
import unicodedata
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
from skyband.cli.options import QUERY, ROLE
from skyband.cli.paths import FolderToWrite

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MOST_LETTERS = 60


@click.command(short_help="Make a plugin to start from.")
@click.argument("folder", metavar="DIR", type=FolderToWrite())
@click.option("--role", type=ROLE, help="Bring a backend, and what it does.")
@click.option("--query", "kind", metavar="KIND", help="Bring a query, and what it is called.")
@click.option("--name", help="What the backend is called; the default is DIR's name.")
def command(folder: Path, role: str | None, kind: str | None, name: str | None) -> None:
    """Make a plugin with one backend or query: a distribution that installs and passes its conformance checks.

    It starts with a simple, correct algorithm for you to replace; for a role whose plugin brings none, with the methods
    to write. The distribution is called skyband-NAME. Nothing in DIR is overwritten.
    """
    if (role is None) == (kind is None):
        raise click.UsageError("give --role ROLE for a plugin with a backend, or --query KIND for one with a query")
    if kind is not None and name is not None:
        raise click.BadParameter("goes with --role: --query names the query", param_hint="--name")
    key = QUERY if role is None else role
    if name is None:
        name = folder.resolve().name.removeprefix("skyband-") if kind is None else kind
    _check_name(name, "--name" if kind is None else "--query")
    _check_free(key, name)
    try:
        if folder.exists() and any(folder.iterdir()):
            raise click.BadParameter(f"{str(folder)!r} is not empty; name a new folder", param_hint="DIR")
        _write(folder, key, name)
    except (OSError, RecursionError) as error:  # the latter where folders are nested by the thousand
        from skyband.cli.commands import Failure

        raise Failure(f"{folder} cannot be written: {getattr(error, 'strerror', error) or error}") from error
    click.echo(f"{key}/{name} is in {folder}. Next:", err=True)
    tested, place = shlex.quote(f"{folder}[test]"), shlex.quote(str(folder))
    for call in (f"pip install -e {tested}", f"skyband verify {key}/{name}", f"pytest {place}"):
        click.echo(f"   {call}", err=True)


def _check_name(name: str, option: str) -> None:
    if _NAME.fullmatch(name) and len(name) <= MOST_LETTERS:
        return
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    closest = re.sub(r"[^a-z0-9]+", "-", plain).lstrip("-0123456789")[:MOST_LETTERS].strip("-")
    hint = f"; try {option} {closest}" if closest else ""
    rule = f"lower-case words joined by hyphens, a letter first, at most {MOST_LETTERS} characters"
    raise click.BadParameter(f"must be {rule} (got {name!r}){hint}", param_hint=option)


def _check_free(key: str, name: str) -> None:
    """Raise where another distribution has the name of the backend or query, or its own."""
    from skyband.registry import installed

    option = "--query" if key == QUERY else "--name"
    listing: Any = installed().query_listing() if key == QUERY else installed().listing(key)
    clashes = [entry for entry in listing if entry.info.key == f"{key}/{name}"]
    if clashes:
        brought = f"{clashes[0].distribution} {clashes[0].version}"
        raise click.BadParameter(f"{key}/{name} is taken: it comes with {brought}; choose another", param_hint=option)
    try:
        published = version(f"skyband-{name}")
    except PackageNotFoundError:
        return
    message = f"the distribution skyband-{name} {published} is installed already; choose another"
    raise click.BadParameter(message, param_hint=option)


def _write(folder: Path, key: str, name: str) -> None:
    from skyband_specs.scaffold.project import render
    from skyband_specs.scaffold.query_project import render_query

    files = render_query(name) if key == QUERY else render(key, name)
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        click.echo(place)
