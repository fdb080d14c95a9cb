"""skyband verify: runs the conformance checks of an installed backend, query, engine or format."""

import sys
from typing import Any

import click
from skyband.cli.options import ENGINE, ENGINE_KEY, FORMAT, QUERY, backend_query_or_format
from skyband.text_tables import is_terminal, visible


@click.command(short_help="Check that a plugin keeps its promises.")
@click.argument("key", metavar="ROLE/NAME|query/KIND|engine/NAME|format/NAME", callback=backend_query_or_format)
@click.option("--distribution", help="The distribution, if two have this name.")
@click.option("--long", is_flag=True, help="Try every stream, and larger ones: minutes instead of seconds.")
@click.option("--engine", type=ENGINE, default="local", show_default=True,
              help="spark also tries a query on Spark, in batch and as a stream; it needs Java.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
def command(key: tuple[str, str], distribution: str | None, long: bool, engine: str, as_json: bool) -> None:
    """Run the conformance checks of an installed backend's role, or of an installed query, engine or format.

    Checks of a capability that the backend declares to lack are skipped and counted as not applicable. A capability
    that it declares to lack but has is a failure. It takes 5 to 30 seconds a backend on one core; --long takes minutes.

    A query is tried on its plugin's examples, an engine on those of all installed queries, which takes minutes, a
    format on a table in a folder.
    """
    from skyband.cli.commands import INTERRUPTED, Failure
    from skyband.errors import ConfigError

    if long and key[0] in (QUERY, ENGINE_KEY, FORMAT):
        raise click.BadParameter(f"is only for ROLE/NAME: a {key[0]} has only one set of checks", param_hint="'--long'")
    if engine != "local" and key[0] != QUERY:
        raise click.BadParameter("is only for query/KIND: a backend never sees an engine", param_hint="'--engine'")
    verify_backend, verify_query, verify_others = _runners()
    reports: list[Any] = []

    def tick(result: Any) -> None:
        reports.append(result)
        if is_terminal(sys.stderr):
            click.echo(
                f"\r\x1b[2K{len(reports)} checks, now after {result.group}: {result.check}"[:100], nl=False, err=True
            )

    try:
        if key[0] == QUERY:
            report = verify_query(key[1], progress=tick, distribution=distribution, engine=engine)
        elif key[0] in verify_others:
            report = verify_others[key[0]](key[1], progress=tick, distribution=distribution)
        else:
            report = verify_backend(*key, progress=tick, distribution=distribution, long=long)
    except ConfigError as error:
        raise click.BadParameter(str(error), param_hint="'ROLE/NAME|query/KIND|engine/NAME|format/NAME'") from error
    except KeyboardInterrupt:
        click.echo(f"\ninterrupted after {len(reports)} checks", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None
    finally:
        if is_terminal(sys.stderr):
            click.echo("\r\x1b[2K", nl=False, err=True)
    click.echo(report.as_json() if as_json else visible(report.text(), keep="\n\t"))
    if not report.ok:
        raise click.exceptions.Exit(Failure.exit_code)


def _runners() -> Any:
    """The functions that verify a backend, a query, and others by name."""
    from skyband.cli.commands import Failure

    try:
        from skyband_specs.engines import verify_engine
        from skyband_specs.formats import verify_format
        from skyband_specs.queries import verify_query
        from skyband_specs.runner import verify
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "skyband_specs":
            raise
        raise Failure("the checks are not installed: pip install skyband-specs") from error
    return verify, verify_query, {ENGINE_KEY: verify_engine, FORMAT: verify_format}
