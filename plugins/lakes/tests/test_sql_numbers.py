"""The numbers of micro-batches in a database: each table has its own of each stream, and a version of its own."""

import random

import pyarrow as pa
import pytest
from skyband_lakes.sql.database import Database
from skyband_lakes.sql.rows import SqlRows
from skyband_lakes.sql.sink import SqlSink

pytest.importorskip("sqlalchemy")

TABLES, STREAMS = ("one", "two"), ("a", "b", "a bad_rows")
SCHEMA = pa.schema([("stream", pa.string()), ("batch", pa.int64())])


def rows_of(stream, batch, count):
    return pa.table([[stream] * count, pa.array([batch] * count, pa.int64())], schema=SCHEMA)


@pytest.mark.parametrize("seed", range(8))
def test_each_table_has_each_micro_batch_of_each_stream_once(tmp_path, seed):
    """Streams write to several tables, micro-batches are repeated, and sinks are opened again."""
    chance, url = random.Random(seed), f"sqlite:///{tmp_path / 'numbers.db'}"
    sinks = {table: SqlSink(Database(url), table) for table in TABLES}
    expected, last = {table: [] for table in TABLES}, {}
    for _ in range(40):
        table, stream = chance.choice(TABLES), chance.choice(STREAMS)
        latest = last.get((table, stream))
        assert sinks[table].latest(stream) == latest
        batch = chance.choice([(latest or 0) + 1, (latest or 0) + 3, latest or 0, max((latest or 0) - 1, 0)])
        rows = rows_of(stream, batch, chance.randrange(3))
        sinks[table].write(rows, stream, batch)
        if latest is None or batch > latest:
            last[table, stream] = batch
            expected[table] += [tuple(row.values()) for row in rows.to_pylist()]
        if chance.random() < 0.2:
            sinks[table] = SqlSink(Database(url), table)
    for table in TABLES:
        batches = SqlRows(Database(url), table).batches(SCHEMA.names)
        found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
        assert sorted(found) == sorted(expected[table])


def test_a_version_is_of_one_number_of_micro_batches_and_of_rows_only(tmp_path):
    """However many micro-batches more and rows fewer, or micro-batches without a row: it is never the same again."""
    versions, url = set(), f"sqlite:///{tmp_path / 'versions.db'}"
    for number, counts in enumerate([[0] * 6, *([1 << bit] for bit in range(12)), [3] * 5, [90, 17]]):
        sink, rows = SqlSink(Database(url), f"table {number}"), 0
        for written, count in enumerate(counts, 1):
            stream, batch = STREAMS[written % 2], (written - 1) // 2
            sink.write(rows_of(stream, batch, count), stream, batch)
            rows += count
            versions.add((written, rows, SqlRows(sink.database, sink.table).version))
    assert len({version for *_, version in versions}) == len(versions)
