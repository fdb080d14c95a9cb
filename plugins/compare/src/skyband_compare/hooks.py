"""What this distribution registers: commands to draw answers, test a job and choose a backend."""

import click
from skyband import hookimpl


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """The commands test, plot, compare and bench."""
    from skyband_compare.commands import bench, compare, plot, test

    group.add_command(test.command, "test")
    group.add_command(plot.command, "plot")
    group.add_command(compare.command, "compare")
    group.add_command(bench.command, "bench")
