"""Answers and bad rows of a run on the local engine: both are kept, or neither."""

import pyarrow as pa

from skyband.engines.local import LocalRun
from skyband.job.bad_rows import as_job, told_of_bad_rows
from skyband.job.engine import Engine
from skyband.job.local.sink import open_writer
from skyband.job.local.sink_writer import Writer
from skyband.job.model import Job
from skyband.job.progress import Progress
from skyband.queries.bad_rows import bad_rows_schema


def with_bad_rows(answers: Writer, job: Job, engine: Engine, run: LocalRun, progress: Progress) -> Writer:
    """The writer of the answers; where the job has a place for bad rows, one that also writes those."""
    if job.bad_rows is None:
        return answers
    try:
        with told_of_bad_rows():
            schema = bad_rows_schema(job.query, run.operator.schema)
            bad = open_writer(as_job(job), engine, schema, progress)
    except BaseException:
        answers.abandon()
        raise
    if bad is None:
        return answers
    both = _Both(answers, bad, replaces=job.sink.mode == "overwrite")
    run.on_bad_rows = both.write_bad
    return both


class _Both(Writer):
    def __init__(self, answers: Writer, bad: Writer, replaces: bool) -> None:
        self._answers, self._bad = answers, bad
        self._any = replaces
        """Whether there is something to keep: where there was no bad row, an empty file would say nothing."""

    def write(self, answers: pa.Table) -> None:
        self._answers.write(answers)

    def write_bad(self, rows: pa.RecordBatch) -> None:
        with told_of_bad_rows():
            self._bad.write(pa.Table.from_batches([rows]))
        self._any = True

    def commit(self) -> None:
        with told_of_bad_rows():
            self._bad.commit() if self._any else self._bad.abandon()
        self._answers.commit()

    def abandon(self) -> None:
        self._bad.abandon()
        self._answers.abandon()
