"""Runs a job file on an engine, and says how it went."""

from collections.abc import Iterable
from pathlib import Path

from skyband.errors import ConfigError
from skyband.job.model import Job
from skyband.job.progress import Progress, Totals
from skyband.job.reading import JobError, read_job


def run_job(
    path: str | Path, sets: Iterable[str] = (), engine: str = "spark", progress: Progress | None = None
) -> Totals:
    """Read, check and run a job, its progress and summary on stderr.

    Raises JobError with every problem at once, EngineError where the engine cannot run, InputError where a row
    cannot be taken.
    """
    job = read_job(path, sets, engine)
    said = progress or Progress()
    try:
        if engine == "spark":
            from skyband.job import run_spark
            from skyband.job.warming import Warming

            totals = run_spark.run(job, said, Warming(path, sets))
        else:
            from skyband.job import run_local

            totals = run_local.run(job, said)
    except ConfigError as error:
        said.wipe()
        raise JobError(str(path), *error.problems) from error
    except BaseException:
        said.wipe()
        raise
    said.summary(totals, _where(job))
    if totals.stopped:
        said.note(_after_stop(job, engine))
    return totals


def _where(job: Job) -> str:
    if job.sink.format == "console":
        return "shown above"
    path = job.sink.path
    if path is not None and Path(path).is_relative_to(Path.cwd()):
        path = str(Path(path).relative_to(Path.cwd()))
    return f"in {path or job.sink.format}"


def _after_stop(job: Job, engine: str) -> str:
    if engine == "spark" and job.sink.checkpoint is not None:
        return "stopped; run it again to go on from its checkpoint"
    return "stopped"
