"""skyband bench: compares the backends of a role on generated streams."""

from pathlib import Path
from typing import Any

import click
from skyband.cli.options import ROLE

from skyband_compare.commands.comparison_options import (
    SECONDS,
    Ticker,
    names_of,
    output_options,
    seconds_given,
    writable,
    write_report,
)


def _windows(ctx: click.Context, parameter: click.Parameter, value: str | None) -> tuple[int, ...] | None:
    if value is None:
        return None
    try:
        sizes = tuple(int(part) for part in value.split(","))
    except ValueError:
        sizes = ()
    if not sizes or min(sizes) < 10 or len(set(sizes)) < len(sizes):
        raise click.BadParameter(f"must be whole numbers from 10 on, such as 100,1000 (got {value!r})", ctx, parameter)
    return tuple(sorted(sizes))


@click.command(short_help="Measure the backends of a role on generated streams.")
@click.argument("role", type=ROLE, metavar="ROLE")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--backends", "chosen", metavar="A,B,C", help="The backends, like NAMEs; by default all of the role.")
@click.option("--against", metavar="NAME", help="The backend whose answers are the reference; by default an exact one.")
@click.option("--rows", type=click.IntRange(100), help="Length of the stream; the default depends on the role.")
@click.option("--windows", metavar="W,W,W", callback=_windows, help="Window lengths; the defaults depend on the role.")
@click.option("--seconds", type=SECONDS, default=10.0, show_default=True,
              help="Stop a backend that takes longer on one window, and compare its answers so far.")  # fmt: skip
@output_options
def command(
    role: str,
    names: tuple[str, ...],
    chosen: str | None,
    against: str | None,
    rows: int | None,
    windows: tuple[int, ...] | None,
    seconds: float,
    as_json: bool,
    html: Path | None,
) -> None:
    """Measure the backends of a role on generated streams, with windows of several lengths.

    Parameters follow a name: skyband bench sketch pcsa-ml k-skb:epsilon=0.05. The figures are those of skyband compare,
    which measures on your own job.
    """
    from skyband_compare.comparison import candidates
    from skyband_compare.comparison.results import run_case
    from skyband_compare.comparison.scenarios import scenario

    writable(html)
    names_text = ",".join([*names, *([chosen] if chosen is not None else [])])
    compared = names_of("NAME", candidates.choices, role, names_text) if names_text else _all(role)
    right = names_of("--against", candidates.choices, role, against)[0] if against is not None else None
    right = names_of("NAME", candidates.reference, role, compared, right)
    chosen_scenario = _or_failure(lambda: scenario(role))
    length = rows or chosen_scenario.rows
    never_full = [f"{window:,}" for window in windows or chosen_scenario.windows if window >= length]
    if never_full:
        message = f"windows of {', '.join(never_full)} never fill up in {length:,} rows, so nothing expires"
        click.echo(f"note: {message}: choose --rows several times as large, or shorter --windows", err=True)
    cases = []
    with Ticker() as ticker:
        for window in windows or chosen_scenario.windows:
            steps = _steps(chosen_scenario, length, window)
            ticker.prefix = f"{window:,} {chosen_scenario.axis}, "
            title = f"{window:,} {chosen_scenario.axis}"
            cases.append(run_case(title, role, steps, compared, right, {}, seconds, ticker.tick, float(window)))
    call = ["bench", role, *names, *(["--backends", chosen] if chosen is not None else [])]
    call += ["--against", against] if against is not None else []
    call += ["--rows", str(rows)] if rows is not None else []
    call += ["--windows", ",".join(map(str, windows))] if windows is not None else []
    call += seconds_given()
    subject = f"{chosen_scenario.stream}; {length:,} rows"
    write_report("bench", role, subject, cases, call, as_json, html, chosen_scenario.axis)


def _steps(chosen: Any, rows: int, window: int) -> Any:
    from skyband.queries import make_query

    from skyband_compare.comparison.replay_steps import steps_of

    keys, table = chosen.make(rows, window)
    return steps_of(make_query(keys), table.to_batches(), table.schema)


def _all(role: str) -> Any:
    from skyband_compare.comparison.candidates import every

    return _or_failure(lambda: every(role))


def _or_failure(make: Any) -> Any:
    """Call `make`, and report what is missing as a failure and not as a usage error."""
    from skyband.cli.commands import Failure
    from skyband.errors import ConfigError

    try:
        return make()
    except ConfigError as error:
        raise Failure(str(error)) from error
