"""What this distribution brings to the command line: what authors of plugins use."""

import click
from skyband import hookimpl


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """A plugin to start from, the conformance checks, and the pages of what is installed."""
    from skyband_specs.commands import docs, new, verify

    group.add_command(verify.command, "verify")
    group.add_command(new.command, "new")
    group.add_command(docs.command, "docs")
