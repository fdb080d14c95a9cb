"""skyband savepoint: saves everything that a stream resumes from, in one folder."""

from pathlib import Path

import click
from skyband.cli.paths import FolderToWrite
from skyband_jobs.commands.options import settings


@click.command(short_help="Save the state of a stopped stream, or of history.")
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.argument("folder", metavar="DIR", type=FolderToWrite())
@click.option(
    "--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
    help="Change a key of the job, such as source.path=archive; may be given several times.",
)  # fmt: skip
@click.option(
    "--until", metavar="MOMENT", help="For a batch: take the rows before this moment, such as 2026-11-22T10:30 (UTC)."
)
@click.option(
    "--states",
    type=click.Path(exists=True, path_type=Path),
    metavar="TABLE",
    help='Start from a table of states, which a query with emit = "state" wrote.',
)
@click.option("--at", metavar="MOMENT", help="The moment of the states to start from. [default: the newest]")
def command(
    job: str, folder: Path, sets: tuple[str, ...], until: str | None, states: Path | None, at: str | None
) -> None:
    """Write a savepoint of JOB into DIR, a new folder, from which `skyband run JOB --from DIR` starts a stream.

    For a stream: its state after the last micro-batch, and how far it has read; it must be stopped. For a batch, with
    --until: the state of a stream that has had all rows of the batch before that moment. With --states: the state of
    a stream that has had all rows counted in a table of states, up to its newest moment. Needs Spark.
    """
    from skyband import text_tables
    from skyband_jobs.programs.parsing import read_job

    from skyband_spark.savepoints.take import save_history, save_states, save_stream

    checked_job = read_job(job, sets)
    _check(checked_job.source.stream, until, states, at)
    if states is not None:
        saved = save_states(checked_job, folder, states, at)
    else:
        saved = save_stream(checked_job, folder) if until is None else save_history(checked_job, folder, until)
    rows = saved.query.rows and saved.watermark is not None
    reached = text_tables.count(saved.watermark) if rows else text_tables.moment(saved.watermark)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    click.echo(f"{folder}: {saved.shards} shards, {text_tables.size(size)}, watermark {reached}")


def _check(stream: bool, until: str | None, states: Path | None, at: str | None) -> None:
    """Raise ConfigError where the options do not fit the job or each other."""
    from skyband.errors import ConfigError, Problem

    if states is not None:
        if until is not None:
            raise ConfigError(Problem("--until", "is only for batches; for states, set --at: remove one of them"))
        return
    if at is not None:
        raise ConfigError(Problem("--at", "is only for --states: add --states, or remove --at"))
    if stream and until is not None:
        raise ConfigError(Problem("--until", "is only for batches; a stream is saved where it stopped: remove it"))
    if not stream and until is None:
        message = (
            "is required for a batch: the moment from which the stream's own rows count; or set source.stream = true"
        )
        raise ConfigError(Problem("--until", message))
