"""A job whose table holds the newest answer: killed and restarted, it ends as if undisturbed."""

import json
import random
import sqlite3
from contextlib import closing

import kafka_broker
import pyarrow.parquet as pq
import pytest
import redis_server
from click.testing import CliRunner
from skyband.cli.commands import group
from topic_trial import newest_messages

from . import faults

pytestmark = pytest.mark.spark

ANSWERS = 'answers = "current"'
COLUMNS = ("place", "window", "count", "low", "high")


class Database:
    """A table of SQLite."""

    def __init__(self, folder):
        self.path = folder / "board.db"
        self.sink = f'format = "sql"\nurl = "sqlite:///{self.path}"\ntable = "board"'

    def rows(self):
        with closing(sqlite3.connect(self.path)) as database:
            return database.execute(f"SELECT {', '.join(COLUMNS)} FROM board").fetchall()


class Redis:
    """Sorted sets and hashes of a server."""

    def __init__(self, server):
        self.server = server
        self.sink = f'format = "redis"\nurl = "{server.url}"\ntable = "board"\noptions = {{ score = "count" }}'

    def rows(self):
        with self.server.client() as client:
            tables = [client.hgetall(f"{name}:rows") for name in client.smembers("skyband_groups:board")]
        return _values(json.loads(row) for table in tables for row in table.values())


class Topic:
    """A compacted topic of a broker."""

    def __init__(self, address):
        self.address = address
        options = f'"kafka.bootstrap.servers" = "{address}", "kafka.log_level" = "0"'
        self.sink = f'format = "kafka"\ntable = "board"\noptions = {{ {options} }}'

    def rows(self):
        return _values(newest_messages(self.address, "board").values())


def _values(rows):
    return [tuple(row[name] for name in COLUMNS) for row in rows]


@pytest.fixture(params=["sql", "redis", "kafka"])
def board(request, tmp_path):
    """Where the newest answers are; each test has a server of its own."""
    if request.param == "sql":
        yield Database(tmp_path)
    elif request.param == "redis":
        if redis_server.lacking() is not None:
            pytest.skip(redis_server.lacking())
        (tmp_path / "redis").mkdir()
        server = redis_server.RedisServer(tmp_path / "redis")
        server.start()
        yield Redis(server)
        server.kill()
    else:
        with kafka_broker.running(tmp_path) as address:
            kafka_broker.make_topic(address, "ready")
            yield Topic(address)


def write_job(folder, board):
    """The job of the other faults, with a sink of the newest answers."""
    path = faults.write_job(folder, "killed")
    text = path.read_text().replace("[sink]", f"{ANSWERS}\n\n[sink]")
    path.write_text(text.replace('format = "parquet"\npath = "killed/"', board.sink))
    return path


def run(job):
    ran = CliRunner().invoke(group, ["run", str(job)])
    assert ran.exit_code == 0, ran.stderr


def newest(job, board):
    """The last answers among all that the local engine gives to the same files."""
    text = job.read_text().replace(ANSWERS, "").replace(board.sink, 'format = "parquet"\npath = "all/"')
    whole = job.with_name("whole.toml")
    whole.write_text(text)
    ran = CliRunner().invoke(group, ["run", str(whole), "--engine", "local"])
    assert ran.exit_code == 0, ran.stderr
    answers = pq.read_table(job.parent / "all").to_pylist()
    last = max(row["at"] for row in answers)
    return sorted(tuple(row[name] for name in COLUMNS) for row in answers if row["at"] == last)


def test_a_stream_continues_with_its_table(session, tmp_path, board):
    faults.write_source(tmp_path / "source", files=2)
    job = write_job(tmp_path, board)
    run(job)
    before = sorted(board.rows())
    assert before == newest(job, board) != []
    faults.write_file(tmp_path / "source", 2)
    run(job)
    (tmp_path / "all").rename(tmp_path / "all of before")
    assert sorted(board.rows()) == newest(job, board) != before


@pytest.mark.slow
def test_ten_kills_of_the_driver_leave_the_newest_answer(session, tmp_path, board):
    kills = 10
    faults.write_source(tmp_path / "source", files=kills + 4)
    job, chance, done = write_job(tmp_path, board), random.Random(kills), 0
    for _ in range(kills):
        process = faults.start(job)
        try:
            done += faults.after_next_commit(process, tmp_path / "checkpoint of killed", chance.uniform(0, 1.0))
        finally:
            if process.poll() is None:
                faults.kill_group(process)
    run(job)
    assert 2 * done >= kills, "most kills hit a job that runs"
    assert sorted(board.rows()) == newest(job, board) != []
