"""The command of this distribution; imported for each `skyband --help`, so it imports the command only when called."""

import click
from skyband import hookimpl


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """Add `skyband mine`."""
    from skyband_specs.scaffold.command_plugin.command import command

    group.add_command(command, "mine")
