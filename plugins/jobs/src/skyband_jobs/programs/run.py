"""Runs a job file on an engine, and reports how it went."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from attrs import asdict
from skyband.config.literals import literal
from skyband.errors import ConfigError, EngineError
from skyband.memory_limit import too_little, used_up
from skyband.registry import installed
from skyband.registry.discovery import Plugin
from skyband.registry.module_import import cause

from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.job_error import JobError, secrets_hidden
from skyband_jobs.job.job_file import assignments
from skyband_jobs.job.output_folders import permission_problems
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.metrics.export import exported
from skyband_jobs.programs.engines import engine_named
from skyband_jobs.programs.parsing import read_job
from skyband_jobs.running import bad_rows
from skyband_jobs.tables.model import Job

_OWN = ("in_rows", "recent_rate", "batch_seconds", "compiling")
"""Fields of Totals that are only for its text."""


def hand_to_plugins(job: Job, progress: Progress) -> None:
    """Let every plugin with `skyband_metrics` listen to the run that `progress` follows.

    A plugin that fails is reported, and not called again in this run.
    """
    for plugin in installed().plugins:
        if plugin.manager is not None and plugin.manager.hook.skyband_metrics.get_hookimpls():
            progress.listeners.append(_Listener(plugin, job, progress))


class _Listener:
    """Calls a plugin's hook until it fails."""

    def __init__(self, plugin: Plugin, job: Job, progress: Progress) -> None:
        self._plugin, self._job, self._progress = plugin, job, progress

    def __call__(self, totals: Totals, ended: bool) -> None:
        assert self._plugin.manager is not None
        try:
            self._plugin.manager.hook.skyband_metrics(job=self._job, metrics=metrics_of(totals, ended))
        except (Exception, SystemExit) as error:  # a failing plugin must not end a run
            self._progress.listeners.remove(self)
            message = f"warning: {self._plugin.distribution} could not take the run's metrics: {cause(error)}"
            self._progress.note(f"{message}; it is not called again in this run")


def metrics_of(totals: Totals, ended: bool) -> dict[str, Any]:
    """The metrics of a run since it started, as plain values."""
    return {name: value for name, value in asdict(totals).items() if name not in _OWN} | {"ended": ended}


@secrets_hidden()
def run_job(
    path: str | Path,
    sets: Iterable[str] = (),
    engine: str = "spark",
    progress: Progress | None = None,
    savepoint: Path | None = None,
) -> Totals:
    """Read, check and run a job, with progress and summary on stderr; `savepoint`: where a new stream starts.

    Raises JobError with every problem at once, EngineError where the engine cannot run or memory is exhausted,
    InputError where a row cannot be used.
    """
    host, reporter = engine_named(engine), progress or Progress()
    warning = too_little() if host.in_process else None
    if warning is not None:
        reporter.note(f"warning: {warning}")
    return run_checked(read_job(path, sets, engine), host, reporter, savepoint)


@secrets_hidden()
def run_checked(
    job: CheckedJob, host: JobEngine, progress: Progress | None = None, savepoint: Path | None = None
) -> Totals:
    """Run a job that was read for the engine `host`, as `run_job` does."""
    reporter = progress or Progress()
    reporter.about = {"job": job.name, "kind": job.query.kind, "engine": host.name}
    for role, limits in job.limits.items():
        reporter.note(f"{role} is {literal(job.backends[role])}, chosen by {literal(limits)}")
    hand_to_plugins(job, reporter)
    try:
        with exported(job, reporter):
            totals = _run(job, host, reporter, savepoint)
    except ConfigError as error:
        reporter.wipe()
        raise JobError(str(job.path), *error.problems, typed=assignments(job.sets)) from error
    except MemoryError as error:
        reporter.wipe()
        raise EngineError(used_up(error)) from error
    except BaseException:
        reporter.wipe()
        raise
    for reason, text in job.query.promises.items():
        if totals.dropped.get(reason):
            reporter.note(f"warning: {totals.dropped[reason]:,} of {totals.rows_in:,} {text}")
    if totals.stopped:
        reporter.note(_after_stop(job, host))
    return totals


def _run(job: CheckedJob, host: JobEngine, reporter: Progress, savepoint: Path | None) -> Totals:
    """Run it and write its summary, while its metrics are exported."""
    if problems := permission_problems(job.sink):
        raise ConfigError(*problems)
    totals = host.run(job, reporter, savepoint)
    totals.bad_rows_in, totals.late_rows_in = (_relative(bad_rows.place(job, name)) for name in bad_rows.PLACES)
    totals.answered_reasons = job.query.answered_reasons
    reporter.summary(totals, _where(job))
    return totals


def _where(job: Job) -> str:
    if job.sink.format == "console":
        return "shown above"
    return f"in {_relative(job.sink.path) or job.sink.table or job.sink.format}"


def _relative(path: str | None) -> str | None:
    """A place on this machine, relative to the current folder if it is inside."""
    if path is None or not Path(path).is_absolute():
        return path
    place = Path(path).resolve()
    return str(place.relative_to(Path.cwd()) if place.is_relative_to(Path.cwd()) else place)


def _after_stop(job: Job, engine: JobEngine) -> str:
    if engine.resumes and job.sink.checkpoint is not None:
        return "stopped; run it again to resume from its checkpoint"
    return "stopped"
