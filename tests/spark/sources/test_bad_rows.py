"""Rows that a query cannot use, on Spark: the same as in process, each once whatever is repeated."""

import os
import shutil

import pytest
from pyspark.sql.streaming import DataStreamWriter
from skyband import spark
from skyband_spark.frames import file_rows
from skyband_spark.side_outputs import RowsForTable
from visits import CHECKPOINT, STREAM, Visits, place, visit

pytestmark = pytest.mark.spark

BAD = place("bad")


@pytest.fixture
def visits(tmp_path, monkeypatch, session):
    monkeypatch.chdir(tmp_path)
    return Visits(tmp_path, "spark")


def add_file(visits, number):
    """Ten rows, of which the third is bad; the second file has none."""
    sites = {2: "west"} if number != 1 else {}
    rows = [visit(number, second, f"{number}.{second}", sites.get(second)) for second in range(10)]
    visits.write(str(number), rows, number)


def run(visits, stream, *sets):
    ended = visits.run(BAD, *((*STREAM, CHECKPOINT) if stream else ()), *sets)
    assert ended.exit_code == 0, ended.stderr
    return ended.stderr


def clients(visits, session):
    return sorted(row.client for row in session.read.json(str(visits.home / "bad")).collect())


def test_a_batch_writes_bad_rows_and_says_where(visits, session):
    for number in range(3):
        add_file(visits, number)
    assert "bad      2 (in bad)" in run(visits, stream=False)
    assert clients(visits, session) == ["0.2", "2.2"]


def test_a_batch_whose_source_has_other_bad_rows_when_read_again_ends(visits, monkeypatch):
    add_file(visits, 0)
    read = file_rows.bad_rows
    monkeypatch.setattr(file_rows, "bad_rows", lambda source, plan: read(source, plan).limit(0))
    ended = visits.run(BAD)
    assert ended.exit_code == 1
    assert "of 1 rows that came in, 1 are lost: the source was read again for query.bad_rows" in ended.stderr


def test_a_stream_writes_each_once_whatever_is_run_again(visits, session):
    for number in range(2):
        add_file(visits, number)
    run(visits, stream=True)
    assert clients(visits, session) == ["0.2"]
    folders = [path.name for path in (visits.home / "bad").iterdir()]
    assert folders == ["micro_batch=0"], "none where there is none"
    for number in range(2, 4):
        add_file(visits, number)
    run(visits, stream=True)
    commits = visits.home / "checkpoint/commits"
    for name in ("3", ".3.crc"):  # as if killed after the rows were written and before they were committed
        (commits / name).unlink()
    run(visits, stream=True)
    assert clients(visits, session) == ["0.2", "2.2", "3.2"]
    counts = session.read.json(str(visits.home / "counts")).collect()
    assert sorted(row["count"] for row in counts) == [9, 9, 10], "the last window waits"


def test_a_stream_reads_its_source_once(visits, session, monkeypatch):
    for number in range(3):
        add_file(visits, number)
    monkeypatch.setattr(file_rows, "bad_rows", None)  # the second reader
    started = []
    start = DataStreamWriter.start
    monkeypatch.setattr(DataStreamWriter, "start", lambda *args, **keys: started.append(1) or start(*args, **keys))
    run(visits, True)
    assert clients(visits, session) == ["0.2", "2.2"] and len(started) == 1


def test_a_table_has_each_once_whatever_is_run_again(visits, monkeypatch):
    """Killed before the table was written, before its files were removed, and before the commit."""
    deltalake = pytest.importorskip("deltalake")
    for number in range(3):
        add_file(visits, number)
    sets = (*STREAM, CHECKPOINT)
    with monkeypatch.context() as killed:
        killed.setattr(RowsForTable, "write", lambda _: None)
        assert visits.run(place("bad", "delta"), *sets).exit_code == 0
    assert not (visits.home / "bad").exists()
    waiting = visits.home / "checkpoint/skyband-bad-rows"
    assert [path.parent.name for path in sorted(waiting.rglob("*.parquet"))] == ["micro_batch=0", "micro_batch=2"]
    shutil.copytree(waiting, visits.home / "copy")
    for again in range(3):
        if again == 1:
            shutil.copytree(visits.home / "copy", waiting, dirs_exist_ok=True)
        if again == 2:
            (visits.home / "checkpoint/commits/2").unlink()
            (visits.home / "checkpoint/commits/.2.crc").unlink()
        ran = visits.run(place("bad", "delta"), *sets)
        assert ran.exit_code == 0, ran.stderr
        rows = deltalake.DeltaTable(visits.home / "bad").to_pyarrow_table()
        assert sorted(rows["client"].to_pylist()) == ["0.2", "2.2"]
        assert not list(waiting.rglob("*.parquet"))


