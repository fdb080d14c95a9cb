"""A job whose table in a database holds the newest answer: killed and started again, it ends as if nobody had."""

import random
import sqlite3
from contextlib import closing

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from skyband.cli.commands import group

from . import faults

pytestmark = pytest.mark.spark

CURRENT = ('answers = "current"', 'format = "sql"\nurl = "sqlite:///board.db"\ntable = "board"')
COLUMNS = ("place", "window", "count", "low", "high")


def write_job(folder):
    """The job of the other faults, with a sink of the newest answers."""
    path = faults.write_job(folder, "killed")
    answers, sink = CURRENT
    text = path.read_text().replace("[sink]", f"{answers}\n\n[sink]")
    path.write_text(text.replace('format = "parquet"\npath = "killed/"', sink))
    return path


def run(job):
    ran = CliRunner().invoke(group, ["run", str(job)])
    assert ran.exit_code == 0, ran.stderr


def board(folder):
    with closing(sqlite3.connect(folder / "board.db")) as database:
        return sorted(database.execute(f"SELECT {', '.join(COLUMNS)} FROM board").fetchall())


def newest(job):
    """The last answers among all that the local engine gives to the same files."""
    text = job.read_text().replace(CURRENT[0], "").replace(CURRENT[1], 'format = "parquet"\npath = "all/"')
    whole = job.with_name("whole.toml")
    whole.write_text(text)
    ran = CliRunner().invoke(group, ["run", str(whole), "--engine", "local"])
    assert ran.exit_code == 0, ran.stderr
    answers = pq.read_table(job.parent / "all").to_pylist()
    last = max(row["at"] for row in answers)
    return sorted(tuple(row[name] for name in COLUMNS) for row in answers if row["at"] == last)


def test_a_stream_goes_on_with_the_table_it_has(session, tmp_path):
    faults.write_source(tmp_path / "source", files=2)
    job = write_job(tmp_path)
    run(job)
    assert board(tmp_path) == newest(job) != []
    before = board(tmp_path)
    faults.write_file(tmp_path / "source", 2)
    run(job)
    (tmp_path / "all").rename(tmp_path / "all of before")
    assert board(tmp_path) == newest(job) != before


@pytest.mark.slow
def test_ten_kills_of_the_driver_leave_the_newest_answer(session, tmp_path):
    kills = 10
    faults.write_source(tmp_path / "source", files=kills + 4)
    job, chance, done = write_job(tmp_path), random.Random(kills), 0
    for _ in range(kills):
        process = faults.start(job)
        try:
            done += faults.after_next_commit(process, tmp_path / "checkpoint of killed", chance.uniform(0, 1.0))
        finally:
            if process.poll() is None:
                faults.kill_group(process)
    run(job)
    assert 2 * done >= kills, "most kills hit a job that runs"
    assert board(tmp_path) == newest(job) != []
