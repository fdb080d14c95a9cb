"""Bad and late rows of a stream on Spark, written by the tasks that have them: a file per micro-batch and shard.

A repeated micro-batch has the same rows, the same watermark and the same state, so it writes the same files
again: each row appears once. Rows for a table wait in the checkpoint as such files. Once Spark has committed their
micro-batch, the driver writes them to the table with its number, and skips a number that the table has.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from attrs import frozen
from skyband.atomic_files import replacing
from skyband.errors import ConfigError, EngineError, Problem
from skyband.operator.bad_rows import bad_rows_schema
from skyband_jobs.formats import BatchSink
from skyband_jobs.local.sink_parts import write_table
from skyband_jobs.running.bad_rows import PLACES, as_job, key_of, told_of
from skyband_jobs.tables.model import Job, Sink, file_path
from skyband_jobs.tables.store_paths import StorePath
from skyband_jobs.tables.table_sink import check_columns, sink_of, told_of_sink

from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.rows_aside import MICRO_BATCH
from skyband_spark.table_sink_check import stream_of

_BATCH_ID = "streaming.sql.batchId"
"""Spark's name for the number of a micro-batch in the properties of its tasks."""


@frozen
class RowsOfTasks:
    """Writes rows of a shard in the current task's micro-batch, to a folder that all tasks reach."""

    folder: Path
    sink: Sink
    key: str
    """The key of the place in the job."""

    def __call__(self, shard: int, rows: pa.RecordBatch | None) -> None:
        number = _micro_batch(self.key)
        path = self.folder / f"{MICRO_BATCH}={number}" / f"shard-{shard:05}.{self.sink.format}"
        try:
            if rows is None:
                path.unlink(missing_ok=True)  # of the same micro-batch, tried before with other rules or another delay
            else:
                self._write(pa.Table.from_batches([rows]), path)
        except OSError as error:
            message = f"{str(self.folder)!r} cannot be written: {error.strerror or error}"
            remedy = "choose another place, or free some space"
            raise ConfigError(Problem(f"{self.key}.path", f"{message}: {remedy}")) from error

    def _write(self, rows: pa.Table, path: Path) -> None:
        if isinstance(path, StorePath):
            whole = BytesIO()
            write_table(rows, whole, self.sink)
            path.write_bytes(whole.getvalue())
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            write_table(rows, file, self.sink)


@frozen
class RowsForTable:
    """Rows of tasks that wait in a stream's checkpoint for a table."""

    name: str
    folder: Path
    checkpoint: Path
    table: BatchSink

    def write(self) -> None:
        """Write the rows of the micro-batches that Spark has committed, each once, and remove their files."""
        committed = max(_numbers(path.name for path in _files(self.checkpoint / "commits")), default=-1)
        waiting = dict[int, list[Path]]()
        for path in _files(self.folder):
            if not path.name.startswith("_"):
                waiting.setdefault(int(path.parent.name.partition("=")[2]), []).append(path)
        for number in sorted(number for number in waiting if number <= committed):
            self._write(number, sorted(waiting[number]))

    def _write(self, number: int, paths: Sequence[Path]) -> None:
        stream = f"{stream_of(self.checkpoint)} {self.name}"
        with told_of(self.name), told_of_sink():
            latest = self.table.latest(stream)
            if latest is None or number > latest:
                rows = [pq.ParquetFile(BytesIO(path.read_bytes())).read() for path in paths]
                self.table.write(pa.concat_tables(rows), stream, number)
        for path in paths:
            path.unlink(missing_ok=True)
        with suppress(OSError):  # a store has no folders
            paths[0].parent.rmdir()


def rows_of_tasks(job: Job, name: str) -> RowsOfTasks | None:
    """The writer of the bad or late rows of a job's stream; None if they have no place, or the job is a batch."""
    if getattr(job, name) is None or not job.source.stream:
        return None
    sink = as_job(job, name).sink
    folder = file_path(sink.path or "") if sink.of_files else _waiting(job, name)
    assert folder is not None  # checked with the job
    return RowsOfTasks(folder, sink if sink.of_files else Sink("parquet"), key_of(name))


def rows_for_tables(job: Job, plan: ShardedPlan) -> list[RowsForTable]:
    """The bad and late rows of a job's stream that go to tables. Raises ConfigError if a table has other columns."""
    tables = []
    for name in PLACES:
        if getattr(job, name) is None or getattr(job, name).of_files:
            continue
        sink, checkpoint = as_job(job, name).sink, file_path(job.sink.checkpoint or "")
        assert checkpoint is not None  # checked with the job
        with told_of(name), told_of_sink():
            check_columns(sink, bad_rows_schema(plan.query, plan.schema))
            tables.append(RowsForTable(name, _waiting(job, name), checkpoint, sink_of(sink)))
    return tables


def _waiting(job: Job, name: str) -> Path:
    checkpoint = file_path(job.sink.checkpoint or "")
    assert checkpoint is not None  # checked with the job
    return checkpoint / f"skyband-{name.replace('_', '-')}"


def _files(folder: Path) -> Iterable[Path]:
    if isinstance(folder, StorePath):
        return folder.files_below()
    return [path for path in folder.rglob("*") if path.is_file()]


def _numbers(names: Iterable[str]) -> list[int]:
    return [int(name) for name in names if name.isdigit()]


def _micro_batch(key: str) -> int:
    from pyspark import TaskContext

    task = TaskContext.get()
    number = None if task is None else task.getLocalProperty(_BATCH_ID)
    if number is None:
        raise EngineError(f"Spark gives this task no micro-batch number, which is needed to write rows of {key} once")
    return int(number)
