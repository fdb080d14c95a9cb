"""One Spark session for all tests, small and quiet."""

import os
import time

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from skyband import spark


@pytest.fixture(scope="session")
def session():
    """A local session of two cores."""
    settings = {
        "spark.master": "local[2]",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        "spark.sql.streaming.minBatchesToRetain": "2",
    }
    started = spark.session("skyband tests", **settings)
    started.sparkContext.setLogLevel("OFF")
    yield started
    started.stop()


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
    """Runs a query over a folder of files as a stream to its end and returns all rows written, as dicts."""

    def run(folder: str, query, backends=None, shards=None, checkpoint: str = "checkpoint", batches: int = 1):
        schema = session.read.parquet(folder).schema
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


def pytest_report_header() -> str:
    """Times are shown in UTC whatever the machine's zone."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    return "time zone: UTC"
