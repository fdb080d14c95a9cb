"""Runs a job in this process: the reference, and the engine without Java."""

from collections.abc import Iterator

import pyarrow as pa
from attrs import define, evolve
from skyband.arrays import TIME_MIN
from skyband.engines.engine import InProcessEngine, Run
from skyband.engines.local import in_order
from skyband.errors import ConfigError, Problem, problems_within
from skyband.queries.query import FAIL
from skyband.watermark import EventTimeProgress

from skyband_jobs.files.row_location import PlacedBatches
from skyband_jobs.files.source_files import Files, open_files
from skyband_jobs.files.table_source import Table
from skyband_jobs.job.checked_job import CheckedJob
from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.local.atomic_outputs import with_rows_aside
from skyband_jobs.local.sink import QUERY, open_writer
from skyband_jobs.running.broadcast import read_broadcast
from skyband_jobs.running.compilation_notice import announced
from skyband_jobs.tables.model import Job, Source


def run(job: CheckedJob, jobs: JobEngine, engine: InProcessEngine, progress: Progress) -> Totals:
    """Run a job to the end of its files, on an engine of this process. A stream's answers end at its watermark,
    as on Spark; with `source.finish` they continue to the moment after its last row.

    An interrupted stream keeps its answers so far; an interrupted batch leaves nothing. Raises ConfigError where
    the sink already has answers, InputError where a row breaks the query's contract.
    """
    totals = Totals.of(job, micro_batches=0 if job.source.stream else None)
    local_run, steps = begin(job, engine, totals, progress)
    schema = local_run.result_schema.with_metadata({QUERY: job.query.kind})
    writer = open_writer(job, jobs, schema, progress)
    if writer is None:
        totals.may_be_empty = True
        return totals
    writer = with_rows_aside(writer, job, jobs, local_run, progress, totals)
    try:
        with announced(progress, totals):
            for answers in steps:
                totals.answers += len(answers)
                writer.write(answers)
    except KeyboardInterrupt:
        if not job.source.stream:
            writer.abandon()
            raise
        totals.stopped = True
    except BaseException:
        writer.abandon()
        raise
    try:
        writer.commit()
    except BaseException:
        writer.abandon()
        raise
    return totals


def begin(
    job: CheckedJob, engine: InProcessEngine, totals: Totals, progress: Progress
) -> tuple[Run, Iterator[pa.Table]]:
    """A job's query about to run, and an iterator over its answers, sorted within each step; it updates `totals`."""
    rows = _rows(job)
    begun = job.begin_on(engine)
    return begun, _answers(job, begun, _batches(rows, job, begun), totals, progress)


def _answers(
    job: Job, local_run: Run, batches: PlacedBatches, totals: Totals, progress: Progress
) -> Iterator[pa.Table]:
    if job.broadcast is not None:
        local_run.broadcast(read_broadcast(evolve(job.broadcast, stream=False), job.query))
    files = files_a_step(job.source)
    waiting, step, order = None, 0, _FileOrder()
    for batch in batches:
        if waiting is not None and batches.file // (files or 1) != step:
            yield sorted_answers(job, local_run.step(waiting))
            waiting = None
            take_metrics(local_run, totals, progress)
        step = batches.file // (files or 1)
        with batches.placing():
            added = local_run.add(batch)
        if job.source.spine is None:
            totals.files_back += order.goes_back(batches.file, added)
        if files is not None:
            added.add(waiting or added)
            waiting = added
            continue
        if job.source.stream:
            yield sorted_answers(job, local_run.step(added))
        take_metrics(local_run, totals, progress)
    if waiting is not None:
        yield sorted_answers(job, local_run.step(waiting))
        take_metrics(local_run, totals, progress)
    if not job.source.stream or job.source.finish:
        progress.waiting(f"{totals.rows_in:,} rows read, answering")
        yield sorted_answers(job, local_run.flush() if job.source.stream else local_run.finish())
        take_metrics(local_run, totals, progress)


@define
class _FileOrder:
    """Whether files arrive in the order of their rows' times."""

    _file: int = -1
    _newest: int = TIME_MIN
    """The newest time in the earlier files."""
    _newest_here: int = TIME_MIN

    def goes_back(self, file: int, rows: EventTimeProgress) -> bool:
        """Whether these are the first rows of a file, and all older than the newest row of the earlier files."""
        is_first, newest = file != self._file, max(rows.latest)
        if is_first:
            self._file, self._newest = file, max(self._newest, self._newest_here)
        self._newest_here = max(self._newest_here, newest)
        return is_first and TIME_MIN < newest < self._newest


def _batches(rows: Files | Table, job: CheckedJob, run: Run) -> PlacedBatches:
    """Text may arrive dictionary-encoded; small files are joined where no row can be late after one of them."""
    columns, refuse = job.query.columns, None if job.query.bad_rows == FAIL else run.refuse
    if isinstance(rows, Files):
        return rows.batches(columns, dictionaries=True, together=not job.source.stream, refuse=refuse)
    return rows.batches(columns, refuse)


def files_a_step(source: Source) -> int | None:
    """The number of files that a stream takes before it answers: `maxFilesPerTrigger`, as on Spark.

    None: it answers after each batch of rows.
    """
    option = {name.lower(): value for name, value in source.options.items()}.get("maxfilespertrigger")
    return int(option) if source.stream and source.of_files and option is not None else None


def take_metrics(local_run: Run, totals: Totals, progress: Progress) -> None:
    """Add a run's metrics since the last call to its totals, and show them."""
    metrics = local_run.take_metrics()
    totals.rows_in += metrics.rows_in
    totals.rows_late += metrics.rows_late
    totals.late_by = max(totals.late_by, metrics.late_by)
    totals.count_dropped(metrics.dropped)
    totals.retained, totals.groups = metrics.retained, metrics.groups
    if totals.micro_batches is not None and metrics.rows_in:
        totals.micro_batches += 1
    totals.watermark = None if local_run.watermark == -(2**63) else local_run.watermark
    progress.micro_batch(totals)


def sorted_answers(job: Job, answers: pa.RecordBatch) -> pa.Table:
    """Answers of a step, in the order of moments, then groups."""
    return in_order(job.query, pa.Table.from_batches([answers]))


def _rows(job: CheckedJob) -> Files | Table:
    """The source as the check opened it, else opened now. Raises ConfigError where it cannot be opened."""
    with problems_within("source"):
        rows = job.rows or open_files(job.source)
    if job.rows is None and job.source.spine is not None:
        message = "has no rows yet, or is read only by Spark: the local engine needs a file of it"
        raise ConfigError(Problem("source.spine", message))
    if rows is None:
        raise ConfigError(Problem("source", "the local engine reads only this machine's files; use --engine spark"))
    return rows
