"""Runs a job on Spark, in batch or as a stream, and watches it."""

import logging
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any, NamedTuple

from attrs import evolve
from skyband.engines.local import in_order
from skyband.errors import ConfigError, InputError, Problem
from skyband.queries.query import BAD
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.column_name_clashes import check_names, tells_case
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.local.sink import Console, check_free
from skyband_jobs.running import checkpoint_record
from skyband_jobs.running.bad_rows import BAD as BAD_ROWS
from skyband_jobs.running.bad_rows import LATE
from skyband_jobs.running.stream_lock import in_use
from skyband_jobs.tables.model import AVAILABLE_NOW, Job, local_path
from skyband_jobs.tables.table_location import place_of
from skyband_jobs.tables.table_sink import check_columns, is_free, sink_of, told_of_sink

from skyband_spark import catalog_table, dataframe_writer, rows_aside, sink_log_check
from skyband_spark import program as spark
from skyband_spark.errors import plain_errors, python_was_late
from skyband_spark.frames.sharded_plan import ShardedPlan
from skyband_spark.job_session import plan_for, require_spark, spark_session
from skyband_spark.reading.plain_files_of_tables import is_ours
from skyband_spark.reading.python_file_reader import BY_PYTHON
from skyband_spark.reading.source import open_source, second_table, text_options
from skyband_spark.reading.vanished_files import vanished_files
from skyband_spark.side_outputs import RowsForTable, rows_for_tables, rows_of_tasks
from skyband_spark.table_sink_check import check_goes_on
from skyband_spark.warming.precompile import Warming

_POLL = 0.3
_STARTS = 3
"""How often a stream is started if Spark gives up waiting for its first Python: nothing is written before that."""
_FINISHING = 3
"""Runs that try to find the input complete, if rows arrive in between."""


class Sources(NamedTuple):
    """The inputs of a stream, as DataFrames."""

    rows: Any
    rules: Any
    """The query's second table if it is a stream, else None."""


def run(
    job: CheckedJob,
    engine: JobEngine,
    progress: Progress,
    warming: Warming | None = None,
    savepoint: Path | None = None,
) -> Totals:
    """Run a job on Spark: a batch to its end, a stream until it ends, fails or is interrupted.

    savepoint: where a stream without a checkpoint starts.

    Ctrl-C (and SIGTERM) stop a stream; its checkpoint resumes after the last micro-batch. Raises EngineError
    if Java is missing or Spark fails, ConfigError if the job does not fit its source or sink.
    """
    require_spark()
    if savepoint is None:
        check_free(job, engine)
    rows_aside.check_place(job, engine)
    with plain_errors(job), spark_session(job, progress, warming) as session:
        source, reader = open_source(session, job)
        if savepoint is not None and not job.source.stream:
            raise ConfigError(Problem("source.stream", "must be true: only a stream resumes from a savepoint"))
        plan = evolve(
            plan_for(job, source, job.shards), late_rows=rows_of_tasks(job, LATE), bad_rows=rows_of_tasks(job, BAD_ROWS)
        )
        plan, rules = _with_rules(job, session, plan)
        if savepoint is not None:
            from skyband_spark.savepoints.start import begin_from

            begin_from(session, job, plan, savepoint)
            check_free(job, engine)
        if not job.source.stream:
            totals = _batch(job, session, source, plan, progress)
        else:
            with _checkpoint_in_use(job):
                _check_goes_on(job)
                totals = _stream(job, Sources(source, rules), plan, progress, rows_for_tables(job, plan), reader)
        totals.reader = reader
        return totals


def _with_rules(job: CheckedJob, session: Any, plan: ShardedPlan) -> tuple[ShardedPlan, Any]:
    """The plan with the second table of a job's query, and that table if it is a stream."""
    rules = second_table(session, job)
    if rules is None:
        return plan, None
    try:
        return spark.with_rules(plan, rules)
    except InputError as error:
        raise ConfigError(Problem(f"query.{job.query.broadcast}", str(error))) from error


def _checkpoint_in_use(job: Job) -> AbstractContextManager[None]:
    """Keep a stream's checkpoint from other runs, if it is on this machine."""
    checkpoint = None if job.sink.checkpoint is None else local_path(job.sink.checkpoint)
    if checkpoint is None:
        return nullcontext()
    checkpoint.mkdir(parents=True, exist_ok=True)
    return in_use(checkpoint)


def _check_goes_on(job: Job) -> None:
    checkpoint = None if job.sink.checkpoint is None else local_path(job.sink.checkpoint)
    if checkpoint is not None:
        has_begun = sink_log_check.latest(checkpoint / "offsets") >= 0
        checkpoint_record.check_goes_on(job, checkpoint, "spark", has_begun)


