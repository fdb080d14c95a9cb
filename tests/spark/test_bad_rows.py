"""Rows that a query cannot take, on Spark: the same as in process, each once whatever is run again."""

import json
import os

import pytest
from click.testing import CliRunner
from skyband import spark
from skyband.cli.commands import group

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


def run(folder, stream):
    (folder / "job.toml").write_text(JOB.format(stream=str(stream).lower()) + (STREAM if stream else ""))
    ended = CliRunner().invoke(group, ["run", "job.toml"])
    assert ended.exit_code == 0, ended.stderr
    return ended.stderr


def clients(folder, session):
    return sorted(row.client for row in session.read.json(str(folder / "bad")).collect())


def test_a_batch_writes_them_and_says_where(folder, session):
    for number in range(3):
        add_file(folder, number)
    assert "bad      2 (in bad)" in run(folder, stream=False)
    assert clients(folder, session) == ["0.2", "2.2"]


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
