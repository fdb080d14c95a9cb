"""Files that cannot be read: each is one bad row, whose place is the file, and none of its rows is taken."""

import pytest
from skyband.errors import InputError
from skyband_jobs.files import row_location
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.row_location import PlacedBatches
from visits import STREAM, Visits, place, visit

PLACE = place("bad")
FINISHED = (*STREAM, "source.finish=true")


def write(visits):
    """Five files of ten visitors each, one a minute; the second, fourth and fifth cannot be read."""
    for number in range(5):
        path = visits.write(str(number), [visit(number, second, f"{number}.{second}") for second in range(10)])
        if visits.format == "parquet":
            visits.as_parquet(path, row_group_size=5)
    one, three, four = (visits.source / f"{number}.{visits.format}" for number in (1, 3, 4))
    if visits.format == "parquet":
        one.write_bytes(one.read_bytes()[:-20])  # cut short
        three.write_bytes(b"")
        four.write_bytes(b"%PDF-1.7 of another kind, and long enough to have a footer")
    else:
        one.write_bytes(one.read_bytes()[:-20])
        three.write_bytes(b"\x00\xff" * 40)
        four.write_text(four.read_text().replace('"client": "4.7"', '"client": {"no": "text"}'))


@pytest.fixture(params=["parquet", "json"])
def visits(request, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits = Visits(tmp_path, "local", request.param)
    write(visits)
    return visits


@pytest.fixture
def run(visits):
    return visits.run


@pytest.mark.parametrize("sets", [(), FINISHED], ids=["batch", "stream"])
def test_each_is_put_aside_with_its_place_and_the_others_are_answered(visits, run, tmp_path, sets):
    ended = run(PLACE, *sets)
    assert (ended.exit_code, "bad      3 (in bad)" in ended.stderr) == (0, True), ended.output
    assert "rows in  23\n" in ended.stderr, "a file is told as one row"
    aside = sorted(visits.lines("bad"), key=lambda row: row["_field"])
    assert [row["_field"].removeprefix(f"{tmp_path}/visits/").split(".")[0] for row in aside] == ["1", "3", "4"]
    assert all(row["_reason"] and row["ts"] is row["client"] is row["_value"] is None for row in aside)
    counts = {row["at"][14:16]: row["count"] for row in visits.lines("counts")}
    assert {minute: count for minute, count in counts.items() if count} == {"01": 10, "03": 10}


def test_they_are_counted_where_no_place_is_named(run):
    ended = run('bad_rows = "count"')
    assert (ended.exit_code, "bad      3 (left out; query.bad_rows = " in ended.stderr) == (0, True), ended.output


def test_the_first_ends_the_run_where_nothing_is_said(run, tmp_path):
    ended = run("")
    assert ended.exit_code == 1 and f"{tmp_path}/visits/1." in ended.output
    assert not list((tmp_path / "counts").glob("part*"))


def test_a_file_too_large_to_hold_is_read_before_its_rows_are_given(visits, run, monkeypatch):
    monkeypatch.setattr(row_location, "_BUFFER", 0)
    assert "bad      3 (in bad)" in run(PLACE, *FINISHED).stderr
    assert {row["at"][14:16] for row in visits.lines("counts") if row["count"]} == {"01", "03"}


@pytest.mark.parametrize("error", [FileNotFoundError(2, "No such file"), OSError(5, "Input/output error")])
def test_a_file_that_has_gone_or_a_disk_that_fails_is_no_bad_file(tmp_path, error):
    """To leave it out would lose its rows without need."""
    (tmp_path / "a.csv").touch()

    def read(part):
        raise error

    refused = []
    batches = PlacedBatches((FilePart(tmp_path / "a.csv"),), read, lambda batch: (batch, None), refuse=refused.extend)
    with pytest.raises(InputError, match=error.strerror):
        list(batches)
    assert not refused


def test_where_no_file_can_be_read_that_is_told(run, tmp_path):
    for path in (tmp_path / "visits").glob("[02]*"):
        path.write_bytes(b"\x00\xff" * 40)
    ran = run(PLACE)
    told = run(PLACE, command="check").output, ran.stderr
    assert ".json: " in told[0] or "every row was left out" in told[1], told
