"""skyband serve: runs a stream in this process until it is stopped."""

from contextlib import nullcontext
from pathlib import Path

import click
from skyband_jobs.commands.options import settings


@click.command(short_help="Run a stream as a service, without Spark.")
@click.argument("job", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--set", "sets", metavar="KEY=VALUE", multiple=True, callback=settings,
    help="Change a key of the job, or remove it with -KEY; may be given several times.",
)  # fmt: skip
@click.option(
    "--from", "savepoint", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Start a stream that has no checkpoint yet from a savepoint, of Spark too.",
)  # fmt: skip
@click.option(
    "--log", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="json writes stderr as one JSON object a line, for programs that collect logs.",
)  # fmt: skip
def command(job: str, sets: tuple[str, ...], savepoint: Path | None, log: str) -> None:
    """Run a stream in one process. Whenever it ends, also by a kill or a power loss, the next start resumes from its
    checkpoint, and each sink has each answer once.

    Ctrl-C and SIGTERM stop it after the current micro-batch (exit status 130).
    """
    from skyband.cli.commands import INTERRUPTED
    from skyband.cli.json_lines import logging_as_json
    from skyband_jobs.commands.deferred_pandas import defer_pandas
    from skyband_jobs.programs.run import run_job
    from skyband_jobs.running.logged_progress import LoggedProgress

    defer_pandas()
    with logging_as_json() if log == "json" else nullcontext():
        progress = LoggedProgress() if log == "json" else None
        stopped = run_job(job, sets, "serve", progress, savepoint).stopped
    if stopped:
        raise click.exceptions.Exit(INTERRUPTED)
