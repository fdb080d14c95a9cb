"""What this distribution brings: the commands that check and run jobs, and ask the states that they write."""

import click
from skyband import hookimpl


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """A job checked, run, and its states asked; the formats of sources and sinks."""
    from skyband_jobs.commands import ask, check, formats, run

    group.add_command(check.command, "check")
    group.add_command(run.command, "run")
    group.add_command(ask.command, "ask")
    group.add_command(formats.command, "formats")
