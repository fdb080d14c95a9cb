"""Bad and late rows of a turn: written before its answers, after their number is compared with the counts."""

import pyarrow as pa
from attrs import define, field
from skyband.engines.engine import Run
from skyband.operator.bad_rows import bad_rows_schema
from skyband.operator.metrics import check_sum
from skyband.queries import query as reasons
from skyband_jobs.job.progress import Progress, Totals
from skyband_jobs.running.bad_rows import BAD, PLACES, as_job, key_of, told_of
from skyband_jobs.tables.model import Job

from skyband_serve.sinks import TurnSink, open_sink


@define
class RowsAside:
    """Rows of one kind."""

    name: str
    _sink: TurnSink
    _rows: list[pa.RecordBatch] = field(factory=list, init=False)

    def take(self, rows: pa.RecordBatch) -> None:
        """Keep rows of the current turn."""
        self._rows.append(rows)

    def check(self, before: Totals, after: Totals) -> None:
        """Raise EngineError where it did not take as many rows as were counted in the turn between these totals."""
        counts = [each.dropped.get(reasons.BAD, 0) if self.name == BAD else each.rows_late for each in (before, after)]
        check_sum(counts[1] - counts[0], sum(map(len, self._rows)), f"{key_of(self.name)} took them")

    def latest(self) -> int | None:
        """The last turn whose rows are there, if any."""
        with told_of(self.name):
            return self._sink.latest()

    def write(self, number: int) -> None:
        """Write the rows of a turn."""
        if self._rows:
            with told_of(self.name):
                self._sink.write(pa.Table.from_batches(self._rows), number)
            self._rows.clear()


def rows_aside(job: Job, run: Run, stream: str, is_new: bool, progress: Progress) -> list[RowsAside]:
    """The places of a job's bad and late rows, which from now on take those of the run."""
    asides = []
    for name in PLACES:
        if getattr(job, name) is None:
            continue
        with told_of(name):
            sink = open_sink(
                as_job(job, name), f"{stream} {name}", is_new, bad_rows_schema(job.query, run.schema), progress
            )
        aside = RowsAside(name, sink)
        if name == BAD:
            run.on_bad_rows = aside.take
        else:
            run.on_late_rows = aside.take
        asides.append(aside)
    return asides
