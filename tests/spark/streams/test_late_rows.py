"""Late rows on Spark: written by the tasks that find them late, each once whatever is repeated."""

import shutil

import pytest
from visits import CHECKPOINT, STREAM, Visits, place, visit

pytestmark = pytest.mark.spark


@pytest.fixture
def visits(tmp_path, monkeypatch, session):
    monkeypatch.chdir(tmp_path)
    return Visits(tmp_path, "spark")


def add_file(visits, number):
    """Ten rows of a minute; from the third file on two of these come two minutes late."""
    rows = []
    for second in range(10):
        minute = number - 2 if number > 1 and second in (3, 7) else number
        rows.append(visit(minute, second, None if second == 1 else f"{number}.{second}"))
    visits.write(str(number), rows, number)


def run(visits, *sets, query="", format="json"):
    return visits.run(f"{query}\n{place('late', format)}", *STREAM, CHECKPOINT, *sets)


def clients(visits, session, format="json"):
    return sorted(row.client for row in session.read.format(format).load(str(visits.home / "late")).collect())


@pytest.mark.parametrize(
    ("shards", "by", "format"),
    [(1, "", "json"), (3, "", "parquet"), (2, 'by = "site"', "parquet"), (2, 'by = [["site"], []]', "parquet")],
)
def test_each_late_row_is_written_once_unchanged(visits, session, shards, by, format):
    for number in range(4):
        add_file(visits, number)
    ran = run(visits, f"shards={shards}", query=by, format=format)
    assert ran.exit_code == 0, ran.stderr
    assert "late       4 (in late; " in ran.stderr, ran.stderr
    assert clients(visits, session, format) == ["2.3", "2.7", "3.3", "3.7"]
    rows = session.read.format(format).load(str(visits.home / "late")).collect()
    assert {row["_reason"] for row in rows} == {"came after the watermark"}
    assert {(row["_field"], row["micro_batch"]) for row in rows} == {("ts", 2), ("ts", 3)}
    assert {row["_value"][:16] for row in rows} == {"2026-01-01 00:00", "2026-01-01 00:01"}


def test_a_repeated_micro_batch_writes_the_same_rows_in_the_same_place(visits, session):
    for number in range(4):
        add_file(visits, number)
    assert run(visits).exit_code == 0
    for name in ("3", ".3.crc"):  # as if killed after the rows were written and before the micro-batch was committed
        (visits.home / "checkpoint/commits" / name).unlink()
    shutil.rmtree(visits.home / "late/micro_batch=2")  # of one that is over nothing is written again
    assert run(visits).exit_code == 0
    assert clients(visits, session) == ["3.3", "3.7"]
    add_file(visits, 4)
    assert run(visits).exit_code == 0
    assert clients(visits, session) == ["3.3", "3.7", "4.3", "4.7"]


def test_a_full_folder_ends_the_stream_which_resumes_once_there_is_space(visits, session):
    for number in range(3):
        add_file(visits, number)
    (visits.home / "late").write_text("of others")
    ran = run(visits)
    assert ran.exit_code == 1
    assert "query.late_rows.path" in ran.stderr
    (visits.home / "late").unlink()
    assert run(visits).exit_code == 0
    assert clients(visits, session) == ["2.3", "2.7"]


def test_a_place_that_tasks_cannot_reach_is_refused_before_the_run(visits):
    refused = run(visits, 'query.late_rows={ format = "json", path = "dbfs:/late" }')
    assert refused.exit_code == 1
    assert "query.late_rows.path: must be a folder that all machines reach" in refused.stderr


def test_late_rows_in_a_table_are_there_once(visits, session):
    deltalake = pytest.importorskip("deltalake")
    for number in range(4):
        add_file(visits, number)
    assert run(visits, format="delta").exit_code == 0
    (visits.home / "checkpoint/commits/3").unlink()
    (visits.home / "checkpoint/commits/.3.crc").unlink()
    ran = run(visits, format="delta")
    assert ran.exit_code == 0, ran.stderr
    rows = deltalake.DeltaTable(visits.home / "late").to_pyarrow_table()
    assert sorted(rows["client"].to_pylist()) == ["2.3", "2.7", "3.3", "3.7"]
