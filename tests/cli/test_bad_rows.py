"""Rows that a query cannot take, in jobs on the local engine: what becomes of the run, and where such rows go."""

import json

import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from power_loss import recorded
from skyband.cli.commands import group

JOB = """
[source]
format = "json"
path = "visits"
schema = "ts TIMESTAMP, site STRING, client STRING"
[query]
kind = "distinct-count"
time = "ts"
item = "client"
windows = ["1 minute"]
every = "1 minute"
source = "site"
sources = ["north", "south"]
{bad_rows}
[sink]
format = "{format}"
path = "counts"
"""
PLACE = 'bad_rows = {{ format = "{}", path = "bad" }}'
SITES = ["north", "south", "west", "south", "east", "north"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [
        {"ts": f"2026-01-01T00:00:0{second}Z", "site": site, "client": f"c{second}"}
        for second, site in enumerate(SITES)
    ]
    (tmp_path / "visits").mkdir()
    (tmp_path / "visits" / "a.json").write_text("".join(json.dumps(line) + "\n" for line in lines))

    def run(bad_rows, *more, command="run", format="json"):
        (tmp_path / "job.toml").write_text(JOB.format(bad_rows=bad_rows, format=format))
        return CliRunner().invoke(group, [command, "job.toml", "--engine", "local", *more])

    return run


def test_the_run_ends_and_says_file_and_row_where_nothing_else_is_asked(run, tmp_path):
    ended = run("")
    assert ended.exit_code == 1
    assert "a.json: site, row 2: 'west' is not in sources" in ended.stderr
    assert not list((tmp_path / "counts").glob("part*"))


def test_they_are_counted(run, tmp_path):
    ended = run('bad_rows = "count"')
    assert (ended.exit_code, "bad      2 (left out)" in ended.stderr) == (0, True), ended.stderr
    assert json.loads((tmp_path / "counts/part-00000.json").read_text())["count"] == 4


@pytest.mark.parametrize("format", ["json", "csv", "parquet"])
def test_they_are_written_as_they_came_with_what_is_wrong(run, tmp_path, format):
    ended = run(PLACE.format(format))
    assert (ended.exit_code, "bad      2 (in bad)" in ended.stderr) == (0, True), ended.stderr
    written = ds.dataset(tmp_path / "bad", format=format, exclude_invalid_files=True).to_table().to_pylist()
    assert [(row["client"], row["site"], row["_reason"], row["_field"], row["_value"]) for row in written] == [
        ("c2", "west", "is not in sources", "site", "west"),
        ("c4", "east", "is not in sources", "site", "east"),
    ]
    assert str(written[0]["ts"]).startswith("2026-01-01")


def test_where_there_are_none_there_is_no_file(run, tmp_path):
    assert run(PLACE.format("json"), "--set", 'query.sources=["north","south","east","west"]').exit_code == 0
    assert not list((tmp_path / "bad").glob("part*"))


def test_those_of_a_run_before_go_with_its_answers(run, tmp_path):
    assert run(PLACE.format("json")).exit_code == 0
    again = run(PLACE.format("json"), "--set", "sink.mode=append")
    assert again.exit_code == 0, again.stderr
    assert len(list((tmp_path / "bad").glob("part*"))) == 2
    more = ["--set", "sink.mode=overwrite", "--set", 'query.sources=["north","south","east","west"]']
    assert run(PLACE.format("json"), *more).exit_code == 0
    assert [path.read_text() for path in (tmp_path / "bad").glob("part*")] == [""]


def test_neither_is_written_where_the_other_cannot_be(run, tmp_path):
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "of others").write_text("kept")
    refused = run(PLACE.format("json"))
    assert refused.exit_code == 1
    assert "query.bad_rows.path" in refused.stderr
    assert "exists already" in refused.stderr
    assert not list((tmp_path / "counts").glob("part*"))


def test_answers_are_never_there_without_them(run, tmp_path, tmp_path_factory, monkeypatch):
    """Whenever the run is killed, or the power fails."""
    with recorded(tmp_path, tmp_path_factory.mktemp("copies"), monkeypatch) as disk:
        assert run(PLACE.format("json")).exit_code == 0
    kept = {tuple(any((moment / name).glob("part*")) for name in ("counts", "bad")) for moment in disk.moments}
    assert (True, True) in kept and (True, False) not in kept


def test_a_table_of_a_plugin_takes_them(run, tmp_path):
    ended = run(PLACE.format("delta"))
    assert ended.exit_code == 0, ended.stderr
    assert sum(len(pq.read_table(path)) for path in (tmp_path / "bad").glob("*.parquet")) == 2


@pytest.mark.parametrize(
    ("bad_rows", "message"),
    [
        ('bad_rows = "skip"', "query.bad_rows: must be one of fail, count"),
        ('bad_rows = { format = "json" }', "query.bad_rows.path: is required for json: a folder for such rows"),
        ('bad_rows = { path = "bad" }', "query.bad_rows.format: is required"),
        ('bad_rows = { format = "console" }', "query.bad_rows.format: must be of files, or of a plugin's tables"),
        ('bad_rows = { format = "jsn", path = "bad" }', "unknown format 'jsn'; did you mean 'json'?"),
        ('bad_rows = { format = "json", path = "bad", mode = "append" }', "query.bad_rows.mode: is as [sink] has it"),
        ('bad_rows = { format = "json", path = "counts" }', "is, holds or lies in sink.path"),
        ('bad_rows = { format = "json", path = "visits/bad" }', "lies in the source"),
        ('bad_rows = { format = "json", path = "." }', "holds the source"),
    ],
)  # fmt: skip
def test_a_place_that_is_none_is_refused_before_the_run(run, bad_rows, message):
    refused = run(bad_rows, command="check")
    assert refused.exit_code == 1
    assert message in refused.output


def test_a_place_within_the_checkpoint_is_refused(run):
    refused = run(
        'bad_rows = { format = "json", path = "point/bad" }', "--set", "sink.checkpoint=point", command="check"
    )
    assert "is, holds or lies in sink.checkpoint" in refused.output


def test_columns_that_they_have_are_refused_in_the_source(run):
    refused = run(
        PLACE.format("json"),
        "--set",
        "query.item=_reason",
        "--set",
        "source.schema=ts TIMESTAMP, site STRING, _reason STRING",
    )
    assert "query.bad_rows: the source has a column '_reason', as such rows have" in refused.stderr
