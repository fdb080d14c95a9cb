"""skyband run: a job, from its source to its sink."""

import click

from skyband.cli.options import job_argument


@click.command(short_help="Run a job.")
@job_argument
def command(job: str, sets: tuple[str, ...], engine: str) -> None:
    """Run a job, with its progress on stderr and a summary at the end.

    Ctrl-C stops a stream cleanly (exit status 130); run it again and it goes on from its checkpoint.
    """
    from skyband.cli.commands import INTERRUPTED
    from skyband.job.run import run_job

    if run_job(job, sets, engine).stopped:
        raise click.exceptions.Exit(INTERRUPTED)
