"""skyband docs: writes the reference of everything installed, as a folder of Markdown."""

import os
from pathlib import Path

import click
from skyband.cli.paths import FolderToWrite


@click.command(short_help="Write the reference of what is installed, in Markdown.")
@click.argument("folder", metavar="DIR", type=FolderToWrite())
def command(folder: Path) -> None:
    """Write a page for every installed role, query and backend into DIR, including your own, with examples that run.

    Only pages written by this command are replaced. Anything unusable gets a warning instead of a page.
    """
    from skyband.cli.commands import Failure

    from skyband_specs.reference import all_pages
    from skyband_specs.reference.markdown import MARK

    generated = all_pages()
    pages = {**generated.texts, "commands.md": commands_page()}
    foreign = [name for name in pages if os.path.lexists(folder / name) and not _starts(folder / name, MARK)]
    if foreign:
        raise Failure(f"{folder / foreign[0]} was not written by `skyband docs`: move it away, or choose another DIR")
    for name, text in pages.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    stale = sorted(path for path in folder.rglob("*.md") if path.relative_to(folder).as_posix() not in pages)
    for path in stale:
        if _starts(path, MARK):
            click.echo(f"warning: {path} is no longer generated: remove it", err=True)
    for problem in generated.problems:
        click.echo(f"no page: {problem}", err=True)
    click.echo(f"{len(pages)} pages in {folder}", err=True)


def _starts(path: Path, mark: str) -> bool:
    """Whether a file is a page with this start; a fifo or a link to a device might never end."""
    if not path.is_file():
        return False
    with path.open("rb") as page:
        return page.read(len(mark.encode())) == mark.encode()


def commands_page() -> str:
    """The page of the command line: the `--help` of each of Skyband's own commands."""
    from skyband.cli.commands import group

    from skyband_specs.reference.markdown import code, fenced, page, section

    settings = {**group.context_settings, "max_content_width": WIDTH, "terminal_width": WIDTH}
    context = click.Context(group, info_name="skyband", **settings)
    parts = []
    for name in group.own_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        below = click.Context(command, info_name=name, parent=context, max_content_width=WIDTH, terminal_width=WIDTH)
        parts.append(section(code(f"skyband {name}"), fenced("text", command.get_help(below))))
    return page(
        "Commands",
        "Data on stdout, everything else on stderr. Exit status: 0 success, 1 a problem was found, 2 wrong call, "
        "130 interrupted: by Ctrl-C, or by SIGTERM for a stream, which keeps its answers so far and resumes when "
        "run again. A batch that SIGTERM or SIGHUP ends writes nothing, and the status is 143 or 129. Plugins may "
        "add commands.",
        *parts,
    )


WIDTH = 90
