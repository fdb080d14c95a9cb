"""Rows that a query cannot use, in jobs on the local engine: what happens to the run, and where such rows go."""

import json
import os
import shutil

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from power_loss import no_file_above, recorded
from skyband.cli.commands import group
from visits import STREAM, Visits, place, visit

PLACE = place("bad")
SITES = ["north", "south", "west", "south", "east", "north"]


@pytest.fixture
def visits(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    visits = Visits(tmp_path, "local")
    visits.write("a", [visit(0, second, f"c{second}", site) for second, site in enumerate(SITES)])
    return visits


@pytest.fixture
def run(visits):
    return visits.run


def test_by_default_the_run_ends_and_names_file_and_row(run, tmp_path):
    ended = run("")
    assert ended.exit_code == 1
    assert "a.json: site, row 2: 'west' is not in sources" in ended.stderr
    assert not list((tmp_path / "counts").glob("part*"))


def test_they_are_counted(run, tmp_path):
    ended = run('bad_rows = "count"')
    assert (ended.exit_code, "bad      2 (left out; query.bad_rows = " in ended.stderr) == (0, True), ended.stderr
    assert json.loads((tmp_path / "counts/part-00000.json").read_text())["count"] == 4


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_bad_rows_are_written_unchanged_with_what_is_wrong(run, tmp_path, format):
    ended = run(place("bad", format))
    assert (ended.exit_code, "bad      2 (in bad)" in ended.stderr) == (0, True), ended.stderr
    written = ds.dataset(tmp_path / "bad", format=format, exclude_invalid_files=True).to_table().to_pylist()
    assert [(row["client"], row["site"], row["_reason"], row["_field"], row["_value"]) for row in written] == [
        ("c2", "west", "is not in sources", "site", "west"),
        ("c4", "east", "is not in sources", "site", "east"),
    ]
    assert str(written[0]["ts"]).startswith("2026-01-01")


def test_without_bad_rows_there_is_no_file(run, tmp_path):
    assert run(PLACE, 'query.sources=["north","south","east","west"]').exit_code == 0
    assert not list((tmp_path / "bad").glob("part*"))


def test_bad_rows_of_an_earlier_run_are_removed_with_its_answers(run, tmp_path):
    assert run(PLACE).exit_code == 0
    again = run(PLACE, "sink.mode=append")
    assert again.exit_code == 0, again.stderr
    assert len(list((tmp_path / "bad").glob("part*"))) == 2
    more = ["sink.mode=overwrite", 'query.sources=["north","south","east","west"]']
    assert run(PLACE, *more).exit_code == 0
    assert [path.read_text() for path in (tmp_path / "bad").glob("part*")] == [""]


def test_neither_is_written_if_the_other_cannot_be(run, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "of others").write_text("kept")
    refused = run(PLACE)
    assert refused.exit_code == 1
    assert "query.bad_rows.path" in refused.stderr
    assert "already exists" in refused.stderr
    assert not list((tmp_path / "counts").glob("part*"))


def test_answers_are_never_there_without_them(run, tmp_path, tmp_path_factory, monkeypatch):
    """No matter when the run is killed, or the power fails."""
    with recorded(tmp_path, tmp_path_factory.mktemp("copies"), monkeypatch) as disk:
        assert run(PLACE).exit_code == 0
    kept = {tuple(any((moment / name).glob("part*")) for name in ("counts", "bad")) for moment in disk.moments}
    assert (True, True) in kept and (True, False) not in kept


def test_bad_rows_can_go_to_a_plugins_table(run, tmp_path):
    ended = run(place("bad", "delta"))
    assert ended.exit_code == 0, ended.stderr
    assert sum(len(pq.read_table(path)) for path in (tmp_path / "bad").glob("*.parquet")) == 2


@pytest.mark.parametrize(
    ("bad_rows", "message"),
    [
        (
            'bad_rows = "skip"',
            'must be one of fail, count (got \'skip\'); or set a place: bad_rows = { format = "json", path = "bad" }',
        ),
        ('bad_rows = ["bad"]', 'or set a place: bad_rows = { format = "json", path = "bad" }'),
        ('bad_rows = { format = "json" }', "query.bad_rows.path: is required for json: a folder for such rows"),
        ('bad_rows = { path = "bad" }', "query.bad_rows.format: is required"),
        ('bad_rows = { format = "console" }', "query.bad_rows.format: must be a file format, or a plugin's tables"),
        ('bad_rows = { format = "jsn", path = "bad" }', "unknown format 'jsn'; did you mean 'json'?"),
        ('bad_rows = { format = "json", path = "bad", mode = "append" }', "query.bad_rows.mode: is taken from [sink]"),
        ('bad_rows = { format = "json", path = "counts" }', "is, contains or is inside sink.path"),
        ('bad_rows = { format = "json", path = "visits/bad" }', "is inside the source"),
        ('bad_rows = { format = "json", path = "." }', "contains the source"),
    ],
)
def test_an_impossible_place_is_refused_before_the_run(run, bad_rows, message):
    refused = run(bad_rows, command="check")
    assert refused.exit_code == 1
    assert message in refused.output


def test_a_place_outside_the_query_is_told_where_it_belongs(run):
    refused = run('[late_rows]\nformat = "json"\npath = "late"', command="check")
    assert "late_rows: belongs in [query]: as a table, [query.late_rows]" in refused.output


def test_a_place_within_the_checkpoint_is_refused(run):
    refused = run('bad_rows = { format = "json", path = "point/bad" }', "sink.checkpoint=point", command="check")
    assert "is, contains or is inside sink.checkpoint" in refused.output


def test_columns_that_they_have_are_refused_in_the_source(run):
    refused = run(
        PLACE,
        "query.item=_reason",
        "source.schema=ts TIMESTAMP, site STRING, _reason STRING",
    )
    assert "query.bad_rows: the source has a column '_reason', which bad and late rows need" in refused.stderr


LATE = place("late")
SITES_OF = {"b": ["north", "south"], "c": ["north", "north", "north", "west"]}


def add_late_rows(visits):
    """A second file, that takes the watermark to 00:05, and a third, of which two rows come after it; one is bad."""
    for age, (name, minutes) in enumerate({"b": [5, 5], "c": [0, 6, 1, 0]}.items(), start=1):
        rows = [visit(minute, 30, f"{name}{number}", SITES_OF[name][number]) for number, minute in enumerate(minutes)]
        visits.write(name, rows, age)
    os.utime(visits.source / "a.json", (0, 0))


@pytest.mark.parametrize("format", ["json", "csv", "parquet", "delta"])
def test_late_rows_are_written_unchanged(visits, run, tmp_path, format):
    add_late_rows(visits)
    ended = run(place("bad", format) + "\n" + place("late", format), *STREAM)
    assert ended.exit_code == 0, ended.stderr
    assert "late     2 (in late; delay" in ended.stderr and "bad      3 (in bad)" in ended.stderr, ended.stderr
    read = "parquet" if format == "delta" else format
    written = ds.dataset(tmp_path / "late", format=read, exclude_invalid_files=True).to_table().to_pylist()
    assert [(row["client"], row["_reason"], row["_field"]) for row in written] == [
        ("c0", "came after the watermark", "ts"),
        ("c2", "came after the watermark", "ts"),
    ]
    assert str(written[0]["_value"]).startswith("2026-01-01 00:00:30")


def test_a_batch_has_no_late_rows_and_writes_none(visits, run, tmp_path):
    add_late_rows(visits)
    assert run('bad_rows = "count"\n' + LATE).exit_code == 0
    assert not list((tmp_path / "late").glob("part*"))


def test_late_rows_are_there_with_the_answers_or_not_at_all(visits, run, tmp_path, tmp_path_factory, monkeypatch):
    add_late_rows(visits)
    with recorded(tmp_path, tmp_path_factory.mktemp("copies"), monkeypatch) as disk:
        assert run('bad_rows = "count"\n' + LATE, *STREAM).exit_code == 0
    kept = {tuple(any((moment / name).glob("part*")) for name in ("counts", "late")) for moment in disk.moments}
    assert (True, True) in kept and (True, False) not in kept


@pytest.mark.parametrize(
    ("late_rows", "message"),
    [
        ('late_rows = "nowhere"', 'or set a place: late_rows = { format = "json", path = "late" }'),
        ("late_rows = true", 'or set a place: late_rows = { format = "json", path = "late" }'),
        ('late_rows = { format = "json", path = "bad" }', "is, contains or is inside query.bad_rows.path"),
        ('late_rows = { format = "json", path = "counts/late" }', "is, contains or is inside sink.path"),
        ('late_rows = { format = "json", path = "visits" }', "is the source"),
        ('late_rows = { format = "json", path = "late", trigger = "1 minute" }', "late_rows.trigger: is taken from"),
    ],
)
def test_an_impossible_place_of_late_rows_is_refused_before_the_run(run, late_rows, message):
    refused = run(PLACE + "\n" + late_rows, command="check")
    assert refused.exit_code == 1
    assert message in refused.output


@pytest.mark.parametrize("name", ["bad", "late"])
def test_a_place_that_is_full_ends_the_run_and_leaves_nothing(visits, run, tmp_path, name):
    """Its answers would lack rows that should be put aside."""
    add_late_rows(visits)
    keys = PLACE if name == "bad" else 'bad_rows = "count"\n' + LATE
    assert run(keys, *STREAM).exit_code == 0
    largest = max(path.stat().st_size for path in (tmp_path / name).glob("part*"))
    answers = max(path.stat().st_size for path in (tmp_path / "counts").glob("part*"))
    shutil.rmtree(tmp_path / name)
    shutil.rmtree(tmp_path / "counts")
    assert answers < largest, "only the rows put aside are too many"
    with no_file_above(largest - 1):
        ended = run(keys, *STREAM)
    assert ended.exit_code == 1
    assert f"query.{name}_rows.path" in ended.stderr
    assert "File too large: choose another path, or free some space" in ended.stderr
    assert not any(list((tmp_path / folder).glob("part*")) for folder in ("counts", name))


@pytest.mark.parametrize("name", ["bad", "late"])
def test_a_place_that_cannot_be_made_is_told_by_its_key_and_no_answers_are_left(run, tmp_path, name):
    (tmp_path / "file").touch()
    place = f'{name}_rows = {{ format = "json", path = "file/{name}" }}'
    ended = run(place, *STREAM)
    assert ended.exit_code == 1
    assert f"query.{name}_rows.path" in ended.stderr and "cannot be written: Not a directory" in ended.stderr
    assert not list((tmp_path / "counts").glob("part*"))


UNREADABLE = {
    "csv": ('format = "csv"', "n,{n}\n", "n,x\n"),
    "json": ('format = "json"', '{{"k": "n", "x": {n}}}\n', '{{"k": "n", "x": "x"}}\n'),
}
KEYS = {
    "typed": 'schema = "k STRING, x BIGINT"',
    "select": 'schema = "k STRING, x STRING"\nselect = ["k", "CAST(x AS BIGINT) AS x"]',
    "where": 'schema = "k STRING, x STRING"\nwhere = "CAST(x AS BIGINT) > 0"\nselect = ["k", "CAST(x AS BIGINT) AS x"]',
}
READING_JOB = """
[source]
{format}
path = "in"
{keys}
[query]
kind = "distinct-count"
time = "x"
item = "x"
windows = ["9 rows"]
every = "1 rows"
bad_rows = {{ format = "json", path = "bad" }}
[backends]
sketch = "exact"
[sink]
format = "json"
path = "out"
"""


@pytest.mark.parametrize("sets", [(), (*STREAM, "source.finish=true")], ids=["batch", "stream"])
@pytest.mark.parametrize("keys", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize(("format", "good", "bad"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_value_of_another_type_removes_only_its_row(tmp_path, monkeypatch, format, good, bad, keys, sets):
    monkeypatch.chdir(tmp_path)
    suffix = format.split('"')[1]
    if suffix == "json" and "STRING, x STRING" in keys:
        good, bad = good.replace("{n}}}", '"{n}"}}'), bad
    rows = {"a": [1, 2], "b": [3, None, 5], "c": [None]}
    (tmp_path / "in").mkdir()
    for name, numbers in rows.items():
        text = "".join((bad if n is None else good).format(n=n) for n in numbers)
        (tmp_path / "in" / f"{name}.{suffix}").write_text(text)
    (tmp_path / "job.toml").write_text(READING_JOB.format(format=format, keys=keys))
    changes = [part for change in sets for part in ("--set", change)]
    ended = CliRunner().invoke(group, ["run", "job.toml", "--engine", "local", *changes])
    assert ended.exit_code == 0, ended.output
    assert "rows in  6\n" in ended.stderr and "bad      2 (in bad)" in ended.stderr
    aside = [json.loads(line) for path in tmp_path.glob("bad/part*") for line in path.read_text().splitlines()]
    places = [row["_field"].removeprefix(f"{tmp_path}/in/") for row in aside]
    typed = keys == KEYS["typed"]
    assert places == [f"b.{suffix}, {'line 2' if typed else 'row 1'}", f"c.{suffix}, {'line 1' if typed else 'row 0'}"]
    assert all("x" in row["_value"] and row["_reason"] for row in aside)
    answers = [json.loads(line) for path in tmp_path.glob("out/part*") for line in path.read_text().splitlines()]
    assert max(answer["count"] for answer in answers) == 4
