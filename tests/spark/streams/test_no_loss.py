"""Streams that lose nothing: no year ends one, and none resumes with a checkpoint and a log of different streams."""

import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group

from .. import faults

pytestmark = pytest.mark.spark


def run(job, *sets, engine="spark"):
    changes = [part for change in sets for part in ("--set", change)]
    return CliRunner().invoke(group, ["run", str(job), "--engine", engine, *changes])


@pytest.fixture
def job(tmp_path):
    faults.write_source(tmp_path / "source", files=2)
    return faults.write_job(tmp_path, "counts")


def add_row(home, number, at):
    table = pq.read_table(home / "source" / "00.parquet").slice(0, 1)
    far = pa.array([int(np.datetime64(at, "us").astype(np.int64))], table.schema.field("ts").type)
    pq.write_table(table.set_column(0, "ts", far), home / "source" / f"{number:02}.parquet")


@pytest.mark.slow
def test_no_year_ends_a_stream_or_its_restart(session, job, tmp_path):
    """A row of the year 12000, then an end mark that `finish` passes; both engines, a run again, and the console."""
    add_row(tmp_path, 2, "9999-12-31T23:59:59")
    sets = ["source.finish=true", "shards=1", "source.options.maxFilesPerTrigger=9"]
    for number in range(2):
        ran = run(job, *sets)
        assert ran.exit_code == 0, ran.stderr
        assert "watermark +10000-01-01 00:00:" in ran.stderr, number
    local = run(job, *sets, "sink.path=local", engine="local")
    assert local.exit_code == 0, local.stderr
    written, expected = (answers(tmp_path / folder) for folder in ("counts", "local"))
    assert written == expected
    assert written[-1][0] == int(np.datetime64("10000-01-01", "us").astype(np.int64))
    add_row(tmp_path, 3, "12000-01-01T00:00:00")
    of_streams = ("checkpoint = ", "trigger = ")
    batch = tmp_path / "batch.toml"
    batch.write_text("".join(line for line in job.read_text().splitlines(True) if not line.startswith(of_streams)))
    shown = run(batch, *sets, "sink.format=console", "source.finish=false", "source.stream=false")
    assert shown.exit_code == 0, shown.stderr
    assert "+12000-01-01 00:00:10" in shown.stdout


def answers(folder):
    table = pq.read_table(folder)
    at = table["at"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return sorted(zip(at.to_pylist(), *(table[name].to_pylist() for name in ("place", "window", "count")), strict=True))


@pytest.mark.slow
def test_a_checkpoint_and_a_sink_that_do_not_belong_are_told_before_anything_is_read(session, job, tmp_path):
    counts, checkpoint, log = (
        tmp_path / "counts",
        tmp_path / "checkpoint of counts",
        tmp_path / "counts/_spark_metadata",
    )
    aside = tmp_path / "aside"
    checkpoint.mkdir()
    assert run(job).exit_code == 0, "an empty checkpoint beside no answers is a beginning"
    shutil.copytree(checkpoint, tmp_path / "older")
    faults.write_file(tmp_path / "source", 2)
    assert run(job).exit_code == 0
    newest = max(int(path.name) for path in log.iterdir() if path.name.isdigit())

    def refused(*sets):
        before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
        ran = run(job, *sets)
        assert ran.exit_code == 1
        assert "Spark:" not in ran.stderr
        assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before, "nothing was started"
        (line,) = ran.stderr.splitlines()
        assert str(counts) in line
        return line

    checkpoint.rename(aside)
    assert "does not exist: choose another path, or restore the checkpoint" in refused()
    checkpoint.mkdir()
    assert f"up to micro-batch {newest}, but its checkpoint '{checkpoint}' is empty: choose another path" in refused()
    checkpoint.rmdir()
    (tmp_path / "older").rename(checkpoint)
    assert "is only at " in refused()
    shutil.rmtree(checkpoint)
    aside.rename(checkpoint)

    log.rename(aside)
    said = refused()
    assert f"is gone, but the checkpoint '{checkpoint}' has written micro-batch {newest}: restore the log" in said
    assert "has answers that no stream wrote" in refused("sink.checkpoint=another")
    aside.rename(log)
    (log / str(newest)).rename(aside)
    assert f"ends at {newest - 1}" in refused()
    aside.rename(log / str(newest))

    assert run(job).exit_code == 0
    local = run(job, "sink.path=local", engine="local")
    assert local.exit_code == 0
    assert answers(counts) == answers(tmp_path / "local")


def test_a_stream_stopped_before_its_first_micro_batch_starts_over(session, job, tmp_path):
    """Spark has made the folders by then, and nothing is in them."""
    (tmp_path / "counts" / "_spark_metadata").mkdir(parents=True)
    (tmp_path / "checkpoint of counts").mkdir()
    assert run(job).exit_code == 0
