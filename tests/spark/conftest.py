"""The results of a query as a batch and as a stream, compared with the local engine."""

import os
import time

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from skyband import spark
from skyband.engines import local
from skyband.queries.time_columns import microseconds


@pytest.fixture
def files(tmp_path):
    """Writes a table as several Parquet files, to be read in this order, after those already in the folder."""

    def write(table: pa.Table, count: int, name: str = "source") -> str:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        there = len(list(folder.iterdir()))
        size = -(-len(table) // count)
        for number in range(count):
            path = folder / f"{there + number:04}.parquet"
            pq.write_table(table.slice(number * size, size), path)
            os.utime(path, (1_000_000_000 + there + number,) * 2)
        return str(folder)

    return write


@pytest.fixture
def stream(session, tmp_path):
    """Runs a query over a folder of files as a stream to its end and returns all rows written, as dicts.

    `like`: a folder whose files have the schema that those are read with.
    """

    def run(folder: str, query, backends=None, shards=None, checkpoint="checkpoint", batches: int = 1, like=None):
        schema = session.read.parquet(like or folder).schema
        source = session.readStream.schema(schema).option("maxFilesPerTrigger", batches).parquet(folder)
        answers = spark.apply(source, query, backends, shards=shards)
        sink = str(tmp_path / f"sink of {checkpoint}")
        started = (
            answers.writeStream.format("parquet")
            .option("path", sink)
            .option("checkpointLocation", str(tmp_path / checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        started.awaitTermination()
        progress = [entry for entry in started.recentProgress if "skyband" in entry.observedMetrics]
        return session.read.schema(answers.schema).parquet(sink).collect(), progress

    return run


@pytest.fixture
def agree(session, files, stream):
    """Asserts that Spark batch and streaming give the rows of the local engine, which it returns.

    A stream has answered the moments up to its watermark only, so local is cut there.
    """

    def check(table: pa.Table, query, count: int, backends=None, shards=None) -> pa.Table:
        expected = local.apply(table, query, backends)
        names = expected.column_names
        folder = files(table, count)
        batch = spark.apply(session.read.parquet(folder), query, backends, shards=shards).collect()
        assert rows_of(batch, names) == rows_of(expected.to_pylist(), names)
        streamed, progress = stream(folder, query, backends, shards)
        assert sum(entry.observedMetrics["skyband"]["rows_late"] for entry in progress) == 0
        assert rows_of(streamed, names) == rows_of(up_to_watermark(expected, table, query, backends).to_pylist(), names)
        return expected

    return check


def rows_of(rows, names) -> list[tuple[str, ...]]:
    """Rows as sortable text; Spark returns instants without a zone, in UTC here."""
    return sorted(tuple(str(row[name]).removesuffix("+00:00") for name in names) for row in rows)


def up_to_watermark(expected: pa.Table, table: pa.Table, query, backends=None) -> pa.Table:
    """The answers at moments up to the watermark, or those to rows before it, that a stream of `table` gives.

    A moment by rows is a number of rows, whose time is not in the answer: the local engine says which have passed.
    """
    watermark = microseconds(query.time, table[query.time].combine_chunks()).max() - query.delay.length
    if "at" not in expected.column_names:
        return expected.filter(pc.less(expected["time"].cast(pa.int64()), watermark))
    if query.rows:
        run = local.LocalRun.start(query, table.schema, backends)
        return pa.Table.from_batches([run.push(batch) for batch in table.combine_chunks().to_batches()])
    return expected.filter(pc.less_equal(expected["at"].cast(pa.int64()), watermark))


def pytest_report_header() -> str:
    """Times are shown in UTC whatever the machine's zone."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    return "time zone: UTC"
