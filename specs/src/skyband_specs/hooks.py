"""The hooks of this distribution: commands for authors of plugins."""

import click
from skyband import hookimpl


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """Add the commands for new plugins, conformance checks, and the reference pages."""
    from skyband_specs.commands import docs, new, verify

    group.add_command(verify.command, "verify")
    group.add_command(new.command, "new")
    group.add_command(docs.command, "docs")
