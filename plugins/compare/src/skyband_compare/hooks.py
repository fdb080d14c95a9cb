"""What this distribution brings: the commands for people who look at answers, test a job and choose a backend."""

import click
from skyband import hookimpl


@hookimpl
def skyband_commands(group: click.Group) -> None:
    """Answers beside those expected and as pictures, and backends beside each other."""
    from skyband_compare.commands import bench, compare, plot, test

    group.add_command(test.command, "test")
    group.add_command(plot.command, "plot")
    group.add_command(compare.command, "compare")
    group.add_command(bench.command, "bench")
