"""Spark decides which files a stream reads, and when, whoever reads them: both readers return the same rows."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import Observation
from skyband import spark
from skyband_jobs.files.file_parts import tasks_of
from skyband_spark.reading import python_file_reader
from skyband_spark.reading.python_file_reader import _shared
from skyband_spark.reading.vanished_files import vanished_files

pytestmark = pytest.mark.spark

QUERY = {
    "kind": "distinct-count",
    "time": "ts",
    "item": "n",
    "windows": ["10 seconds"],
    "every": "10 seconds",
}
SMALL_FILES = 100_000
SCHEMA = "ts TIMESTAMP, n BIGINT"


def put(path, first, rows=20, at=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    times = pa.array([number * 1_000_000 for number in range(first, first + rows)], pa.timestamp("us", "UTC"))
    pq.write_table(pa.table({"ts": times, "n": range(first, first + rows)}), path)
    os.utime(path, (1_000_000_000 + (first if at is None else at),) * 2)


def stream(session, reader, path, checkpoint, **options):
    """Rows in, late rows, and answers of a run over all that is there."""
    if reader == "python":
        source = spark.files(str(path), stream=True, schema=SCHEMA, **options)
    else:
        source = session.readStream.schema(SCHEMA).options(**options).parquet(str(path))
    answers = []
    writer = spark.apply(source, QUERY).writeStream.option("checkpointLocation", str(checkpoint))
    writer = writer.foreachBatch(lambda rows, _: answers.extend(map(tuple, rows.collect())))
    started = writer.trigger(availableNow=True).start()
    started.awaitTermination()
    told = [entry.observedMetrics["skyband"] for entry in started.recentProgress if entry.observedMetrics]
    return (
        sum(each["rows_in"] or 0 for each in told),
        sum(each["rows_late"] or 0 for each in told),
        sorted(map(str, answers)),
    )


def both(session, tmp_path, path, name, **options):
    one, other = (
        stream(session, reader, path, tmp_path / f"{name} {reader}", **options) for reader in ("spark", "python")
    )
    assert one == other, name
    return one


def test_the_newest_files_are_read_first_on_request(session, tmp_path):
    for number in range(3):
        put(tmp_path / "in" / f"{number}.parquet", number * 20)
    assert both(session, tmp_path, tmp_path / "in", "oldest", maxFilesPerTrigger=1)[:2] == (60, 0)
    newest = both(session, tmp_path, tmp_path / "in", "newest", maxFilesPerTrigger=1, latestFirst="true")
    assert newest[:2] == (60, 40)


def test_patterns_folders_and_hidden_files_are_spark_s(session, tmp_path):
    for number, place in enumerate(("a/0.parquet", "a/_1.parquet", "a/.2.parquet", "b/3.parquet", "b/c/4.parquet")):
        put(tmp_path / "in" / place, 20 * number)
    rows = []
    for name, (place, options) in {
        "folder": ("a", {}),
        "pattern": ("[ab]", {}),
        "all": ("", {"recursiveFileLookup": "true"}),
    }.items():
        rows.append(both(session, tmp_path, tmp_path / "in" / place, name, **options)[0])
    assert rows == [20, 40, 60]


def test_a_file_that_grew_or_was_rewritten_is_not_read_again(session, tmp_path):
    for reader in ("spark", "python"):
        folder = tmp_path / reader
        put(folder / "0.parquet", 0)
        assert stream(session, reader, folder, tmp_path / f"c {reader}")[0] == 20
        put(folder / "0.parquet", 0, rows=50, at=500)
        put(folder / "1.parquet", 60, at=600)
        assert stream(session, reader, folder, tmp_path / f"c {reader}")[0] == 20


def test_a_file_that_went_before_its_turn_is_named(session, tmp_path):
    for number in range(12):
        put(tmp_path / "in" / f"{number:02}.parquet", number * 20)
    source = spark.files(str(tmp_path / "in"), stream=True, schema=SCHEMA, maxFilesPerTrigger=2)
    writer = spark.apply(source, QUERY).writeStream.option("checkpointLocation", str(tmp_path / "c"))

    def take(rows, number):
        rows.collect()
        if number == 0:
            (tmp_path / "in" / "03.parquet").unlink()

    started = writer.foreachBatch(take).trigger(availableNow=True).start()
    started.awaitTermination()
    vanished = [vanished_files(tmp_path / "c", progress) for progress in started.recentProgress]
    assert [Path(name).name for names in vanished for name in names] == ["03.parquet"]


def test_tasks_share_the_row_groups_of_a_large_file(session, tmp_path, monkeypatch):
    for number, groups in enumerate((7, 1, 50)):
        path = tmp_path / "in" / f"{number}.parquet"
        put(path, 1_000 * number, rows=350)
        pq.write_table(pq.read_table(path), path, row_group_size=350 // groups)
        os.utime(path, (1_000_000_000 + number,) * 2)
    expected = stream(session, "spark", tmp_path / "in", tmp_path / "spark", maxFilesPerTrigger=1)
    assert expected[:2] == (1_050, 0)
    monkeypatch.setattr(python_file_reader, "_SHARE", 2_000)
    read = []
    monkeypatch.setattr(python_file_reader, "_shared", lambda *given: read.append(_shared(*given)) or read[-1])
    assert stream(session, "python", tmp_path / "in", tmp_path / "python", maxFilesPerTrigger=1) == expected
    assert "RepartitionByExpression" in str(read[0]._jdf.queryExecution().logical()) or "Repartition" in str(
        read[0]._jdf.queryExecution().logical()
    )
    assert stream(session, "python", tmp_path / "in", tmp_path / "more", maxFilesPerTrigger=2) == expected
    assert read[1] is None


@pytest.mark.slow
def test_a_hundred_thousand_files_of_a_kilobyte_are_a_few_tasks(session, tmp_path):
    (tmp_path / "in").mkdir()
    for number in range(SMALL_FILES):
        rows = (f"2026-01-01T00:00:{second:02}Z,{number}{second}," + "x" * 60 + "\n" for second in range(12))
        (tmp_path / "in" / f"{number}.csv").write_text("".join(rows))
    source = spark.files(str(tmp_path / "in"), format="csv", schema=f"{SCHEMA}, text STRING")
    seen = Observation("skyband")
    spark.apply(source, {**QUERY, "windows": ["1 minute"]}, observe=seen).collect()
    assert seen.get["rows_in"] == 12 * SMALL_FILES
    source = spark.files(str(tmp_path / "in"), format="csv", schema=f"{SCHEMA}, text STRING", stream=True)
    checkpoint = str(tmp_path / "c")
    writer = spark.apply(source, QUERY).writeStream.format("noop").option("checkpointLocation", checkpoint)
    started = writer.trigger(availableNow=True).start()
    started.awaitTermination()
    told = [entry.observedMetrics["skyband"]["rows_in"] for entry in started.recentProgress if entry.observedMetrics]
    assert told[0] == 12 * SMALL_FILES
    tasks = tasks_of((tmp_path / "in").iterdir(), "csv", 2)
    assert len(tasks) < SMALL_FILES / 1000
