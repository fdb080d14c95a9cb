"""Bad rows of a job on Spark: a batch writes them before its answers, a stream has another stream beside it.

That stream reads the source too and keeps a checkpoint of its own within that of the answers, so that it gives each bad
row once, wherever either of them was stopped; what it does is no part of a micro-batch of answers.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
from skyband.errors import ConfigError, EngineError, Problem
from skyband.groups.execution import check_broadcast
from skyband.operator.bad_rows import unreadable_rows
from skyband.operator.metrics import check_sum
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.model import AVAILABLE_NOW, Job, Sink, local_path
from skyband_jobs.job.table_location import place_of
from skyband_jobs.local.sink import check_free
from skyband_jobs.running.bad_rows import BAD, PLACES, as_job, key_of, told_of
from skyband_jobs.running.table_sink import check_columns, is_free, sink_of, told_of_sink

from skyband_spark import dataframe_writer
from skyband_spark.bad_row_sums import BadRowSums
from skyband_spark.errors import cause_of, is_gone, is_of_spark
from skyband_spark.frames import file_rows
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.reading.plain_files_of_tables import is_ours
from skyband_spark.reading.source import text_options
from skyband_spark.sink_log import latest

CHECKPOINT = "skyband-bad-rows"
MICRO_BATCH = "micro_batch"
"""Each micro-batch with bad rows has a folder, which readers take for a column of this name."""


def check_place(job: Job, engine: JobEngine) -> None:
    """Raise ConfigError where rows are there already that a run would mix with its own, or write over."""
    for name in PLACES:
        if getattr(job, name) is None:
            continue
        with told_of(name):
            if job.source.stream:
                _check_goes_on(as_job(job, name).sink, _checkpoint_of(job, name))
            else:
                check_free(as_job(job, name), engine)


def _check_goes_on(sink: Sink, checkpoint: str | None) -> None:
    """A stream that begins has the numbers of its micro-batches from the first, as that had which was there before."""
    folder = local_path(sink.path) if sink.of_files and sink.path is not None else None
    progress = None if checkpoint is None else local_path(checkpoint)
    if folder is None or progress is None or latest(progress / "offsets") >= 0 or not folder.is_dir():
        return
    others = sorted(path.name for path in folder.glob(f"{MICRO_BATCH}=*"))
    if others:
        message = f"{str(folder)!r} holds rows of another stream ({others[0]}), which this one would write over"
        raise ConfigError(Problem("path", f"{message}: choose another folder, or move them away"))


def _checkpoint_of(job: Job, name: str) -> str | None:
    """Of the stream that writes these rows: late ones are written by that of the answers."""
    if job.sink.checkpoint is None or name != BAD:
        return job.sink.checkpoint
    return f"{job.sink.checkpoint.rstrip('/')}/{CHECKPOINT}"


def write_batch(job: Job, session: Any, source: Any, plan: ShardedPlan) -> int | None:
    """Write the bad rows of a batch, if there are any, and tell how many; None where the job has no place for them."""
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
    """Bad rows of a batch and those of its second table, which every shard refuses alike."""
    if plan.broadcast is None:
        return rows
    refused = check_broadcast(plan.query, plan.broadcast.without(np.empty(0, np.uint64)), plan.schema)
    if not refused:
        return rows
    table = pa.Table.from_batches([unreadable_rows(plan.query, plan.schema, refused)])
    return rows.unionByName(session.createDataFrame(table, rows.schema))


def check_batch(aside: int | None, counted: int) -> None:
    """Raise EngineError unless as many rows were put aside as the answers are without: each read the source."""
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
    """What goes wrong while bad rows are written, by the key of their place."""
    with told_of():
        try:
            yield
        except Exception as error:
            if not is_of_spark(error) or is_gone(error):
                raise
            place = f"{key_of(BAD)}{'' if sink.path is None else '.path'}: {place_of(sink)!r} cannot be written"
            raise EngineError(
                f"{place}: {cause_of(error).rstrip('.')}: make room there or choose another place"
            ) from error


class Beside:
    """The stream of bad rows, where a job has one."""

    def __init__(
        self,
        started: Any | None = None,
        saved: "_Saved | None" = None,
        sums: BadRowSums | None = None,
        refused: Callable[[int], int] | None = None,
    ) -> None:
        self._started, self._saved, self._sums, self._refused = started, saved, sums, refused
        self._last = -1

    def count(self, progress: Any, rows: int) -> None:
        """A micro-batch of the answers has ended, without so many bad rows, those of a second table among them."""
        if self._sums is not None:
            aside = 0 if self._refused is None else self._refused(progress.batchId)
            self._sums.count(progress, rows - aside)

    def check(self) -> None:
        """Raise what ended it, if anything did: the answers go on only while bad rows are kept.

        Raises EngineError where it has put aside other bad rows than the answers are without.
        """
        if self._started is None or self._saved is None or self._sums is None:
            return
        error = self._started.exception()
        if error is not None:
            raise error
        for update in self._started.recentProgress:
            if update.batchId > self._last and "addBatch" in update.durationMs:
                self._last = update.batchId
                self._sums.put_aside(update, self._saved.rows.pop(update.batchId))
        self._sums.check()

    def finish(self) -> None:
        """Wait until it has read all that is there now."""
        if self._started is not None:
            self._started.awaitTermination()

    def stop(self) -> None:
        """End it."""
        if self._started is not None:
            self._started.stop()


@contextmanager
def beside(job: Job, source: Any, plan: ShardedPlan, refused: Callable[[int], int] | None = None) -> Iterator[Beside]:
    """The stream of a job's bad rows while that of its answers runs; one that ends by itself is waited for.

    refused: how many of the bad rows of a micro-batch of answers are of the second table, which the answers put aside.
    """
    running = Beside() if job.bad_rows is None else _start(job, source, plan, refused)
    try:
        yield running
        if job.sink.trigger == AVAILABLE_NOW:
            running.finish()
        running.check()
    finally:
        running.stop()


def _start(job: Job, source: Any, plan: ShardedPlan, refused: Callable[[int], int] | None) -> Beside:
    rows = file_rows.bad_rows(source, plan)
    saved = _Saved(_save_micro_batch(job, rows))
    writer = rows.writeStream.queryName(f"{job.name}, bad rows").foreachBatch(saved)
    checkpoint = _checkpoint_of(job, BAD)
    if checkpoint is not None:
        writer = writer.option("checkpointLocation", checkpoint)
    if job.sink.trigger is not None:
        now = job.sink.trigger == AVAILABLE_NOW
        writer = writer.trigger(availableNow=True) if now else writer.trigger(processingTime=job.sink.trigger)
    return Beside(writer.start(), saved, BadRowSums(job.source, job.sink.checkpoint, checkpoint), refused)


class _Saved:
    """Saves each micro-batch of bad rows, and counts them."""

    def __init__(self, save: Callable[[Any, int, int], None]) -> None:
        self._save = save
        self.rows: dict[int, int] = {}
        """By the number of their micro-batch, until it has ended."""

    def __call__(self, rows: Any, number: int) -> None:
        rows.persist()
        try:
            count = int(rows.count())
            self._save(rows, number, count)
            self.rows[number] = count
        finally:
            rows.unpersist()


def _save_micro_batch(job: Job, bad: Any) -> Callable[[Any, int, int], None]:
    """What saves one: of a table also where it is empty, as its number is written with it; a micro-batch that is given
    again replaces what it wrote."""
    sink = as_job(job).sink
    if is_ours(bad.sparkSession, sink):
        with told_of(), told_of_sink():
            check_columns(sink, dataframe_writer.arrow_schema(bad))
            append = sink_of(sink)

        def save_in_table(rows: Any, number: int, _: int) -> None:
            with _told_of_place(sink), told_of_sink():
                append(rows, number)

        return save_in_table

    def save(rows: Any, number: int, count: int) -> None:
        if count:
            writer = rows.write.format(sink.format).mode("overwrite").options(**text_options(sink.with_defaults))
            with _told_of_place(sink):
                writer.save(f"{sink.path}/{MICRO_BATCH}={number}")

    return save
