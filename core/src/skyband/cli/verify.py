"""skyband verify: the conformance checks of its role on an installed backend."""

import sys
from typing import Any

import click

from skyband.cli.options import backend_key


@click.command(short_help="Check that a backend does what it promises.")
@click.argument("backend", metavar="ROLE/NAME", callback=backend_key)
@click.option("--distribution", help="Whose backend, where two distributions have one of this name.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(backend: tuple[str, str], distribution: str | None, as_json: bool) -> None:
    """Run the conformance checks of its role on an installed backend.

    Checks of a capability that the backend declares to lack are skipped and counted as not applicable. A capability
    that it declares to lack but has is a failure.
    """
    from skyband.cli.group import INTERRUPTED, Failure
    from skyband.errors import ConfigError

    verify = _runner()
    seen: list[Any] = []

    def tick(result: Any) -> None:
        seen.append(result)
        if sys.stderr.isatty():
            click.echo(
                f"\r\x1b[2K{len(seen)} checks, now after {result.group}: {result.check}"[:100], nl=False, err=True
            )

    try:
        report = verify(*backend, progress=tick, distribution=distribution)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="'ROLE/NAME'") from error
    except KeyboardInterrupt:
        click.echo(f"\ninterrupted after {len(seen)} checks", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    finally:
        if sys.stderr.isatty():
            click.echo("\r\x1b[2K", nl=False, err=True)
    click.echo(report.as_json() if as_json else report.text())
    if not report.ok:
        raise click.exceptions.Exit(Failure.exit_code)


def _runner() -> Any:
    from skyband.cli.group import Failure

    try:
        from skyband_specs.runner import verify
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "skyband_specs":
            raise
        raise Failure("the checks are a distribution of their own: pip install skyband-specs") from error
    return verify
