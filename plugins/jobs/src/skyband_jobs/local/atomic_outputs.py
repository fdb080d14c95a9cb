"""Commits the answers, bad rows and late rows of a local run together, or none of them."""

import pyarrow as pa
from attrs import define
from skyband.engines.engine import Run
from skyband.operator.bad_rows import bad_rows_schema
from skyband.operator.metrics import check_sum
from skyband.queries import query as reasons

from skyband_jobs.job.engine import JobEngine
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.local.sink import open_writer
from skyband_jobs.local.sink_writer import Writer
from skyband_jobs.running.bad_rows import BAD, PLACES, as_job, key_of, told_of
from skyband_jobs.tables.model import Job


def with_rows_aside(
    answers: Writer, job: Job, engine: JobEngine, run: Run, progress: Progress, totals: Totals
) -> Writer:
    """The writer of the answers; where the job keeps bad or late rows, it also writes those, and compares their number
    with the totals before it commits."""
    asides: list[_Aside] = []
    try:
        for name in PLACES:
            if getattr(job, name) is None:
                continue
            with told_of(name):
                schema = bad_rows_schema(job.query, run.schema)
                writer = open_writer(as_job(job, name), engine, schema, progress)
            if writer is not None:
                asides.append(_Aside(name, writer, job.sink.mode == "overwrite"))
    except BaseException:
        for aside in asides:
            aside.abandon()
        answers.abandon()
        raise
    for aside in asides:
        if aside.name == BAD:
            run.on_bad_rows = aside.take
        else:
            run.on_late_rows = aside.take
    return _Together(answers, asides, totals) if asides else answers


@define
class _Aside:
    """Writes rows of one kind."""

    name: str
    _writer: Writer
    _any: bool
    """Whether there is something to commit: without such rows an empty file would say nothing."""
    rows: int = 0
    """The number of rows it took."""

    def take(self, rows: pa.RecordBatch) -> None:
        with told_of(self.name):
            self._writer.write(pa.Table.from_batches([rows]))
        self._any = True
        self.rows += len(rows)

    def check(self, totals: Totals) -> None:
        """Raise EngineError unless as many rows were written as were counted; an interrupted run is not checked."""
        counted = totals.dropped.get(reasons.BAD, 0) if self.name == BAD else totals.rows_late
        if not totals.stopped:
            check_sum(counted, self.rows, f"{key_of(self.name)} took them")

    def commit(self) -> None:
        with told_of(self.name):
            self._writer.commit() if self._any else self._writer.abandon()

    def abandon(self) -> None:
        self._writer.abandon()


class _Together(Writer):
    def __init__(self, answers: Writer, asides: list[_Aside], totals: Totals) -> None:
        self._answers, self._asides, self._totals = answers, asides, totals

    def write(self, answers: pa.Table) -> None:
        self._answers.write(answers)

    def commit(self) -> None:
        for aside in self._asides:
            aside.check(self._totals)
        for aside in self._asides:
            aside.commit()
        self._answers.commit()

    def abandon(self) -> None:
        for aside in self._asides:
            aside.abandon()
        self._answers.abandon()
