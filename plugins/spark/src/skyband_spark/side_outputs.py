"""Rows of a stream on Spark that tasks put aside, in a file of their micro-batch and shard: late ones, refused rules.

Which these are is known only to the operator, whose answers are those of the micro-batch. A micro-batch that is given
again has the same rows, the same watermark and the same state, so it writes the same file anew: each row is there once.
"""

from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
from attrs import frozen
from skyband.atomic_files import replacing
from skyband.errors import ConfigError, EngineError, Problem
from skyband_jobs.job.model import Job, Sink, local_path
from skyband_jobs.local.sink_parts import write_table
from skyband_jobs.running.bad_rows import BAD, LATE, as_job, key_of

from skyband_spark.rows_aside import MICRO_BATCH

_BATCH_ID = "streaming.sql.batchId"
"""What Spark calls the number of a micro-batch among the properties of its tasks."""


@frozen
class RowsOfTasks:
    """Writes rows of a shard in the micro-batch whose task this is, where a folder is that all tasks reach."""

    folder: Path
    sink: Sink
    key: str
    """Of the place in the job."""
    second: str | None = None
    """Of rows of the query's second table its key, which tells their micro-batches from those of the rows."""

    def __call__(self, shard: int, rows: pa.RecordBatch | None) -> None:
        path = self._path(_micro_batch(self.key), shard)
        try:
            if rows is None:
                path.unlink(missing_ok=True)  # of the same micro-batch before it was begun anew with another delay
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                write_table(pa.Table.from_batches([rows]), file, self.sink)
        except OSError as error:
            message = f"{str(path)!r} cannot be written: {error.strerror or error}: make room, or name another folder"
            raise ConfigError(Problem(f"{self.key}.path", message)) from error

    def count(self, number: int) -> int:
        """The rows of the second table that a micro-batch put aside."""
        path = self._path(number, 0)
        return pyarrow.dataset.dataset(path, format=self.sink.format).count_rows() if path.exists() else 0

    def _path(self, number: int, shard: int) -> Path:
        name = f"{number}" if self.second is None else f"{self.second}-{number}"
        return self.folder / f"{MICRO_BATCH}={name}" / f"shard-{shard:05}.{self.sink.format}"


def late_rows_of_tasks(job: Job) -> RowsOfTasks | None:
    """What writes the late rows of a job's stream; None where it has no place for them, or is none."""
    return None if job.late_rows is None or not job.source.stream else _of(job, LATE)


def refused_rows_of_tasks(job: Job, second: str | None) -> RowsOfTasks | None:
    """What writes rows of a second table, by its key, that the query of a job's stream refuses; None as above."""
    if job.bad_rows is None or job.broadcast is None or not job.source.stream:
        return None
    return _of(job, BAD, second)


def _of(job: Job, name: str, second: str | None = None) -> RowsOfTasks:
    sink = as_job(job, name).sink
    folder = local_path(sink.path or "")
    assert folder is not None  # checked with the job
    return RowsOfTasks(folder, sink, key_of(name), second)


def _micro_batch(key: str) -> int:
    from pyspark import TaskContext

    task = TaskContext.get()
    number = None if task is None else task.getLocalProperty(_BATCH_ID)
    if number is None:
        raise EngineError(f"Spark tells this task no micro-batch, by whose number rows of {key} are written once")
    return int(number)
