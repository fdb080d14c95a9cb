"""skyband new: a plugin to start from, that installs and passes its own conformance run."""

import re
import shlex
import unicodedata
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import click

from skyband.cli.options import ROLE

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
MOST_LETTERS = 60


@click.command(short_help="Make a plugin to start from.")
@click.argument("folder", metavar="DIR", type=click.Path(file_okay=False, path_type=Path))
@click.option("--role", type=ROLE, required=True, help="What its backend does.")
@click.option("--name", help="What the backend is called; the default is DIR's name.")
def command(folder: Path, role: str, name: str | None) -> None:
    """Make a plugin with one backend: a distribution that installs and passes the conformance checks of its role.

    It starts with a simple, correct algorithm for you to replace. Nothing in DIR is overwritten.
    """
    if name is None:
        name = folder.resolve().name.removeprefix("skyband-")
    _check_name(name)
    _check_free(role, name)
    try:
        if folder.exists() and any(folder.iterdir()):
            raise click.BadParameter(f"{str(folder)!r} is not empty; name a new folder", param_hint="DIR")
        _write(folder, role, name)
    except OSError as error:
        from skyband.cli.group import Failure

        raise Failure(f"{folder} cannot be written: {error.strerror or error}") from error
    click.echo(f"{role}/{name} is in {folder}. Next:", err=True)
    tested, place = shlex.quote(f"{folder}[test]"), shlex.quote(str(folder))
    for call in (f"pip install -e {tested}", f"skyband verify {role}/{name}", f"pytest {place}"):
        click.echo(f"   {call}", err=True)


def _check_name(name: str) -> None:
    if _NAME.fullmatch(name) and len(name) <= MOST_LETTERS:
        return
    plain = unicodedata.normalize("NFKD", name.casefold()).encode("ascii", "ignore").decode()
    closest = re.sub(r"[^a-z0-9]+", "-", plain).lstrip("-0123456789")[:MOST_LETTERS].strip("-")
    hint = f"; try --name {closest}" if closest else ""
    rule = f"lower-case words joined by hyphens, a letter first, at most {MOST_LETTERS} characters"
    raise click.BadParameter(f"must be {rule} (got {name!r}){hint}", param_hint="--name")


def _check_free(role: str, name: str) -> None:
    """Raise where another distribution has the backend's name, or its own."""
    from skyband.registry import installed

    taken = [entry for entry in installed().listing(role) if entry.info.name == name]
    if taken:
        brought = f"{taken[0].distribution} {taken[0].version}"
        raise click.BadParameter(
            f"{role}/{name} is taken: it comes with {brought}; choose another", param_hint="--name"
        )
    try:
        found = version(f"skyband-{name}")
    except PackageNotFoundError:
        return
    message = f"the distribution skyband-{name} {found} is installed already; choose another"
    raise click.BadParameter(message, param_hint="--name")


def _write(folder: Path, role: str, name: str) -> None:
    from skyband.scaffold.project import render

    for path, text in render(role, name).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
        click.echo(place)