def _batch(job: Job, session: Any, source: Any, plan: ShardedPlan, progress: Progress) -> Totals:
    from pyspark.sql import Observation
    from pyspark.sql import functions as sql

    observed, counted = Observation("skyband"), Observation("skyband_answers")
    answers = spark.answers_of(source, plan, observed)
    _check_names(job, answers)
    answers = answers.observe(counted, sql.count(sql.lit(1)).alias("answers"))
    totals = Totals.of(job, may_be_empty=job.sink.mode == "ignore")
    write = _batch_writer(job, session, answers, progress)
    if write is None:
        return _nothing_done(job, progress, totals)
    with _watched(session, progress):
        aside = rows_aside.write_batch(job, session, source, plan)  # first: there are no answers without them
        write()
    if job.sink.mode != "ignore":
        _add(totals, observed.get, counted.get["answers"])
        rows_aside.check_batch(aside, totals.dropped.get(BAD, 0))
    return totals


def _batch_writer(job: Job, session: Any, answers: Any, progress: Progress) -> Callable[[], None] | None:
    """A function that writes a batch's answers, after the sink was checked; None if existing answers stay.

    Raises ConfigError if the sink is not free, or has other columns.
    """
    if job.sink.format == "console":
        return lambda: Console(job.query, progress, together=True).write(in_order(job.query, answers.toArrow()))
    if is_ours(session, job.sink):
        return _table_writer(job, answers)
    if catalog_table.is_named(job.sink):
        return catalog_table.batch_writer(session, job.sink, answers, text_options(job.sink.options))
    return lambda: dataframe_writer.save(answers, job.sink)


def _check_names(job: Job, answers: Any) -> None:
    """Check the answers' names, even if only Spark knows the source's columns."""
    if not tells_case(job.spark):
        check_names(job.sink, answers.columns)


def _table_writer(job: Job, answers: Any) -> Callable[[], None] | None:
    """The same for answers that this process writes."""
    with told_of_sink():
        sink = sink_of(job.sink)
        check_columns(job.sink, dataframe_writer.arrow_schema(answers))
        if not is_free(job, sink):
            return None

    def write() -> None:
        with told_of_sink():
            sink.append(in_order(job.query, answers.toArrow()), replace=job.sink.mode == "overwrite")

    return write


def _nothing_done(job: Job, progress: Progress, totals: Totals) -> Totals:
    progress.note(f'{place_of(job.sink)} already has rows and sink.mode is "ignore": nothing is written')
    return totals


def _stream(
    job: Job, source: Sources, plan: ShardedPlan, progress: Progress, tables: Sequence[RowsForTable], reader: str | None
) -> Totals:
    totals = Totals.of(job, micro_batches=0, may_be_empty=_goes_on(job), reader=reader)
    _write(tables)  # rows left by a killed run
    _run_to_its_end(job, source, plan, progress, totals, tables, last=False)
    for _ in range(_FINISHING if job.source.finish else 0):
        before = totals.rows_in
        if not totals.stopped:
            _run_to_its_end(job, source, plan, progress, totals, tables, last=True)
        if totals.rows_in == before:
            break  # else rows arrived, and the last windows wait for a run without any
    return totals


def _goes_on(job: Job) -> bool:
    """Whether a stream had a checkpoint before, or may have had one on another machine."""
    if job.sink.checkpoint is None:
        return False
    checkpoint = local_path(job.sink.checkpoint)
    return checkpoint is None or (checkpoint / "commits").is_dir()


def _run_to_its_end(
    job: Job,
    source: Sources,
    plan: ShardedPlan,
    progress: Progress,
    totals: Totals,
    tables: Sequence[RowsForTable],
    last: bool,
) -> None:
    """Start the stream and follow it, again if Spark gave up on its first Python before the first micro-batch."""
    before = totals.micro_batches
    for starts in range(1, _STARTS + 1):
        try:
            _follow(job, _start(job, source, plan, progress, last), totals, progress, tables)
            return
        except Exception as error:
            if starts == _STARTS or not python_was_late(error) or totals.micro_batches != before:
                raise
        progress.note("Python did not start within the 10 s that Spark waits for it: starting the stream again")


def _start(job: Job, sources: Sources, plan: ShardedPlan, progress: Progress, last: bool) -> Any:
    """Start the stream; `last`: the run that treats the input as complete."""
    from pyspark.sql import functions as sql

    ticking = spark.ticking_of(job.source.idle_after, last if job.source.finish else None)
    source = sources.rows
    answers = spark.answers_of(source, evolve(plan, ticking=ticking), rules=sources.rules)
    _check_names(job, answers)
    answers = answers.observe("skyband_answers", sql.count(sql.lit(1)).alias("answers"))
    writer = (
        answers.writeStream.queryName(job.name).outputMode("append").options(**text_options(job.sink.with_defaults))
    )
    if job.sink.checkpoint is not None:
        writer = writer.option("checkpointLocation", job.sink.checkpoint)
    if job.sink.trigger is not None:
        now = job.sink.trigger == AVAILABLE_NOW
        writer = writer.trigger(availableNow=True) if now else writer.trigger(processingTime=job.sink.trigger)
    if job.sink.format == "console":
        console = Console(job.query, progress, together=False)
        return writer.foreachBatch(lambda rows, _: console.write(in_order(job.query, rows.toArrow()))).start()
    if is_ours(source.sparkSession, job.sink):
        with told_of_sink():
            sink = sink_of(job.sink)
            check_columns(job.sink, dataframe_writer.arrow_schema(answers))
            check_goes_on(job, sink)
        return writer.foreachBatch(sink).start()
    if catalog_table.is_named(job.sink):
        return catalog_table.start_stream(source.sparkSession, job, answers, writer)
    return writer.format(job.sink.format).start(*([job.sink.path] if job.sink.path else []))


