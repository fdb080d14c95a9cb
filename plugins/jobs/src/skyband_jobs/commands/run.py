"""skyband run: runs a job, from its source to its sink."""

from contextlib import nullcontext
from pathlib import Path

import click
from skyband.cli.options import AS_JSON

from skyband_jobs.commands.options import job_argument


def _set_log(ctx: click.Context, _: click.Parameter, value: str) -> str:
    ctx.meta[AS_JSON] = value == "json"  # shared with the contexts above, where errors are reported
    return value


@click.command(short_help="Run a job.")
@job_argument
@click.option(
    "--from", "savepoint", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Start a stream that has no checkpoint yet from a savepoint.",
)  # fmt: skip
@click.option(
    "--log", type=click.Choice(["text", "json"]), default="text", show_default=True, callback=_set_log,
    help="json writes stderr as one JSON object a line, for programs that collect logs.",
)  # fmt: skip
def command(job: str, sets: tuple[str, ...], engine: str, savepoint: Path | None, log: str) -> None:
    """Run a job, with its progress on stderr and a summary at the end.

    Ctrl-C stops a stream cleanly (exit status 130). Run it again, with or without --from, and it resumes from its
    checkpoint.
    """
    from skyband.cli.commands import INTERRUPTED
    from skyband.cli.json_lines import logging_as_json

    from skyband_jobs.commands.deferred_pandas import defer_pandas
    from skyband_jobs.programs.run import run_job
    from skyband_jobs.running.logged_progress import LoggedProgress

    if engine == "local":
        defer_pandas()
    with logging_as_json() if log == "json" else nullcontext():
        progress = LoggedProgress() if log == "json" else None
        stopped = run_job(job, sets, engine, progress, savepoint).stopped
    if stopped:
        raise click.exceptions.Exit(INTERRUPTED)
