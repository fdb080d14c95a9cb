"""A service that follows a topic: kills, a broker and a database that go away for a while, bad messages and rules."""

import datetime
import json
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import kafka_broker
import pytest

from .test_kills import OFTEN, killed_to_the_end, service

JOB = """
name = "clients"

[source]
format = "kafka"
stream = true
schema = "ts TIMESTAMP, client STRING, status INT"
where = "status < 500"
options = {{ subscribe = "{topic}", "kafka.bootstrap.servers" = "{address}", maxOffsetsPerTrigger = 100 }}

[query]
kind = "distinct-count"
time = "ts"
item = "client"
by = ["status"]
windows = ["1 minute"]
every = "10 seconds"
delay = "2 seconds"
bad_rows = {{ format = "sql", url = "sqlite:///board.db", table = "bad_{name}" }}

[sink]
format = "sql"
url = "sqlite:///board.db"
table = "{name}"
checkpoint = "checkpoint {name}"
"""
AT_END = ["--set", "sink.trigger=available-now", "--set", "source.finish=true"]


@pytest.fixture(scope="module")
def broker(tmp_path_factory):
    with kafka_broker.process_of(tmp_path_factory.mktemp("broker")) as (address, process):
        yield address, process


@pytest.fixture
def topic(broker, request):
    name = request.node.name.partition("[")[0]
    kafka_broker.make_topic(broker[0], name)
    return name


def message(number):
    if number % 50 == 49:
        return b"no row"
    seconds = number // 5
    return json.dumps({"ts": f"2026-01-01T00:{seconds // 60:02}:{seconds % 60:02}Z", "client": f"c{number % 37}",
                       "status": [200, 404, 500][number % 3]})  # fmt: skip


def rows(folder, table):
    """The rows of a table; none where it is not there yet."""
    with closing(sqlite3.connect(folder / "board.db")) as board:
        if not board.execute("SELECT 1 FROM sqlite_master WHERE name = ?", [table]).fetchone():
            return []
        return sorted(map(str, board.execute(f'SELECT * FROM "{table}"')))


def write_job(folder, broker, topic, name):
    (folder / "job.toml").write_text(JOB.format(address=broker[0], topic=topic, name=name))


def test_kills_change_nothing(tmp_path, broker, topic):
    kafka_broker.send(broker[0], topic, map(message, range(600)))
    write_job(tmp_path, broker, topic, "local")
    local = service(tmp_path, "-m", "skyband", "run", "job.toml", "--engine", "local", *AT_END)
    assert local.returncode == 0, local.stderr
    write_job(tmp_path, broker, topic, "killed")
    assert killed_to_the_end(tmp_path, 1, 9, AT_END) >= 3
    assert rows(tmp_path, "killed") == rows(tmp_path, "local") != []
    assert len(rows(tmp_path, "bad_killed")) == len(rows(tmp_path, "bad_local")) == 12


def test_a_broker_and_a_database_that_are_away_for_a_while_lose_nothing(tmp_path, broker, topic):
    kafka_broker.send(broker[0], topic, map(message, range(300)))
    write_job(tmp_path, broker, topic, "live")
    (tmp_path / "job.toml").write_text((tmp_path / "job.toml").read_text().replace("board.db", "board.db?timeout=0.1"))
    command = [sys.executable, "-m", "skyband", "serve", "job.toml", *OFTEN]
    with (tmp_path / "said").open("wb") as said:
        running = subprocess.Popen(command, cwd=tmp_path, stderr=said)
        try:
            wait_for(running, tmp_path, lambda: (tmp_path / "board.db").exists() and rows(tmp_path, "live"))
            broker[1].send_signal(signal.SIGSTOP)
            time.sleep(2)
            broker[1].send_signal(signal.SIGCONT)
            with closing(sqlite3.connect(tmp_path / "board.db")) as board:
                board.execute("BEGIN EXCLUSIVE")
                kafka_broker.send(broker[0], topic, map(message, range(300, 600)))
                wait_for(running, tmp_path, lambda: "waits for its sink" in (tmp_path / "said").read_text())
            wait_for(running, tmp_path, lambda: "is written" in (tmp_path / "said").read_text())
        finally:
            broker[1].send_signal(signal.SIGCONT)
            running.terminate()
            running.wait(60)
    assert service(tmp_path, "-m", "skyband", "serve", "job.toml", *AT_END).returncode == 0
    write_job(tmp_path, broker, topic, "calm")
    assert service(tmp_path, "-m", "skyband", "serve", "job.toml", *AT_END).returncode == 0
    assert rows(tmp_path, "live") == rows(tmp_path, "calm") != []
    assert rows(tmp_path, "bad_live") == rows(tmp_path, "bad_calm") != []


def test_a_backlog_does_not_wait_for_the_trigger(tmp_path, broker, topic):
    start = datetime.datetime(2026, 1, 1)
    times = ((start + datetime.timedelta(seconds=number / 5)).isoformat() for number in range(60_000))
    kafka_broker.send(broker[0], topic, (f'{{"ts": "{at}Z", "client": "c", "status": 200}}' for at in times))
    write_job(tmp_path, broker, topic, "live")
    job = (tmp_path / "job.toml").read_text().replace(", maxOffsetsPerTrigger = 100", "") + 'trigger = "1 hour"\n'
    (tmp_path / "job.toml").write_text(job)
    with (tmp_path / "said").open("wb") as said:
        running = subprocess.Popen([sys.executable, "-m", "skyband", "serve", "job.toml"], cwd=tmp_path, stderr=said)
        try:
            later = "2026-01-01 01:30:00"
            wait_for(running, tmp_path, lambda: any(later in row for row in rows(tmp_path, "live")))
        finally:
            running.terminate()
            running.wait(60)


def wait_for(running, folder, condition):
    ends = time.monotonic() + 60
    while not condition():
        assert running.poll() is None and time.monotonic() < ends, (folder / "said").read_text()
        time.sleep(0.05)
