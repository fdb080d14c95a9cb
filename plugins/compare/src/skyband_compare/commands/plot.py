"""skyband plot: draws answers over time as a page or an image."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from skyband_jobs.commands.options import settings

_EVERY = 2
"""Seconds between two checks of a growing sink."""


@click.command(short_help="Draw a job's answers over time.")
@click.argument("place", metavar="JOB|TABLE", type=click.Path(exists=True))
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
              help="FILE.html, a page that opens without a network, FILE.png or FILE.svg. "
              "[default: the name of the job or table, .html]")  # fmt: skip
@click.option("--last", metavar="DURATION", help='Draw only this long before the newest moment, such as "2 hours".')
@click.option("--only", metavar="COLUMN=VALUE", multiple=True,
              help="Draw only answers with this value; repeatable.")  # fmt: skip
@click.option("--by", metavar="COLUMN", multiple=True,
              help="The grouping columns. [default: the job's; for a table those before `at` or `time`]")  # fmt: skip
@click.option("--watch", is_flag=True, help="Draw again whenever answers arrive, until Ctrl-C.")
@click.option("--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
              help="Change a key of the job, such as sink.path=other; repeatable.")  # fmt: skip
def command(
    place: str, output: Path | None, last: str | None, only: tuple[str, ...], by: tuple[str, ...], watch: bool,
    sets: tuple[str, ...],
) -> None:  # fmt: skip
    """Draw the answers of JOB, a TOML file, or of TABLE, a file or folder of Parquet, CSV, JSON or Delta.

    Counts and sums become lines with bands, ranks a bump chart, pairs and matches a table. Only the files of answers
    are read; a stream may be writing them meanwhile. Needs `pip install 'skyband[plot]'`.
    """
    from skyband_compare.plots import saving, sinks
    from skyband_compare.plots.theme import altair

    altair()
    answered = sinks.answers_at(place, sets)
    path = output or _free(Path(f"{answered.name.removesuffix('.html')}.html"))
    saving.check(path)
    options = {"last": last, "by": by, "only": _values(only)}
    if not watch:
        _draw(answered, path, options)
        click.echo(f"plot: {path}", err=True)
        return
    watch_answers(answered, path, options)


def watch_answers(
    answered: Any, path: Path, options: dict[str, Any], pause: Callable[[float], None] = time.sleep
) -> None:
    """Draw whenever the answers have changed. Problems with files that are being written are reported once."""
    from skyband.cli.commands import INTERRUPTED
    from skyband.errors import ConfigError, InputError

    drawn, problem = None, ""
    click.echo(f"plot: {path}, drawn again when answers arrive; Ctrl-C stops", err=True)
    try:
        while True:
            try:
                version = answered.version()
                if version and version != drawn:
                    _draw(answered, path, options, refresh=_EVERY)
                    drawn, problem = version, ""
            except (ConfigError, InputError, OSError) as error:
                if str(error) != problem:
                    problem = str(error)
                    click.echo(f"waiting: {problem}", err=True)
            pause(_EVERY)
    except KeyboardInterrupt:
        if drawn is not None:
            _draw(answered, path, options)
        click.echo("stopped", err=True)
        raise click.exceptions.Exit(INTERRUPTED) from None


def _draw(answered: Any, path: Path, options: dict[str, Any], refresh: int | None = None) -> None:
    from skyband.queries import kinds, load_query
    from skyband.queries.presentation import load_presentation

    from skyband_compare.plots import saving
    from skyband_compare.plots.drawing import plot

    by = options["by"] or answered.by
    title = answered.name if answered.kind is None else f"{answered.kind} of {answered.name}"
    chart = load_presentation(load_query(answered.kind)).chart if answered.kind in kinds() else None
    last, only = options["last"], options["only"]
    saving.save(plot(answered.read(), by=by, last=last, only=only, title=title, chart=chart), path, refresh)


def _free(path: Path) -> Path:
    """The default of `--output`. Raises Failure if that file exists and is not a page of ours."""
    from skyband.cli.commands import Failure

    from skyband_compare.plots.saving import is_page

    if path.exists() and not is_page(path):
        raise Failure(f"{path} exists and is not a page of `skyband plot`: name a file with --output")
    return path


def _values(only: tuple[str, ...]) -> dict[str, list[str]]:
    values: dict[str, list[str]] = {}
    for entry in only:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"must be COLUMN=VALUE (got {entry!r})", param_hint="--only")
        values.setdefault(name, []).append(value)
    return values
