"""Options that several commands share."""

from collections.abc import Callable
from typing import Any

import click

from skyband.errors import suggest

ENGINES = ("spark", "local")


def job_argument(command: Callable[..., Any]) -> Any:
    """The job file, its changes and its engine."""
    command = click.option(
        "--engine", type=click.Choice(ENGINES), default="spark", show_default=True,
        help="What runs the job; local needs no Java.",
    )(command)  # fmt: skip
    command = click.option(
        "--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
        help="Change a key of the job, such as backends.sketch=se-fm; may be given several times.",
    )(command)  # fmt: skip
    return click.argument("job", type=click.Path(exists=True, dir_okay=False))(command)


def backend_key(ctx: click.Context, parameter: click.Parameter, value: str) -> tuple[str, str]:
    """ROLE/NAME as a pair; the role must be known."""
    from skyband.roles import ROLES

    role, slash, name = value.partition("/")
    if role not in ROLES:
        raise click.BadParameter(f"unknown role {role!r}; {suggest(role, ROLES)}", ctx, parameter)
    if not slash or not name:
        raise click.BadParameter(f"must be ROLE/NAME, such as {role}/{ROLES[role].default}", ctx, parameter)
    return role, name


def settings(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    """`--set` as given, each KEY=VALUE."""
    for value in values:
        key, equals, _ = value.partition("=")
        if not equals or not all(key.strip().split(".")):
            raise click.BadParameter(f"must be KEY=VALUE, such as query.k=10 (got {value!r})", ctx, parameter)
    return values