def _follow(job: Job, started: Any, totals: Totals, progress: Progress, tables: Sequence[RowsForTable]) -> None:
    """Watch a streaming query until it ends or a signal stops it; any failure stops it too."""
    stop = threading.Event()
    last = -1
    with _signals(stop), _stopped_on_failure(started):
        while True:
            ended = started.awaitTermination(_POLL)
            for update in started.recentProgress:
                if update["batchId"] > last and "skyband" in update["observedMetrics"]:
                    last, before = update["batchId"], totals.rows_in
                    _add(totals, _plain(update["observedMetrics"]["skyband"]), _answers(update))
                    _write(tables)
                    totals.micro_batches = (totals.micro_batches or 0) + 1
                    totals.batch_seconds = update["durationMs"].get("triggerExecution", 0) / 1000
                    totals.recent_rate = _rate(update, totals.rows_in - before)
                    progress.micro_batch(totals, always=True)
                    _tell_of_vanished(job, update, totals, progress)
            if ended:
                _write(tables)
                return
            if stop.is_set():
                totals.stopped = True
                started.stop()
                _write(tables)
                return
            progress.show(totals)


def _write(tables: Iterable[RowsForTable]) -> None:
    for table in tables:
        table.write()


@contextmanager
def _stopped_on_failure(started: Any) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(Exception):  # Java may have ended, which the raised error says
            started.stop()
        raise


def _tell_of_vanished(job: Job, update: Any, totals: Totals, progress: Progress) -> None:
    checkpoint = None if job.sink.checkpoint is None else local_path(job.sink.checkpoint)
    if checkpoint is not None and totals.reader is not None and totals.reader.startswith(BY_PYTHON):
        for name in vanished_files(checkpoint, update):
            progress.note(f"warning: {name} was deleted before its micro-batch: its rows are in no answer")


def _add(totals: Totals, metrics: dict[str, Any], answers: int) -> None:
    rows = {name.removeprefix("rows_"): int(value or 0) for name, value in metrics.items() if name.startswith("rows_")}
    totals.rows_in += rows.pop("in")
    totals.rows_late += rows.pop("late")
    totals.count_dropped({name.replace("_", " "): number for name, number in rows.items()})
    totals.late_by = max(totals.late_by, int(metrics["late_by"] or 0))
    totals.answers += answers
    totals.retained = int(metrics["retained"] or 0)
    totals.groups = int(metrics["groups"] or 0)
    totals.state_bytes = int(metrics["state_bytes"] or 0) or None
    totals.watermark = metrics["watermark"] if metrics["watermark"] is not None else totals.watermark


def _rate(update: Any, rows: int) -> float:
    """Rows per second of a micro-batch: Spark counts files if Python reads them."""
    return rows * 1000 / max(update["durationMs"].get("triggerExecution", 0), 1)


def _plain(row: Any) -> dict[str, Any]:
    return row.asDict() if hasattr(row, "asDict") else dict(row)


def _answers(update: Any) -> int:
    metrics = update["observedMetrics"].get("skyband_answers")
    return 0 if metrics is None else int(_plain(metrics)["answers"] or 0)


@contextmanager
def _signals(stop: threading.Event) -> Iterator[None]:
    """Let Ctrl-C and SIGTERM request a stop; a second one ends it at once. Only the main thread may listen.

    py4j turns an interruption while it listens to Java into its own error. Whatever fails after a stop
    was requested is repeated by the next run.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(*_: Any) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        logging.getLogger().addHandler(logging.NullHandler())  # else py4j logs interrupted calls, with tracebacks
        stop.set()

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except Exception:
        if stop.is_set():  # a SIGTERM to all processes of a job ends Java and its workers as well, in any order
            raise KeyboardInterrupt from None
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watched(session: Any, progress: Progress) -> Iterator[None]:
    """Show how many tasks are done while Spark works on a batch."""
    finished = threading.Event()

    def watch() -> None:
        tracker = session.sparkContext.statusTracker()
        while not finished.wait(_POLL):
            try:
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            except Exception:  # Java has ended, which the run itself reports
                return
            counts = [(stage.numCompletedTasks, stage.numTasks) for stage in stages if stage is not None]
            if counts and not finished.is_set():
                tasks = f"{sum(ended for ended, _ in counts)} of {sum(tasks for _, tasks in counts)} tasks"
                progress.waiting(f"{tasks} · {progress.seconds():.0f} s")

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
