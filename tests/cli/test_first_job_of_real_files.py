"""`skyband check` of files as programs write them: the printed job runs, and its times are the intended ones."""

import subprocess
import sys

import pytest
from real_forms import REAL, REFUSED
from skyband_jobs import read_job
from skyband_jobs.files.source_files import open_files


@pytest.mark.parametrize("name", REAL)
def test_the_job_of_a_real_file_has_the_times_that_are_meant_and_runs_as_printed(folder, monkeypatch, name):
    real = REAL[name]
    (folder.home / name).write_bytes(real.content)
    monkeypatch.chdir(folder.home)
    told = folder.call("check", name)
    assert told.exit_code == 0, told.output
    assert real.job in told.stdout
    (folder.home / "elsewhere").mkdir()
    path = folder.home / "elsewhere" / "first.toml"
    path.write_text(told.stdout)
    job = read_job(path, engine="local")
    files = open_files(job.source)
    rows = [row[job.query.time] for batch in files.batches([job.query.time]) for row in batch.to_pylist()]
    assert job.query.time == real.time, told.stdout
    assert not job.query.rows
    off = max(abs((one - other).total_seconds()) for one, other in zip(_times(rows), real.times, strict=True))
    assert off < 0.001, told.stdout
    ran = folder.call("run", path, "--engine", "local")
    assert ran.exit_code == 0, ran.output
    assert f"rows in {len(rows):,} " in f"{' '.join(ran.stderr.split())} ", "all rows are read"
    assert sum(row is None for row in rows) == real.nulls
    assert ("null time" in ran.stderr) == bool(real.nulls), "rows without a time are counted"


def _times(rows):
    import datetime

    stamps = [row for row in rows if row is not None]
    return [
        row if isinstance(row, datetime.datetime) else datetime.datetime.combine(row, datetime.time(), datetime.UTC)
        for row in stamps
    ]


@pytest.mark.parametrize("name", REFUSED)
def test_what_lacks_its_own_time_is_refused_with_what_to_add(folder, name):
    text, said = REFUSED[name]
    (folder.home / name).write_text(text)
    told = folder.call("check", folder.home / name)
    assert told.exit_code == 1
    assert said in told.output and "source.select" in told.output


@pytest.mark.parametrize("place", ["first.toml", "jobs/first.toml", "data/first.toml"])
def test_a_job_finds_its_file_from_wherever_it_is_put(folder, place):
    for name in ("jobs", "data"):
        (folder.home / name).mkdir()
    (folder.home / "data" / "rows.csv").write_bytes(REAL["seconds.csv"].content)
    with (folder.home / place).open("w") as job:
        command = [sys.executable, "-m", "skyband", "check", "data/rows.csv"]
        subprocess.run(command, stdout=job, check=True, cwd=folder.home)
    checked = read_job(folder.home / place, engine="local")
    assert checked.source.path == str(folder.home / "data" / "rows.csv")
    relative = {"first.toml": "data/rows.csv", "data/first.toml": "rows.csv"}
    assert f'path = "{relative.get(place, folder.home / "data" / "rows.csv")}"' in (folder.home / place).read_text()
