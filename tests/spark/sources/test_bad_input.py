"""Invalid settings of a job on Spark: reported with key, value and remedy, and nothing is half done."""

import pyarrow as pa
import pytest
from visits import CHECKPOINT, STREAM, Visits, place, visit

from .. import faults

pytestmark = pytest.mark.spark

LARGE = 1 << 20
"""Bytes of a file that only the bad rows reach: less would meet what Python compiles for itself."""
MODES = pytest.mark.parametrize("stream", [False, True], ids=["batch", "stream"])


@pytest.fixture
def visits(session, tmp_path, monkeypatch):
    """Two files of ten visits each, the second of which has a bad one too."""
    monkeypatch.chdir(tmp_path)
    visits = Visits(tmp_path, "spark")
    for number in range(2):
        bad = [visit(number, 2, f"bad {number}", "west")] if number else []
        visits.write(str(number), [visit(number, second, f"{number}.{second}") for second in range(10)] + bad, number)
    return visits


def changes(stream):
    return (*STREAM, CHECKPOINT) if stream else ()


def test_a_place_that_is_full_ends_a_batch_and_no_answers_are_left(session, visits):
    visits.write("2", [visit(2, 1, f"{number} {'x' * LARGE}", "west") for number in range(2)])
    assert visits.run(place("bad"), "sink.path=before", "query.bad_rows.path=bad before").exit_code == 0
    with faults.no_file_above(session, LARGE):
        ran = visits.run(place("bad"))
    assert ran.exit_code == 1
    assert f"query.bad_rows.path: '{visits.home}/bad' cannot be written: " in ran.stderr, ran.stderr
    assert "File too large: choose another place, or free some space" in ran.stderr
    assert not visits.holds("counts") and not visits.holds("bad")
    ran = visits.run(place("bad"))
    assert ran.exit_code == 0, ran.stderr
    assert sorted(str(row["client"])[:5] for row in visits.lines("bad")) == ["0 xxx", "1 xxx", "bad 1"]
    assert visits.lines("counts") == visits.lines("before")


@MODES
def test_a_full_place_ends_the_run_which_resumes_once_there_is_space(session, visits, stream):
    (visits.home / "taken").write_text("of others")
    keys = 'bad_rows = { format = "json", path = "taken/bad" }'
    ran = visits.run(keys, *changes(stream))
    assert ran.exit_code == 1
    assert f"query.bad_rows.path: '{visits.home}/taken/bad' cannot be written: " in ran.stderr, ran.stderr
    assert "choose another place, or free some space" in ran.stderr
    assert not session.streams.active, "the answers do not go on without them"
    assert stream or not visits.holds("counts")
    (visits.home / "taken").unlink()
    ran = visits.run(keys, *changes(stream))
    assert ran.exit_code == 0, ran.stderr
    assert [row["client"] for row in visits.lines("taken/bad")] == ["bad 1"]
    assert sum(row["count"] for row in visits.lines("counts")) == (10 if stream else 20)


@MODES
def test_a_table_of_other_columns_is_told_before_there_are_answers(session, visits, stream):
    pytest.importorskip("deltalake").write_deltalake(visits.home / "bad", pa.table({"n": [1]}))
    ran = visits.run(place("bad", "delta"), *changes(stream), "sink.mode=append")
    assert ran.exit_code == 1
    assert "query.bad_rows.path: the Delta table" in ran.stderr, ran.stderr
    assert "has n long, and the rows to write ts" in ran.stderr
    assert not session.streams.active and not visits.holds("counts")


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('bad_rows = { format = "json", path = "counts" }', "query.bad_rows.path: 'counts' is, contains or is"),
        ('bad_rows = { format = "json", path = "visits/bad" }', "is inside the source"),
        ('bad_rows = { format = "json", path = "checkpoint/bad" }', "is, contains or is inside sink.checkpoint"),
        ('bad_rows = { format = "json", path = "bad", options = { token = "${NOT_SET}" } }', "NOT_SET is not set: set"),
        ('late_rows = { format = "json", path = "counts" }', "is, contains or is inside sink.path"),
        ('late_rows = { format = "json", path = "visits/late" }', "is inside the source"),
    ],
)
def test_an_impossible_place_is_refused_before_the_run(visits, keys, message):
    refused = visits.run(keys, *changes(True))
    assert refused.exit_code == 1
    assert message in refused.stderr.replace(f"{visits.home}/", ""), refused.stderr
    assert {path.name for path in visits.home.iterdir()} == {"visits", "job.toml"}


@pytest.mark.parametrize("name", ["bad", "late"])
def test_rows_put_aside_by_another_stream_are_not_overwritten(visits, name):
    there = visits.home / name / "micro_batch=0" / "part-0.json"
    there.parent.mkdir(parents=True)
    there.write_text("of others")
    refused = visits.run(place(name), *changes(True))
    assert refused.exit_code == 1
    assert f"query.{name}_rows.path: '{visits.home}/{name}' has rows of another stream (micro" in refused.stderr
    assert there.read_text() == "of others" and not visits.holds("counts")
