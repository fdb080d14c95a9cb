"""Rows that a task puts aside: a repeated micro-batch has them once, those of its last attempt."""

import random
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from skyband_jobs.formats import BatchSink
from skyband_jobs.tables.model import Sink
from skyband_spark import side_outputs
from skyband_spark.side_outputs import RowsForTable, RowsOfTasks


def test_the_files_are_what_each_micro_batch_put_aside_last(tmp_path, monkeypatch):
    """Repeated after a kill, with another delay or rule, a shard may put aside other rows, fewer, or none."""
    now, chance, expected = [0], random.Random(7), {}
    monkeypatch.setattr(side_outputs, "_micro_batch", lambda key: now[0])
    aside = RowsOfTasks(tmp_path / "late", Sink("parquet", str(tmp_path / "late")), "query.late_rows")
    for number in range(60):
        now[0], shard = chance.randrange(4), chance.randrange(3)
        rows = chance.choice([None, pa.record_batch({"row": pa.array([number] * chance.randrange(1, 4))})])
        aside(shard, rows)
        expected[now[0], shard] = [] if rows is None else rows.column(0).to_pylist()
        there = {}
        for path in (tmp_path / "late").rglob("*.parquet"):
            batch = int(path.parent.name.partition("=")[2])
            there[batch, int(path.stem.removeprefix("shard-"))] = pq.read_table(path, partitioning=None)[
                "row"
            ].to_pylist()
        assert there == {place: rows for place, rows in expected.items() if rows}
    assert all(path.suffix == ".parquet" for path in (tmp_path / "late").rglob("*") if path.is_file())


class KilledError(BaseException):
    """In place of a kill: nothing handles it."""


class Table(BatchSink):
    """A table in memory, which may be killed before or after it takes a micro-batch."""

    def __init__(self):
        self.rows, self.last, self.kill = [], None, ""

    def latest(self, stream):
        return self.last

    def write(self, answers, stream, batch):
        if self.kill == "before":
            raise KilledError
        self.rows += answers.column("row").to_pylist()
        self.last = batch
        if self.kill == "after":
            raise KilledError

    def exists(self):
        return bool(self.rows)

    def append(self, answers, replace=False):
        raise NotImplementedError


@pytest.mark.parametrize("seed", range(20))
def test_a_table_has_the_rows_of_all_committed_micro_batches_once(tmp_path, monkeypatch, seed):
    """Those of the last one, too, and none that Spark has not committed, whose tasks may still change it."""
    chance, now, files, expected = random.Random(seed), [0], {}, []
    monkeypatch.setattr(side_outputs, "_micro_batch", lambda key: now[0])
    monkeypatch.setattr(side_outputs, "stream_of", lambda checkpoint: "mine")
    checkpoint, table = tmp_path / "checkpoint", Table()
    (checkpoint / "commits").mkdir(parents=True)
    aside = RowsOfTasks(checkpoint / "skyband-late-rows", Sink("parquet"), "query.late_rows")
    rows = RowsForTable("late_rows", checkpoint / "skyband-late-rows", checkpoint, table)
    for number in range(12):
        now[0] = number
        for shard in range(chance.randrange(3)):
            files[number, shard] = [100 * number + 10 * shard + row for row in range(chance.randrange(1, 3))]
            aside(shard, pa.record_batch({"row": files[number, shard]}))
        if chance.random() < 0.3:
            rows.write()
            assert table.rows == expected, "the micro-batch is not committed yet"
        (checkpoint / "commits" / str(number)).write_text("v1")
        expected += [row for (batch, _), own in sorted(files.items()) if batch == number for row in own]
        table.kill = chance.choice(["", "before", "after"])
        with suppress(KilledError):
            rows.write()
        table.kill = ""
        if chance.random() < 0.6:
            rows.write()
            assert table.rows == expected
    rows.write()
    assert table.rows == expected
    assert not [path for path in rows.folder.rglob("*") if path.is_file()], "what the table has waits no longer"
