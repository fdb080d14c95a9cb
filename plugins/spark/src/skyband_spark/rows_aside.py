"""Bad rows of a batch on Spark, written before its answers, and the check of every place of rows put aside."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.errors import ConfigError, EngineError, Problem
from skyband.groups.execution import check_broadcast
from skyband.operator.bad_rows import unreadable_rows
from skyband.operator.metrics import check_sum
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.local.sink import check_free
from skyband_jobs.running.bad_rows import BAD, PLACES, as_job, key_of, told_of
from skyband_jobs.tables.model import Job, Sink, file_path, local_path
from skyband_jobs.tables.store_paths import StorePath, check_reach
from skyband_jobs.tables.table_location import place_of
from skyband_jobs.tables.table_sink import check_columns, is_free, sink_of, told_of_sink

from skyband_spark import dataframe_writer
from skyband_spark.errors import cause_of, is_gone, is_of_spark
from skyband_spark.frames import file_rows
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.reading.plain_files_of_tables import is_ours
from skyband_spark.sink_log_check import latest

MICRO_BATCH = "micro_batch"
"""Each micro-batch with bad rows has a folder, which readers read as a column of this name."""


def check_place(job: Job, engine: JobEngine) -> None:
    """Raise ConfigError if there are already rows that a run would mix with its own, or overwrite."""
    for name in PLACES:
        if getattr(job, name) is None:
            continue
        with told_of(name):
            if job.source.stream:
                _check_of_stream(as_job(job, name).sink, job.sink.checkpoint)
            else:
                check_free(as_job(job, name), engine)


def _check_of_stream(sink: Sink, checkpoint: str | None) -> None:
    if sink.of_files:
        _check_goes_on(sink, checkpoint)
    path = sink.path if sink.of_files else checkpoint
    folder = None if path is None else file_path(path)
    if isinstance(folder, StorePath):
        check_reach(folder)
    elif folder is None:
        waiting = "rows for a table wait in sink.checkpoint until their micro-batch is committed"
        remedy = "name a folder on this machine, on a mounted disk or in a store, or write them to files"
        raise ConfigError(Problem("format", f"{waiting}, so tasks must reach it (got {path!r}): {remedy}"))


def _check_goes_on(sink: Sink, checkpoint: str | None) -> None:
    """A new stream numbers its micro-batches from the first, like the stream that was there before."""
    folder = None if sink.path is None else local_path(sink.path)
    progress = None if checkpoint is None else local_path(checkpoint)
    if folder is None or progress is None or latest(progress / "offsets") >= 0 or not folder.is_dir():
        return
    others = sorted(path.name for path in folder.glob(f"{MICRO_BATCH}=*"))
    if others:
        message = f"{str(folder)!r} has rows of another stream ({others[0]}), which this one would overwrite"
        raise ConfigError(Problem("path", f"{message}: choose another folder, or move them away"))


def write_batch(job: Job, session: Any, source: Any, plan: ShardedPlan) -> int | None:
    """Write the bad rows of a batch, if any, and return their number; None if the job has no place for them."""
    if job.bad_rows is None:
        return None
    sink = as_job(job).sink
    rows = _with_refused(session, file_rows.bad_rows(source, plan), plan).persist()
    try:
        count = int(rows.count())
        if count or job.sink.mode == "overwrite":
            with _told_of_place(sink):
                _save_batch(job, session, rows)
        return count
    finally:
        rows.unpersist()


def _with_refused(session: Any, rows: Any, plan: ShardedPlan) -> Any:
    """Bad rows of a batch and those of its second table, which every shard refuses in the same way."""
    if plan.broadcast is None:
        return rows
    refused = check_broadcast(plan.query, plan.broadcast.without(np.empty(0, np.uint64)), plan.schema)
    if not refused:
        return rows
    table = pa.Table.from_batches([unreadable_rows(plan.query, plan.schema, refused)])
    return rows.unionByName(session.createDataFrame(table, rows.schema))


def check_batch(aside: int | None, counted: int) -> None:
    """Raise EngineError unless as many rows were put aside as the answers lack: both read the source."""
    if aside is not None:
        check_sum(counted, aside, f"the source was read again for {key_of(BAD)}, and may have changed")


def _save_batch(job: Job, session: Any, rows: Any) -> None:
    ours = as_job(job)
    if is_ours(session, ours.sink):
        with told_of_sink():
            sink = sink_of(ours.sink)
            check_columns(ours.sink, rows.toArrow().schema)
            if is_free(ours, sink):
                sink.append(rows.toArrow(), replace=job.sink.mode == "overwrite")
        return
    dataframe_writer.save(rows, ours.sink)


@contextmanager
def _told_of_place(sink: Sink) -> Iterator[None]:
    """Report errors while bad rows are written by the key of their place."""
    with told_of():
        try:
            yield
        except Exception as error:
            if not is_of_spark(error) or is_gone(error):
                raise
            place = f"{key_of(BAD)}{'' if sink.path is None else '.path'}: {place_of(sink)!r} cannot be written"
            raise EngineError(
                f"{place}: {cause_of(error).rstrip('.')}: choose another place, or free some space"
            ) from error
