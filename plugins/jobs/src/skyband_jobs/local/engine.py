"""Runs jobs on an engine of this process, over this machine's files."""

from pathlib import Path
from typing import ClassVar

from attrs import evolve
from skyband.engines.engine import InProcessEngine
from skyband.errors import ConfigError, Problem, suggest
from skyband.registry.install_hints import format_comes_with

from skyband_jobs.files.source_files import READABLE, TEXT_FORMATS
from skyband_jobs.formats import names_of_formats
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.local import sink_manifest as local_sink_manifest
from skyband_jobs.tables.model import Sink, Source, file_path, local_path, option_text
from skyband_jobs.tables.spark_ddl import ZONE_SETTING
from skyband_jobs.tables.table_location import SPARK_TABLE, ability_of

WRITABLE = ("parquet", "csv", "json", "console")
"""The formats that this engine writes itself, in addition to those of plugins."""
_UTC = ("UTC", "Etc/UTC", "GMT", "Z", "+00:00")


class LocalJobs(JobEngine):
    """Runs jobs on an engine of this process, over files of this machine. A stream starts over in each run."""

    resumes: ClassVar[bool] = False
    in_process: ClassVar[bool] = True
    shards: ClassVar[bool] = False
    knows_all_sql: ClassVar[bool] = False

    def __init__(self, engine: InProcessEngine) -> None:
        self._engine = engine
        self.name = engine.name  # type: ignore[misc]  # of the engine that it reads and writes for

    def source_problems(self, source: Source, zone: str | None) -> list[Problem]:
        problems = _unreadable(source)
        if source.format in ("csv", "json") and zone not in (None, *_UTC):
            message = f"the local engine reads times without a zone as UTC (got {zone!r})"
            problems.append(Problem(ZONE_SETTING, f"{message}: write their zone, or use --engine spark"))
        return problems

    def sink_problems(self, sink: Sink, stream: bool | None) -> list[Problem]:  # noqa: ARG002 - the same for both
        able = dict.fromkeys([*names_of_formats("writes"), *names_of_formats(ability_of(sink))])
        problems = _unknown("sink", "writes", (*WRITABLE, *able), sink.format)
        if sink.path is not None and local_path(sink.path) is None:
            problems.append(Problem("sink.path", f"the local engine writes only to this machine (got {sink.path!r})"))
        return problems

    def foreign_files(self, folder: Path, suffix: str) -> tuple[list[Path], str]:
        foreign = local_sink_manifest.foreign_files(folder, suffix)
        return foreign, "the local engine did not write, or that were changed since"

    def run(self, job: CheckedJob, progress: Progress, savepoint: Path | None = None) -> Totals:
        if savepoint is not None:
            raise ConfigError(
                Problem(
                    "--from",
                    "the local engine starts streams from the beginning: use `skyband serve`, or --engine spark",
                )
            )
        from skyband_jobs.local import run as run_local
        from skyband_jobs.local.sink import check_not_again

        check_not_again(job)
        return run_local.run(job, self, self._engine, progress)


def _unknown(table: str, does: str, formats: tuple[str, ...], format: str) -> list[Problem]:
    """A format that is not among these, unless a message elsewhere says what to install for it."""
    if format in formats or (format not in names_of_formats() and format_comes_with(format)):
        return []
    if format == SPARK_TABLE:
        message = "a table of Spark's catalogue: use --engine spark, or the format of a plugin that reads it"
        return [Problem(f"{table}.format", message)]
    choices = f"{', '.join(formats[:-1])} and {formats[-1]}"
    return [Problem(f"{table}.format", f"the local engine {does} {choices} (got {format!r})")]


def _unreadable(source: Source) -> list[Problem]:
    reads = (*READABLE, *names_of_formats("reads"))
    problems = _unknown("source", "reads", reads, source.format)
    if source.format not in reads:
        return problems
    if source.of_files and source.path is not None and file_path(source.path) is None:
        problems.append(Problem("source.path", f"the local engine reads only local files (got {source.path!r})"))
    problems += _amounts(source)
    return problems + (_text_options(source) if source.format in TEXT_FORMATS else [])


def _text_options(source: Source) -> list[Problem]:
    from skyband_jobs.files.text_files import OPTIONS, text_option_problems  # with numba, by their kernels

    known_options = OPTIONS[source.format]
    problems = [
        evolve(one, message=f"{one.message}; use it, or --engine spark").within("source")
        for one in text_option_problems(source)
    ]
    for name in source.options:
        if name.lower() not in map(str.lower, known_options) and not name.lower().startswith("max"):
            message = f"is unknown to the local engine; {suggest(name, known_options)}"
            problems.append(Problem(f"source.options.{name}", message))
    return problems


def _amounts(source: Source) -> list[Problem]:
    """Problems with the options that limit a micro-batch: they decide which rows are late."""
    problems = []
    for name, value in source.options.items() if source.of_files else ():
        if name.lower() == "maxfilespertrigger" and not (option_text(value).isdecimal() and int(value) > 0):
            message = f"must be a whole number, at least 1 (got {value!r})"
            problems.append(Problem(f"source.options.{name}", message))
        if name.lower() == "maxbytespertrigger" and source.stream:
            message = "the local engine counts files, not bytes: use maxFilesPerTrigger, or --engine spark"
            problems.append(Problem(f"source.options.{name}", message))
    return problems
