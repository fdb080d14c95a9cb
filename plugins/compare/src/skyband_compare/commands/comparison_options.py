"""The common parts of `compare` and `bench`: options, progress on stderr, and reports."""

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

SECONDS = click.FloatRange(0.0, min_open=True)


def output_options(command: Callable[..., Any]) -> Any:
    """`--json` and `--html`."""
    command = click.option("--html", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
                           help="Write a page with charts, which opens without a network; "
                           "needs the extra skyband[plot].")(command)  # fmt: skip
    return click.option("--json", "as_json", is_flag=True, help="Write JSON.")(command)


def seconds_given() -> list[str]:
    """`--seconds` as typed in the call, for the command that is shown."""
    here = click.get_current_context()
    typed = here.get_parameter_source("seconds") is ParameterSource.COMMANDLINE
    return ["--seconds", f"{here.params['seconds']:g}"] if typed else []


def writable(html: Path | None) -> None:
    """Raise before anything is measured if the page could not be drawn or written."""
    if html is None:
        return
    from skyband.cli.commands import Failure

    from skyband_compare.plots.theme import lacking

    if not html.absolute().parent.is_dir():
        raise click.BadParameter(f"{str(html.parent)!r} is not a folder", param_hint="--html")
    needed = lacking()
    if needed is not None:
        raise Failure(f"--html {needed}; the table and --json do not")


def names_of(option: str, make: Callable[..., Any], *args: Any) -> Any:
    """Call `make`, and report problems as errors of this option."""
    from skyband.errors import ConfigError

    try:
        return make(*args)
    except ConfigError as error:
        message = "; ".join(problem.message for problem in error.problems)
        raise click.BadParameter(message, param_hint=option) from error


class Ticker:
    """Shows on a terminal which backend is being measured, and its progress."""

    def __init__(self, prefix: str = "") -> None:
        from skyband import text_tables

        self._live = text_tables.is_terminal(sys.stderr)
        self._drawn_at = 0.0
        self.prefix = prefix

    def __enter__(self) -> "Ticker":
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            click.echo("\r\x1b[2K", nl=False, err=True)

    def tick(self, choice: Any, share: float) -> None:
        """Redraw the line, unless it was drawn a moment ago."""
        if self._live and time.monotonic() - self._drawn_at > 0.1:
            self._drawn_at = time.monotonic()
            click.echo(f"\r\x1b[2Kmeasuring {self.prefix}{choice.label}: {share:.0%}"[:100], nl=False, err=True)


def write_report(
    command: str,
    role: str,
    subject: str,
    cases: Sequence[Any],
    call: Sequence[str],
    as_json: bool,
    html: Path | None,
    axis: str = "",
) -> None:
    """Write a comparison as a table or JSON, and its page. The exit status is 1 if a backend failed."""
    from skyband.cli.commands import INTERRUPTED, Failure

    from skyband_compare.comparison import results
    from skyband_compare.comparison.provenance import provenance

    bound = [entry.measured.binding for case in cases for entry in case.entries]
    came = provenance(call, (binding.distribution for binding in bound if binding is not None))
    comparison = results.Comparison(command, role, subject, came, axis, list(cases))
    if html is not None:
        from skyband_compare.comparison.page import page

        try:
            html.write_text(page(comparison), "utf-8")
        except OSError as error:
            raise Failure(f"{html} cannot be written: {error.strerror or error}") from error
        click.echo(f"page: {html}", err=True)
    if as_json:
        import json

        click.echo(json.dumps(results.as_data(comparison), indent=2, allow_nan=False))
    else:
        from skyband_compare.comparison.table import show

        show(comparison)
    failures = {entry.measured.failed for case in cases for entry in case.entries} - {None}
    if failures:
        raise click.exceptions.Exit(INTERRUPTED if results.INTERRUPTED in failures else Failure.exit_code)
