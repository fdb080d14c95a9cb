"""Spark as an engine of jobs: any source and sink of Spark, streams that resume from their checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from skyband.errors import ConfigError, Problem
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.tables.model import Sink, Source, file_path, local_path

_NO_CHECKPOINT = ("console", "memory", "noop")


class SparkEngine(JobEngine):
    """Runs a job on Spark, in batch or as a stream."""

    name: ClassVar[str] = "spark"
    resumes: ClassVar[bool] = True
    in_process: ClassVar[bool] = False
    shards: ClassVar[bool] = True
    knows_all_sql: ClassVar[bool] = True

    def source_problems(self, source: Source, zone: str | None) -> list[Problem]:  # noqa: ARG002 - Spark knows zones
        if source.format == "arrow" and source.reader == "spark":
            return [Problem("source.format", 'Spark\'s own reader does not support arrow: use source.reader = "files"')]
        from skyband_spark.reading.parquet_nanoseconds import nanosecond_problems

        return nanosecond_problems(source) + _spine_problems(source)

    def reader(self, job: CheckedJob) -> str | None:
        from skyband_spark.reading.plain_files_of_tables import table_choice
        from skyband_spark.reading.python_file_reader import choose_reader
        from skyband_spark.reading.source import rows_to_read

        if job.source.of_files:
            rows, columns = rows_to_read(job)
            return str(choose_reader(job.source, job.spark, columns, rows))
        choice = table_choice(job.source, job.spark, job.query.columns)
        return None if choice is None else str(choice)

    def sink_problems(self, sink: Sink, stream: bool | None) -> list[Problem]:
        problems = []
        if sink.format == "arrow":
            problems.append(Problem("sink.format", "Spark does not write arrow: use parquet"))
        if stream and sink.checkpoint is None and sink.format not in _NO_CHECKPOINT:
            message = "is required for a stream: its own folder, from which it resumes after a stop"
            problems.append(Problem("sink.checkpoint", message))
        return problems

    def query_problems(self, query: Any, tables: Mapping[str, Any]) -> list[Problem]:
        from skyband_spark.program import shard_count

        try:
            shard_count(query, tables.get("shards"))
        except ConfigError as error:
            return list(error.problems)
        return []

    def problems_of_tasks(self, sink: Sink, rows: str) -> list[Problem]:
        if not sink.of_files or sink.path is None or file_path(sink.path) is not None:
            return []
        message = f"must be a folder that all machines reach, as Spark's tasks write {rows} (got {sink.path!r})"
        return [Problem("sink.path", f"{message}: name a folder on this machine, on a mounted disk or in a store")]

    def foreign_files(self, folder: Path, suffix: str) -> tuple[list[Path], str]:  # noqa: ARG002
        visible = (path for path in folder.iterdir() if not path.name.startswith(("_", ".")))
        others = sorted(path for path in visible if path.is_dir() or not path.name.startswith("part-"))
        return others, "are not answers, and Spark would delete them"

    def check_belong(self, checkpoint: Path, folder: Path) -> None:
        from skyband_spark.sink_log_check import check_belong

        check_belong(checkpoint, folder)

    def chosen_before(self, sink: Sink) -> Mapping[str, Any]:
        from skyband_jobs.running.checkpoint_record import chosen_before

        from skyband_spark.sink_log_check import latest

        if sink.checkpoint is None:
            return {}
        checkpoint = local_path(sink.checkpoint)
        if checkpoint is None:
            message = "limits need a checkpoint on this machine, which keeps the choice: give the backend's `name`"
            raise ConfigError(Problem("backends", f"{message} (the checkpoint is {sink.checkpoint!r})"))
        return chosen_before(checkpoint) if latest(checkpoint / "offsets") >= 0 else {}

    def session_findings(self, job: CheckedJob | None) -> tuple[str, bool]:
        from skyband_spark.job_session import spark_session
        from skyband_spark.session_check import preflight

        with spark_session(job, Progress()) as session:
            result = preflight(session)
        return str(result), result.ok

    def run(self, job: CheckedJob, progress: Progress, savepoint: Path | None = None) -> Totals:
        from skyband_spark import run as run_spark
        from skyband_spark.warming.precompile import Warming

        return run_spark.run(job, self, progress, Warming(job.path, job.sets), savepoint)


def _spine_problems(source: Source) -> list[Problem]:
    if not source.stream or source.spine is None:
        return []
    message = "of a stream is for `skyband serve` and --engine local: on Spark unite both in Python by with_spine"
    return [Problem("source.spine", message)]
