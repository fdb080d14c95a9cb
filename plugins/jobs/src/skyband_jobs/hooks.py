"""The hooks of this distribution: commands that check and run jobs, and query the states that they write."""

import click
from skyband import hookimpl


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """Add the commands for jobs, states, and the formats of sources and sinks."""
    from skyband_jobs.commands import ask, check, formats, run

    group.add_command(check.command, "check")
    group.add_command(run.command, "run")
    group.add_command(ask.command, "ask")
    group.add_command(formats.command, "formats")
