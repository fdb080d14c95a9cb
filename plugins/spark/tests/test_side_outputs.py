"""Rows that a task puts aside: a repeated micro-batch has them once, those of its last attempt."""

import random

import pyarrow as pa
import pyarrow.parquet as pq
from skyband_jobs.tables.model import Sink
from skyband_spark import side_outputs
from skyband_spark.side_outputs import RowsOfTasks


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
