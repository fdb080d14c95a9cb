"""Runs a job in this process: the reference, and the way without Java."""

from collections.abc import Iterator

import pyarrow as pa

from skyband.engines.local import LocalRun
from skyband.errors import ConfigError, Problem
from skyband.job.files import Files, open_files
from skyband.job.model import Job
from skyband.job.output import open_writer
from skyband.job.progress import Progress, Totals


def run(job: Job, progress: Progress) -> Totals:
    """Run a job to the end of its files. A stream's answers end at its watermark, as they would on Spark; with
    `source.finish` they go on to the moment after its last row.

    An interrupted stream keeps what it had answered; an interrupted batch leaves nothing. Raises ConfigError where
    the sink holds answers already, InputError where a row breaks the query's contract.
    """
    files = _files(job)
    query = job.query
    columns = list(query.columns)
    schema = pa.schema([files.schema.field(name) for name in columns])
    held = LocalRun.start(query, schema, job.backends)
    totals = Totals(in_rows=query.rows, micro_batches=0 if job.source.stream else None)
    writer = open_writer(job, held.operator.result_schema, progress)
    if writer is None:
        return totals
    try:
        for answers in _answers(job, held, files.batches(columns), totals, progress):
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
    writer.commit()
    return totals


def _answers(
    job: Job, held: LocalRun, batches: Iterator[pa.RecordBatch], totals: Totals, progress: Progress
) -> Iterator[pa.Table]:
    for batch in batches:
        if job.source.stream:
            yield _sorted(job, held.push(batch))
        else:
            held.add(batch)
        _take(held, totals)
        progress.show(totals)
    if not job.source.stream or job.source.finish:
        progress.waiting(f"{totals.rows_in:,} rows read, answering")
        yield _sorted(job, held.flush() if job.source.stream else held.finish())
        _take(held, totals)


def _take(held: LocalRun, totals: Totals) -> None:
    metrics = held.operator.take_metrics()
    totals.rows_in += metrics.rows_in
    totals.rows_late += metrics.rows_late
    totals.leave_out(metrics.left_out)
    totals.retained, totals.groups = metrics.retained, metrics.groups
    if totals.micro_batches is not None and metrics.rows_in:
        totals.micro_batches += 1
    totals.watermark = None if held.operator.watermark == -(2**63) else held.operator.watermark


def _sorted(job: Job, answers: pa.RecordBatch) -> pa.Table:
    table = pa.Table.from_batches([answers])
    at = table.column_names[len(job.query.by)]
    return table.sort_by([(name, "ascending") for name in (at, *job.query.by)])


def _files(job: Job) -> Files:
    try:
        files = open_files(job.source)
    except ConfigError as error:
        raise ConfigError(*(problem.within("source") for problem in error.problems)) from error
    if files is None:
        raise ConfigError(Problem("source", "the local engine reads this machine's files; use --engine spark"))
    return files
