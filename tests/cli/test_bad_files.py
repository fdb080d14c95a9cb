"""Files that cannot be read to their end: each is one bad row, whose place is the file; rows before that are read."""

import pytest
from skyband.errors import InputError
from skyband_jobs.files.file_parts import FilePart
from skyband_jobs.files.row_location import PlacedBatches
from visits import STREAM, Visits, place, visit

PLACE = place("bad")
FINISHED = (*STREAM, "source.finish=true")


def write(visits):
    """Five files of ten visitors each, one a minute; the second, fourth and fifth have what cannot be read.

    Of JSON that is the last line, the first, and the eighth.
    """
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
        four.write_text(four.read_text().replace("00:04:07Z", "a time"))


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
def test_each_bad_row_is_put_aside_with_its_place_and_the_others_are_answered(visits, run, tmp_path, sets):
    ended = run(PLACE, *sets)
    assert (ended.exit_code, "bad      3 (in bad)" in ended.stderr) == (0, True), ended.output
    aside = sorted(visits.lines("bad"), key=lambda row: row["_field"])
    assert all(row["_reason"] and row["ts"] is row["client"] is None for row in aside)
    told = [(row["_field"].removeprefix(f"{tmp_path}/visits/"), row["_value"] is None) for row in aside]
    counts = {row["at"][14:16]: row["count"] for row in visits.lines("counts") if row["count"]}
    if visits.format == "parquet":
        assert told == [("1.parquet", True), ("3.parquet", True), ("4.parquet", True)]
        assert all(row["_reason"].endswith("(no row of it was read)") for row in aside)
        assert "rows in  23\n" in ended.stderr and counts == {"01": 10, "03": 10}
    else:
        assert told == [("1.json, line 10", False), ("3.json, line 1", False), ("4.json, line 8", False)]
        late = 0 if sets == () else 9  # of the second file, which was written anew after the others
        assert "rows in  41\n" in ended.stderr and f"late     {late} (" in ended.stderr
        assert counts == {"01": 10, "03": 10, "05": 9} | ({} if late else {"02": 9})


def test_bad_rows_are_counted_if_no_place_is_named(run):
    ended = run('bad_rows = "count"')
    assert (ended.exit_code, "bad      3 (left out; query.bad_rows = " in ended.stderr) == (0, True), ended.output


def test_by_default_the_first_bad_row_ends_the_run(run, tmp_path):
    ended = run("")
    assert ended.exit_code == 1 and f"{tmp_path}/visits/1." in ended.output
    assert not list((tmp_path / "counts").glob("part*"))


@pytest.mark.parametrize("error", [FileNotFoundError(2, "No such file"), OSError(5, "Input/output error")])
def test_a_file_that_has_gone_or_a_disk_that_fails_is_no_bad_file(tmp_path, error):
    """Leaving it out would lose its rows needlessly."""
    (tmp_path / "a.csv").touch()

    def read(part):
        raise error

    refused = []
    batches = PlacedBatches((FilePart(tmp_path / "a.csv"),), read, lambda batch: (batch, None), refuse=refused.extend)
    with pytest.raises(InputError, match=error.strerror):
        list(batches)
    assert not refused


@pytest.mark.parametrize("sets", [(), FINISHED], ids=["batch", "stream"])
def test_if_no_file_can_be_read_the_run_succeeds_and_counts_them(visits, run, sets):
    for path in visits.source.iterdir():
        path.write_bytes(b"\x00\xff" * 40)
    assert run(PLACE, command="check").exit_code == 0
    ended = run(PLACE, *sets)
    assert (ended.exit_code, "bad      5 (in bad)" in ended.stderr) == (0, True), ended.output
    assert "every row was left out" in ended.stderr
    assert len(visits.lines("bad")) == 5
