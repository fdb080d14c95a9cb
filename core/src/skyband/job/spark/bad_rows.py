"""Bad rows of a job on Spark: a batch writes them after its answers, a stream has another stream beside it.

That stream reads the source too and keeps a checkpoint of its own within that of the answers, so that it gives each bad
row once, wherever either of them was stopped; what it does is no part of a micro-batch of answers.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from skyband.engines.spark import file_rows
from skyband.engines.spark.sharded_plan import ShardedPlan
from skyband.job.bad_rows import BAD, PLACES, as_job, key_of, told_of
from skyband.job.engine import Engine
from skyband.job.local.sink import check_free
from skyband.job.model import AVAILABLE_NOW, Job
from skyband.job.spark.plain_files_of_tables import is_ours
from skyband.job.spark.source import text_options
from skyband.job.table_sink import check_columns, is_free, sink_of, told_of_sink
from skyband.operator.row_accounting import check_sum

CHECKPOINT = "skyband-bad-rows"
MICRO_BATCH = "micro_batch"
"""Each micro-batch with bad rows has a folder, which readers take for a column of this name."""


def check_place(job: Job, engine: Engine) -> None:
    """Raise ConfigError where rows are there already that a run would mix with its own."""
    for name in PLACES if not job.source.stream else ():
        if getattr(job, name) is not None:
            with told_of(name):
                check_free(as_job(job, name), engine)


def write_batch(job: Job, session: Any, source: Any, plan: ShardedPlan, counted: int | None) -> None:
    """Write the bad rows of a batch, if there are any. counted: how many its answers are without; None: not known.

    Raises EngineError where the source, which is read once more for them, has another number of them now.
    """
    if job.bad_rows is None:
        return
    ours = as_job(job)
    rows = file_rows.bad_rows(source, plan).persist()
    try:
        with told_of():
            rows_here = rows.count()
            if counted is not None:
                check_sum(counted, rows_here, f"the source was read again for {key_of(BAD)}, and may have changed")
            if not rows_here and job.sink.mode != "overwrite":
                return
            if is_ours(session, ours.sink):
                with told_of_sink():
                    sink = sink_of(ours.sink)
                    check_columns(ours.sink, rows.toArrow().schema)
                    if is_free(ours, sink):
                        sink.append(rows.toArrow(), replace=job.sink.mode == "overwrite")
                return
            writer = rows.write.format(ours.sink.format).mode(job.sink.mode or "errorifexists")
            writer.options(**text_options(ours.sink.with_defaults)).save(ours.sink.path)
    finally:
        rows.unpersist()


class Beside:
    """The stream of bad rows, where a job has one."""

    def __init__(self, started: Any | None) -> None:
        self._started = started

    def check(self) -> None:
        """Raise what ended it, if anything did: the answers go on only while bad rows are kept."""
        error = None if self._started is None else self._started.exception()
        if error is not None:
            raise error

    def finish(self) -> None:
        """Wait until it has read all that is there now."""
        if self._started is not None:
            self._started.awaitTermination()

    def stop(self) -> None:
        """End it."""
        if self._started is not None:
            self._started.stop()


@contextmanager
def beside(job: Job, source: Any, plan: ShardedPlan) -> Iterator[Beside]:
    """The stream of a job's bad rows while that of its answers runs; one that ends by itself is waited for."""
    running = Beside(None if job.bad_rows is None else _start(job, source, plan))
    try:
        yield running
        if job.sink.trigger == AVAILABLE_NOW:
            running.finish()
        running.check()
    finally:
        running.stop()


def _start(job: Job, source: Any, plan: ShardedPlan) -> Any:
    rows = file_rows.bad_rows(source, plan)
    writer = rows.writeStream.queryName(f"{job.name}, bad rows").foreachBatch(_write(job, source.sparkSession))
    if job.sink.checkpoint is not None:
        writer = writer.option("checkpointLocation", f"{job.sink.checkpoint.rstrip('/')}/{CHECKPOINT}")
    if job.sink.trigger is not None:
        now = job.sink.trigger == AVAILABLE_NOW
        writer = writer.trigger(availableNow=True) if now else writer.trigger(processingTime=job.sink.trigger)
    return writer.start()


def _write(job: Job, session: Any) -> Any:
    sink = as_job(job).sink
    if is_ours(session, sink):
        with told_of(), told_of_sink():
            return sink_of(sink)

    def write(rows: Any, number: int) -> None:
        rows.persist()
        try:
            if not rows.isEmpty():  # a micro-batch that is given again replaces what it wrote
                writer = rows.write.format(sink.format).mode("overwrite").options(**text_options(sink.with_defaults))
                writer.save(f"{sink.path}/{MICRO_BATCH}={number}")
        finally:
            rows.unpersist()

    return write
