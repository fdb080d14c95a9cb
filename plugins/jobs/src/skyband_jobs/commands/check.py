"""skyband check: reports everything wrong with a job, without running it."""

from typing import TYPE_CHECKING

import click

from skyband_jobs.commands.options import job_options

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skyband_jobs.job.checked_job import CheckedJob

_ROWS = 100_000
"""Rows of the source that are looked at."""


def _size_option(_: click.Context, __: click.Parameter, text: str | None) -> int | None:
    from skyband_jobs.running.limits import parse_size

    nbytes = None if text is None else parse_size(text)
    if text is not None and nbytes is None:
        raise click.BadParameter(f'must be a size such as "500 MB" (got {text!r})')
    return nbytes


@click.command(short_help="Check a job, or propose one for data.")
@job_options
@click.option(
    "--session", is_flag=True,
    help="Also start Spark, with the job's settings if one is given, and check that it can run a stream: a line for "
    "each requirement.",
)  # fmt: skip
@click.option(
    "--within", metavar="SIZE", callback=_size_option,
    help='Show which backends keep their state within a size, such as "500 MB", judging by the first 100,000 rows.',
)  # fmt: skip
@click.argument("job", type=click.Path(exists=True), required=False)
def command(job: str | None, sets: tuple[str, ...], engine: str, session: bool, within: int | None) -> None:
    """Check a job without running it, and report every problem at once.

    If the source is on this machine, the check also covers its columns, whether `where` and `select` have a value for
    each of its first rows, and whether the first 100,000 rows keep what the query promises, such as repeats = "never".
    For a query that keeps rows in reserve, as with `longest` and `most`, it estimates the rows and bytes kept; for a
    window "ever", the size after the first rows; for `against`, the bytes that earlier windows take. Where [backends]
    has limits instead of a name, it shows what each candidate takes, and the choice. Only --session starts Spark and
    Java.

    Given a file or folder of data, it prints a first job: the columns, how to read them, and a query that fits; on
    stderr, what was observed and what was guessed. `skyband check requests.csv > job.toml` saves the job.
    """
    from skyband.cli.commands import Failure
    from skyband.errors import ConfigError
    from skyband.text_tables import visible

    from skyband_jobs import JobError, read_job
    from skyband_jobs.commands.deferred_pandas import defer_pandas
    from skyband_jobs.first_job import is_data
    from skyband_jobs.programs.engines import engine_named
    from skyband_jobs.running.state_estimate import (
        endless_without_ahead,
        remembered_windows,
        state_estimate,
        state_growth,
        state_of_parts,
    )

    if job is None:
        if not session or sets:
            raise click.UsageError("name a job, or a file of data; without one, only --session checks something")
        _check_session(None, engine)
        return
    defer_pandas()
    if is_data(job):
        _propose(job)
        return
    try:
        checked = read_job(job, sets, engine)
    except JobError as error:
        click.echo(visible(str(error), keep="\n\t"))
        raise click.exceptions.Exit(Failure.exit_code) from error
    columns = "its columns fit" if checked.schema is not None else "its columns will be checked when it runs"
    for text in [*_broken_promises(checked), *endless_without_ahead(checked)]:
        click.echo(f"{job}: warning: {text}", err=True)
    try:
        reader = engine_named(engine).reader(checked)
    except ConfigError as error:
        raise JobError(job, *error.problems) from error
    click.echo(f"{job}: fine ({checked.query.kind} on {checked.source.format}; {columns})", err=True)
    estimates = [state_estimate(checked), state_growth(checked), remembered_windows(checked)]
    for text in filter(None, [*estimates, *state_of_parts(checked)]):
        click.echo(visible(f"{job}: {text}"), err=True)
    if reader is not None:
        click.echo(f"{job}: read by {reader}", err=True)
    for text in [*checked.choices, *_within(checked, within)]:
        click.echo(text)
    if session:
        _check_session(checked, engine)


def _propose(data: str) -> None:
    """Print a first job for a file or folder of data."""
    from skyband.cli import streams
    from skyband.errors import ConfigError, InputError
    from skyband.text_tables import visible

    from skyband_jobs.first_job import first_job

    try:
        proposed = first_job(data, streams.stdout_folder())
    except (ConfigError, InputError) as error:
        raise click.ClickException(str(error).removeprefix("path: ")) from error
    click.echo(visible(proposed.text, keep="\n\t"), nl=False)
    for note in proposed.notes:
        click.echo(visible(f"{data}: {note}"), err=True)
    click.echo(f"{data}: is data; a first job for it is above: skyband check {data} > job.toml", err=True)


def _within(job: "CheckedJob", most: int | None) -> "Iterator[str]":
    """A table for each role of the query: its backends, with what each keeps. Raises JobError without rows."""
    from skyband.errors import ConfigError

    from skyband_jobs import JobError
    from skyband_jobs.running.backend_choice import choice_of, sample_of
    from skyband_jobs.running.limits import Limits

    rows = None if most is None else sample_of(job.query, job.open_source)
    for role in () if most is None else job.query.asked_roles:
        try:
            yield from choice_of(role, Limits(memory=most), job.query, rows, job.backends).lines()
        except ConfigError as error:
            raise JobError(str(job.path), *(problem.within("backends") for problem in error.problems)) from error


def _check_session(job: "CheckedJob | None", engine: str) -> None:
    from skyband.cli.commands import Failure
    from skyband.text_tables import visible

    from skyband_jobs.programs.engines import engine_named

    report, ok = engine_named(engine).session_findings(job)
    click.echo(visible(report, keep="\n"))
    if not ok:
        raise click.exceptions.Exit(Failure.exit_code)


def _broken_promises(job: "CheckedJob") -> "Iterator[str]":
    """One sentence for each promise that the first 100,000 rows break, if the files are on this machine.

    The rows are taken in the order of their times. Raises InputError where a row cannot be read.
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
