"""Late rows on Spark: written by the tasks that find them late, each once whatever is run again."""

import json
import os
import shutil

import pytest
from click.testing import CliRunner
from skyband.cli.commands import group

pytestmark = pytest.mark.spark

JOB = """
shards = {shards}
[source]
format = "json"
path = "visits"
schema = "ts TIMESTAMP, site STRING, client STRING"
stream = true
options = {{ maxFilesPerTrigger = 1 }}
[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["1 minute"]
every = "1 minute"
{by}
late_rows = {{ format = "{format}", path = "late" }}
[sink]
format = "json"
path = "counts"
checkpoint = "checkpoint"
trigger = "available-now"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch, session):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "visits").mkdir()
    return tmp_path


def add_file(folder, number):
    """Ten rows of a minute; from the third file on two of these come two minutes late."""
    lines = []
    for second in range(10):
        minute = number - 2 if number > 1 and second in (3, 7) else number
        lines.append({"ts": f"2026-01-01T00:{minute:02}:{second:02}Z", "site": "ns"[second % 2],
                      "client": None if second == 1 else f"{number}.{second}"})  # fmt: skip
    file = folder / "visits" / f"{number}.json"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(file, (number, number))  # Spark takes the oldest first


def run(folder, *more, shards=1, by="", format="json"):
    (folder / "job.toml").write_text(JOB.format(shards=shards, by=by, format=format))
    return CliRunner().invoke(group, ["run", "job.toml", *more])


def clients(folder, session, format="json"):
    return sorted(row.client for row in session.read.format(format).load(str(folder / "late")).collect())


@pytest.mark.parametrize(
    ("shards", "by", "format"), [(1, "", "json"), (3, "", "parquet"), (2, 'by = "site"', "parquet")]
)
def test_each_is_written_once_as_it_came(folder, session, shards, by, format):
    for number in range(4):
        add_file(folder, number)
    ran = run(folder, shards=shards, by=by, format=format)
    assert ran.exit_code == 0, ran.stderr
    assert "late       4 (in late; " in ran.stderr, ran.stderr
    assert clients(folder, session, format) == ["2.3", "2.7", "3.3", "3.7"]
    rows = session.read.format(format).load(str(folder / "late")).collect()
    assert {row["_reason"] for row in rows} == {"came after the watermark"}
    assert {(row["_field"], row["micro_batch"]) for row in rows} == {("ts", 2), ("ts", 3)}
    assert {row["_value"][:16] for row in rows} == {"2026-01-01 00:00", "2026-01-01 00:01"}


def test_a_micro_batch_that_is_given_again_writes_the_same_rows_in_their_place(folder, session):
    for number in range(4):
        add_file(folder, number)
    assert run(folder).exit_code == 0
    for name in ("3", ".3.crc"):  # as if killed after the rows were written and before the micro-batch was committed
        (folder / "checkpoint/commits" / name).unlink()
    shutil.rmtree(folder / "late/micro_batch=2")  # of one that is over nothing is written again
    assert run(folder).exit_code == 0
    assert clients(folder, session) == ["3.3", "3.7"]
    add_file(folder, 4)
    assert run(folder).exit_code == 0
    assert clients(folder, session) == ["3.3", "3.7", "4.3", "4.7"]


def test_a_folder_that_takes_nothing_ends_the_stream_and_it_goes_on_once_it_does(folder, session):
    for number in range(3):
        add_file(folder, number)
    (folder / "late").write_text("of others")
    ran = run(folder)
    assert ran.exit_code == 1
    assert "query.late_rows.path" in ran.stderr
    (folder / "late").unlink()
    assert run(folder).exit_code == 0
    assert clients(folder, session) == ["2.3", "2.7"]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ('{ format = "delta", path = "late" }', "query.late_rows.format: on Spark tasks write late rows, to parquet"),
        ('{ format = "json", path = "s3://bucket/late" }', "late_rows.path: on Spark tasks write late rows"),
    ],
)  # fmt: skip
def test_a_place_that_tasks_cannot_write_to_is_refused_before_the_run(folder, place, message):
    refused = run(folder, "--set", f"query.late_rows={place}")
    assert refused.exit_code == 1
    assert message in refused.stderr
