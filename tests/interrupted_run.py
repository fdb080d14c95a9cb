"""A run on the local engine that another takes the place of after each step, from its state or from what it logged."""

import pyarrow as pa
from families import SECOND
from skyband.columns import keyed_frames
from skyband.engines.local import LocalRun
from skyband.operator.logged_batch import LoggedBatch
from skyband.operator.row_encoding import encode
from skyband.watermark import EventTimeProgress, Ticking

WAYS = ["as it is", "restored", "replayed"]


def batch_of(table: pa.Table) -> pa.RecordBatch:
    return table.combine_chunks().to_batches()[0] if len(table) else pa.RecordBatch.from_pylist([], table.schema)


class InterruptedRun:
    """how: "as it is", one run that nothing takes the place of; "restored"; or "replayed"."""

    def __init__(self, query, schema: pa.Schema, how: str) -> None:
        self.run = LocalRun.start(query, schema)
        self._query, self._schema, self._how = query, schema, how
        self._logged: list[LoggedBatch] = []

    def step(self, rows: pa.Table | None) -> pa.RecordBatch:
        """What it answers to rows, or where there are None to the end for now."""
        run = self.run
        return self._after(run.flush() if rows is None else run.push(batch_of(rows)), rows)

    def go(self, seconds: int, rows: pa.Table | None, ends: bool) -> pa.RecordBatch:
        """What it answers to rows or none at a second of the clock: two without are idle; ends: for now, if no rows."""
        progress = EventTimeProgress.nowhere(1) if rows is None else self.run.add(batch_of(rows))
        progress.tick = seconds * SECOND
        return self._after(self.run.operator.step(progress, Ticking(idle_after=2 * SECOND, finish=ends)), rows)

    def nothing(self) -> pa.RecordBatch:
        """What it answers where neither rows nor a tick come, though ticks may end it."""
        ticking = Ticking(idle_after=2 * SECOND, finish=True)
        return self._after(self.run.operator.step(EventTimeProgress.nowhere(1), ticking), None)

    def _after(self, answers: pa.RecordBatch, rows: pa.Table | None) -> pa.RecordBatch:
        run, query = self.run, self._query
        frames = [] if rows is None else [keyed_frames.to_bytes(encode(query, batch_of(rows)).frame)]
        self._logged.append(LoggedBatch.decode(run.operator.logged_batch(frames)))
        assert run.operator.take_metrics().rows_late == 0
        if self._how != "as it is":
            self.run = self._another(run)
        return answers

    def _another(self, run: LocalRun) -> LocalRun:
        other = LocalRun.start(self._query, self._schema)
        if self._how == "restored":
            other.operator.restore(run.operator.snapshot())
        else:
            other.operator.replay(self._logged)
            assert other.operator.snapshot() == run.operator.snapshot()
        return other