@pytest.mark.parametrize("stream", [False, True], ids=["batch", "stream"])
@pytest.mark.parametrize("keys", [(), ("source.where=CAST(client AS BIGINT) >= 0",)], ids=["typed", "where"])
def test_a_row_that_cannot_be_read_is_put_aside_alone_with_its_place(visits, session, stream, keys):
    times = ["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z", "yesterday"]
    for number in range(3):
        rows = [{"ts": time, "site": "north", "client": f"{number}{place}"} for place, time in enumerate(times)]
        visits.write(str(number), [*rows, {**rows[0], "client": "x"}] if keys else rows, number)
    said = run(visits, stream, *keys, *(("source.finish=true",) if stream else ()))
    assert "rows in  12\n" in said if keys else "rows in  9\n" in said, said
    aside = session.read.json(str(visits.home / "bad")).collect()
    places = sorted(row._field.removeprefix(f"{visits.source}/") for row in aside)
    of_where = ["0.json, row 3", "1.json, row 3", "2.json, row 3"] if keys else []
    assert places == sorted(["0.json, line 3", "1.json, line 3", "2.json, line 3", *of_where])
    counts = session.read.json(str(visits.home / "counts")).collect()
    assert sum(row["count"] for row in counts) == 6


@pytest.mark.parametrize("stream", [False, True], ids=["batch", "stream"])
def test_a_run_with_only_bad_files_succeeds(visits, session, stream):
    for number in range(3):
        visits.write(str(number), [{"ts": "yesterday", "site": "north", "client": "a"}], number)
    assert "bad      3 (in bad)" in run(visits, stream)
    assert session.read.json(str(visits.home / "bad")).count() == 3


def damage_files(visits):
    """Make the files Parquet; one more is cut short, one empty, one of another kind."""
    for path in sorted(visits.source.glob("*.json")):
        visits.as_parquet(path)
    whole = (visits.source / "0.parquet").read_bytes()
    for number, data in ((4, whole[:-20]), (5, b""), (6, b"%PDF-1.7 of another kind, long enough for a footer")):
        path = visits.source / f"{number}.parquet"
        path.write_bytes(data)
        os.utime(path, (0.5, 0.5))  # among the others


@pytest.mark.parametrize("stream", [False, True])
def test_files_that_cannot_be_read_are_rows_of_them(visits, session, stream):
    for number in range(3):
        add_file(visits, number)
    damage_files(visits)
    said = run(visits, stream, "source.format=parquet")
    assert f"bad      {4 if stream else 5} (in bad)" in said, said
    if stream:
        commits = visits.home / "checkpoint/commits"
        last = max(int(path.name) for path in commits.glob("[0-9]*"))
        for name in (
            f"{last}",
            f".{last}.crc",
        ):  # as if killed after the rows were written and before they were committed
            (commits / name).unlink()
        run(visits, stream, "source.format=parquet")
    rows = session.read.json(str(visits.home / "bad")).collect()
    files = sorted(row._field.rpartition("/")[2] for row in rows if row.client is None)
    empty = [] if stream else ["5.parquet"]  # which Spark's log of files does not know
    assert files == ["4.parquet", *empty, "6.parquet"] and all(row._reason for row in rows)
    assert sorted(row.client for row in rows if row.client) == ["0.2", "2.2"]
    counts = session.read.json(str(visits.home / "counts")).collect()
    assert sum(row["count"] for row in counts) == (19 if stream else 28)


def test_they_are_a_dataframe(visits, session):
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
