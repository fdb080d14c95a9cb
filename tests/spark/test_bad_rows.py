"""Rows that a query cannot take, on Spark: the same as in process, each once whatever is run again."""

import json
import os
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband import spark
from skyband.cli.commands import group
from skyband.engines.spark import file_rows

pytestmark = pytest.mark.spark

JOB = """
[source]
format = "json"
path = "visits"
schema = "ts TIMESTAMP, site STRING, client STRING"
stream = {stream}
options = {{ maxFilesPerTrigger = 1 }}
[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["1 minute"]
every = "1 minute"
source = "site"
sources = ["north", "south"]
bad_rows = {{ format = "json", path = "bad" }}
[sink]
format = "json"
path = "counts"
"""
STREAM = 'checkpoint = "checkpoint"\ntrigger = "available-now"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch, session):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits").mkdir()
    return tmp_path


def add_file(folder, number):
    """Ten rows, of which the third is bad; the second file has none."""
    lines = [
        {
            "ts": f"2026-01-01T00:0{number}:0{second}Z",
            "site": ["north", "south"][second % 2],
            "client": f"{number}.{second}",
        }
        for second in range(10)
    ]
    if number != 1:
        lines[2]["site"] = "west"
    file = folder / "visits" / f"{number}.json"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(file, (number, number))  # Spark takes the oldest first


def run(folder, stream, *sets):
    (folder / "job.toml").write_text(JOB.format(stream=str(stream).lower()) + (STREAM if stream else ""))
    ended = CliRunner().invoke(group, ["run", "job.toml", *sets])
    assert ended.exit_code == 0, ended.stderr
    return ended.stderr


def clients(folder, session):
    return sorted(row.client for row in session.read.json(str(folder / "bad")).collect())


def test_a_batch_writes_them_and_says_where(folder, session):
    for number in range(3):
        add_file(folder, number)
    assert "bad      2 (in bad)" in run(folder, stream=False)
    assert clients(folder, session) == ["0.2", "2.2"]


def test_a_batch_whose_source_gives_other_bad_rows_when_read_again_ends(folder, monkeypatch):
    add_file(folder, 0)
    read = file_rows.bad_rows
    monkeypatch.setattr(file_rows, "bad_rows", lambda source, plan: read(source, plan).limit(0))
    (folder / "job.toml").write_text(JOB.format(stream="false"))
    ended = CliRunner().invoke(group, ["run", "job.toml"])
    assert ended.exit_code == 1
    assert "of 1 rows that came in, 1 are lost: the source was read again for query.bad_rows" in ended.stderr


def test_a_stream_writes_each_once_whatever_is_run_again(folder, session):
    for number in range(2):
        add_file(folder, number)
    run(folder, stream=True)
    assert clients(folder, session) == ["0.2"]
    assert [path.name for path in sorted((folder / "bad").iterdir())] == ["micro_batch=0"], "none where there is none"
    for number in range(2, 4):
        add_file(folder, number)
    run(folder, stream=True)
    commits = folder / "checkpoint/skyband-bad-rows/commits"
    for name in ("3", ".3.crc"):  # as if killed after the rows were written and before they were committed
        (commits / name).unlink()
    run(folder, stream=True)
    assert clients(folder, session) == ["0.2", "2.2", "3.2"]
    counts = session.read.json(str(folder / "counts")).collect()
    assert sorted(row["count"] for row in counts) == [9, 9, 10], "the last window waits"


def damage_files(folder):
    """Make the files Parquet; one more is cut short, one empty, one of another kind."""
    for path in sorted((folder / "visits").glob("*.json")):
        time, rows = path.stat().st_mtime, [json.loads(line) for line in path.read_text().splitlines()]
        rows = [{**row, "ts": datetime.fromisoformat(row["ts"])} for row in rows]
        path.unlink()
        pq.write_table(pa.Table.from_pylist(rows), path.with_suffix(".parquet"))
        os.utime(path.with_suffix(".parquet"), (time, time))
    whole = (folder / "visits" / "0.parquet").read_bytes()
    for number, data in ((4, whole[:-20]), (5, b""), (6, b"%PDF-1.7 of another kind, long enough for a footer")):
        path = folder / "visits" / f"{number}.parquet"
        path.write_bytes(data)
        os.utime(path, (0.5, 0.5))  # among the others


@pytest.mark.parametrize("stream", [False, True])
def test_files_that_cannot_be_read_are_rows_of_them(folder, session, stream):
    for number in range(3):
        add_file(folder, number)
    damage_files(folder)
    said = run(folder, stream, "--set", "source.format=parquet")
    assert f"bad      {4 if stream else 5} (in bad)" in said, said
    if stream:
        commits = folder / "checkpoint/skyband-bad-rows/commits"
        last = max(int(path.name) for path in commits.glob("[0-9]*"))
        for name in (
            f"{last}",
            f".{last}.crc",
        ):  # as if killed after the rows were written and before they were committed
            (commits / name).unlink()
        run(folder, stream, "--set", "source.format=parquet")
    rows = session.read.json(str(folder / "bad")).collect()
    files = sorted(row._field.rpartition("/")[2] for row in rows if row.client is None)
    empty = [] if stream else ["5.parquet"]  # which Spark's log of files does not know
    assert files == ["4.parquet", *empty, "6.parquet"] and all(row._reason for row in rows)
    assert sorted(row.client for row in rows if row.client) == ["0.2", "2.2"]
    assert sum(row["count"] for row in session.read.json(str(folder / "counts")).collect()) == (19 if stream else 28)


def test_they_are_a_dataframe(folder, session):
    rows = session.sql("SELECT timestamp_seconds(id) `the.time`, 'a' who, CAST(id AS STRING) site FROM range(3)")
    query = {
        "kind": "distinct-count",
        "time": "the.time",
        "item": "who",
        "windows": ["1 minute"],
        "every": "1 minute",
        "source": "site",
        "sources": ["0", "2"],
    }
    bad = spark.bad_rows(rows, query)
    assert bad.columns == ["the.time", "who", "site", "_reason", "_field", "_value"]
    assert [tuple(row)[1:] for row in bad.collect()] == [("a", "1", "is not in sources", "site", "1")]
    assert rows.transform(spark.apply, {**query, "bad_rows": "count"}).collect()[0]["count"] == 1
