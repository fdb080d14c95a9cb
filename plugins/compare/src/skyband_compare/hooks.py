"""What this distribution brings: the commands for people who look at answers and choose a backend."""

import click
from skyband import hookimpl


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """Backends beside each other, on a job or on generated streams, and answers as pictures."""
    from skyband_compare.commands import bench, compare, plot

    group.add_command(plot.command, "plot")
    group.add_command(compare.command, "compare")
    group.add_command(bench.command, "bench")
