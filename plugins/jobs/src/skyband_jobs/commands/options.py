"""Options that the commands of jobs share: the job file, changes to it, and the engine that runs it."""

from collections.abc import Callable
from typing import Any

import click
from skyband.cli.options import ENGINE

DEFAULT_ENGINE = "spark"


def job_argument(command: Callable[..., Any]) -> Any:
    """Add the arguments of a command: the job file, changes to it, and the engine that runs it."""
    return click.argument("job", type=click.Path(exists=True, dir_okay=False))(job_options(command))


def job_options(command: Callable[..., Any]) -> Any:
    """Add the options of a command: changes to a job, and the engine that runs it."""
    command = click.option(
        "--engine", type=ENGINE, default=DEFAULT_ENGINE, show_default=True,
        help="What runs the job; local needs no Java.",
    )(command)  # fmt: skip
    return click.option(
        "--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
        help="Change a key of the job, such as backends.sketch=se-fm, or remove it with -KEY; may be given several "
        "times.",
    )(command)  # fmt: skip


def settings(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """The values of `--set` as written, each KEY=VALUE or -KEY."""
    from skyband_jobs.job.job_file import removes

    for value in values:
        key, equals, _ = value.partition("=")
        if not removes(value) and (not equals or not all(key.strip().split("."))):
            raise click.BadParameter(f"must be KEY=VALUE, such as query.k=10 (got {value!r})", ctx, parameter)
    return values
