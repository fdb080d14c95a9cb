"""skyband check: everything wrong with a job, without running it."""

from typing import TYPE_CHECKING

import click

from skyband_jobs.commands.options import job_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skyband_jobs.job.checked_job import CheckedJob

_ROWS = 100_000
"""Of the source, that are looked at."""


@click.command(short_help="Check a job, or propose one for data without any.")
@job_options
@click.argument("job", type=click.Path(exists=True))
def command(job: str, sets: tuple[str, ...], engine: str) -> None:
    """Check a job without running it, and report every problem at once.

    The columns are checked too where the source is on this machine, whether `where` and `select` have a value for each
    of its first rows, and whether the first 100,000 keep what the query promises of them, such as repeats = "never". A
    query that is kept for others to come, as by `longest` and `most`, says how many rows and bytes that will take; of a
    window "ever" what it takes after the first rows. Starts neither Spark nor Java.

    Of a file or folder of data instead of a job it prints a job to begin with: its columns, how it is read, and a query
    that fits; on stderr, what was seen and what was guessed. `skyband check requests.csv > job.toml` writes it down.
    """
    from skyband.cli import streams
    from skyband.cli.commands import Failure
    from skyband.errors import ConfigError, InputError
    from skyband.text_tables import visible

    from skyband_jobs import JobError, read_job
    from skyband_jobs.commands.deferred_pandas import defer_pandas
    from skyband_jobs.first_job import first_job, is_data
    from skyband_jobs.job.engines import engine_named
    from skyband_jobs.running.state_estimate import endless_without_ahead, state_estimate, state_growth

    defer_pandas()
    if is_data(job):
        try:
            proposed = first_job(job, streams.stdout_folder())
        except (ConfigError, InputError) as error:
            raise click.ClickException(str(error).removeprefix("path: ")) from error
        click.echo(visible(proposed.text, keep="\n\t"), nl=False)
        for note in proposed.notes:
            click.echo(visible(f"{job}: {note}"), err=True)
        click.echo(f"{job}: data, and above a job to begin with: skyband check {job} > job.toml", err=True)
        return
    try:
        checked = read_job(job, sets, engine)
    except JobError as error:
        click.echo(visible(str(error), keep="\n\t"))
        raise click.exceptions.Exit(Failure.exit_code) from error
    columns = "its columns fit" if checked.schema is not None else "its columns will be looked at when it runs"
    for text in [*_broken_promises(checked), *endless_without_ahead(checked)]:
        click.echo(f"{job}: warning: {text}", err=True)
    try:
        reader = engine_named(engine).reader(checked)
    except ConfigError as error:
        raise JobError(job, *error.problems) from error
    click.echo(f"{job}: fine ({checked.query.kind} on {checked.source.format}; {columns})", err=True)
    for text in filter(None, [state_estimate(checked), state_growth(checked)]):
        click.echo(f"{job}: {text}", err=True)
    if reader is not None:
        click.echo(f"{job}: read by {reader}", err=True)


def _broken_promises(job: "CheckedJob") -> "Iterator[str]":
    """A sentence for each promise that the first 100,000 rows break, where the files are on this machine.

    They are taken in the order of their times. Raises InputError where a row cannot be read.
    """
    from skyband_jobs.running.bad_rows import unread

    if not job.query.promises or job.rows is None:
        return
    run = job.begin_here()
    batches, rows = job.rows.batches(job.query.columns, refuse=unread(job.query)), 0
    for batch in batches:
        part = batch.slice(0, _ROWS - rows)
        with batches.placing():
            run.add(part)
        rows += len(part)
        if rows == _ROWS:
            break
    run.finish()
    dropped = run.operator.take_metrics().dropped
    for reason, text in job.query.promises.items():
        if dropped.get(reason):
            yield f"{dropped[reason]:,} of the first {rows:,} {text}"
