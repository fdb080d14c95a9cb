"""skyband run: a job, from its source to its sink."""

from pathlib import Path

import click

from skyband.cli.options import job_argument


@click.command(short_help="Run a job.")
@job_argument
@click.option(
    "--from", "savepoint", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Begin a stream that has no checkpoint yet from a savepoint.",
)  # fmt: skip
def command(job: str, sets: tuple[str, ...], engine: str, savepoint: Path | None) -> None:
    """Run a job, with its progress on stderr and a summary at the end.

    Ctrl-C stops a stream cleanly (exit status 130); run it again and it goes on from its checkpoint, with --from or
    without.
    """
    from skyband.cli.commands import INTERRUPTED
    from skyband.job.run import run_job

    if run_job(job, sets, engine, savepoint=savepoint).stopped:
        raise click.exceptions.Exit(INTERRUPTED)
