"""Raw forms on Spark: read in Python and by Spark's own reader: the same rows, or an error that names the reader."""

import datetime
import json
import re

import pytest
from click.testing import CliRunner
from first_job_forms import FORMS as FIRST
from raw_forms import FORMS
from skyband.cli.commands import group
from skyband.errors import ConfigError
from skyband_jobs.tables.model import Source
from skyband_spark.reading.python_file_reader import choose_reader, file_frame, settings_of
from skyband_spark.reading.source import read_by_spark, shaped

from ..documents import DOCS

pytestmark = pytest.mark.spark

STREAM = ["source.stream=true", "source.finish=true", "sink.trigger=available-now", "sink.checkpoint=checkpoint"]
PAGE = re.findall(
    r"^```(csv|json|text)\n(.*?)^```\n\n```toml\n(.*?)^```$",
    (DOCS / "begin" / "raw.md").read_text("utf-8"),
    re.M | re.S,
)
"""The files of the page and the job of each."""


def collected(frame):
    return [
        tuple(value.replace(tzinfo=datetime.UTC) if isinstance(value, datetime.datetime) else value for value in row)
        for row in (tuple(row.values()) for row in frame.toArrow().to_pylist())
    ]


@pytest.mark.parametrize("form", FORMS.values(), ids=list(FORMS))
def test_both_readers_give_the_same_rows(session, tmp_path, form):
    (tmp_path / form.name).write_bytes(form.content)
    source = Source(path=str(tmp_path), **form.keys)
    settings = settings_of(session, source)
    choice = choose_reader(source, settings)
    assert choice.files is not None, choice
    assert collected(file_frame(session, choice)) == form.rows
    theirs = Source(path=str(tmp_path), reader="spark", **form.keys)
    if form.only_python:
        with pytest.raises(ConfigError, match="Spark's own reader does not know") as refused:
            choose_reader(theirs, settings)
        assert form.only_python in str(refused.value)
    else:
        assert choose_reader(theirs, settings).files is None
        assert collected(shaped(read_by_spark(session, theirs), theirs)) == form.rows


def answers(folder, engine, *sets):
    sink = f"{engine} {len(sets)}"
    changes = [part for change in (*sets, f"sink.path={sink}") for part in ("--set", change)]
    ran = CliRunner().invoke(group, ["run", str(folder / "job.toml"), "--engine", engine, *changes])
    assert ran.exit_code == 0, ran.output
    lines = [line for path in (folder / sink).glob("*.json") for line in path.read_text("utf-8").splitlines()]
    rows = [json.loads(line) for line in lines]
    return sorted(({**row, "at": datetime.datetime.fromisoformat(row["at"])} for row in rows), key=repr)


@pytest.mark.parametrize(("suffix", "text", "job"), PAGE, ids=["csv", "geojson", "log", "zones"])
def test_a_job_of_the_page_answers_the_same_on_all_engines(session, tmp_path, suffix, text, job):
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / f"a.{suffix}").write_text(text, "utf-8")
    (tmp_path / "job.toml").write_text(job, "utf-8")
    local = answers(tmp_path, "local")
    assert len(local) == (4 if "in {zone}" in job else 2)
    assert answers(tmp_path, "spark") == local
    assert answers(tmp_path, "spark", *STREAM) == local


@pytest.mark.parametrize("name", FIRST)
def test_a_first_job_as_check_prints_it_answers_the_same_on_spark(session, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(FIRST[name].content)
    printed = CliRunner().invoke(group, ["check", name])
    assert printed.exit_code == 0, printed.output
    (tmp_path / "job.toml").write_text(printed.stdout, "utf-8")
    local = answers(tmp_path, "local", "sink.format=json")
    assert len(local) > 5
    assert answers(tmp_path, "spark", "sink.format=json") == local
    if name in ("iso.csv", "quakes.geojson"):  # one file is a stream, too
        assert answers(tmp_path, "spark", "sink.format=json", *STREAM) == local


def test_one_file_is_a_stream_of_sparks_own_reader_too(session, tmp_path):
    (tmp_path / "a-1.csv").write_bytes(FIRST["iso.csv"].content)
    job = CliRunner().invoke(group, ["check", str(tmp_path / "a-1.csv")]).stdout
    (tmp_path / "job.toml").write_text(job, "utf-8")
    local = answers(tmp_path, "local", "sink.format=json")
    assert answers(tmp_path, "spark", "sink.format=json", "source.reader=spark", *STREAM) == local
