"""Late rows of a stream on Spark: the task that finds a row late writes it, in a file of its micro-batch and shard.

Which rows are late is known only to the operator, whose answers are those of the micro-batch. A micro-batch that is
given again has the same rows and the same watermark, so it writes the same file anew: each row is there once.
"""

from pathlib import Path

import pyarrow as pa
from attrs import frozen

from skyband.errors import ConfigError, EngineError, Problem
from skyband.job.bad_rows import LATE, as_job, key_of
from skyband.job.local.sink_parts import write_table
from skyband.job.model import Job, Sink, local_path
from skyband.job.spark.bad_rows import MICRO_BATCH
from skyband.new_files import replacing

_BATCH_ID = "streaming.sql.batchId"
"""What Spark calls the number of a micro-batch among the properties of its tasks."""


@frozen
class LateRowsOfTasks:
    """Writes the late rows of a shard in the micro-batch whose task this is, where a folder is that all tasks reach."""

    folder: Path
    sink: Sink

    def __call__(self, shard: int, rows: pa.RecordBatch | None) -> None:
        path = self.folder / f"{MICRO_BATCH}={_micro_batch()}" / f"shard-{shard:05}.{self.sink.format}"
        try:
            if rows is None:
                path.unlink(missing_ok=True)  # of the same micro-batch before it was begun anew with another delay
                return
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as file:
                write_table(pa.Table.from_batches([rows]), file, self.sink)
        except OSError as error:
            message = f"{str(path)!r} cannot be written: {error.strerror or error}: make room, or name another folder"
            raise ConfigError(Problem(f"{key_of(LATE)}.path", message)) from error


def late_rows_of_tasks(job: Job) -> LateRowsOfTasks | None:
    """What writes the late rows of a job's stream; None where it has no place for them, or is none."""
    if job.late_rows is None or not job.source.stream:
        return None
    sink = as_job(job, LATE).sink
    folder = local_path(sink.path or "")
    assert folder is not None  # checked with the job
    return LateRowsOfTasks(folder, sink)


def _micro_batch() -> int:
    from pyspark import TaskContext

    task = TaskContext.get()
    number = None if task is None else task.getLocalProperty(_BATCH_ID)
    if number is None:
        raise EngineError("Spark tells this task no micro-batch, by whose number late rows are written once")
    return int(number)
